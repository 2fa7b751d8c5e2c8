// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

#include <algorithm>

#include "core/device_record.h"
#include "dispatch/infer.h"

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
               bool ceil_mode, int64_t spatial) {
  const auto n = static_cast<size_t>(spatial);
  auto check_count = [&](IntSpan list, const char* name, bool optional) {
    FC_CHECK(list.size() == 1 || list.size() == n || (optional && list.empty()), op, ": ", name, " must either be ",
             optional ? "omitted, " : "", "a single int, or a tuple of ", n == 2 ? "two" : "three", " ints");
  };
  check_count(kernel, "kernel_size", false);
  check_count(stride, "stride", true);
  check_count(padding, "padding", false);
  check_count(dilation, "dilation", false);
  FC_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, op, ": non-empty ", spatial + 1, "D or ",
           spatial + 2, "D (batch mode) tensor expected for input, got ", self.sizes());
  if (stride.empty()) stride = kernel;
  Pool p;
  p.spatial = spatial;
  Pool::Axis* axes[] = {&p.d, &p.h, &p.w};
  Dims kernels, strides, dilations, sizes, output;
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = self.size(static_cast<int64_t>(i) - spatial), k = pick(kernel, i), s = pick(stride, i),
                  pad = pick(padding, i), d = pick(dilation, i);
    for (int64_t v : {k, s, pad, d})
      FC_CHECK(v >= INT32_MIN && v <= INT32_MAX, op, ": integer out of range: kernel_size=", k, " stride=", s,
               " padding=", pad, " dilation=", d);
    Pool::Axis& axis = *axes[3 - n + i] = Pool::Axis{k, s, pad, d, in, pooled_size(in, k, pad, s, d, ceil_mode)};
    kernels.push_back(k);
    strides.push_back(s);
    dilations.push_back(d);
    output.push_back(axis.out);
  }
  auto positive = [&](const Dims& v) { return std::all_of(v.begin(), v.end(), [](int64_t x) { return x > 0; }); };
  FC_CHECK(positive(kernels), op, ": kernel size should be greater than zero, but got ", IntSpan(kernels));
  FC_CHECK(positive(strides), op, ": stride should be greater than zero, but got ", IntSpan(strides));
  FC_CHECK(positive(dilations), op, ": dilation should be greater than zero, but got ", IntSpan(dilations));
  FC_CHECK(positive(Dims(self.sizes().last(n + 1))), op, ": Expected ", spatial + 1, "D or ", spatial + 2,
           "D (batch mode) tensor with optional 0 dim batch size for input, but got:", self.sizes());
  FC_CHECK(positive(output), op, ": Given input of size ", self.sizes(), " the calculated output size is ",
           IntSpan(output), ". Output size is too small");
  p.output = with_spatial(self, output);
  p.format = pool_format(self, spatial);
  return p;
}

Dims with_spatial(const Tensor& self, IntSpan size) {
  Dims shape(self.sizes().first(self.sizes().size() - size.size()));
  for (int64_t s : size) shape.push_back(s);
  return shape;
}
MemoryFormat pool_format(const Tensor& self, int64_t spatial) {
  return self.dim() == spatial + 2 ? suggest_memory_format(self) : MemoryFormat::Contiguous;
}

void check_adaptive_pool(const char* op, const Tensor& self, IntSpan size, int64_t spatial) {
  FC_CHECK(size.size() == static_cast<size_t>(spatial), op, ": output_size must be ", spatial);
  for (int64_t s : size)
    FC_CHECK(s >= 0, op, ": elements of output_size must be greater than or equal to 0 but received ", size);
  FC_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, op, "(): Expected ", spatial + 1, "D or ",
           spatial + 2, "D tensor, but got ", self.sizes());
  for (int64_t d = -spatial - 1; d < 0; ++d)
    FC_CHECK(self.size(d) > 0, op,
             "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(),
             " with dimension ", d + self.dim(), " being empty");
  for (size_t i = 0; i < size.size(); ++i) {  // windows are found by products of the two sizes of a dimension
    int64_t product;
    FC_CHECK(!__builtin_add_overflow(self.size(static_cast<int64_t>(i) - spatial), 1, &product) &&
                 !__builtin_mul_overflow(product, size[i], &product),
             op, ": output_size ", size, " is too large for an input of size ", self.sizes());
  }
}

void check_adaptive_pool_backward(const char* op, const Tensor& grad, const Tensor& self, int64_t spatial) {
  FC_CHECK(grad.dim() == self.dim() && grad.dtype() == self.dtype(), op, ": expected a gradient like ", self.dtype(),
           " ", self.sizes(), ", got ", grad.dtype(), " ", grad.sizes());
  check_adaptive_pool(op, self, grad.sizes().last(std::min(grad.sizes().size(), static_cast<size_t>(spatial))),
                      spatial);
  for (int64_t d = 0; d < grad.dim() - spatial; ++d)
    FC_CHECK(grad.size(d) == self.size(d), op, ": expected a gradient of the input's batch and channels ", self.sizes(),
             ", got ", grad.sizes());
}

Dims check_fractional_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan size, const Tensor& samples,
                           int64_t spatial) {
  const auto n = static_cast<size_t>(spatial);
  FC_CHECK(kernel.size() == n, op, ": kernel_size must be a tuple of ", n, " ints");
  FC_CHECK(size.size() == n, op, ": output_size must be a tuple of ", n, " ints");
  FC_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, op, ": non-empty ", spatial + 1, "D or ",
           spatial + 2, "D (batch mode) tensor expected for input, but got: ", self.sizes());
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = self.size(static_cast<int64_t>(i) - spatial);
    FC_CHECK(self.size(-spatial - 1) > 0 && in > 0, op,
             ": Expected input to have non-zero size for non-batch dimensions, but got ", self.sizes());
    FC_CHECK(kernel[i] > 0 && size[i] > 0 && kernel[i] <= in && size[i] <= in - kernel[i] + (spatial == 2), op,
             "(): kernel size ", kernel, " and output size ", size, " do not fit an input of size ", self.sizes());
  }
  const int64_t batch = self.dim() == spatial + 2 ? self.size(0) : 1;
  FC_CHECK(samples.dim() == 3 && samples.size(0) >= batch && samples.size(1) == self.size(-spatial - 1) &&
               samples.size(2) == spatial && samples.dtype() == self.dtype(),
           op, ": Expect _random_samples of type ", self.dtype(), " and size [", batch, ", ", self.size(-spatial - 1),
           ", ", spatial, "], got ", samples.dtype(), " ", samples.sizes());
  return with_spatial(self, size);
}

DType pool_index_type(Device device) {
  return has_int32_indices(device.is_meta() ? inferred_device() : device) ? DType::Int32 : DType::Int64;
}

void check_pool_backward(const char* op, const Pool& p, const Tensor& self, const Tensor& grad, const Tensor& indices) {
  FC_CHECK(Dims::same(grad.sizes(), p.output) && grad.dtype() == self.dtype(), op, ": expected a ", self.dtype(),
           " gradient of size ", IntSpan(p.output), ", got ", grad.dtype(), " ", grad.sizes());
  const bool typed =
      !indices.defined() || indices.dtype() == DType::Int64 || indices.dtype() == pool_index_type(indices.device());
  FC_CHECK(!indices.defined() || (Dims::same(indices.sizes(), p.output) && typed), op,
           ": expected int64 indices of size ", IntSpan(p.output), ", got ", indices.dtype(), " ", indices.sizes());
}

}  // namespace fc
