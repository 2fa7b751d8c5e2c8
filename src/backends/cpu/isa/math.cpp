// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {

void fill_math(KernelTable& t) { add_ops(t, scalar::math_ops{}, 16); }

}  // namespace fc::cpu::FC_ISA
