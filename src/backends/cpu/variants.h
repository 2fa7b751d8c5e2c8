// SPDX-License-Identifier: Apache-2.0
// Code that is compiled once per instruction set: the files in isa/. Each variant is a namespace (baseline, avx2,
// avx512); FC_VARIANTS declares something in all of them, FC_VARIANT(name) is the address of the one that this machine
// uses.
#pragma once
#include "core/instruction_set.h"

#define FC_VARIANTS(...) \
  namespace baseline {   \
  __VA_ARGS__            \
  }                      \
  namespace avx2 {       \
  __VA_ARGS__            \
  }                      \
  namespace avx512 {     \
  __VA_ARGS__            \
  }

// A build may lack variants (cmake/kernels.cmake); cpu_level() names none of those.
#if defined(FC_HAVE_AVX2)
#define FC_AVX2(name) &avx2::name
#else
#define FC_AVX2(name) &baseline::name
#endif
#if defined(FC_HAVE_AVX512)
#define FC_AVX512(name) &avx512::name
#else
#define FC_AVX512(name) &baseline::name
#endif
#define FC_VARIANT(name) ::fc::cpu::pick_variant(&baseline::name, FC_AVX2(name), FC_AVX512(name))

namespace fc::cpu {

template <class T>
T* pick_variant(T* baseline, T* avx2, T* avx512) {
  const CpuLevel level = cpu_level();
  return level == CpuLevel::AVX512 ? avx512 : level == CpuLevel::AVX2 ? avx2 : baseline;
}

}  // namespace fc::cpu
