// SPDX-License-Identifier: Apache-2.0
// Rectifiers and roundings.
#include "formula.h"
#include "kernels/formulas/common.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name) HB_BOOL(X, name)
// clang-format off
#define FC_UNARY HB_FORMULA
#define FC_MATH HB_FORMULA
#include "facula/formulas/rest.h"
#include "facula/formulas/common.def"
#include "facula/formulas/end.h"
// clang-format on
