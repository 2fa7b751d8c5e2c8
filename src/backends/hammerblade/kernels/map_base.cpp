// SPDX-License-Identifier: Apache-2.0
// The base formulas of one operand, in every type that they are made for; and the choice between two operands.
#include "facula/opcodes/base.h"
#include "formula.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name) HB_BOOL(X, name)
// clang-format off
#define FC_UNARY HB_FORMULA
#define FC_MATH HB_FORMULA
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/end.h"
// clang-format on

namespace {

template <class T>
void where(hb::Out<T> out, hb::In<bool> condition, hb::In<T> a, hb::In<T> b, hb::Numbers<T>) {
  hb::map(
      out, [](bool c, T x, T y) { return c ? x : y; }, condition, a, b);
}

}  // namespace

#define HB_WHERE(name, T, suffix) HB_FAMILY_KERNEL(tensorlib_where##suffix, &where<T>, FC_FAMILY_MAP, FC_MAP_where, T)
HB_NUMBERS(HB_WHERE, where)
HB_BOOL(HB_WHERE, where)
