// SPDX-License-Identifier: Apache-2.0
// What backends/cpu registers; called once by cpu::register_cpu.
#pragma once
#include "facula/backend.h"

namespace facula::cpu {

void register_cpu();  // everything below
void register_families();
void register_conv();
void register_pool();

// The families, one file each.
void reduce(void*, const fc_reduce& call);

}  // namespace facula::cpu
