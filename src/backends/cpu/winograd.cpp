// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/winograd.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/product.h"
#include "core/threads.h"
#include "plan/conv.h"

namespace fc::cpu {
namespace {

constexpr int64_t kFewest = 16, kMost = 2048;  // channels: below, transforms are most of the work
// Multiplications of the plain sums, 0.3 ms of a core. Below, there is little to gain, and PyTorch's rounding is worth
// more: deep networks with few pixels amplify it a thousandfold (docs/decisions.md).
constexpr double kLeastWork = 1 << 25;
constexpr int64_t kBlocksEach = 4;                            // of a thread
constexpr int64_t kWideBlock = 256;                           // up to here a block is two vectors of tiles
constexpr int64_t kChunkFloats = 1 << 20, kLeastChunk = 128;  // transformed at a time; tiles

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What Winograd's form and the plain sums cost, in vector instructions of one thread; fitted to times of both
// (docs/performance.md). Panels 0: the plain one is better, or this is no such convolution.
Winograd plan(const Tensor& x, const Tensor& w, IntSpan y, int64_t out, IntSpan padding, const Convolution& c) {
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
  // Narrow blocks where wide ones would be few for all threads; the sums are the same.
  p.vectors = p.in <= kWideBlock && p.tiles >= kBlocksEach * 2 * p.lanes * num_threads() ? 2 : 1;
  const int64_t pieces = ceil_div(out, k.rows);
  p.rows = ceil_div(out, pieces);
  const auto in = static_cast<double>(p.in), vectors = static_cast<double>(p.blocks() * p.vectors),
             products = in * static_cast<double>(pieces * p.rows),
             pixels = static_cast<double>(checked_numel(y) / out) / static_cast<double>(p.lanes);
  const double winograd = 36 * products * vectors + (500 * in + 450 * static_cast<double>(out)) * vectors +
                          300 * in * static_cast<double>(pieces),
               plain = 11 * in * static_cast<double>(out) * pixels + 10 * (in + static_cast<double>(out)) * pixels;
  const double work = 9 * in * static_cast<double>(checked_numel(y));
  if (work >= kLeastWork && std::min(p.in, out) >= kFewest && p.in <= kMost && winograd < plain) p.panels = pieces;
  return p;
}

float* workspace(int64_t floats) {
  return static_cast<float*>(product_workspace(static_cast<size_t>(floats) * sizeof(float)));
}

// Undefined: the result is not finite, and the plain sums have to say where. `weight` is [out, in, 3, 3], or [in, out,
// 3, 3] and mirrored for the way back.
Tensor convolve(const Winograd& p, const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan sizes,
                bool mirrored) {
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

// How many tiles are transformed at a time for the gradient of the kernels: few enough for the last cache, enough to be
// worth a pass over the sums.
int64_t chunk_of(const Winograd& p) {
  const int64_t floats = kWinogradPoints * (p.in + p.out), lanes = p.lanes;
  return std::min(std::max(kChunkFloats / floats, kLeastChunk) / lanes * lanes, ceil_div(p.tiles, lanes) * lanes);
}

// [out, in, 3, 3], or undefined as above.
Tensor weight_gradient(const Winograd& p, const Tensor& grad, const Tensor& x) {
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
                 xs + group / kWinogradVectors * x_size + tile * p.columns() + group % kWinogradVectors * p.lanes,
                 room);
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

}  // namespace

Tensor winograd_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Convolution& c) {
  const Winograd p = plan(x, weight, c.output, c.output[1], c.padding, c);
  if (!p.panels) return {};
  return convolve(p, contiguous(x), contiguous(weight), bias.defined() ? contiguous(bias) : bias, c.output, false);
}

Tensor winograd_input_gradient(const Tensor& grad, const Tensor& x, const Tensor& weight, const Convolution& c) {
  Dims padding(c.padding);
  for (int64_t& n : padding) n = 2 - n;
  const Winograd p = plan(grad, weight, x.sizes(), x.size(1), padding, c);
  return p.panels ? convolve(p, contiguous(grad), contiguous(weight), Tensor(), x.sizes(), true) : Tensor();
}

Tensor winograd_weight_gradient(const Tensor& grad, const Tensor& x, const Tensor& weight, const Convolution& c) {
  const Winograd p = plan(x, weight, c.output, c.output[1], c.padding, c);
  return p.panels ? weight_gradient(p, contiguous(grad), contiguous(x)) : Tensor();
}

}  // namespace fc::cpu
