// SPDX-License-Identifier: Apache-2.0
// Activations with parameters, signs, logarithms, and what several kinds of formulas share.
#include "formula.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/unary.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name)
// clang-format off
#include "rows.h"
#include "facula/formulas/shared.def"
#include "facula/formulas/unary.def"
#include "facula/formulas/end.h"
// clang-format on
