// SPDX-License-Identifier: Apache-2.0
// Elementary functions and activations of float.
#include "formula.h"
#include "kernels/formulas/math.h"

#define HB_FORMULA_TYPES(X, name) HB_FLOATS(X, name)
// clang-format off
#include "rows.h"
#include "facula/formulas/math.def"
#include "facula/formulas/end.h"
// clang-format on
