// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled once per instruction set (baseline, AVX2, AVX-512): the files in isa/. Each set fills one
// KernelTable; core/cpu.h decides once which one is used.
#pragma once
#include "backends/cpu/walk.h"
#include "facula/backend.h"

namespace facula::cpu {

struct MapKernel {
  TileFn fn = nullptr;
  DType result = DType::Undefined;  // the type the kernel writes
  int16_t cost = 1;
};

struct KernelTable {
  MapKernel map[FC_MAP_COUNT][kDTypeSlots];  // by opcode and compute type; float32 stands for reduced types
  CastFn cast[kDTypeSlots][kDTypeSlots];
};

// Each is defined by one build of isa/*.cpp.
#define FC_DECLARE(isa)                       \
  namespace isa {                             \
  void fill_unary(KernelTable& t);            \
  void fill_math(KernelTable& t);             \
  void fill_binary(KernelTable& t);           \
  void fill_compare(KernelTable& t);          \
  void fill_ternary(KernelTable& t);          \
  void fill_cast(KernelTable& t);             \
  }
FC_DECLARE(baseline)
FC_DECLARE(avx2)
FC_DECLARE(avx512)
#undef FC_DECLARE

const KernelTable& kernels();

}  // namespace facula::cpu
