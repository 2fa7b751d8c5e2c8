// SPDX-License-Identifier: Apache-2.0
// Convolutions of images, forward and backward, with groups, strides, padding and dilation. A tile takes rows of the
// result,
// kChannels channels and kWidth columns at a time; the rows that they are made of come into the scratchpad with
// the padding's zeros, so the innermost loop has neither bounds nor gaps.
#include <facula_hb/kernel.h>

namespace {

constexpr int32_t kChannels = 4, kWidth = 32, kRow = 256;

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

// n elements of a row from `first` on, zero beyond its ends; every `step`th place of scratch, zeros between.
HB_INLINE void fetch(const float* row, int32_t length, int32_t first, int32_t n, float* scratch) {
  for (int32_t i = 0; i < n; ++i) {
    const int32_t at = first + i;
    scratch[i] = at >= 0 && at < length ? hb::load(row + at) : 0.0f;
  }
}

void convolution(hb::DenseOut<float> out, hb::DenseIn<float> in, hb::DenseIn<float> weight, hb::Maybe<float> bias,
                 hb::Ints stride, hb::Ints padding, hb::Ints dilation, hb::Ignored, hb::Ignored, int64_t groups) {
  const Shape s(in.size, weight.size, out.size, stride, padding, dilation, groups);
  const int32_t blocks = (s.out_per_group + kChannels - 1) / kChannels,
                per_image = static_cast<int32_t>(groups) * blocks;
  const int32_t step = s.stride[1], reach = (s.kernel_x - 1) * s.dilation[1];
  hb::each(out.size[0] * per_image * s.out_height, [&](int32_t item) {
    const int32_t y = item % s.out_height, block = item / s.out_height % per_image,
                  image = item / s.out_height / per_image;
    const int32_t group = block / blocks, first = group * s.out_per_group + block % blocks * kChannels;
    const int32_t end = (group + 1) * s.out_per_group, n = end - first < kChannels ? end - first : kChannels;
    const int32_t filter = s.per_group * s.kernel_y * s.kernel_x;
    for (int32_t x0 = 0; x0 < s.out_width; x0 += kWidth) {
      float sum[kChannels][kWidth], row[kRow];
      for (int32_t c = 0; c < kChannels; ++c) {
        const float start = bias.defined() && c < n ? hb::load(bias.data + first + c) : 0.0f;
        for (int32_t x = 0; x < kWidth; ++x) sum[c][x] = start;
      }
      for (int32_t i = 0; i < s.per_group; ++i)
        for (int32_t ky = 0; ky < s.kernel_y; ++ky) {
          const int32_t iy = y * s.stride[0] - s.padding[0] + ky * s.dilation[0];
          if (iy < 0 || iy >= s.height) continue;
          const float* from = in.data + ((image * s.channels + group * s.per_group + i) * s.height + iy) * s.width;
          fetch(from, s.width, x0 * step - s.padding[1], (kWidth - 1) * step + reach + 1, row);
          const float* w = weight.data + first * filter + (i * s.kernel_y + ky) * s.kernel_x;
          for (int32_t kx = 0; kx < s.kernel_x; ++kx, ++w) {
            float factor[kChannels];
            for (int32_t c = 0; c < kChannels; ++c) factor[c] = c < n ? hb::load(w + c * filter) : 0.0f;
            const float* p = row + kx * s.dilation[1];
            if (step == 1) {
              for (int32_t c = 0; c < kChannels; ++c)
                for (int32_t x = 0; x < kWidth; ++x) sum[c][x] += factor[c] * p[x];
            } else {
              for (int32_t c = 0; c < kChannels; ++c)
                for (int32_t x = 0; x < kWidth; ++x) sum[c][x] += factor[c] * p[x * step];
            }
          }
        }
      const int32_t columns = s.out_width - x0 < kWidth ? s.out_width - x0 : kWidth;
      for (int32_t c = 0; c < n; ++c) {
        float* to = out.data + ((image * s.out_channels + first + c) * s.out_height + y) * s.out_width + x0;
        for (int32_t x = 0; x < columns; ++x) hb::store(to + x, sum[c][x]);
      }
    }
  });
}

// Rows of the image's gradient: the result's gradient with stride - 1 zeros between its columns, convolved with the
// filter
// turned round.
void to_image(const Shape& s, int32_t groups, const hb::DenseOut<float>& out, const hb::DenseIn<float>& grad,
              const hb::DenseIn<float>& weight) {
  const int32_t blocks = (s.per_group + kChannels - 1) / kChannels, per_image = groups * blocks;
  const int32_t reach = (s.kernel_x - 1) * s.dilation[1], area = s.kernel_y * s.kernel_x;
  hb::each(out.size[0] * per_image * s.height, [&](int32_t item) {
    const int32_t y = item % s.height, block = item / s.height % per_image, image = item / s.height / per_image;
    const int32_t group = block / blocks, first = block % blocks * kChannels;
    const int32_t n = s.per_group - first < kChannels ? s.per_group - first : kChannels;
    for (int32_t x0 = 0; x0 < s.width; x0 += kWidth) {
      float sum[kChannels][kWidth] = {}, row[kRow];
      for (int32_t o = 0; o < s.out_per_group; ++o) {
        const int32_t channel = group * s.out_per_group + o;
        for (int32_t ky = 0; ky < s.kernel_y; ++ky) {
          const int32_t up = y + s.padding[0] - ky * s.dilation[0], oy = up / s.stride[0];
          if (up < 0 || up % s.stride[0] || oy >= s.out_height) continue;
          const float* from = grad.data + ((image * s.out_channels + channel) * s.out_height + oy) * s.out_width;
          const int32_t left = x0 + s.padding[1] - reach;
          if (s.stride[1] == 1) fetch(from, s.out_width, left, kWidth + reach, row);
          else
            for (int32_t i = 0; i < kWidth + reach; ++i) {
              const int32_t at = left + i, ox = at / s.stride[1];
              row[i] = at >= 0 && at % s.stride[1] == 0 && ox < s.out_width ? hb::load(from + ox) : 0.0f;
            }
          const float* w = weight.data + (channel * s.per_group + first) * area + ky * s.kernel_x;
          for (int32_t kx = 0; kx < s.kernel_x; ++kx, ++w) {
            const float* p = row + reach - kx * s.dilation[1];
            for (int32_t c = 0; c < kChannels; ++c) {
              const float factor = c < n ? hb::load(w + c * area) : 0.0f;
              for (int32_t x = 0; x < kWidth; ++x) sum[c][x] += factor * p[x];
            }
          }
        }
      }
      const int32_t columns = s.width - x0 < kWidth ? s.width - x0 : kWidth;
      for (int32_t c = 0; c < n; ++c) {
        float* to = out.data + ((image * s.channels + group * s.per_group + first + c) * s.height + y) * s.width + x0;
        for (int32_t x = 0; x < columns; ++x) hb::store(to + x, sum[c][x]);
      }
    }
  });
}

// A row of a filter's gradient: products of rows of both, summed over images and rows in kLanes partial sums.
void to_weight(const Shape& s, int32_t images, const hb::DenseOut<float>& out, const hb::DenseIn<float>& grad,
               const hb::DenseIn<float>& in) {
  constexpr int32_t kLanes = 8, kTaps = 8;
  const int32_t step = s.stride[1];
  hb::each(out.size[0] * s.per_group * s.kernel_y, [&](int32_t item) {
    const int32_t ky = item % s.kernel_y, i = item / s.kernel_y % s.per_group, o = item / s.kernel_y / s.per_group;
    const int32_t channel = o / s.out_per_group * s.per_group + i;
    for (int32_t k0 = 0; k0 < s.kernel_x; k0 += kTaps) {
      const int32_t taps = s.kernel_x - k0 < kTaps ? s.kernel_x - k0 : kTaps;
      float sum[kTaps][kLanes] = {}, g[kWidth], row[kRow];
      for (int32_t image = 0; image < images; ++image)
        for (int32_t y = 0; y < s.out_height; ++y) {
          const int32_t iy = y * s.stride[0] - s.padding[0] + ky * s.dilation[0];
          if (iy < 0 || iy >= s.height) continue;
          const float* from = in.data + ((image * s.channels + channel) * s.height + iy) * s.width;
          const float* gradient = grad.data + ((image * s.out_channels + o) * s.out_height + y) * s.out_width;
          for (int32_t x0 = 0; x0 < s.out_width; x0 += kWidth) {
            fetch(gradient, s.out_width, x0, kWidth, g);
            fetch(from, s.width, x0 * step - s.padding[1] + k0 * s.dilation[1],
                  (kWidth - 1) * step + (taps - 1) * s.dilation[1] + 1, row);
            for (int32_t k = 0; k < taps; ++k) {
              const float* p = row + k * s.dilation[1];
              if (step == 1) {
                for (int32_t x = 0; x < kWidth; x += kLanes)
                  for (int32_t l = 0; l < kLanes; ++l) sum[k][l] += g[x + l] * p[x + l];
              } else {
                for (int32_t x = 0; x < kWidth; x += kLanes)
                  for (int32_t l = 0; l < kLanes; ++l) sum[k][l] += g[x + l] * p[(x + l) * step];
              }
            }
          }
        }
      for (int32_t k = 0; k < taps; ++k) {
        float all = 0;
        for (int32_t l = 0; l < kLanes; ++l) all += sum[k][l];
        hb::store(out.data + ((o * s.per_group + i) * s.kernel_y + ky) * s.kernel_x + k0 + k, all);
      }
    }
  });
}

void to_bias(const Shape& s, int32_t images, const hb::DenseOut<float>& out, const hb::DenseIn<float>& grad) {
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

// Images, not transposed, and rows that fit in the scratchpad.
template <int32_t kernel, int32_t stride>
bool fits(const hb::Call& c) {
  constexpr int32_t dilation = stride + 2, transposed = stride + 3;
  if (c[kernel].n != 4 || c[transposed].number != 0) return false;
  const int64_t reach = (c[kernel].list[3] - 1) * c[dilation].list[c[dilation].n - 1];
  return (kWidth - 1) * c[stride].list[c[stride].n - 1] + reach + 1 <= kRow && reach + kWidth <= kRow;
}

}  // namespace

HB_KERNEL_PLAIN_IF(convolution, "aten::convolution", (fits<1, 3>))
HB_KERNEL_PLAIN_IF(convolution_backward, "aten::convolution_backward", (fits<2, 4>))
