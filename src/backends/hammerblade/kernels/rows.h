// SPDX-License-Identifier: Apache-2.0
// Directly before a .def of facula/formulas: each row is a kernel (HB_FORMULA of formula.h). No guard: the headers of
// formulas take the kinds of rows back.
#define FC_UNARY HB_FORMULA
#define FC_MATH HB_FORMULA
#define FC_BINARY HB_FORMULA
#define FC_COMPARE HB_FORMULA
#define FC_DERIVATIVE HB_FORMULA
#define FC_TERNARY HB_FORMULA
#include "facula/formulas/rest.h"
