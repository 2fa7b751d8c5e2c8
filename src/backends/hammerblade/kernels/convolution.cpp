// SPDX-License-Identifier: Apache-2.0
// Convolutions of images, forward and backward, with groups, strides, padding and dilation. A tile takes rows of the
// result, kChannels channels and kWidth columns at a time. What they are made of comes into the scratchpad with the
// padding's zeros, the columns of a stride apart from each other, so that the innermost loop (block.h) has neither
// bounds nor gaps, whatever the stride. An image's gradient is the same for each remainder by the stride.
#include "block.h"

namespace {

// Natively sums are as many as keep what was brought in busy; else what fits a scratchpad, of which instrumented code
// needs more for itself.
#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
constexpr int32_t kChannels = 32, kWidth = 128, kRow = 2048, kTaps = 128, kFilters = 8, kWide = 64, kLines = 256,
                  kSeen = 1024, kSums = 6912;
#elif defined(HB_EMUL_CHECK)
constexpr int32_t kChannels = 4, kWidth = 32, kRow = 72, kTaps = 8, kFilters = 4, kWide = 32, kLines = 32, kSeen = 72,
                  kSums = 192;
#else
constexpr int32_t kChannels = 8, kWidth = 24, kRow = 80, kTaps = 10, kFilters = 4, kWide = 32, kLines = 32, kSeen = 128,
                  kSums = 192;
#endif
constexpr int32_t kBeyond = block::kNative ? kWidth : 4;  // that the loops read behind the last column

struct Shape {
  Shape(const int32_t* image, const int32_t* kernel, const int32_t* result, const hb::Ints& strides,
        const hb::Ints& paddings, const hb::Ints& dilations, int64_t groups)
      : channels(image[1]),
        out_channels(result[1]),
        per_group(kernel[1]),
        out_per_group(result[1] / static_cast<int32_t>(groups)) {
    for (int32_t d = 0; d < 2; ++d) {
      size[d] = image[2 + d];
      out[d] = result[2 + d];
      filter[d] = kernel[2 + d];
      stride[d] = strides[d < strides.n ? d : 0];  // one number stands for both
      padding[d] = paddings[d < paddings.n ? d : 0];
      dilation[d] = dilations[d < dilations.n ? d : 0];
    }
    // Filters of one number: all positions are a row.
    if (filter[0] == 1 && filter[1] == 1 && stride[0] == 1 && stride[1] == 1 && !padding[0] && !padding[1]) {
      size[1] *= size[0];
      out[1] *= out[0];
      size[0] = out[0] = 1;
    }
  }
  int32_t area() const { return size[0] * size[1]; }
  int32_t out_area() const { return out[0] * out[1]; }
  int32_t taps() const { return filter[0] * filter[1]; }
  int32_t channels, out_channels, per_group, out_per_group;
  int32_t size[2], out[2], filter[2], stride[2], padding[2], dilation[2];
};

// One dimension: position p of a result, which is its coordinate begin + p * step, is made of the input's coordinates
// p * in_step + off + t * off_step and the filter's tap + t * tap_step, t < n.
struct Axis {
  int32_t n, tap, tap_step, off, off_step, in_step, begin, step, in, count;
};
Axis forward(const Shape& s, int32_t d) {
  return {s.filter[d], 0, 1, -s.padding[d], s.dilation[d], s.stride[d], 0, 1, s.size[d], s.out[d]};
}
// Of the image's gradient, from the result's: coordinates with the remainder `first` by the stride.
Axis backward(const Shape& s, int32_t d, int32_t first) {
  const int32_t stride = s.stride[d];
  int32_t tap_step = 1, tap = 0;
  while (tap_step * s.dilation[d] % stride) ++tap_step;
  while (tap < tap_step && (first + s.padding[d] - tap * s.dilation[d]) % stride) ++tap;
  const bool none = tap == tap_step || tap >= s.filter[d];
  return {none ? 0 : (s.filter[d] - 1 - tap) / tap_step + 1,
          tap,
          tap_step,
          none ? 0 : (first + s.padding[d] - tap * s.dilation[d]) / stride,
          -(tap_step * s.dilation[d] / stride),
          1,
          first,
          stride,
          s.out[d],
          s.size[d] > first ? (s.size[d] - first + stride - 1) / stride : 0};
}

// What of a channel is in the scratchpad at once: the rows and columns that ny * nx taps of a block of the result see.
// Rows and columns are sorted by their remainder by the step, so neighbours in the result have neighbours there.
class Window {
 public:
  Window(const Axis& y, const Axis& x, int32_t width, int32_t most_rows, int32_t room, int32_t most_taps)
      : width(width), y_(y), x_(x) {
    if (y.n == 0 || x.n == 0) ny = nx = 0;
    int32_t n = most_rows < 1 ? 1 : most_rows;
    for (; n > 0 && !fits(n, y.n, x.n, room, most_taps); --n) {}
    if (n == 0 && !fits(1, 1, x.n, room, most_taps)) fits(1, 1, 1, room, most_taps);
  }
  bool whole() const { return ny == y_.n && nx == x_.n; }
  int32_t taps() const { return ny * nx; }
  // Where tap (m, k) of this window finds the first position.
  int32_t at(int32_t m, int32_t k) const {
    const int32_t down = y_.off_step >= 0 ? m * y_.off_step : (m - ny + 1) * y_.off_step;
    const int32_t right = x_.off_step >= 0 ? k * x_.off_step : (k - nx + 1) * x_.off_step;
    return ((down % y_.in_step * phases + right % x_.in_step) * lines + down / y_.in_step) * pitch + right / x_.in_step;
  }
  // Brings a channel's part for the rows from r0 and the columns from x0 on, and the taps from (m, k) on.
  void bring(const float* channel, int32_t r0, int32_t x0, int32_t m, int32_t k, float* to) const {
    const int32_t top = r0 * y_.in_step + y_.off + (y_.off_step >= 0 ? m : m + ny - 1) * y_.off_step;
    const int32_t left = x0 * x_.in_step + x_.off + (x_.off_step >= 0 ? k : k + nx - 1) * x_.off_step;
    for (int32_t q = 0; q < residues; ++q)
      for (int32_t p = 0; p < phases; ++p)
        for (int32_t j = 0, y = top + q; j < lines; ++j, y += y_.in_step, to += pitch) {
          if (y < 0 || y >= y_.in)
            for (int32_t i = 0; i < pitch; ++i) to[i] = 0;
          else block::fetch(channel + y * x_.in, x_.in, left + p, x_.in_step, pitch, to);
        }
  }

  int32_t width, rows = 1, ny = 0, nx = 0, residues = 1, phases = 1, lines = 1, pitch = 0, size = 0;

 private:
  bool fits(int32_t n, int32_t m, int32_t k, int32_t room, int32_t most_taps) {
    auto reach = [](const Axis& a, int32_t taps) {
      const int32_t all = (taps > 0 ? taps - 1 : 0) * a.off_step;
      return (all < 0 ? -all : all) / a.in_step;
    };
    rows = n;
    ny = m;
    nx = k;
    residues = m > 1 ? y_.in_step : 1;
    phases = k > 1 ? x_.in_step : 1;
    lines = n + reach(y_, m);
    pitch = width + reach(x_, k);
    size = residues * phases * lines * pitch;
    return m * k <= most_taps && size <= room;
  }
  const Axis &y_, &x_;
};

// What is added up: `channels` images of an area, each with its filter.
struct Source {
  const float* in;
  int32_t channels, area;
  const float* filters;
  int32_t filter_row, filter_step, filter_width;  // between channels of the result, of the source; of a filter's row
};

class Convolution {
 public:
  Convolution(const Axis& y, const Axis& x, int32_t filter_width, int32_t filter_step, int32_t area)
      : y_(y),
        x_(x),
        window_(y_, x_, x.count < kWidth ? x.count : kWidth, rows_at_most(y, x), kRow, kTaps),
        area_(area),
        loops_(block::choose()) {
    const int32_t n = window_.taps();
    together_ = 1;
    if (n && window_.whole()) together_ = kTaps / n < kRow / window_.size ? kTaps / n : kRow / window_.size;
    for (int32_t i = 0, t = 0; i < together_; ++i)
      for (int32_t m = 0; m < window_.ny; ++m)
        for (int32_t k = 0; k < window_.nx; ++k, ++t) {
          at_[t] = i * window_.size + window_.at(m, k);
          factor_at_[t] = i * filter_step + m * y.tap_step * filter_width + k * x.tap_step;
        }
  }
  int32_t rows() const { return window_.rows; }

  // Rows from r0 on, of n channels; `start` gives each its first number, if there is any.
  __attribute__((noinline)) void run(const Source& s, int32_t r0, int32_t n, const float* start, float* out,
                                     int32_t out_area, int32_t out_width) const {
    const int32_t rows = y_.count - r0 < window_.rows ? y_.count - r0 : window_.rows;
    for (int32_t x0 = 0; x0 < x_.count; x0 += kWidth) {
      const int32_t width = x_.count - x0 < kWidth ? x_.count - x0 : kWidth;
      alignas(block::kNative ? 64 : 4) float sum[kChannels][kWidth];
      for (int32_t c = 0; c < n; ++c) {
        const float first = start ? hb::load(start + c) : 0.0f;
        for (int32_t x = 0; x < kWidth; ++x) sum[c][x] = first;
      }
      add(s, r0, x0, n, (rows - 1) * window_.pitch + width, &sum[0][0]);
      for (int32_t c = 0; c < n; ++c)
        for (int32_t r = 0; r < rows; ++r) {
          float* to = out + c * out_area + (y_.begin + (r0 + r) * y_.step) * out_width + x_.begin + x0 * x_.step;
          const float* from = sum[c] + r * window_.pitch;
          if (x_.step == 1)
            for (int32_t x = 0; x < width; ++x) hb::store(to + x, from[x]);
          else
            for (int32_t x = 0; x < width; ++x) hb::store(to + x * x_.step, from[x]);
        }
    }
  }

 private:
  static int32_t rows_at_most(const Axis& y, const Axis& x) {
    if (x.count > kWidth) return 1;
    const int32_t reach = (x.n > 0 ? x.n - 1 : 0) * (x.off_step < 0 ? -x.off_step : x.off_step) / x.in_step;
    const int32_t fit = (kWidth - x.count) / (x.count + reach) + 1;
    return fit < y.count ? fit : y.count;
  }
  // Natively a row of filters of one number is read in its place.
  bool in_place(int32_t columns) const {
    return block::kNative && window_.taps() == 1 && window_.whole() && y_.in == 1 && x_.in_step == 1 && x_.off == 0 &&
           y_.off == 0 && columns % block::kLanes == 0;
  }
  __attribute__((noinline)) void add(const Source& s, int32_t r0, int32_t x0, int32_t n, int32_t columns,
                                     float* sum) const {
    const int32_t taps = window_.taps();
    if (!taps) return;
    const bool here = in_place(columns);
    alignas(block::kNative ? 64 : 4) float seen[kRow + kBeyond], factor[block::kNative ? 1 : kChannels][kTaps];
    int32_t own_at[kTaps];
    if (here)
      for (int32_t i = 0; i < together_; ++i) own_at[i] = i * area_;
    else if (!block::kNative)
      for (int32_t t = 0; t < together_ * taps; ++t) own_at[t] = t;
    for (int32_t i = 0; i < s.channels; i += together_)
      for (int32_t m = 0; m < y_.n; m += window_.ny)
        for (int32_t k = 0; k < x_.n; k += window_.nx) {
          const int32_t now = s.channels - i < together_ ? s.channels - i : together_, all = now * taps;
          const float* filters =
              s.filters + i * s.filter_step + (y_.tap + m * y_.tap_step) * s.filter_width + x_.tap + k * x_.tap_step;
          if (!here)
            for (int32_t c = 0; c < now; ++c)
              window_.bring(s.in + (i + c) * s.area, r0, x0, m, k, seen + c * window_.size);
          if (!block::kNative)
            for (int32_t c = 0; c < n; ++c)
              for (int32_t t = 0; t < all; ++t)
                factor[block::kNative ? 0 : c][t] = hb::load(filters + c * s.filter_row + factor_at_[t]);
          loops_.products({sum, kWidth, block::kNative ? filters : &factor[0][0], block::kNative ? s.filter_row : kTaps,
                           block::kNative ? factor_at_ : own_at, here ? s.in + i * s.area + x0 : seen,
                           here ? own_at : at_, all, n, columns});
        }
  }

  Axis y_, x_;
  Window window_;
  int32_t area_, together_;
  block::Loops loops_;
  int32_t at_[kTaps], factor_at_[kTaps];
};

void convolution(hb::DenseOut<float> out, hb::DenseIn<float> in, hb::DenseIn<float> weight, hb::Maybe<float> bias,
                 hb::Ints stride, hb::Ints padding, hb::Ints dilation, hb::Ignored, hb::Ignored, int64_t groups) {
  const Shape s(in.size, weight.size, out.size, stride, padding, dilation, groups);
  const Convolution sums(forward(s, 0), forward(s, 1), s.filter[1], s.taps(), s.area());
  const int32_t blocks = (s.out_per_group + kChannels - 1) / kChannels,
                per_image = static_cast<int32_t>(groups) * blocks, rows = sums.rows(),
                parts = (s.out[0] + rows - 1) / rows;
  hb::each(out.size[0] * per_image * parts, [&](int32_t item) {
    const int32_t part = item % parts, block = item / parts % per_image, image = item / parts / per_image;
    const int32_t group = block / blocks, first = group * s.out_per_group + block % blocks * kChannels;
    const int32_t left = (group + 1) * s.out_per_group - first;
    const Source source{in.data + (image * s.channels + group * s.per_group) * s.area(),
                        s.per_group,
                        s.area(),
                        weight.data + first * s.per_group * s.taps(),
                        s.per_group * s.taps(),
                        s.taps(),
                        s.filter[1]};
    sums.run(source, part * rows, left < kChannels ? left : kChannels, bias.defined() ? bias.data + first : nullptr,
             out.data + (image * s.out_channels + first) * s.out_area(), s.out_area(), s.out[1]);
  });
}

// The three parts of backward are functions of their own: each has the scratchpad to itself.
__attribute__((noinline)) void to_image(const Shape& s, int32_t groups, const hb::DenseOut<float>& out,
                                        const hb::DenseIn<float>& grad, const hb::DenseIn<float>& weight) {
  const int32_t blocks = (s.per_group + kChannels - 1) / kChannels, per_image = groups * blocks;
  for (int32_t remainder = 0; remainder < s.stride[0] * s.stride[1]; ++remainder) {
    const Axis y = backward(s, 0, remainder / s.stride[1]), x = backward(s, 1, remainder % s.stride[1]);
    if (y.count == 0 || x.count == 0) continue;
    const Convolution sums(y, x, s.filter[1], s.per_group * s.taps(), s.out_area());
    const int32_t rows = sums.rows(), parts = (y.count + rows - 1) / rows;
    hb::each(out.size[0] * per_image * parts, [&](int32_t item) {
      const int32_t part = item % parts, block = item / parts % per_image, image = item / parts / per_image;
      const int32_t group = block / blocks, first = block % blocks * kChannels;
      const int32_t n = s.per_group - first < kChannels ? s.per_group - first : kChannels;
      const Source source{grad.data + (image * s.out_channels + group * s.out_per_group) * s.out_area(),
                          s.out_per_group,
                          s.out_area(),
                          weight.data + (group * s.out_per_group * s.per_group + first) * s.taps(),
                          s.taps(),
                          s.per_group * s.taps(),
                          s.filter[1]};
      sums.run(source, part * rows, n, nullptr,
               out.data + (image * s.channels + group * s.per_group + first) * s.area(), s.area(), s.size[1]);
    });
  }
}

// The gradients of kFilters filters of some channels: products of rows of both, summed over images and rows in lanes.
__attribute__((noinline)) void to_weight(const Shape& s, int32_t images, const hb::DenseOut<float>& out,
                                         const hb::DenseIn<float>& grad, const hb::DenseIn<float>& in) {
  const Axis y = forward(s, 0), x = forward(s, 1);
  const int32_t rounded = (x.count + block::kLanes - 1) / block::kLanes * block::kLanes;
  const int32_t most = rounded > 0 && rounded <= kLines ? kLines / rounded : 1;
  const Window window(y, x, rounded < kWide ? rounded : kWide,
                      rounded > kWide   ? 1
                      : most < s.out[0] ? most
                                        : s.out[0],
                      kSeen, kSums / (kFilters * block::kLanes));
  const int32_t taps = window.taps(), per_channel = kFilters * taps * block::kLanes;
  const int32_t together = kSums / per_channel < s.per_group ? kSums / per_channel : s.per_group;
  const int32_t blocks = (s.out_per_group + kFilters - 1) / kFilters, groups = out.size[0] / s.out_per_group,
                channel_blocks = (s.per_group + together - 1) / together;
  const int32_t down = (y.n + window.ny - 1) / window.ny, across = (x.n + window.nx - 1) / window.nx;
  const int32_t line = window.width, row = window.rows * line;
  const block::Loops loops = block::choose();
  int32_t at[kSums / (kFilters * block::kLanes)];
  for (int32_t m = 0, t = 0; m < window.ny; ++m)
    for (int32_t k = 0; k < window.nx; ++k) at[t++] = window.at(m, k);
  hb::each(groups * blocks * channel_blocks * down * across, [&](int32_t item) {
    const int32_t k = item % across * window.nx, m = item / across % down * window.ny;
    item /= across * down;
    const int32_t i0 = item % channel_blocks * together, which = item / channel_blocks, group = which / blocks;
    const int32_t first = group * s.out_per_group + which % blocks * kFilters,
                  left = (group + 1) * s.out_per_group - first;
    const int32_t n = left < kFilters ? left : kFilters,
                  channels = s.per_group - i0 < together ? s.per_group - i0 : together;
    alignas(block::kNative ? 64 : 4) float sum[kSums], seen[kSeen + kWide], g[kFilters * kLines];
    for (int32_t i = 0; i < channels * per_channel; ++i) sum[i] = 0;
    for (int32_t image = 0; image < images; ++image)
      for (int32_t r0 = 0; r0 < y.count; r0 += window.rows)
        for (int32_t x0 = 0; x0 < x.count; x0 += window.width) {
          const int32_t lines = y.count - r0 < window.rows ? y.count - r0 : window.rows;
          const float* gradient = grad.data + ((image * s.out_channels + first) * s.out[0] + r0) * s.out[1];
          for (int32_t o = 0; o < n; ++o)
            for (int32_t r = 0; r < lines; ++r)
              block::fetch(gradient + o * s.out_area() + r * s.out[1], s.out[1], x0, 1, line, g + o * row + r * line);
          for (int32_t i = 0; i < channels; ++i) {
            window.bring(in.data + (image * s.channels + group * s.per_group + i0 + i) * s.area(), r0, x0, m, k, seen);
            loops.dots(
                {sum + i * per_channel, g, row, line, seen, at, window.pitch, taps, n, lines, line / block::kLanes});
          }
        }
    for (int32_t i = 0; i < channels; ++i)
      for (int32_t o = 0; o < n; ++o)
        for (int32_t t = 0; t < taps; ++t) {
          float all = 0;
          for (int32_t l = 0; l < block::kLanes; ++l) all += sum[i * per_channel + (o * taps + t) * block::kLanes + l];
          hb::store(out.data + (((first + o) * s.per_group + i0 + i) * s.filter[0] + m + t / window.nx) * s.filter[1] +
                        k + t % window.nx,
                    all);
        }
  });
}

__attribute__((noinline)) void to_bias(const Shape& s, int32_t images, const hb::DenseOut<float>& out,
                                       const hb::DenseIn<float>& grad) {
  const int32_t area = s.out_area();
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
