// SPDX-License-Identifier: Apache-2.0
// 3 x 3 convolutions of contiguous float32 images with stride 1, in Winograd's form F(4 x 4, 3 x 3), compiled once per
// instruction set (isa/winograd.cpp). An output tile of 4 x 4 takes 36 products a channel instead of 144: its 6 x 6
// input and the kernel are transformed, multiplied element by element and summed over channels, and the sums are
// transformed back. The points are 0, +-5/8, +-3/2 and infinity, whose rounding errors are about twice those of the
// plain sums (docs/performance.md); +-1 and +-2, which textbooks take, have eight times.
//
// A vector's lanes are neighbouring tiles, so that elements 0 to 35 of a transformed tile ("points") are 36 products of
// matrices: a panel of output channels by all input channels, times all input channels by a block of tiles.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"

namespace fc {
class Tensor;
struct Convolution;
}  // namespace fc

namespace fc::cpu {

// What plan_convolution made of the call. Undefined results: this is no such convolution, the plain sums are faster, or
// the result is not finite, which only plain sums put where it belongs. Any number of threads gives the same bits.
Tensor winograd_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Convolution& c);
Tensor winograd_input_gradient(const Tensor& grad, const Tensor& x, const Tensor& weight, const Convolution& c);
Tensor winograd_weight_gradient(const Tensor& grad, const Tensor& x, const Tensor& weight, const Convolution& c);

// --- what is compiled once per instruction set

inline constexpr int64_t kWinogradTile = 4, kWinogradReach = 6, kWinogradPoints = 36;
inline constexpr int64_t kWinogradVectors = 2;  // of tiles in a block, at most

struct Winograd {
  int64_t in, out;        // channels
  int64_t height, width;  // of the input
  int64_t out_height, out_width;
  int64_t pad_y, pad_x;
  int64_t down, across, tiles;  // tiles of an image, and of all images
  int64_t vectors;              // of a block: 1 or 2
  int64_t rows, panels;         // output channels of a panel; the last one is filled up with zeros

  int64_t lanes = 0;  // tiles of a vector
  int64_t block() const { return vectors * lanes; }
  int64_t blocks() const { return (tiles + block() - 1) / block(); }
  // Floats: one point of a transformed block and of a panel's weights, and all of them. A line of the cache more than
  // there is, so that points do not crowd few sets of it, and for whole vectors at the end.
  int64_t block_point() const { return in * block() + 16; }
  int64_t panel_point() const { return in * rows + 16; }
  int64_t block_size() const { return kWinogradPoints * block_point(); }
  int64_t panel_size() const { return kWinogradPoints * panel_point(); }
  int64_t columns() const { return kWinogradVectors * lanes; }
  int64_t sums_size() const { return kWinogradPoints * rows * columns(); }
};

struct WinogradKernels {
  int64_t lanes, rows;  // tiles of a vector, most output channels of a panel
  // The kernels of a panel's output channels: element i of channels (to, from) is at to * to_stride + from *
  // from_stride + i, or counted from the end where `mirrored`.
  void (*weights)(const Winograd& w, const float* kernels, int64_t to_stride, int64_t from_stride, bool mirrored,
                  int64_t panel, float* packed);
  // Channels [first, last) of a block of tiles.
  void (*input)(const Winograd& w, const float* x, int64_t block, int64_t first, int64_t last, float* transformed);
  // The panel's channels of the block's tiles; bias may be null. `room` holds room_size floats. False: something is
  // not finite, which this form spreads over whole tiles.
  bool (*output)(const Winograd& w, const float* packed, const float* transformed, const float* bias, int64_t block,
                 int64_t panel, float* y, float* room);
  int64_t room_size;

  // The gradient of the kernels is a sum over tiles, so there the lanes are channels: a panel of output channels by all
  // tiles of a chunk, times these by a panel of columns() input channels.
  //
  // A vector of tiles, from `tile` on: `count` channels from `first` on of x or, where `gradient`, of the result's
  // gradient. Rows of transformed tiles are `width` floats long, points `point` floats apart.
  void (*side)(const Winograd& w, const float* image, bool gradient, int64_t first, int64_t count, int64_t tile,
               int64_t width, int64_t point, float* to, float* room);
  int64_t side_room;
  // sums[point] = or += the products over `depth` tiles, for points [first, last).
  void (*products)(const Winograd& w, int64_t depth, const float* grad, int64_t grad_point, const float* x,
                   int64_t x_point, int64_t first, int64_t last, bool add, float* sums);
  // The gradient of the two panels' kernels from their sums; false: not finite.
  bool (*gradient)(const Winograd& w, const float* sums, int64_t panel, int64_t first_channel, float* dw);
};

FC_VARIANTS(extern const WinogradKernels winograd_table;)

}  // namespace fc::cpu
