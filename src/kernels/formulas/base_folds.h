// SPDX-License-Identifier: Apache-2.0
// The folds of the base reductions.
#pragma once
#include "kernels/fold.h"

namespace fc::folds {
#include "kernels/formulas_begin.h"
//
#include "facula/formulas/base_folds.def"
//
#include "facula/formulas/end.h"
}  // namespace fc::folds
