// SPDX-License-Identifier: Apache-2.0
// Derivatives of activations.
#pragma once
#include "kernels/formula.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/derivative.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
