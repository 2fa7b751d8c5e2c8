// SPDX-License-Identifier: Apache-2.0
// Comparisons and operations on bits of the base formulas, in every type that they are made for.
#include "formula.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name) HB_BOOL(X, name)
// clang-format off
#define FC_COMPARE HB_FORMULA
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/end.h"
// clang-format on
