// SPDX-License-Identifier: Apache-2.0
// Loops of optimiser steps over contiguous elements, compiled once per instruction set (isa/optimizer.cpp), for float32
// and float64. The pointers are in the order of the operators' lists.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"
#include "core/dtype.h"

namespace fc::cpu {

struct AdamStep {
  double rate, root;  // the learning rate and √v with the start from zero undone
  double shrink;      // of the parameter itself
  double decay;       // of the parameter, as a part of the gradient
  double beta1, beta2, eps;
  bool amsgrad, maximize;
};
struct SgdStep {
  double rate, decay, momentum, dampening;
  bool nesterov, maximize, first;  // first: the buffer begins with this gradient
};
struct AdagradStep {
  double rate, decay, eps;
  bool maximize;
};

struct OptimizerKernels {
  void (*adam)(void* const* rows, int64_t n, const void* step);     // p, g, m, v, and the largest v
  void (*sgd)(void* const* rows, int64_t n, const void* step);      // p, g, and the buffer
  void (*adagrad)(void* const* rows, int64_t n, const void* step);  // p, g, sum
  void (*scale)(void* row, int64_t n, double factor);
  bool (*all_finite)(const void* row, int64_t n);
};

FC_VARIANTS(extern const OptimizerKernels optimizer_table[2];)  // index 0 for float32, 1 for float64
inline const OptimizerKernels& optimizer_kernels(DType compute) {
  static const OptimizerKernels* const table = *FC_VARIANT(optimizer_table);
  return table[compute == DType::Float64];
}

}  // namespace fc::cpu
