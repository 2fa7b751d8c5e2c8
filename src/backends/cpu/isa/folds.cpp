// SPDX-License-Identifier: Apache-2.0
// Reductions beyond the base: means, and sums of terms.
#include "backends/cpu/isa/fold.h"
#include "kernels/formulas/folds.h"
#include "kernels/formulas/shared_folds.h"

namespace fc::cpu::FC_ISA {

void fill_folds(KernelTable& t) {
#define FC_SUM(number, name, ...) add_fold<folds::name>(t);
#define FC_MEAN FC_SUM
#define FC_FOLD FC_SUM
#include "facula/formulas/rest.h"
//
#include "facula/formulas/folds.def"
#include "facula/formulas/shared_folds.def"
//
#include "facula/formulas/end.h"
}

}  // namespace fc::cpu::FC_ISA
