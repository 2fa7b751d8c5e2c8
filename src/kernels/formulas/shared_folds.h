// SPDX-License-Identifier: Apache-2.0
// Folds beyond the base that are used by many.
#pragma once
#include "kernels/fold.h"

namespace fc::folds {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/shared_folds.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::folds
