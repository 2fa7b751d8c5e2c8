// SPDX-License-Identifier: Apache-2.0
// Cheap formulas of one operand.
#pragma once
#include "kernels/formula.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/unary.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
