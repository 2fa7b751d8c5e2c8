// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/isa/tile.h"
#include "kernels/formulas/base.h"
#include "kernels/formulas/math.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/special.h"

namespace fc::cpu::FC_ISA {
namespace {

// clang-format off
using math_ops = scalar::op_list<void
#define FC_MATH(number, name, ...) , scalar::name
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/shared.def"
#include "facula/formulas/math.def"
#include "facula/formulas/special.def"
#include "facula/formulas/end.h"
                               >;
// clang-format on

// Formulas with an argument that our own function is not made for: a chunk without one needs no test per element, and
// becomes vector code.
template <class Op, class T, class Quick, bool (*in_domain)(T)>
void limited_flat(char* const* ptr, int64_t n, const void* params) {
  constexpr int64_t chunk = 256;
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  for (int64_t from = 0; from < n; from += chunk) {
    const int64_t m = std::min(chunk, n - from);
    int outside = 0;
#pragma GCC unroll 4
    for (int64_t i = from; i < from + m; ++i) outside |= !in_domain(a[i]);
    char* const at[] = {reinterpret_cast<char*>(r + from), const_cast<char*>(reinterpret_cast<const char*>(a + from))};
    if (outside) unary_flat<Op, T>(at, m, params);
    else unary_flat<Quick, T>(at, m, params);
  }
}

// Formulas for arguments within the domain.
#define FC_QUICK(name, types, function)                         \
  struct name {                                                 \
    [[maybe_unused]] static constexpr int params = 0;           \
    [[maybe_unused]] static constexpr unsigned accepts = types; \
    template <class V, class T = math::Element<V>>              \
    FC_INLINE static V apply(V x, const T*) {                   \
      return function(x);                                       \
    }                                                           \
  };
namespace quick {
using scalar::kReal, scalar::kVectors;
FC_QUICK(sin, kReal | kVectors, math::own::sin)
FC_QUICK(cos, kReal | kVectors, math::own::cos)
FC_QUICK(tan, kReal | kVectors, math::own::tan)
FC_QUICK(sinc, kReal | kVectors, math::sinc_of_exact)
FC_QUICK(erfinv, kReal | kVectors, math::erfinv_of_central)
FC_QUICK(lgamma, kReal, math::own::lgamma_of_positive)
FC_QUICK(digamma, kReal, math::own::digamma_of_positive)
}  // namespace quick
#undef FC_QUICK

template <class Op, class T, class Quick, bool (*in_domain)(T)>
void add_limited(KernelTable& t) {
  t.map[Op::code][static_cast<int>(dtype_of<T>())].fn = limited_flat<Op, T, Quick, in_domain>;
}
template <class T>
void add_limited_of(KernelTable& t) {
  add_limited<scalar::sin, T, quick::sin, math::exact<T>>(t);
  add_limited<scalar::cos, T, quick::cos, math::exact<T>>(t);
  add_limited<scalar::tan, T, quick::tan, math::exact<T>>(t);
  add_limited<scalar::sinc, T, quick::sinc, math::exact_times_pi<T>>(t);
  add_limited<scalar::erfinv, T, quick::erfinv, math::is_central<T>>(t);
}

}  // namespace

void fill_math(KernelTable& t) {
  add_ops(t, math_ops{}, 8);
  if constexpr (math::has_fma) {
    add_limited_of<float>(t);
    add_limited_of<double>(t);
    add_limited<scalar::lgamma, float, quick::lgamma, math::own::positive>(t);
    add_limited<scalar::digamma, float, quick::digamma, math::own::positive>(t);
  }
}

}  // namespace fc::cpu::FC_ISA
