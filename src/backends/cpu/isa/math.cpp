// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace facula::cpu::FC_ISA {

void fill_math(KernelTable& t) { add_ops(t, scalar::math_ops{}, 16); }

}  // namespace facula::cpu::FC_ISA
