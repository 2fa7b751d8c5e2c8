// SPDX-License-Identifier: Apache-2.0
// The walker drives kernels over strided operands. It orders and merges dimensions, cuts the work into pieces, and
// spreads them over threads. Kernels never see shapes; there are two kinds:
//   flat  n contiguous elements of each operand. What is not so in memory (strides, broadcasting, another element
//         type) passes through a small buffer on the way, so one vector loop serves every layout.
//   tile  two dimensions with any strides, for kernels that only move elements.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace fc::cpu {

inline constexpr int kMaxOperands = 5;

// pointers[k]: n elements; operand 0 is the result.
using FlatFn = void (*)(char* const* pointers, int64_t n, const void* params);
// Element (i, j) of operand k: pointers[k] + i * strides[k] + j * strides[n + k], i < n0, j < n1, where n is the number
// of operands.
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
  const void* params = nullptr;
  int64_t cost = 1;  // rough nanoseconds per 8 elements; dear kernels get threads earlier
  const FlatFn* with_constant =
      nullptr;  // flat kernels for three operands, of which the second or third is one element
};
// How many elements a thread should get at least.
inline int64_t walk_grain(int64_t cost) { return cost > 0 && cost < 32768 ? 32768 / cost : 1; }
void walk(const Walk& w, FlatFn fn);
void walk(const Walk& w, TileFn fn);  // operands are not converted

}  // namespace fc::cpu
