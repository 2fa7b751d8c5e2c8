// SPDX-License-Identifier: Apache-2.0
// From a row of facula/formulas to a struct: the opcode it implements, its numbers of operands and parameters, the
// element types it is made for, and `apply` on one element (or a vector, or a tensor: facula/formulas/README.md says
// how bodies are written). Half types never appear here: they are computed in float. Needs no library.
//
// A header of kernels/formulas has the structs of one .def.
#pragma once
#include "kernels/algebra.h"

namespace fc::scalar {

// Sets of element types.
enum : unsigned {
  kBool = 1,
  kInt = 2,
  kReal = 4,
  kComplex = 8,
  kVectors = 16,  // kernels/lanes.h's vectors of real numbers, too
  kApart = 32,    // complex operands are taken apart, which tensors are not: no decomposition of these
  kWhole = 64,    // the result is of another kind: no decomposition at all
  kNumbers = kInt | kReal | kComplex,
  kAll = kBool | kNumbers,
  kOrdered = kBool | kInt | kReal,
  kFloating = kReal | kComplex,
#if defined(FC_BARE)
  kFunction = kReal
#else
  kFunction = kFloating  // the C++ library has functions of complex numbers
#endif
};

using math::is_bool_v, math::is_int_v, math::is_real_v, math::is_complex_v, math::real_t;
template <class T>
inline constexpr auto inf = math::Limits<real_t<T>>::inf;
template <class T>
inline constexpr auto nan = math::Limits<real_t<T>>::nan;

template <class... Op>
struct op_list {};

}  // namespace fc::scalar
