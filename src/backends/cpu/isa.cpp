// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace facula::cpu {
namespace {

enum class Isa { Baseline, Avx2, Avx512 };

Isa choose() {
  Isa best = Isa::Baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) best = Isa::Avx2;
  if (best == Isa::Avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
    best = Isa::Avx512;
#endif
  if (const char* wanted = std::getenv("ATEN_CPU_CAPABILITY")) {  // may only lower it
    std::string_view w = wanted;
    if (w == "default") return Isa::Baseline;
    if (w == "avx2" && best > Isa::Avx2) return Isa::Avx2;
  }
  return best;
}

Isa chosen() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace

const char* cpu_capability() {
  constexpr const char* names[] = {"DEFAULT", "AVX2", "AVX512"};
  return names[static_cast<int>(chosen())];
}

const KernelTable& kernels() {
  static const KernelTable& table = *[] {
    auto* t = new KernelTable{};
    auto fill = [&](auto... steps) { (steps(*t), ...); };
    switch (chosen()) {
#if defined(__x86_64__)
      case Isa::Avx512:
        fill(avx512::fill_unary, avx512::fill_math, avx512::fill_binary, avx512::fill_compare, avx512::fill_ternary, avx512::fill_cast);
        break;
      case Isa::Avx2:
        fill(avx2::fill_unary, avx2::fill_math, avx2::fill_binary, avx2::fill_compare, avx2::fill_ternary, avx2::fill_cast);
        break;
#endif
      default:
        fill(baseline::fill_unary, baseline::fill_math, baseline::fill_binary, baseline::fill_compare, baseline::fill_ternary, baseline::fill_cast);
    }
    return t;
  }();
  return table;
}

CastFn cast_fn(DType from, DType to) {
  CastFn f = kernels().cast[static_cast<int>(from)][static_cast<int>(to)];
  FC_CHECK(f, "no conversion from ", from, " to ", to);
  return f;
}

}  // namespace facula::cpu
