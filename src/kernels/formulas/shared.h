// SPDX-License-Identifier: Apache-2.0
// Formulas that are used by many.
#pragma once
#include "kernels/formula.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/shared.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
