// SPDX-License-Identifier: Apache-2.0
// Kernels of convolution and convolution_backward: our own for depthwise ones and for 3 x 3 kernels over many channels,
// oneDNN where it is there and does the type, else matrix products. A forced library (blas_choice.h) does all of them:
// oneDNN as convolutions, others as products.
#include "backends/cpu/register.h"

#include <algorithm>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/depthwise.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/product.h"
#include "backends/cpu/winograd.h"
#include "core/threads.h"
#include "plan/conv.h"

namespace fc::cpu {
namespace {

// Types that oneDNN lacks are not its business.
bool by_library(const Tensor& x, const Tensor& w) {
  return (x.dtype() == DType::Float32 || x.dtype() == DType::Float16 || x.dtype() == DType::BFloat16) && x.dim() <= 5 &&
         x.numel() != 0 && w.numel() != 0 && onednn_available() && blas_choice().allows(Engine::OneDnn);
}
// What the library computes in: half types only where the processor does, otherwise float32.
DType library_type(DType t) { return onednn_computes(t) ? t : DType::Float32; }
// Memory as the library takes it: without holes or repeated elements.
Tensor dense(const Tensor& t, DType type) {
  Tensor f = to_dtype(t, type);
  return f.impl().is_dense() ? f : contiguous(f, suggest_memory_format(f));
}

bool convolve(OneDnnConvolution::Pass pass, const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& y,
              const Convolution& c) {
  return onednn_convolve({pass, x, w, b, y, c.stride, c.padding, c.dilation, c.groups});
}

// --- depthwise
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t kBand = 6144;          // floats of buffer that stay in the first cache
constexpr int64_t kLargestBand = 65536;  // for one output row; beyond that the library is better

struct Depthwise {
  DepthwisePlane plane{};
  int64_t rows = 0, bands = 0;  // output rows per band, bands per plane
};
// What plain 1-D and 2-D convolutions with one input channel per group look like; bands 0: it is not one of them.
Depthwise plan_depthwise(const Tensor& x, const Tensor& w, IntSpan y, const Convolution& c) {
  Depthwise d;
  if (c.transposed || c.groups != x.size(1) || w.size(1) != 1 || x.dim() > 4 || x.dtype() != DType::Float32 ||
      c.format != MemoryFormat::Contiguous || x.numel() == 0 || w.numel() == 0 || checked_numel(y) == 0 ||
      !blas_choice().allows(Engine::Facula))
    return d;
  auto axis = [&](size_t i) {
    return DepthwiseAxis{x.sizes()[i + 2], y[i + 2], w.sizes()[i + 2], c.stride[i], c.padding[i], c.dilation[i]};
  };
  DepthwisePlane& p = d.plane;
  p.y = x.dim() == 4 ? axis(0) : DepthwiseAxis{1, 1, 1, 1, 0, 1};
  p.x = axis(c.stride.size() - 1);
  // The library computes several channels at once, in a layout of its own: better for small images, and where the
  // copies it takes stay in the caches.
  const bool common = p.y.kernel == 3 && p.x.kernel == 3 && p.y.stride == 1 && p.x.stride == 1;
  if (onednn_available() && (p.x.out < 24 || (!common && x.numel() < 1 << 20))) return d;
  const int64_t reach_y = (p.y.kernel - 1) * p.y.dilation + 1;
  if (p.x.stride > kDepthwiseStride || p.x.kernel > kDepthwiseKernel || p.y.stride > kLargestBand ||
      p.x.out > kLargestBand || (p.x.kernel - 1) * p.x.dilation > kLargestBand || reach_y > kLargestBand ||
      p.row() * reach_y > kLargestBand)
    return d;
  // Overlapping rows are copied once per band: a band is at least as high as the overlap.
  const int64_t fits = (kBand / p.row() - reach_y) / p.y.stride + 1;
  d.rows = std::min(std::max(fits, ceil_div(reach_y, p.y.stride)), p.y.out);
  if (((d.rows - 1) * p.y.stride + reach_y) * p.row() > 2 * kLargestBand) return d;
  d.bands = ceil_div(p.y.out, d.rows);
  return d;
}

size_t buffer_bytes(const Depthwise& d) {
  DepthwisePlane p = d.plane;
  p.last = d.rows;
  return static_cast<size_t>(p.rows() * p.row() + 16) * sizeof(float);
}
int64_t grain(const Depthwise& d) {  // bands per thread at least
  return std::max<int64_t>(16384 / (d.rows * d.plane.x.out * d.plane.y.kernel * d.plane.x.kernel), 1);
}

Tensor depthwise_forward(const Depthwise& d, const Tensor& x, const Tensor& w, const Tensor& b, IntSpan sizes) {
  Tensor y = empty_tensor(sizes, DType::Float32, Device{});
  const DepthwiseKernels& k = *FC_VARIANT(depthwise_table);
  const float *in = x.data_as<float>(), *weight = w.data_as<float>(),
              *bias = b.defined() ? b.data_as<float>() : nullptr;
  auto* out = y.data_as<float>();
  const int64_t channels = y.size(1), times = channels / x.size(1), in_plane = d.plane.y.in * d.plane.x.in,
                out_plane = d.plane.y.out * d.plane.x.out, taps = d.plane.y.kernel * d.plane.x.kernel;
  parallel_for(0, y.size(0) * channels * d.bands, grain(d), [&](int64_t from, int64_t to) {
    DepthwisePlane p = d.plane;
    auto* buffer = static_cast<float*>(product_workspace(buffer_bytes(d)));
    for (int64_t i = from; i < to; ++i) {
      const int64_t plane = i / d.bands, channel = plane % channels;
      p.first = i % d.bands * d.rows;
      p.last = std::min(p.first + d.rows, p.y.out);
      p.in = in + plane / times * in_plane;
      k.forward(p, weight + channel * taps, bias ? bias[channel] : 0, out + plane * out_plane, buffer);
    }
  });
  return y;
}
// Of a convolution with stride 1: a convolution of the gradient with the mirrored kernel.
Tensor depthwise_input_gradient(const Tensor& g, const Tensor& w, const Tensor& x, const Convolution& c) {
  if (w.size(0) != x.size(1)) return {};
  Convolution back = c;
  Dims spatial;
  for (size_t i = 0; i < c.stride.size(); ++i) {
    back.padding[i] = (w.sizes()[i + 2] - 1) * c.dilation[i] - c.padding[i];
    if (back.padding[i] < 0) return {};
    spatial.push_back(static_cast<int64_t>(i) + 2);
  }
  Depthwise d = plan_depthwise(g, w, x.sizes(), back);
  if (!d.bands) return {};
  return depthwise_forward(d, contiguous(g), call<"aten::flip", Tensor>(w, spatial), Tensor(), x.sizes());
}
Tensor depthwise_weight_gradient(const Depthwise& d, const Tensor& g, const Tensor& x, IntSpan sizes) {
  Tensor dw = zeros(sizes, DType::Float32, Device{});
  const DepthwiseKernels& k = *FC_VARIANT(depthwise_table);
  const float *in = x.data_as<float>(), *grad = g.data_as<float>();
  auto* out = dw.data_as<float>();
  const int64_t channels = g.size(1), times = channels / x.size(1), in_plane = d.plane.y.in * d.plane.x.in,
                out_plane = d.plane.y.out * d.plane.x.out, taps = d.plane.y.kernel * d.plane.x.kernel;
  parallel_for(0, channels, std::max<int64_t>(grain(d) / (x.size(0) * d.bands), 1), [&](int64_t from, int64_t to) {
    DepthwisePlane p = d.plane;
    auto* buffer = static_cast<float*>(product_workspace(buffer_bytes(d)));
    for (int64_t channel = from; channel < to; ++channel)
      for (int64_t i = 0; i < x.size(0) * d.bands; ++i) {
        const int64_t plane = i / d.bands * channels + channel;
        p.first = i % d.bands * d.rows;
        p.last = std::min(p.first + d.rows, p.y.out);
        p.in = in + plane / times * in_plane;
        k.weights(p, grad + plane * out_plane, out + channel * taps, buffer);
      }
  });
  return dw;
}

// --- operators
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                   IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  const Convolution c =
      plan_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  if (Depthwise d = plan_depthwise(input, weight, c.output, c); d.bands)
    return depthwise_forward(d, contiguous(input), contiguous(weight), bias.defined() ? contiguous(bias) : bias,
                             c.output);
  if (Tensor y = winograd_forward(input, weight, bias, c); y.defined()) return y;
  if (by_library(input, weight) && checked_numel(c.output) != 0) {
    const DType type = library_type(input.dtype());
    Tensor x = dense(input, type), w = dense(weight, type),
           b = bias.defined() ? contiguous(to_dtype(bias, type)) : Tensor();
    Tensor out = empty_tensor(c.output, type, Device{}, c.format);
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
  check_convolution_backward(c, grad, input, mask);
  ConvGradients out;
  auto& [gi, gw, gb] = out;
  bool rest[] = {mask[0], mask[1], mask[2]};
  // With larger strides the library's gradients are faster.
  const bool every = std::ranges::all_of(c.stride, [](int64_t s) { return s == 1; });
  if (Depthwise d = plan_depthwise(input, weight, c.output, c); d.bands && every) {
    Tensor g = contiguous(grad);
    if (mask[0]) gi = depthwise_input_gradient(g, contiguous(weight), input, c);
    if (mask[1]) gw = depthwise_weight_gradient(d, g, contiguous(input), weight.sizes());
    rest[0] = mask[0] && !gi.defined();
    rest[1] = false;
  }
  if (rest[0]) {
    gi = winograd_input_gradient(grad, input, weight, c);
    rest[0] = !gi.defined();
  }
  if (rest[1]) {
    gw = winograd_weight_gradient(grad, input, weight, c);
    rest[1] = !gw.defined();
  }
  // Of the plain convolution: x is its input, y its output.
  if ((rest[0] || rest[1]) && by_library(input, weight) && grad.numel() != 0) {
    const DType type = library_type(input.dtype());
    Tensor g = dense(grad, type), in = dense(input, type), w = dense(weight, type);
    if (c.format != MemoryFormat::Contiguous) g = contiguous(g, c.format);
    if (rest[0]) {
      gi = empty_tensor(input.sizes(), type, Device{}, c.format);
      rest[0] = !(transposed ? convolve(OneDnnConvolution::Forward, g, w, Tensor(), gi, c)
                             : convolve(OneDnnConvolution::Data, gi, w, Tensor(), g, c));
    }
    if (rest[1]) {
      gw = empty_tensor(weight.sizes(), type, Device{}, suggest_memory_format(weight));
      if (mask[2] && !transposed) gb = empty_tensor(Dims{grad.size(1)}, type, Device{});
      rest[1] = !(transposed ? convolve(OneDnnConvolution::Weights, g, gw, Tensor(), in, c)
                             : convolve(OneDnnConvolution::Weights, in, gw, gb, g, c));
      rest[2] = mask[2] && (rest[1] || transposed);
    }
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
