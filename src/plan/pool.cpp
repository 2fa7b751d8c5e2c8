// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

namespace fc {
namespace {

int64_t pick(IntSpan list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

}  // namespace

int64_t pooled_size(int64_t in, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation, bool ceil_mode) {
  FC_CHECK(stride != 0, "stride should not be zero");
  FC_CHECK(padding >= 0, "pad must be non-negative, but got pad: ", padding);
  int64_t reach, numerator;
  FC_CHECK(!__builtin_mul_overflow(dilation, kernel - 1, &reach) && !__builtin_add_overflow(reach, 1, &reach),
           "pooling: a dilation of ", dilation, " overflows");
  FC_CHECK(in <= kMaxStride, "pooling: a dimension of size ", in, " is too large");
  FC_CHECK(padding <= reach / 2, "pad should be at most half of effective kernel size, but got pad=", padding,
           ", kernel_size=", kernel, " and dilation=", dilation);
  FC_CHECK(!__builtin_sub_overflow(in + 2 * padding, reach, &numerator), "pooling: sizes overflow");
  if (ceil_mode) numerator += stride - 1;
  int64_t out = numerator / stride - (numerator % stride != 0 && (numerator < 0) != (stride < 0)) + 1;  // rounds down
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;  // the last window must start inside
  return out;
}

Pool plan_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
               bool ceil_mode) {
  FC_CHECK(kernel.size() == 1 || kernel.size() == 2, op,
           ": kernel_size must either be a single int, or a tuple of two ints");
  FC_CHECK(stride.size() <= 2, op, ": stride must either be omitted, a single int, or a tuple of two ints");
  FC_CHECK(padding.size() == 1 || padding.size() == 2, op,
           ": padding must either be a single int, or a tuple of two ints");
  FC_CHECK(dilation.size() == 1 || dilation.size() == 2, op,
           ": dilation must be either a single int, or a tuple of two ints");
  FC_CHECK(self.dim() == 3 || self.dim() == 4, op, ": non-empty 3D or 4D (batch mode) tensor expected for input, got ",
           self.sizes());
  if (stride.empty()) stride = kernel;
  Pool p;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t in = self.size(static_cast<int64_t>(i) - 2), k = pick(kernel, i), s = pick(stride, i),
                  pad = pick(padding, i), d = pick(dilation, i);
    for (int64_t v : {k, s, pad, d})
      FC_CHECK(v >= INT32_MIN && v <= INT32_MAX, op, ": integer out of range: kernel_size=", k, " stride=", s,
               " padding=", pad, " dilation=", d);
    (i ? p.w : p.h) = Pool::Axis{k, s, pad, d, in, pooled_size(in, k, pad, s, d, ceil_mode)};
  }
  FC_CHECK(p.h.kernel > 0 && p.w.kernel > 0, op, ": kernel size should be greater than zero, but got kH: ", p.h.kernel,
           " kW: ", p.w.kernel);
  FC_CHECK(p.h.stride > 0 && p.w.stride > 0, op, ": stride should be greater than zero, but got dH: ", p.h.stride,
           " dW: ", p.w.stride);
  FC_CHECK(p.h.dilation > 0 && p.w.dilation > 0, op,
           ": dilation should be greater than zero, but got dilationH: ", p.h.dilation, " dilationW: ", p.w.dilation);
  const int64_t planes = self.size(-3);
  FC_CHECK(planes != 0 && p.h.in != 0 && p.w.in != 0, op,
           ": Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:", self.sizes());
  FC_CHECK(p.h.out >= 1 && p.w.out >= 1, op, ": Given input size: (", planes, "x", p.h.in, "x", p.w.in,
           "). Calculated output size: (", planes, "x", p.h.out, "x", p.w.out, "). Output size is too small");
  p.output = Dims(self.sizes());
  p.output[p.output.size() - 2] = p.h.out;
  p.output.back() = p.w.out;
  if (self.dim() == 4) p.format = suggest_memory_format(self);
  return p;
}

void check_adaptive_pool(const char* op, const Tensor& self, IntSpan size) {
  FC_CHECK(size.size() == 2, op, ": output_size must be 2");
  FC_CHECK(size[0] >= 0 && size[1] >= 0, op,
           ": elements of output_size must be greater than or equal to 0 but received {", size[0], ", ", size[1], "}");
  FC_CHECK(self.dim() == 3 || self.dim() == 4, op, "(): Expected 3D or 4D tensor, but got ", self.sizes());
  for (int64_t d : {-3, -2, -1})
    FC_CHECK(self.size(d) > 0, op,
             "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(),
             " with dimension ", d + self.dim(), " being empty");
  for (size_t i : {0, 1}) {  // windows are found by products of the two sizes of a dimension
    int64_t product;
    FC_CHECK(!__builtin_add_overflow(self.size(static_cast<int64_t>(i) - 2), 1, &product) &&
                 !__builtin_mul_overflow(product, size[i], &product),
             op, ": output_size ", size, " is too large for an input of size ", self.sizes());
  }
}

void check_adaptive_pool_backward(const Tensor& grad, const Tensor& self) {
  const char* op = "adaptive_avg_pool2d_backward";
  FC_CHECK(grad.dim() == self.dim() && grad.dtype() == self.dtype(), op, ": expected a gradient like ", self.dtype(),
           " ", self.sizes(), ", got ", grad.dtype(), " ", grad.sizes());
  check_adaptive_pool(op, self, grad.sizes().last(std::min<size_t>(grad.sizes().size(), 2)));
  for (int64_t d = 0; d < grad.dim() - 2; ++d)
    FC_CHECK(grad.size(d) == self.size(d), op, ": expected a gradient of the input's batch and channels ", self.sizes(),
             ", got ", grad.sizes());
}

void check_pool_backward(const char* op, const Pool& p, const Tensor& self, const Tensor& grad, const Tensor& indices) {
  FC_CHECK(Dims::same(grad.sizes(), p.output) && grad.dtype() == self.dtype(), op, ": expected a ", self.dtype(),
           " gradient of size ", IntSpan(p.output), ", got ", grad.dtype(), " ", grad.sizes());
  FC_CHECK(!indices.defined() || (Dims::same(indices.sizes(), p.output) && indices.dtype() == DType::Int64), op,
           ": expected int64 indices of size ", IntSpan(p.output), ", got ", indices.dtype(), " ", indices.sizes());
}

}  // namespace fc
