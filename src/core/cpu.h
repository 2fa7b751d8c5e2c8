// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use. Decided once, at first use: what this machine has, unless
// FACULA_CPU_CAPABILITY (or PyTorch's ATEN_CPU_CAPABILITY) asks for less: "default", "avx2", "avx512".
#pragma once
#include <string>

namespace fc {

enum class CpuLevel { Baseline, AVX2, AVX512 };

CpuLevel cpu_level();          // the one in use
CpuLevel cpu_level_present();  // the best that machine and build have
const char* cpu_capability();  // "DEFAULT", "AVX2" or "AVX512", as PyTorch names them
std::string cpu_model();       // the machine's own words, "" if unknown

}  // namespace fc
