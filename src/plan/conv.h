// SPDX-License-Identifier: Apache-2.0
// Convolutions of any number of spatial dimensions, and their form in matrix products: what a device without a kernel
// of its own runs, and what the CPU runs for types that its library does not do.
#pragma once
#include "define/calls.h"

namespace fc {

// A checked call: lists have one entry per spatial dimension.
struct Convolution {
  Dims stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
  Dims output;  // sizes of the result
  MemoryFormat format = MemoryFormat::Contiguous;
};

// Throws as PyTorch does when shapes, types or parameters do not fit.
Convolution plan_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                             IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                             int64_t groups);

// What convolution_backward takes besides: a gradient of the result's sizes and the input's type, and three flags.
void check_convolution_backward(const Convolution& c, const Tensor& grad, const Tensor& input,
                                std::span<const bool> mask);

Tensor convolve_by_products(const Tensor& input, const Tensor& weight, const Tensor& bias, const Convolution& c);

using ConvGradients = std::tuple<Tensor, Tensor, Tensor>;  // of input, weight, bias; undefined where not asked for
ConvGradients convolve_backward_by_products(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                            const Convolution& c, std::span<const bool> mask);

// What the named forms, unfold and fold use too. Lists have one entry per spatial dimension.
inline IntSpan spatial(const Tensor& t) { return t.sizes().subspan(2); }
Dims expand_parameter(const char* name, IntSpan given, size_t n);  // one value stands for n; throws on another count
int64_t kernel_reach(int64_t kernel, int64_t dilation);            // dilation * (kernel - 1) + 1, checked
int64_t padded_size(int64_t size, int64_t padding);                // size + 2 * padding, checked
Tensor pad_with_zeros(const Tensor& x, IntSpan padding);
// The windows that a kernel sees, as a view of padded memory: [batch, groups, channels / groups, kernel…, positions…].
Tensor sliding_windows(const Tensor& padded, IntSpan kernel, IntSpan positions, const Convolution& c);
// out[window k] += from[…, k…, …] for every element k of the kernel: `windows` is a view of out, and `from` has its
// shape.
void add_windows(const Tensor& windows, const Tensor& from, IntSpan kernel);

}  // namespace fc
