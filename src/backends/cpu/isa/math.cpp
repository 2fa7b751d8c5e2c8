// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {
namespace {

// sin, cos, tan: a chunk without huge arguments needs no test per element, and becomes vector code.
template <class Op, class T, T (*fn)(T)>
void periodic_flat(char* const* ptr, int64_t n, const void* params) {
  constexpr int64_t chunk = 256;
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  for (int64_t from = 0; from < n; from += chunk) {
    const int64_t m = std::min(chunk, n - from);
    int huge = 0;
    for (int64_t i = from; i < from + m; ++i) huge |= !math::exact(a[i]);
    if (huge) {
      char* const at[] = {reinterpret_cast<char*>(r + from),
                          const_cast<char*>(reinterpret_cast<const char*>(a + from))};
      unary_flat<Op, T>(at, m, params);
      continue;
    }
    FC_IVDEP
    for (int64_t i = from; i < from + m; ++i) r[i] = fn(a[i]);
  }
}

template <class T>
void add_periodic(KernelTable& t) {
  const int type = static_cast<int>(dtype_of<T>());
  t.map[FC_MAP_sin][type].fn = periodic_flat<scalar::sin, T, math::own::sin<T>>;
  t.map[FC_MAP_cos][type].fn = periodic_flat<scalar::cos, T, math::own::cos<T>>;
  t.map[FC_MAP_tan][type].fn = periodic_flat<scalar::tan, T, math::own::tan<T>>;
}

}  // namespace

void fill_math(KernelTable& t) {
  add_ops(t, scalar::math_ops{}, 8);
  if constexpr (math::has_fma) {
    add_periodic<float>(t);
    add_periodic<double>(t);
  }
}

}  // namespace fc::cpu::FC_ISA
