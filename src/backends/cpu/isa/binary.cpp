// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "backends/cpu/isa/tile.h"
#include "kernels/formulas/binary.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/special.h"

namespace fc::cpu::FC_ISA {
namespace {

// clang-format off
using binary_ops = scalar::op_list<void
#define FC_BINARY(number, name, ...) , scalar::name
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/common.def"
#include "facula/formulas/shared.def"
#include "facula/formulas/binary.def"
#include "facula/formulas/special.def"
#include "facula/formulas/end.h"
                               >;
// clang-format on

// Divisions with remainders: a chunk of operands that fit a quick way becomes vector code, another is left to the
// formula.
template <class Op, class T, class Quick>
void division_flat(char* const* ptr, int64_t n, const void* params) {
  constexpr int64_t chunk = 256;
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  auto* b = reinterpret_cast<const T*>(ptr[2]);
  for (; n > 0; n -= chunk, r += chunk, a += chunk, b += chunk) {
    const int64_t m = std::min(chunk, n);
    int others = 0;
    for (int64_t i = 0; i < m; ++i) others |= !Quick::fits(a[i], b[i]);
    if (others) {
      char* const at[] = {reinterpret_cast<char*>(r), const_cast<char*>(reinterpret_cast<const char*>(a)),
                          const_cast<char*>(reinterpret_cast<const char*>(b))};
      binary_flat<Op, T>(at, m, params);
      continue;
    }
    FC_IVDEP
    for (int64_t i = 0; i < m; ++i) r[i] = Quick::apply(a[i], b[i]);
  }
}

// Floats of small ratio have an exact fmod in one step.
struct SmallRatio {
  template <class T>
  FC_INLINE static bool fits(T a, T b) {
    return math::has_small_ratio(a, b);
  }
};
struct Fmod : SmallRatio {
  template <class T>
  FC_INLINE static T apply(T a, T b) {
    return math::fmod_of_small_ratio(a, b);
  }
};
struct Remainder : SmallRatio {
  template <class T>
  FC_INLINE static T apply(T a, T b) {
    return math::remainder_from(b, Fmod::apply(a, b));
  }
};
struct FloorDivision : SmallRatio {
  template <class T>
  FC_INLINE static T apply(T a, T b) {
    return math::floor_quotient_from(a, b, Fmod::apply(a, b));
  }
};

// int64 below 2^51 are exact as doubles, and so is the integer part of their quotient: no fraction is nearer to an
// integer than a double's precision. Adding 1.5 * 2^52 converts, both ways.
template <bool floors, bool rest>
struct AsDouble {
  static constexpr double magic = 0x1.8p52;
  FC_INLINE static bool fits(int64_t a, int64_t b) {
    constexpr uint64_t half = uint64_t{1} << 51;
    return (((static_cast<uint64_t>(a) + half) | (static_cast<uint64_t>(b) + half)) >> 52) == 0 && b != 0;
  }
  FC_INLINE static double widen(int64_t x) { return std::bit_cast<double>(std::bit_cast<int64_t>(magic) + x) - magic; }
  FC_INLINE static int64_t apply(int64_t a, int64_t b) {
    const double x = widen(a), y = widen(b), q = floors ? std::floor(x / y) : std::trunc(x / y);
    return std::bit_cast<int64_t>((rest ? std::fma(-q, y, x) : q) + magic) - std::bit_cast<int64_t>(magic);
  }
};

template <class Op, class T, class Quick>
void add_division(KernelTable& t) {
  t.map[Op::code][static_cast<int>(dtype_of<T>())].fn = division_flat<Op, T, Quick>;
}
template <class T>
void add_float_divisions(KernelTable& t) {
  add_division<scalar::fmod, T, Fmod>(t);
  add_division<scalar::remainder, T, Remainder>(t);
  add_division<scalar::div_floor, T, FloorDivision>(t);
  add_division<scalar::floor_divide, T, FloorDivision>(t);
}

// Operand 1 or 2 is one element for all.
template <class Op, class T, int one>
void constant_flat(char* const* ptr, int64_t n, const void* params) {
  const Params<Op, T> local(params);
  const T constant = *reinterpret_cast<const T*>(ptr[one]);
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* x = reinterpret_cast<const T*>(ptr[3 - one]);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i)
    r[i] = one == 1 ? Op::apply(constant, x[i], local.p) : Op::apply(x[i], constant, local.p);
}
template <class T, class... Op>
void add_constants(KernelTable& t, scalar::op_list<Op...>) {
  auto add = [&](int opcode, FlatFn first, FlatFn second) {
    MapKernel& k = t.map[opcode][static_cast<int>(dtype_of<T>())];
    k.with_constant[0] = first;
    k.with_constant[1] = second;
  };
  (add(Op::code, constant_flat<Op, T, 1>, constant_flat<Op, T, 2>), ...);
}

}  // namespace

void fill_binary(KernelTable& t) {
  add_ops(t, binary_ops{}, 1);
  using frequent = scalar::op_list<scalar::add, scalar::sub, scalar::mul, scalar::div>;
  add_constants<float>(t, frequent{});
  add_constants<double>(t, frequent{});
  if constexpr (math::has_fma) {
    add_float_divisions<float>(t);
    add_float_divisions<double>(t);
    add_division<scalar::div_trunc, int64_t, AsDouble<false, false>>(t);
    add_division<scalar::div_floor, int64_t, AsDouble<true, false>>(t);
    add_division<scalar::floor_divide, int64_t, AsDouble<true, false>>(t);
    add_division<scalar::fmod, int64_t, AsDouble<false, true>>(t);
    add_division<scalar::remainder, int64_t, AsDouble<true, true>>(t);
  }
}

}  // namespace fc::cpu::FC_ISA
