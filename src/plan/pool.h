// SPDX-License-Identifier: Apache-2.0
// Shape rules of pooling over the last two dimensions, shared by operators and kernels.
#pragma once
#include "define/calls.h"

namespace fc {

struct Pool {
  struct Axis {
    int64_t kernel, stride, padding, dilation, in, out;
    // How many elements of a window can lie inside the input.
    int64_t inside() const { return std::min(kernel, (in + padding - 1) / dilation + 1); }
  };
  Axis h, w;
  Dims output;  // sizes of the result
  MemoryFormat format = MemoryFormat::Contiguous;
};

// Of one dimension; rounds down, or up with ceil_mode unless the last window would start outside. Throws as PyTorch
// does.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation, bool ceil_mode);

// Throws as PyTorch does. `op` is the operator's name in messages.
Pool plan_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
               bool ceil_mode);

// The same for adaptive pooling: an image, and two sizes of the result.
void check_adaptive_pool(const char* op, const Tensor& self, IntSpan size);
void check_adaptive_pool_backward(const Tensor& grad, const Tensor& self);
// For backward operators: throws unless grad (and indices, where there are any) are of the result's sizes, and of the
// types that the kernels read.
void check_pool_backward(const char* op, const Pool& p, const Tensor& self, const Tensor& grad, const Tensor& indices);

// In pointwise operators, for devices without kernels (pool_decomposition.cpp).
std::tuple<Tensor, Tensor> max_pool_decomposition(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                                                  IntSpan dilation, bool ceil_mode);
Tensor max_pool_backward_decomposition(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride,
                                       IntSpan padding, IntSpan dilation, bool ceil_mode, const Tensor& indices);
Tensor avg_pool_decomposition(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode,
                              bool include_pad, std::optional<int64_t> divisor);
Tensor avg_pool_backward_decomposition(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride,
                                       IntSpan padding, bool ceil_mode, bool include_pad,
                                       std::optional<int64_t> divisor);
Tensor adaptive_decomposition(const Tensor& self, IntSpan size);
Tensor adaptive_backward_decomposition(const Tensor& grad, const Tensor& self);

// Adaptive pooling: the window of place i covers [first, last).
inline int64_t adaptive_first(int64_t i, int64_t out, int64_t in) { return i / out * in + i % out * in / out; }
inline int64_t adaptive_last(int64_t i, int64_t out, int64_t in) { return ((i + 1) * in + out - 1) / out; }

}  // namespace fc
