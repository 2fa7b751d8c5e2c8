// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {

void fill_unary(KernelTable& t) { add_ops(t, scalar::unary_ops{}, 1); }

}  // namespace fc::cpu::FC_ISA
