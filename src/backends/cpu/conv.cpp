// SPDX-License-Identifier: Apache-2.0
// Kernels of convolution and convolution_backward: our own for depthwise ones and for 3 x 3 kernels over many channels,
// oneDNN where it is there and does the type, else matrix products. A forced library (blas_choice.h) does all of them: oneDNN as convolutions, others as
// products.
#include "backends/cpu/register.h"

#include <algorithm>
#include <atomic>

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

constexpr int64_t kChunkFloats = 1 << 20, kLeastChunk = 128;
constexpr int64_t kWideBlock = 256, kDeepest = 2048;  // channels: two vectors of tiles in a block, any at all

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

// --- 3 x 3 kernels
// What Winograd's form and the plain sums cost, in vector instructions of one thread; fitted to times of both
// (docs/performance.md). Panels 0: the plain one is better, or this is no such convolution.
Winograd plan_winograd(const Tensor& x, const Tensor& w, IntSpan y, int64_t out, IntSpan padding,
                       const Convolution& c) {
  Winograd p{};
  auto all = [](IntSpan list, int64_t value) {
    return std::ranges::all_of(list, [&](int64_t v) { return v == value; });
  };
  if (x.dim() != 4 || x.dtype() != DType::Float32 || c.transposed || c.groups != 1 || w.size(2) != 3 ||
      w.size(3) != 3 || !all(c.stride, 1) || !all(c.dilation, 1) || c.format != MemoryFormat::Contiguous ||
      padding[0] > 2 || padding[1] > 2 || padding[0] < 0 || padding[1] < 0 || checked_numel(y) == 0 ||
      !blas_choice().allows(Engine::Facula))
    return p;
  const WinogradKernels& k = *FC_VARIANT(winograd_table);
  p.in = x.size(1), p.out = out;
  p.height = x.size(2), p.width = x.size(3), p.out_height = y[2], p.out_width = y[3];
  p.pad_y = padding[0], p.pad_x = padding[1];
  p.down = ceil_div(y[2], kWinogradTile), p.across = ceil_div(y[3], kWinogradTile);
  p.tiles = x.size(0) * p.down * p.across;
  p.lanes = k.lanes;
  p.vectors = p.tiles > p.lanes && p.in <= kWideBlock ? 2 : 1;
  const int64_t pieces = ceil_div(out, k.rows);
  p.rows = ceil_div(out, pieces);
  const auto in = static_cast<double>(p.in), vectors = static_cast<double>(p.blocks() * p.vectors),
             products = in * static_cast<double>(pieces * p.rows), pixels = static_cast<double>(p.tiles) * 16 / p.lanes;
  const double winograd = 36 * products * vectors + (500 * in + 450 * static_cast<double>(out)) * vectors +
                          300 * in * static_cast<double>(pieces),
               plain = 11 * in * static_cast<double>(out) * pixels + 10 * (in + static_cast<double>(out)) * pixels;
  if (in >= 16 && out >= 16 && p.in <= kDeepest && winograd < plain) p.panels = pieces;
  return p;
}

float* workspace(int64_t floats) {
  return static_cast<float*>(product_workspace(static_cast<size_t>(floats) * sizeof(float)));
}

// Undefined: the result is not finite, and the plain sums have to say where. `weight` is [out, in, 3, 3], or [in, out,
// 3, 3] and mirrored for the way back.
Tensor winograd(Winograd p, const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan sizes, bool mirrored) {
  const WinogradKernels& k = *FC_VARIANT(winograd_table);
  Tensor y = empty_tensor(sizes, DType::Float32, Device{});
  const float *in = x.data_as<float>(), *kernels = weight.data_as<float>(),
              *shift = bias.defined() ? bias.data_as<float>() : nullptr;
  auto* out = y.data_as<float>();
  const int64_t by_out = 9 * (mirrored ? 1 : p.in), by_in = 9 * (mirrored ? p.out : 1);
  auto pack = [&](int64_t panel, float* to) { k.weights(p, kernels, by_out, by_in, mirrored, panel, to); };
  std::atomic<bool> finite = true;
  auto multiply = [&](const float* packed, const float* block, int64_t b, int64_t panel, float* sums) {
    if (!k.output(p, packed, block, shift, b, panel, out, sums)) finite.store(false, std::memory_order_relaxed);
  };
  // The smaller of the two sides is transformed first, for all; the other one piece by piece, while it is in the
  // second cache.
  const bool many_tiles = p.blocks() >= p.panels;
  const int64_t blocks = p.blocks(), block_size = p.block_size(), panel_size = p.panel_size();
  Tensor first = empty_tensor(Dims{many_tiles ? p.panels * panel_size : blocks * block_size}, DType::Float32, Device{});
  auto* ready = first.data_as<float>();
  if (many_tiles) {
    parallel_for(0, p.panels, 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) pack(i, ready + i * panel_size);
    });
    parallel_for(0, blocks, 1, [&](int64_t from, int64_t to) {
      float* block = workspace(block_size + k.room_size);
      for (int64_t b = from; b < to; ++b) {
        k.input(p, in, b, 0, p.in, block);
        for (int64_t i = 0; i < p.panels; ++i) multiply(ready + i * panel_size, block, b, i, block + block_size);
      }
    });
  } else {
    parallel_for(0, blocks * p.in, 16, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to;) {
        const int64_t b = i / p.in, c = i % p.in, n = std::min(to - i, p.in - c);
        k.input(p, in, b, c, c + n, ready + b * block_size);
        i += n;
      }
    });
    parallel_for(0, p.panels, 1, [&](int64_t from, int64_t to) {
      float* packed = workspace(panel_size + k.room_size);
      for (int64_t i = from; i < to; ++i) {
        pack(i, packed);
        for (int64_t b = 0; b < blocks; ++b) multiply(packed, ready + b * block_size, b, i, packed + panel_size);
      }
    });
  }
  return finite ? y : Tensor();
}

// How many tiles are transformed at a time for the gradient of the kernels: as many as leave room in the last cache, but
// enough for each pass over the sums.
int64_t chunk_of(const Winograd& p) {
  const int64_t floats = kWinogradPoints * (p.in + p.out), lanes = p.lanes;
  return std::min(std::max(kChunkFloats / floats, kLeastChunk) / lanes * lanes, ceil_div(p.tiles, lanes) * lanes);
}

// [out, in, 3, 3], or undefined as above.
Tensor winograd_weight_gradient(const Winograd& p, const Tensor& grad, const Tensor& x) {
  const WinogradKernels& k = *FC_VARIANT(winograd_table);
  Tensor dw = empty_tensor(Dims{p.out, p.in, 3, 3}, DType::Float32, Device{});
  const int64_t chunk = chunk_of(p), chunks = ceil_div(p.tiles, chunk), across = ceil_div(p.in, p.columns()),
                x_point = chunk * p.columns(), g_point = chunk * p.rows + 16, x_size = kWinogradPoints * x_point,
                g_size = kWinogradPoints * g_point, groups = across * kWinogradVectors, units = p.panels * across;
  // Few panels: threads share their points, and the sums wait for all of them.
  const int64_t shares = units >= 4 * num_threads() ? 1 : 6, points = kWinogradPoints / shares;
  const bool kept = shares > 1 || chunks > 1;
  auto floats = [](int64_t n) { return empty_tensor(Dims{n}, DType::Float32, Device{}); };
  Tensor sides = floats(across * x_size + p.panels * g_size), all = floats(kept ? units * p.sums_size() : 0);
  auto *xs = sides.data_as<float>(), *gs = xs + across * x_size, *sums = all.data_as<float>(),
       *out = dw.data_as<float>();
  const float *image = x.data_as<float>(), *g = grad.data_as<float>();
  std::atomic<bool> finite = true;
  auto finish = [&](int64_t unit, const float* from) {
    if (!k.gradient(p, from, unit / across, unit % across * p.columns(), out))
      finite.store(false, std::memory_order_relaxed);
  };
  for (int64_t at = 0; at < p.tiles; at += chunk) {
    const int64_t depth = std::min(chunk, ceil_div(p.tiles - at, p.lanes) * p.lanes), vectors = depth / p.lanes;
    parallel_for(0, (groups + p.panels) * vectors, 1, [&](int64_t from, int64_t to) {
      float* room = workspace(k.side_room);
      for (int64_t i = from; i < to; ++i) {
        const int64_t group = i / vectors, tile = i % vectors * p.lanes, panel = group - groups;
        if (panel < 0) {
          const int64_t first = group * p.lanes;
          k.side(p, image, false, first, std::min(p.lanes, p.in - first), at + tile, p.columns(), x_point,
                 xs + group / kWinogradVectors * x_size + tile * p.columns() + group % kWinogradVectors * p.lanes, room);
        } else {
          const int64_t first = panel * p.rows;
          k.side(p, g, true, first, std::min(p.rows, p.out - first), at + tile, p.rows, g_point,
                 gs + panel * g_size + tile * p.rows, room);
        }
      }
    });
    parallel_for(0, units * shares, 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t unit = i / shares, first = i % shares * points;
        float* into = kept ? sums + unit * p.sums_size() : workspace(p.sums_size());
        k.products(p, depth, gs + unit / across * g_size, g_point, xs + unit % across * x_size, x_point, first,
                   first + points, at > 0, into);
        if (shares == 1 && at + chunk >= p.tiles) finish(unit, into);
      }
    });
  }
  if (shares > 1)
    parallel_for(0, units, 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) finish(i, sums + i * p.sums_size());
    });
  return finite ? dw : Tensor();
}

// --- operators
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                   IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  const Convolution c =
      plan_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  if (Depthwise d = plan_depthwise(input, weight, c.output, c); d.bands)
    return depthwise_forward(d, contiguous(input), contiguous(weight), bias.defined() ? contiguous(bias) : bias,
                             c.output);
  if (const Winograd p = plan_winograd(input, weight, c.output, c.output[1], c.padding, c); p.panels)
    if (Tensor y = winograd(p, contiguous(input), contiguous(weight), bias.defined() ? contiguous(bias) : bias,
                            c.output, false);
        y.defined())
      return y;
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
  // Of a convolution with stride 1: a convolution of the gradient with the mirrored kernel.
  if (rest[0] && input.dim() == 4) {
    const int64_t padding[] = {2 - c.padding[0], 2 - c.padding[1]};
    if (const Winograd p = plan_winograd(grad, weight, input.sizes(), input.size(1), padding, c); p.panels) {
      gi = winograd(p, contiguous(grad), contiguous(weight), Tensor(), input.sizes(), true);
      rest[0] = !gi.defined();
    }
  }
  if (rest[1]) {
    if (const Winograd p = plan_winograd(input, weight, c.output, c.output[1], c.padding, c); p.panels) {
      gw = winograd_weight_gradient(p, contiguous(grad), contiguous(input));
      rest[1] = !gw.defined();
    }
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
