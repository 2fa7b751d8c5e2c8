// SPDX-License-Identifier: Apache-2.0
// The formulas of the base opcodes.
#pragma once
#include "kernels/formula.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/base.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
