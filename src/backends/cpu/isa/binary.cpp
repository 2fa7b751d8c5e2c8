// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {

void fill_binary(KernelTable& t) { add_ops(t, scalar::binary_ops{}, 1); }

}  // namespace fc::cpu::FC_ISA
