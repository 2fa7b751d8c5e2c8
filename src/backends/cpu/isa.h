// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled once per instruction set (baseline, AVX2, AVX-512): the files in isa/. Each set fills one
// KernelTable; core/instruction_set.h decides once which one is used.
#pragma once
#include "backends/cpu/variants.h"
#include "backends/cpu/walk.h"
#include "facula/families.h"

// The loop below carries nothing from one turn to the next.
#if defined(__clang__)
#define FC_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FC_IVDEP _Pragma("GCC ivdep")
#endif

namespace fc::cpu {

struct MapKernel {
  FlatFn fn = nullptr;
  DType result = DType::Undefined;  // the type the kernel writes
  int16_t cost = 1;
  FlatFn with_numbers = nullptr;  // half types only: the last `numbers` operands are float32
  int16_t numbers = 0;
  FlatFn with_constant[2] = {};  // frequent formulas of two operands: one for all elements is the first, the second
};

// Folds of blocks: at most kReduceRow elements of a row (of bytes more), or kReduceRows rows of columns that lie side
// by side. The shift, where a fold has one, is one element per result.
inline constexpr int64_t kReduceRow = 4096, kReduceRows = 64;
struct ReduceKernel {
  // out[j] = fold over i < n of in[j * row + i * stride], for j < n_rows
  void (*rows)(const char* in, int64_t row, int64_t n_rows, int64_t stride, int64_t n, char* out,
               const char* shift) = nullptr;
  // out[j] = fold over i < n of in[i * row + j], for j < m
  void (*columns)(const char* in, int64_t row, int64_t n, int64_t m, char* out, const char* shift) = nullptr;
  void (*combine)(char* a, const char* b, int64_t m) = nullptr;  // a[j] = a[j] with b[j], for j < m
  void (*finish)(char* a, int64_t m, int64_t count) = nullptr;   // once at the end, with the number of terms
  DType partial = DType::Undefined;                              // the type of out, a and b
};
// Extremes with their place; base 0 starts afresh, otherwise value and index go on.
struct ArgReduceKernel {
  void (*row)(const char* in, int64_t stride, int64_t n, int64_t base, char* value, int64_t* index) = nullptr;
  void (*columns)(const char* in, int64_t row, int64_t n, int64_t m, int64_t base, char* value,
                  int64_t* index) = nullptr;
  void (*combine)(char* value, int64_t* index, const char* later, const int64_t* later_index, int64_t m) = nullptr;
};

// Random words to numbers. n: results, for normals a multiple of 16; a double takes two words.
struct RandomKernels {
  void (*uniform_float)(const uint32_t* words, float* out, int64_t n, float from, float to) = nullptr;
  void (*uniform_double)(const uint32_t* words, double* out, int64_t n, double from, double to) = nullptr;
  void (*normal_float)(const uint32_t* words, float* out, int64_t n, float mean, float std_dev) = nullptr;
  void (*normal_double)(const uint32_t* words, double* out, int64_t n, double mean, double std_dev) = nullptr;
};

// Room for map_opcode_count() and reduce_opcode_count(): a new opcode need not rebuild every kernel.
inline constexpr int kMapOpcodes = 256, kReduceOpcodes = 32;
struct KernelTable {
  // By opcode and compute type. float32 stands for half types, which have a few kernels of their own beside.
  MapKernel map[kMapOpcodes][kDTypeSlots];
  CastFn cast[kDTypeSlots][kDTypeSlots];
  ReduceKernel reduce[kReduceOpcodes][kDTypeSlots];  // by compute type
  ArgReduceKernel arg_reduce[2][kDTypeSlots];        // 0: max, 1: min
  RandomKernels random;
};

// The files of isa/ that fill a part of the table, each with fill_NAME.
#define FC_KERNEL_FILES(X) \
  X(unary) X(math) X(binary) X(compare) X(ternary) X(half) X(cast) X(reduce) X(folds) X(extremes) X(random)
#define FC_DECLARE(name) FC_VARIANTS(void fill_##name(KernelTable& t);)
FC_KERNEL_FILES(FC_DECLARE)
#undef FC_DECLARE

// Completes the table of conversions with those that take a step through another type (backends/cpu/cast.cpp).
void add_indirect_casts(KernelTable& t);

const KernelTable& kernels();

}  // namespace fc::cpu
