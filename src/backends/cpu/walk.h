// SPDX-License-Identifier: Apache-2.0
// The walker drives row kernels over strided operands. It orders and merges dimensions, cuts the work into 2-D tiles,
// spreads tiles over threads, and converts operands whose type is not the kernel's in small chunks. Kernels never see
// shapes: only pointers, two strides per operand and two counts.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace facula::cpu {

inline constexpr int kMaxOperands = 5;

// pointers[k], then for element (i, j): pointers[k] + i * strides[k] + j * strides[n + k], i < n0, j < n1, where n is
// the number of operands; operand 0 is the result.
using TileFn = void (*)(char* const* pointers, const int64_t* strides, int64_t n0, int64_t n1, const void* params);
// Converts n elements between two strided rows.
using CastFn = void (*)(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n);
CastFn cast_fn(DType from, DType to);

struct WalkOperand {
  char* data;
  const int64_t* strides;  // bytes, per dimension
  DType dtype;             // as stored
  DType kernel_dtype;      // as the kernel wants it
};

struct Walk {
  int ndim;
  const int64_t* shape;
  int n_operands;
  WalkOperand operands[kMaxOperands];
  TileFn fn;
  const void* params = nullptr;
  int64_t cost = 1;  // rough nanoseconds per 8 elements; dear kernels get threads earlier
};
void walk(const Walk& w);

}  // namespace facula::cpu
