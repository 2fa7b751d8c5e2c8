// SPDX-License-Identifier: Apache-2.0
// Folds beyond the base that only a reduction of that name uses.
#pragma once
#include "kernels/fold.h"

namespace fc::folds {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/folds.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::folds
