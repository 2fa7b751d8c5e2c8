// SPDX-License-Identifier: Apache-2.0
// Special functions of one and two operands.
#pragma once
#include "kernels/formula.h"
#include "kernels/special.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/special.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
