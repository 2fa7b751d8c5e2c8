// SPDX-License-Identifier: Apache-2.0
// Row kernels of sparse products, compiled once per instruction set (isa/sparse.cpp), for float32 and float64.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"
#include "core/dtype.h"

namespace fc::cpu {

struct SparseKernels {
  // y[j] = sum over k < n of values[k] * dense[columns[k] * width + j], j < width, in order of k. Says the first k
  // whose column is not in [0, rows), or n.
  int64_t (*row)(const void* values, const int64_t* columns, int64_t n, const void* dense, int64_t rows, int64_t width,
                 void* y);
  // The sum of a[j] * b[j], j < n: in lanes, then pairwise.
  double (*dot)(const void* a, const void* b, int64_t n);
};

FC_VARIANTS(extern const SparseKernels sparse_table[2];)  // index 0 for float32, 1 for float64

}  // namespace fc::cpu
