// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two operands of the base formulas, in every type that it is made for.
#include "formula.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name) HB_BOOL(X, name)
// clang-format off
#define FC_BINARY HB_FORMULA
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/end.h"
// clang-format on
