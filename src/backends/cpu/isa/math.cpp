// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {
namespace {

// Formulas with an argument that our own function is not made for: a chunk without one needs no test per element, and
// becomes vector code.
template <class Op, class T, T (*fn)(T), bool (*in_domain)(T)>
void limited_flat(char* const* ptr, int64_t n, const void* params) {
  constexpr int64_t chunk = 256;
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  for (int64_t from = 0; from < n; from += chunk) {
    const int64_t m = std::min(chunk, n - from);
    int outside = 0;
    for (int64_t i = from; i < from + m; ++i) outside |= !in_domain(a[i]);
    if (outside) {
      char* const at[] = {reinterpret_cast<char*>(r + from),
                          const_cast<char*>(reinterpret_cast<const char*>(a + from))};
      unary_flat<Op, T>(at, m, params);
      continue;
    }
    FC_IVDEP
    for (int64_t i = from; i < from + m; ++i) r[i] = fn(a[i]);
  }
}

template <class Op, class T, T (*fn)(T), bool (*in_domain)(T)>
void add_limited(KernelTable& t) {
  t.map[Op::code][static_cast<int>(dtype_of<T>())].fn = limited_flat<Op, T, fn, in_domain>;
}
template <class T>
void add_limited_of(KernelTable& t) {
  add_limited<scalar::sin, T, math::own::sin<T>, math::exact<T>>(t);
  add_limited<scalar::cos, T, math::own::cos<T>, math::exact<T>>(t);
  add_limited<scalar::tan, T, math::own::tan<T>, math::exact<T>>(t);
  add_limited<scalar::erfinv, T, math::erfinv_of_central<T>, math::is_central<T>>(t);
}

}  // namespace

void fill_math(KernelTable& t) {
  add_ops(t, scalar::math_ops{}, 8);
  if constexpr (math::has_fma) {
    add_limited_of<float>(t);
    add_limited_of<double>(t);
    add_limited<scalar::lgamma, float, math::own::lgamma_of_positive, math::own::positive>(t);
    add_limited<scalar::digamma, float, math::own::digamma_of_positive, math::own::positive>(t);
  }
}

}  // namespace fc::cpu::FC_ISA
