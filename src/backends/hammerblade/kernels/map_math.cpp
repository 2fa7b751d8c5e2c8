// SPDX-License-Identifier: Apache-2.0
// Elementary functions and activations of float.
#include "formula.h"
#include "kernels/formulas/math.h"

#define HB_FORMULA_TYPES(X, name) HB_FLOATS(X, name)
#define FC_UNARY HB_FORMULA
#define FC_MATH HB_FORMULA
#define FC_BINARY HB_FORMULA
#define FC_COMPARE HB_FORMULA
#define FC_DERIVATIVE HB_FORMULA
#define FC_TERNARY HB_FORMULA
// clang-format off
#include "facula/formulas/rest.h"
#include "facula/formulas/math.def"
#include "facula/formulas/end.h"
// clang-format on
