// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {
namespace {

// fmod and what follows from it: a chunk whose ratios are all small becomes vector code, another is left to the C
// library.
template <class Op, class T, class From>
void modulo_flat(char* const* ptr, int64_t n, const void* params) {
  constexpr int64_t chunk = 256;
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  auto* b = reinterpret_cast<const T*>(ptr[2]);
  for (; n > 0; n -= chunk, r += chunk, a += chunk, b += chunk) {
    const int64_t m = std::min(chunk, n);
    int large = 0;
    for (int64_t i = 0; i < m; ++i) large |= !scalar::has_small_ratio(a[i], b[i]);
    if (large) {
      char* const at[] = {reinterpret_cast<char*>(r), const_cast<char*>(reinterpret_cast<const char*>(a)),
                          const_cast<char*>(reinterpret_cast<const char*>(b))};
      binary_flat<Op, T>(at, m, params);
      continue;
    }
    FC_IVDEP
    for (int64_t i = 0; i < m; ++i) r[i] = From::apply(a[i], b[i], scalar::fmod_of_small_ratio(a[i], b[i]));
  }
}

struct Itself {
  template <class T>
  FC_INLINE static T apply(T, T, T r) {
    return r;
  }
};
struct Remainder {
  template <class T>
  FC_INLINE static T apply(T, T b, T r) {
    return scalar::remainder_from(b, r);
  }
};
struct FloorDivision {
  template <class T>
  FC_INLINE static T apply(T a, T b, T r) {
    return scalar::floor_division_from(a, b, r);
  }
};

template <class T>
void add_modulo(KernelTable& t) {
  const int type = static_cast<int>(dtype_of<T>());
  t.map[FC_MAP_fmod][type].fn = modulo_flat<scalar::fmod, T, Itself>;
  t.map[FC_MAP_remainder][type].fn = modulo_flat<scalar::remainder, T, Remainder>;
  t.map[FC_MAP_div_floor][type].fn = modulo_flat<scalar::div_floor, T, FloorDivision>;
  t.map[FC_MAP_floor_divide][type].fn = modulo_flat<scalar::floor_divide, T, FloorDivision>;
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
  add_ops(t, scalar::binary_ops{}, 1);
  using frequent = scalar::op_list<scalar::add, scalar::sub, scalar::mul, scalar::div>;
  add_constants<float>(t, frequent{});
  add_constants<double>(t, frequent{});
  if constexpr (math::has_fma) {
    add_modulo<float>(t);
    add_modulo<double>(t);
  }
}

}  // namespace fc::cpu::FC_ISA
