// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include "core/instruction_set.h"
#include "core/error.h"
#include "facula/opcodes.h"

namespace fc::cpu {

static_assert(FC_MAP_COUNT <= kMapOpcodes);

const KernelTable& kernels() {
  static const KernelTable& table = *[] {
    auto* t = new KernelTable{};
    auto fill = [&](auto... steps) { (steps(*t), ...); };
    switch (cpu_level()) {
#if defined(FC_HAVE_AVX512)
      case CpuLevel::AVX512:
        fill(avx512::fill_unary, avx512::fill_math, avx512::fill_binary, avx512::fill_compare, avx512::fill_ternary,
             avx512::fill_half, avx512::fill_cast, avx512::fill_reduce, avx512::fill_extremes, avx512::fill_random);
        break;
#endif
#if defined(FC_HAVE_AVX2)
      case CpuLevel::AVX2:
        fill(avx2::fill_unary, avx2::fill_math, avx2::fill_binary, avx2::fill_compare, avx2::fill_ternary,
             avx2::fill_half, avx2::fill_cast, avx2::fill_reduce, avx2::fill_extremes, avx2::fill_random);
        break;
#endif
      default:
        fill(baseline::fill_unary, baseline::fill_math, baseline::fill_binary, baseline::fill_compare,
             baseline::fill_ternary, baseline::fill_half, baseline::fill_cast, baseline::fill_reduce,
             baseline::fill_extremes, baseline::fill_random);
    }
    add_indirect_casts(*t);
    return t;
  }();
  return table;
}

CastFn cast_fn(DType from, DType to) {
  CastFn f = kernels().cast[static_cast<int>(from)][static_cast<int>(to)];
  FC_CHECK(f, "no conversion from ", from, " to ", to);
  return f;
}

}  // namespace fc::cpu
