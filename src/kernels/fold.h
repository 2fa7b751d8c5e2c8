// SPDX-License-Identifier: Apache-2.0
// From a row of facula/formulas/*folds.def to a struct: the opcode it implements, the element types it is made for, the
// value of an empty reduction, `term`, which is taken of every element, and `join` of two partial results. Both work on
// one number or on a vector, and `term` on tensors (facula/formulas/README.md says how bodies are written). Integers
// are folded as unsigned ones: they wrap around. Needs no library.
//
// A header of kernels/formulas has the structs of one .def.
#pragma once
#include "kernels/formula.h"

namespace fc::folds {

using namespace scalar;

// Beside the types that a fold is made for:
inline constexpr unsigned kShifted = 128;  // a term needs the shift of its result, too
inline constexpr unsigned kByParts = 256;  // complex numbers may be folded part by part

struct Plain {
  static constexpr bool is_sum = false, is_mean = false, is_extreme = false;
  template <class V>
  FC_INLINE static V term(V x, V) {
    return x;
  }
};

// A sum of bool counts: its partial results are 64-bit integers.
struct Sum : Plain {
  static constexpr bool is_sum = true;
  static constexpr int identity = 0;
  template <class V>
  FC_INLINE static V join(V a, V b) {
    return a + b;
  }
};
struct Mean : Sum {  // the sum, divided by the number of terms in the end
  static constexpr bool is_mean = true;
};

// Fold::replaces(a, b): whether b is chosen rather than a, which came before it. A NaN is chosen over every number.
template <class Fold>
struct Extreme : Plain {
  static constexpr bool is_extreme = true;
  template <class V>
  FC_INLINE static V pick(V a, V b) {  // of numbers that are no NaN
    return Fold::replaces(a, b) ? b : a;
  }
  template <class V>
  FC_INLINE static V join(V a, V b) {
    if constexpr (is_real_v<V>) return (Fold::replaces(a, b) | (b != b)) ? b : a;
    else return pick(a, b);
  }
  template <class T>
  FC_INLINE static bool moves(T a, T b) {  // the same where the first of equals keeps its place
    if constexpr (is_real_v<T>) return Fold::replaces(a, b) | ((b != b) & (a == a));
    else return Fold::replaces(a, b);
  }
};

}  // namespace fc::folds
