// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu.h"

namespace facula::cpu {

void register_cpu() { register_families(); }

}  // namespace facula::cpu
