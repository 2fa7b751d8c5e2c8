// SPDX-License-Identifier: Apache-2.0
// Planning of reductions: dimensions, element types, the result; then one call of the device's `reduce` family.
#pragma once
#include "dispatch/family_table.h"
#include "dispatch/operator.h"

namespace fc {

using DimSet = uint64_t;  // bits of reduced dimensions

// Reads `dim`: None and the empty list mean all dimensions. Throws IndexError on a dimension out of range and
// RuntimeError on one that is named twice.
DimSet reduced_dims(const char* op, const Arg& dim, int64_t ndim);
Dims reduced_list(DimSet dims, int64_t ndim);  // the same as a list
Dims reduced_sizes(IntSpan sizes, DimSet dims, bool keepdim);
int64_t reduced_numel(IntSpan sizes, DimSet dims);

struct ReduceRequest {
  const char* op;  // for messages: "sum"
  int opcode;
  const Tensor& in;
  DimSet dims;
  bool keepdim = false;
  DType compute, result;
  const Tensor* shift = nullptr;  // for FC_REDUCE_sum_deviations: the result's elements, kept dimensions included
  Tensor* indices = nullptr;      // made where the position of an extreme is wanted
  bool values = true;             // false: only indices
};
// False: the device does not do this call, and nothing was computed. Reduced dimensions of size 0 give the identity;
// folds without one must be refused before.
bool try_reduce(const ReduceRequest& r, Tensor& result);

// The same for opcodes beyond the base (sums of squares, means …), by the fold's term and FC_REDUCE_sum; what
// try_reduce does for a device that lacks the opcode (decompose.cpp).
bool decompose_reduce(const ReduceRequest& r, Tensor& result);

// The gradient of a reduction's result, with its reduced dimensions back as dimensions of size 1.
Tensor restore_dims(const Tensor& g, const Arg& dim, bool keepdim, int64_t ndim);

}  // namespace fc
