// SPDX-License-Identifier: Apache-2.0
// What backends/cpu registers; called once by cpu::register_cpu.
#pragma once

namespace facula::cpu {

void register_cpu();  // everything below
void register_families();

}  // namespace facula::cpu
