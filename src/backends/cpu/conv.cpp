// SPDX-License-Identifier: Apache-2.0
// Kernels of convolution and convolution_backward: oneDNN where it is there and does the type, else matrix products.
#include "backends/cpu/cpu.h"

#include "backends/cpu/onednn.h"
#include "ops/conv.h"

namespace fc::cpu {
namespace {

// Half types are computed in float32; others that oneDNN lacks are not its business.
bool by_library(const Tensor& x, const Tensor& w) {
  return (x.dtype() == DType::Float32 || x.dtype() == DType::Float16 || x.dtype() == DType::BFloat16) && x.dim() <= 5 &&
         x.numel() != 0 && w.numel() != 0 && onednn_available();
}
// Memory as the library takes it: without holes or repeated elements.
Tensor dense_float(const Tensor& t) {
  Tensor f = to_dtype(t, DType::Float32);
  return f.impl().is_dense() ? f : contiguous(f, suggest_memory_format(f));
}

bool convolve(OneDnnConvolution::Pass pass, const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& y,
              const Convolution& c) {
  return onednn_convolve({pass, x, w, b, y, c.stride, c.padding, c.dilation, c.groups});
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                   IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  const Convolution c =
      plan_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  if (by_library(input, weight) && checked_numel(c.output) != 0) {
    Tensor x = dense_float(input), w = dense_float(weight),
           b = bias.defined() ? contiguous(to_dtype(bias, DType::Float32)) : Tensor();
    Tensor out = empty_tensor(c.output, DType::Float32, Device{}, c.format);
    // A transposed convolution is the backward of the plain one that would make its input.
    bool done = transposed ? convolve(OneDnnConvolution::Data, out, w, Tensor(), x, c)
                           : convolve(OneDnnConvolution::Forward, x, w, b, out, c);
    if (done) {
      if (transposed && b.defined()) {
        Dims shape(c.output.size(), 1);
        shape[1] = b.numel();
        add_(out, view(b, shape));
      }
      return to_dtype(out, input.dtype());
    }
  }
  return convolve_by_products(input, weight, bias, c);
}

ConvGradients backward(const Tensor& grad, const Tensor& input, const Tensor& weight, std::optional<IntSpan>,
                       IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                       int64_t groups, std::span<const bool> mask) {
  const Convolution c =
      plan_convolution(input, weight, {}, stride, padding, dilation, transposed, output_padding, groups);
  FC_CHECK(Dims::same(grad.sizes(), c.output), "convolution_backward: expected grad_output of size ", IntSpan(c.output),
           ", got ", grad.sizes());
  FC_CHECK(grad.dtype() == input.dtype(), "convolution_backward: expected scalar type ", info(input.dtype()).legacy,
           " but found ", info(grad.dtype()).legacy);
  if (!by_library(input, weight) || grad.numel() == 0)
    return convolve_backward_by_products(grad, input, weight, c, mask);
  ConvGradients out;
  auto& [gi, gw, gb] = out;
  // Of the plain convolution: x is its input, y its output.
  Tensor g = dense_float(grad), in = dense_float(input), w = dense_float(weight);
  if (c.format != MemoryFormat::Contiguous) g = contiguous(g, c.format);
  bool rest[] = {mask[0], mask[1], mask[2]};
  if (mask[0]) {
    gi = empty_tensor(input.sizes(), DType::Float32, Device{}, c.format);
    rest[0] = !(transposed ? convolve(OneDnnConvolution::Forward, g, w, Tensor(), gi, c)
                           : convolve(OneDnnConvolution::Data, gi, w, Tensor(), g, c));
  }
  if (mask[1]) {
    gw = empty_tensor(weight.sizes(), DType::Float32, Device{}, suggest_memory_format(weight));
    if (mask[2] && !transposed) gb = empty_tensor(Dims{grad.size(1)}, DType::Float32, Device{});
    rest[1] = !(transposed ? convolve(OneDnnConvolution::Weights, g, gw, Tensor(), in, c)
                           : convolve(OneDnnConvolution::Weights, in, gw, gb, g, c));
    rest[2] = mask[2] && (rest[1] || transposed);
  }
  auto [ri, rw, rb] = convolve_backward_by_products(grad, input, weight, c, rest);
  if (mask[0]) gi = rest[0] ? ri : to_dtype(gi, input.dtype());
  if (mask[1]) gw = rest[1] ? rw : to_dtype(gw, input.dtype());
  if (mask[2]) gb = rest[2] ? rb : to_dtype(gb, input.dtype());
  return out;
}

}  // namespace

void register_conv() {
  find_operator("aten::convolution")->set_kernel(Device::CPU, kernel<&convolution>());
  find_operator("aten::convolution_backward")->set_kernel(Device::CPU, kernel<&backward>());
}

}  // namespace fc::cpu
