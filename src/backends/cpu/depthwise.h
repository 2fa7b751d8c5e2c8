// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution (one input channel per group) of contiguous float32 planes, compiled once per instruction set
// (isa/depthwise.cpp). Input rows are copied with their padding into a buffer that stays in the first cache, columns
// sorted by their place within a stride, so that every tap of the kernel reads vectors that lie side by side. Each
// output is one sum, taps in order; each weight's gradient is one sum per plane in a fixed tree.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"

namespace fc::cpu {

inline constexpr int64_t kDepthwiseKernel = 64, kDepthwiseStride = 8;  // the largest, along x

// Along one axis. An image of one dimension has height 1.
struct DepthwiseAxis {
  int64_t in, out, kernel, stride, padding, dilation;
};
struct DepthwisePlane {
  DepthwiseAxis y, x;
  const float* in;
  int64_t first, last;  // output rows

  // Buffer: rows, each with one part per position within a stride: what outputs read, then room for the widest vector.
  int64_t used() const { return x.out + (x.kernel - 1) * x.dilation / x.stride; }
  int64_t part() const { return used() + 16; }
  int64_t row() const { return part() * x.stride; }
  int64_t rows() const { return (last - first - 1) * y.stride + (y.kernel - 1) * y.dilation + 1; }
};

struct DepthwiseKernels {
  // out[rows first … last] = bias + the convolution; out points to the plane, buffer holds rows() * row() + 16 floats.
  void (*forward)(const DepthwisePlane& p, const float* weight, float bias, float* out, float* buffer);
  // dw[tap] += the sum over those rows of grad times what the tap sees.
  void (*weights)(const DepthwisePlane& p, const float* grad, float* dw, float* buffer);
};

FC_VARIANTS(extern const DepthwiseKernels depthwise_table;)

}  // namespace fc::cpu
