// SPDX-License-Identifier: Apache-2.0
// Activations with parameters, losses, signs, divisions, derivatives.
#include "formula.h"
#include "kernels/formulas/binary.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/derivative.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/unary.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name)
#define FC_UNARY HB_FORMULA
#define FC_MATH HB_FORMULA
#define FC_BINARY HB_FORMULA
#define FC_COMPARE HB_FORMULA
#define FC_DERIVATIVE HB_FORMULA
#define FC_TERNARY HB_FORMULA
// clang-format off
#include "facula/formulas/rest.h"
#include "facula/formulas/shared.def"
#include "facula/formulas/unary.def"
#include "facula/formulas/binary.def"
#include "facula/formulas/derivative.def"
#include "facula/formulas/end.h"
// clang-format on
