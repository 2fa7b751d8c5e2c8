// SPDX-License-Identifier: Apache-2.0
// Pointwise kernels from the rows of facula/formulas: out[i] = formula(in[i]...; p), one kernel per row and element
// type.
#pragma once
#include <facula_hb/kernel.h>

#include "facula/families.h"
#include "kernels/formulas/base.h"

namespace hb {

template <class Op, class T>
constexpr bool accepted() {
  using namespace fc::math;
  using namespace fc::scalar;
  return (Op::accepts & (is_bool_v<T> ? kBool : is_real_v<T> ? kReal : kInt)) && !(Op::accepts & kWhole);
}

template <class T, int n>
struct Parameters {  // by value, so that the compiler knows the loop does not change them
  explicit Parameters(Numbers<T> from) {
    for (int i = 0; i < n; ++i) p[i] = from.data[i];
  }
  T p[n ? n : 1] = {};
};

template <class Op, class T, int arity = Op::arity>
struct Pointwise;
template <class Op, class T>
struct Pointwise<Op, T, 1> {
  using R = decltype(Op::apply(T(), static_cast<const T*>(nullptr)));
  static void kernel(Out<R> out, In<T> a, Numbers<T> numbers) {
    const Parameters<T, Op::params> k(numbers);
    map(
        out, [k](T x) { return Op::apply(x, k.p); }, a);
  }
};
template <class Op, class T>
struct Pointwise<Op, T, 2> {
  using R = decltype(Op::apply(T(), T(), static_cast<const T*>(nullptr)));
  static void kernel(Out<R> out, In<T> a, In<T> b, Numbers<T> numbers) {
    const Parameters<T, Op::params> k(numbers);
    map(
        out, [k](T x, T y) { return Op::apply(x, y, k.p); }, a, b);
  }
};
template <class Op, class T>
struct Pointwise<Op, T, 3> {
  using R = decltype(Op::apply(T(), T(), T(), static_cast<const T*>(nullptr)));
  static void kernel(Out<R> out, In<T> a, In<T> b, In<T> c, Numbers<T> numbers) {
    const Parameters<T, Op::params> k(numbers);
    map(
        out, [k](T x, T y, T z) { return Op::apply(x, y, z, k.p); }, a, b, c);
  }
};

template <class Op, class T>
int run_formula(const uint32_t* argv) {
  if constexpr (accepted<Op, T>()) return Entry<&Pointwise<Op, T>::kernel>::run(argv);
  else return 0;
}
template <class Op, class T>
constexpr Row formula_row() {
  if constexpr (accepted<Op, T>()) {
    using E = Entry<&Pointwise<Op, T>::kernel>;
    return {"", E::parameters, E::n, FC_FAMILY_MAP, Op::code, dtype_of<T>, nullptr};
  } else {
    return {"", nullptr, -1, -1, 0, 0, nullptr};
  }
}

}  // namespace hb

#define HB_FORMULA_OF_TYPE(name, T, suffix)                                    \
  HB_ENTRY(tensorlib_##name##suffix, (hb::formula_row<fc::scalar::name, T>()), \
           (hb::run_formula<fc::scalar::name, T>(argv)))
// What a row of a .def becomes, of whatever kind; the file that includes one says by HB_FORMULA_TYPES for which types.
#define HB_FORMULA(number, name, ...) HB_FORMULA_TYPES(HB_FORMULA_OF_TYPE, name)
