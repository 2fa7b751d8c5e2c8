// SPDX-License-Identifier: Apache-2.0
// Formulas that half types have kernels of their own for, comparisons, and the base.
#pragma once
#include "kernels/formulas/base.h"

namespace fc::scalar {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/common.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::scalar
