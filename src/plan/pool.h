// SPDX-License-Identifier: Apache-2.0
// Shape rules of pooling over the last two or three dimensions, shared by operators and kernels.
#pragma once
#include "define/calls.h"

namespace fc {

struct Pool {
  struct Axis {
    int64_t kernel, stride, padding, dilation, in, out;
    // How many elements of a window can lie inside the input.
    int64_t inside() const { return std::min(kernel, (in + padding - 1) / dilation + 1); }
  };
  int64_t spatial = 2;
  Axis d{1, 1, 0, 1, 1, 1}, h, w;  // images are volumes of depth 1
  Dims output;                     // sizes of the result
  MemoryFormat format = MemoryFormat::Contiguous;
};

// Of one dimension; rounds down, or up with ceil_mode unless the last window would start outside. Throws as PyTorch
// does.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation, bool ceil_mode);

// Throws as PyTorch does. `op` is the operator's name in messages.
Pool plan_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
               bool ceil_mode, int64_t spatial = 2);

// The same for adaptive pooling: an image or a volume, and as many sizes of the result as it has spatial dimensions.
void check_adaptive_pool(const char* op, const Tensor& self, IntSpan size, int64_t spatial = 2);
void check_adaptive_pool_backward(const char* op, const Tensor& grad, const Tensor& self, int64_t spatial = 2);
// Fractional pooling: windows of a fixed size in as many places as the result has; random_samples [N, C, spatial] move
// them. The result's sizes.
Dims check_fractional_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan size, const Tensor& samples,
                           int64_t spatial);
// Sizes of self with these instead of its last ones, and the layout that a pooled batch keeps.
Dims with_spatial(const Tensor& self, IntSpan size);
MemoryFormat pool_format(const Tensor& self, int64_t spatial);
// Of the indices that max_pool2d gives out on a device.
DType pool_index_type(Device device);
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
