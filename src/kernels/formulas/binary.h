// SPDX-License-Identifier: Apache-2.0
// Formulas of two operands.
#pragma once
#include "kernels/formula.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/binary.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
