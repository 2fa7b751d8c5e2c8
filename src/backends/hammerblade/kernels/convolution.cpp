// SPDX-License-Identifier: Apache-2.0
// Convolutions of images, forward and backward, with groups, strides, padding and dilation. A tile takes rows of the
// result, kChannels channels and kWidth columns at a time; the rows that they are made of come into the scratchpad with
// the padding's zeros, several together, so the innermost loop (block.h) has neither bounds nor gaps.
#include "block.h"

namespace {

constexpr int32_t kChannels = 8, kWidth = block::kColumns;
#ifdef HB_EMUL_CHECK  // instrumented code needs more of the scratchpad for itself
constexpr int32_t kRow = 72, kTaps = 8;
#else
constexpr int32_t kRow = 128, kTaps = 16;
#endif

struct Shape {
  Shape(const int32_t* image, const int32_t* kernel, const int32_t* result, const hb::Ints& strides,
        const hb::Ints& paddings, const hb::Ints& dilations, int64_t groups)
      : height(image[2]),
        width(image[3]),
        channels(image[1]),
        out_channels(result[1]),
        out_height(result[2]),
        out_width(result[3]),
        kernel_y(kernel[2]),
        kernel_x(kernel[3]),
        per_group(kernel[1]),
        out_per_group(result[1] / static_cast<int32_t>(groups)) {
    auto pair = [](const hb::Ints& v, int32_t* to) {  // one number stands for both
      to[0] = v[0];
      to[1] = v[v.n > 1];
    };
    pair(strides, stride);
    pair(paddings, padding);
    pair(dilations, dilation);
  }
  int32_t height, width, channels, out_channels, out_height, out_width, kernel_y, kernel_x, per_group, out_per_group;
  int32_t stride[2], padding[2], dilation[2];
};

// Rows in the scratchpad and what they are multiplied with, until there is room for no more of them.
class Taps {
 public:
  // The filter's number `at` of channel c lies at filters + c * filter + at.
  Taps(const block::Loops& loops, float* sum, int32_t channels, int32_t columns, const float* filters, int32_t filter)
      : loops_(loops), sum_(sum), filters_(filters), filter_(filter), channels_(channels), columns_(columns) {}
  // Room for a row of `length` that `taps` filter columns see.
  float* row(int32_t length, int32_t taps) {
    if (used_ + length > kRow || n_ + taps > kTaps) flush();
    begin_ = used_;
    used_ += length;
    return rows_ + begin_;
  }
  HB_INLINE void tap(int32_t column, int32_t at) {
    neighbours_ &= at == weights_[0] + n_ || n_ == 0;
    at_[n_] = begin_ + column;
    weights_[n_++] = at;
  }
  void flush() {
    if (n_ == 0) return;
    float factor[kChannels][kTaps];
    const int32_t computed = channels_ > 4 ? kChannels : 4;
    for (int32_t c = 0; c < computed; ++c) {
      const float* from = filters_ + c * filter_;
      if (c >= channels_)
        for (int32_t t = 0; t < n_; ++t) factor[c][t] = 0;
      else if (neighbours_)
        for (int32_t t = 0; t < n_; ++t) factor[c][t] = hb::load(from + weights_[0] + t);
      else
        for (int32_t t = 0; t < n_; ++t) factor[c][t] = hb::load(from + weights_[t]);
    }
    loops_.products({sum_, &factor[0][0], kTaps, rows_, at_, n_, computed, columns_});
    n_ = used_ = 0;
    neighbours_ = true;
  }

 private:
  const block::Loops& loops_;
  float* sum_;
  const float* filters_;
  int32_t filter_, channels_, columns_, n_ = 0, used_ = 0, begin_ = 0, at_[kTaps], weights_[kTaps];
  bool neighbours_ = true;
  float rows_[kRow];
};

void convolution(hb::DenseOut<float> out, hb::DenseIn<float> in, hb::DenseIn<float> weight, hb::Maybe<float> bias,
                 hb::Ints stride, hb::Ints padding, hb::Ints dilation, hb::Ignored, hb::Ignored, int64_t groups) {
  const Shape s(in.size, weight.size, out.size, stride, padding, dilation, groups);
  const int32_t blocks = (s.out_per_group + kChannels - 1) / kChannels,
                per_image = static_cast<int32_t>(groups) * blocks;
  const int32_t step = s.stride[1], reach = (s.kernel_x - 1) * s.dilation[1];
  const block::Loops loops = block::choose();
  hb::each(out.size[0] * per_image * s.out_height, [&](int32_t item) {
    const int32_t y = item % s.out_height, block = item / s.out_height % per_image,
                  image = item / s.out_height / per_image;
    const int32_t group = block / blocks, first = group * s.out_per_group + block % blocks * kChannels;
    const int32_t end = (group + 1) * s.out_per_group, n = end - first < kChannels ? end - first : kChannels;
    const int32_t filter = s.per_group * s.kernel_y * s.kernel_x;
    const float* filters = weight.data + first * filter;
    for (int32_t x0 = 0; x0 < s.out_width; x0 += kWidth) {
      const int32_t columns = s.out_width - x0 < kWidth ? s.out_width - x0 : kWidth;
      float sum[kChannels][kWidth];
      for (int32_t c = 0; c < kChannels; ++c) {
        const float start = bias.defined() && c < n ? hb::load(bias.data + first + c) : 0.0f;
        for (int32_t x = 0; x < kWidth; ++x) sum[c][x] = start;
      }
      Taps taps(loops, &sum[0][0], n, columns, filters, filter);
      for (int32_t i = 0; i < s.per_group; ++i)
        for (int32_t ky = 0; ky < s.kernel_y; ++ky) {
          const int32_t iy = y * s.stride[0] - s.padding[0] + ky * s.dilation[0];
          if (iy < 0 || iy >= s.height) continue;
          const float* from = in.data + ((image * s.channels + group * s.per_group + i) * s.height + iy) * s.width;
          const int32_t left = x0 * step - s.padding[1], w = (i * s.kernel_y + ky) * s.kernel_x;
          if (step == 1 && s.kernel_x <= kTaps && kWidth + reach <= kRow) {
            block::fetch(from, s.width, left, 1, kWidth + reach, taps.row(kWidth + reach, s.kernel_x));
            for (int32_t kx = 0; kx < s.kernel_x; ++kx) taps.tap(kx * s.dilation[1], w + kx);
          } else {
            for (int32_t kx = 0; kx < s.kernel_x; ++kx) {
              block::fetch(from, s.width, left + kx * s.dilation[1], step, kWidth, taps.row(kWidth, 1));
              taps.tap(0, w + kx);
            }
          }
        }
      taps.flush();
      for (int32_t c = 0; c < n; ++c) {
        float* to = out.data + ((image * s.out_channels + first + c) * s.out_height + y) * s.out_width + x0;
        for (int32_t x = 0; x < columns; ++x) hb::store(to + x, sum[c][x]);
      }
    }
  });
}

// The three parts of backward are functions of their own: each has the scratchpad to itself.
// Rows of the image's gradient: the result's gradient with stride - 1 zeros between its columns, convolved with the
// filter turned round.
__attribute__((noinline)) void to_image(const Shape& s, int32_t groups, const hb::DenseOut<float>& out,
                                        const hb::DenseIn<float>& grad, const hb::DenseIn<float>& weight) {
  const int32_t blocks = (s.per_group + kChannels - 1) / kChannels, per_image = groups * blocks;
  const int32_t reach = (s.kernel_x - 1) * s.dilation[1], area = s.kernel_y * s.kernel_x;
  const block::Loops loops = block::choose();
  hb::each(out.size[0] * per_image * s.height, [&](int32_t item) {
    const int32_t y = item % s.height, block = item / s.height % per_image, image = item / s.height / per_image;
    const int32_t group = block / blocks, first = block % blocks * kChannels;
    const int32_t n = s.per_group - first < kChannels ? s.per_group - first : kChannels;
    const float* filters = weight.data + (group * s.out_per_group * s.per_group + first) * area;
    for (int32_t x0 = 0; x0 < s.width; x0 += kWidth) {
      const int32_t columns = s.width - x0 < kWidth ? s.width - x0 : kWidth;
      float sum[kChannels][kWidth] = {};
      Taps taps(loops, &sum[0][0], n, columns, filters, area);
      for (int32_t o = 0; o < s.out_per_group; ++o) {
        const int32_t channel = group * s.out_per_group + o;
        for (int32_t ky = 0; ky < s.kernel_y; ++ky) {
          const int32_t up = y + s.padding[0] - ky * s.dilation[0], oy = up / s.stride[0];
          if (up < 0 || up % s.stride[0] || oy >= s.out_height) continue;
          const float* from = grad.data + ((image * s.out_channels + channel) * s.out_height + oy) * s.out_width;
          const int32_t left = x0 + s.padding[1], w = o * s.per_group * area + ky * s.kernel_x;
          if (s.stride[1] == 1 && s.kernel_x <= kTaps && kWidth + reach <= kRow) {
            block::fetch(from, s.out_width, left - reach, 1, kWidth + reach, taps.row(kWidth + reach, s.kernel_x));
            for (int32_t kx = 0; kx < s.kernel_x; ++kx) taps.tap(reach - kx * s.dilation[1], w + kx);
          } else {
            for (int32_t kx = 0; kx < s.kernel_x; ++kx) {
              float* row = taps.row(kWidth, 1);
              for (int32_t i = 0; i < kWidth; ++i) row[i] = 0;
              // Columns that a step of the result reaches: the first of them, then every stride-th.
              int32_t at = left - kx * s.dilation[1], i = at < 0 ? -at : (s.stride[1] - at % s.stride[1]) % s.stride[1];
              for (int32_t ox = (at + i) / s.stride[1]; i < kWidth && ox < s.out_width; i += s.stride[1], ++ox)
                row[i] = hb::load(from + ox);
              taps.tap(0, w + kx);
            }
          }
        }
      }
      taps.flush();
      for (int32_t c = 0; c < n; ++c) {
        float* to = out.data + ((image * s.channels + group * s.per_group + first + c) * s.height + y) * s.width + x0;
        for (int32_t x = 0; x < columns; ++x) hb::store(to + x, sum[c][x]);
      }
    }
  });
}

// Rows of the gradients of kFilters filters: products of rows of both, summed over images and rows in lanes.
__attribute__((noinline)) void to_weight(const Shape& s, int32_t images, const hb::DenseOut<float>& out,
                                         const hb::DenseIn<float>& grad, const hb::DenseIn<float>& in) {
  constexpr int32_t kFilters = 4, kSeen = 3, kSeenRow = 96;
  const int32_t step = s.stride[1], blocks = (s.out_per_group + kFilters - 1) / kFilters,
                groups = out.size[0] / s.out_per_group;
  const block::Loops loops = block::choose();
  hb::each(groups * blocks * s.per_group * s.kernel_y, [&](int32_t item) {
    const int32_t ky = item % s.kernel_y, i = item / s.kernel_y % s.per_group, which = item / s.kernel_y / s.per_group,
                  group = which / blocks;
    const int32_t first = group * s.out_per_group + which % blocks * kFilters,
                  left = (group + 1) * s.out_per_group - first;
    const int32_t n = left < kFilters ? left : kFilters, channel = group * s.per_group + i;
    for (int32_t k0 = 0; k0 < s.kernel_x; k0 += kSeen) {
      const int32_t taps = s.kernel_x - k0 < kSeen ? s.kernel_x - k0 : kSeen;
      float sum[kFilters * kSeen][block::kLanes] = {}, g[kFilters][kWidth], row[kSeenRow];
      const bool together = step == 1 && kWidth + (taps - 1) * s.dilation[1] <= kSeenRow;
      int32_t at[kSeen];
      for (int32_t k = 0; k < taps; ++k) at[k] = together ? k * s.dilation[1] : k * kWidth;
      for (int32_t image = 0; image < images; ++image)
        for (int32_t y = 0; y < s.out_height; ++y) {
          const int32_t iy = y * s.stride[0] - s.padding[0] + ky * s.dilation[0];
          if (iy < 0 || iy >= s.height) continue;
          const float* from = in.data + ((image * s.channels + channel) * s.height + iy) * s.width;
          const int32_t area = s.out_height * s.out_width;
          const float* gradient = grad.data + ((image * s.out_channels + first) * s.out_height + y) * s.out_width;
          for (int32_t x0 = 0; x0 < s.out_width; x0 += kWidth) {
            for (int32_t o = 0; o < n; ++o) block::fetch(gradient + o * area, s.out_width, x0, 1, kWidth, g[o]);
            const int32_t begin = x0 * step - s.padding[1] + k0 * s.dilation[1];
            if (together) block::fetch(from, s.width, begin, 1, kWidth + (taps - 1) * s.dilation[1], row);
            else
              for (int32_t k = 0; k < taps; ++k)
                block::fetch(from, s.width, begin + k * s.dilation[1], step, kWidth, row + k * kWidth);
            loops.dots({&sum[0][0], &g[0][0], row, at, taps, n});
          }
        }
      for (int32_t o = 0; o < n; ++o)
        for (int32_t k = 0; k < taps; ++k) {
          float all = 0;
          for (int32_t l = 0; l < block::kLanes; ++l) all += sum[o * taps + k][l];
          hb::store(out.data + (((first + o) * s.per_group + i) * s.kernel_y + ky) * s.kernel_x + k0 + k, all);
        }
    }
  });
}

__attribute__((noinline)) void to_bias(const Shape& s, int32_t images, const hb::DenseOut<float>& out,
                                       const hb::DenseIn<float>& grad) {
  const int32_t area = s.out_height * s.out_width;
  hb::each(s.out_channels, [&](int32_t o) {
    float sum = 0;
    for (int32_t image = 0; image < images; ++image) {
      const float* p = grad.data + (image * s.out_channels + o) * area;
      float part[8] = {};
      for (int32_t i = 0; i < area; ++i) part[i % 8] += hb::load(p + i);
      for (float x : part) sum += x;
    }
    hb::store(out.data + o, sum);
  });
}

void convolution_backward(hb::DenseOut<float> to_in, hb::DenseOut<float> to_filter, hb::DenseOut<float> to_offset,
                          hb::DenseIn<float> grad, hb::DenseIn<float> in, hb::DenseIn<float> weight, hb::Ignored,
                          hb::Ints stride, hb::Ints padding, hb::Ints dilation, hb::Ignored, hb::Ignored,
                          int64_t groups, hb::Ignored) {
  const Shape s(in.size, weight.size, grad.size, stride, padding, dilation, groups);
  if (to_in.defined()) to_image(s, static_cast<int32_t>(groups), to_in, grad, weight);
  if (to_filter.defined()) to_weight(s, in.size[0], to_filter, grad, in);
  if (to_offset.defined()) to_bias(s, in.size[0], to_offset, grad);
}

// Images, not transposed.
template <int32_t kernel, int32_t stride>
bool fits(const hb::Call& c) {
  return c[kernel].n == 4 && c[stride + 3].number == 0;
}

}  // namespace

HB_KERNEL_PLAIN_IF(convolution, "aten::convolution", (fits<1, 3>))
HB_KERNEL_PLAIN_IF(convolution_backward, "aten::convolution_backward", (fits<2, 4>))
