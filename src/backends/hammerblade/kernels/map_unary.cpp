// SPDX-License-Identifier: Apache-2.0
// Signs, and what is asked of a number.
#include "formula.h"
#include "kernels/formulas/unary.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name)
// clang-format off
#include "rows.h"
#include "facula/formulas/unary.def"
#include "facula/formulas/end.h"
// clang-format on
