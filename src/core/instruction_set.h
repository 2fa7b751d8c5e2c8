// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use. Decided once, at first use: what this machine has, unless
// FACULA_CPU_CAPABILITY (or PyTorch's ATEN_CPU_CAPABILITY) asks for less: "default", "avx2", "avx512".
#pragma once
#include <cstdint>
#include <string>

namespace fc {

enum class CpuLevel { Baseline, AVX2, AVX512 };

CpuLevel cpu_level();          // the one in use
CpuLevel cpu_level_present();  // the best that machine and build have
const char* cpu_capability();  // "DEFAULT", "AVX2" or "AVX512", as PyTorch names them
std::string cpu_model();       // the machine's own words, "" if unknown

// How this thread rounds and what it does with denormal numbers. Workers take over their caller's, so that results do
// not depend on the number of threads.
uint64_t float_mode();
void set_float_mode(uint64_t mode);
bool set_flush_denormal(bool on);  // for this thread; false: the processor cannot

}  // namespace fc
