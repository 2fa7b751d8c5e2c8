// SPDX-License-Identifier: Apache-2.0
// Formulas of two operands, and derivatives.
#include "formula.h"
#include "kernels/formulas/binary.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/derivative.h"
#include "kernels/formulas/shared.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name)
// clang-format off
#include "rows.h"
#include "facula/formulas/binary.def"
#include "facula/formulas/derivative.def"
#include "facula/formulas/end.h"
// clang-format on
