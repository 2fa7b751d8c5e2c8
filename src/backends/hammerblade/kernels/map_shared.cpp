// SPDX-License-Identifier: Apache-2.0
// Activations with parameters, losses, divisions, powers.
#include "formula.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/shared.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name)
// clang-format off
#include "rows.h"
#include "facula/formulas/shared.def"
#include "facula/formulas/end.h"
// clang-format on
