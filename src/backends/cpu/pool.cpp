// SPDX-License-Identifier: Apache-2.0
// Pooling kernels. Forward passes go through a row of results at a time: for each element of the window one sweep over
// the row (or, for channels-last memory, over the channels of one place), which compilers vectorise.
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/register.h"
#include "core/half.h"
#include "core/threads.h"
#include "plan/pool.h"

namespace fc::cpu {
namespace {

// --- element types
template <class T>
struct Plain {
  using Stored = T;
  using Number = T;
  static T read(T v) { return v; }
  static T write(T v) { return v; }
};
struct Half {
  using Stored = uint16_t;
  using Number = float;
  static float read(uint16_t v) { return half_to_float(v); }
  static uint16_t write(float v) { return float_to_half(v); }
};
struct BFloat {
  using Stored = uint16_t;
  using Number = float;
  static float read(uint16_t v) { return bfloat_to_float(v); }
  static uint16_t write(float v) { return float_to_bfloat(v); }
};

[[noreturn]] void refuse_type(const char* op, DType t) {
  raise<NotImplementedError>("\"", op, "\" not implemented for '", info(t).legacy, "'");
}
template <class F>
void for_float_type(const char* op, DType t, F f) {
  switch (t) {
    case DType::Float32: return f(Plain<float>());
    case DType::Float64: return f(Plain<double>());
    case DType::Float16: return f(Half());
    case DType::BFloat16: return f(BFloat());
    default: refuse_type(op, t);
  }
}
template <class F>
void for_average_type(const char* op, DType t, F f) {
  if (t == DType::Int64) return f(Plain<int64_t>());
  for_float_type(op, t, f);
}
template <class F>
void for_type(const char* op, DType t, F f) {
  switch (t) {
    case DType::UInt8: return f(Plain<uint8_t>());
    case DType::Int8: return f(Plain<int8_t>());
    case DType::Int16: return f(Plain<int16_t>());
    case DType::Int32: return f(Plain<int32_t>());
    default: for_average_type(op, t, f);
  }
}

// Integers wrap around.
template <class N>
N plus(N a, N b) {
  if constexpr (std::is_integral_v<N>) return static_cast<N>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
template <class N>
N over(N a, int64_t count) {
  if constexpr (std::is_integral_v<N>) return count == -1 ? static_cast<N>(-static_cast<uint64_t>(a)) : a / count;
  else return a / static_cast<N>(count);
}

// Images as planes (contiguous: a row's elements are neighbours) or as pixels (channels-last: a pixel's channels are).
// Either way the innermost `lanes` lie side by side, and results come in rows of width * lanes of them.
struct Images {
  int64_t count, lanes;
  Images(const Tensor& t, bool channels_last)
      : count((t.dim() == 4 ? t.size(0) : 1) * (channels_last ? 1 : t.size(-3))),
        lanes(channels_last ? t.size(-3) : 1) {}
};

constexpr int64_t kWork = 1 << 12;  // window elements worth a thread

// Positions of a row whose window element j lies inside the image: [first, last).
struct Range {
  int64_t first, last;
  Range(const Pool::Axis& a, int64_t j) {
    const int64_t shift = j * a.dilation - a.padding;  // of the element against position * stride
    first = shift >= 0 ? 0 : (-shift + a.stride - 1) / a.stride;
    last = shift >= a.in ? 0 : std::min(a.out, (a.in - 1 - shift) / a.stride + 1);
    first = std::min(first, last);
  }
};

// One for each window element along a row: they are the same for every row.
std::vector<Range> ranges_of(const Pool::Axis& a) {
  std::vector<Range> ranges;
  ranges.reserve(static_cast<size_t>(a.inside()));
  for (int64_t j = 0; j < a.inside(); ++j) ranges.emplace_back(a, j);
  return ranges;
}

// First coordinate of a window inside the image.
int64_t window_first(const Pool::Axis& a, int64_t position) {
  const int64_t start = position * a.stride - a.padding;
  return start >= 0 ? start : start + (-start + a.dilation - 1) / a.dilation * a.dilation;
}

// best[i] and index[i] follow in[i * step] where that is larger (or NaN).
template <class S>
void follow(typename S::Number* __restrict best, int64_t* __restrict index, const typename S::Stored* __restrict in,
            int64_t step, int64_t from, int64_t index_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto v = S::read(in[i * step]);
    const bool take = (v > best[i]) | (v != v);
    best[i] = take ? v : best[i];
    index[i] = take ? from + i * index_step : index[i];
  }
}

template <class S>
void max_rows(const Tensor& in, const Tensor& out, const Tensor& indices, const Pool& p, bool channels_last) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const Images images(in, channels_last);
  const int64_t lanes = images.lanes, width = p.w.out * lanes;
  const T* src = in.data_as<const T>();
  T* dst = out.data_as<T>();
  int64_t* positions = indices.data_as<int64_t>();
  const int64_t row_work = width * p.h.inside() * p.w.inside();
  const std::vector<Range> ranges = ranges_of(p.w);
  parallel_for(0, images.count * p.h.out, std::max<int64_t>(1, kWork / row_work), [&](int64_t begin, int64_t end) {
    Tensor memory = empty_tensor(Dims{width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
    N* best = memory.data_as<N>();
    for (int64_t r = begin; r < end; ++r) {
      const T* image = src + r / p.h.out * p.h.in * p.w.in * lanes;
      int64_t* index = positions + r * width;
      const int64_t y0 = window_first(p.h, r % p.h.out);
      for (int64_t x = 0; x < p.w.out; ++x)
        for (int64_t l = 0; l < lanes; ++l) {
          best[x * lanes + l] = std::numeric_limits<N>::has_infinity ? -std::numeric_limits<N>::infinity()
                                                                     : std::numeric_limits<N>::lowest();
          index[x * lanes + l] = y0 * p.w.in + window_first(p.w, x);
        }
      const int64_t stop = std::min(p.h.in, r % p.h.out * p.h.stride - p.h.padding + p.h.kernel * p.h.dilation);
      for (int64_t y = y0; y < stop; y += p.h.dilation)
        for (int64_t j = 0; j < p.w.inside(); ++j) {
          const Range range = ranges[static_cast<size_t>(j)];
          const int64_t x = range.first * p.w.stride - p.w.padding + j * p.w.dilation, at = y * p.w.in + x;
          if (lanes == 1) {
            follow<S>(best + range.first, index + range.first, image + at, p.w.stride, at, p.w.stride,
                      range.last - range.first);
          } else {
            for (int64_t position = range.first; position < range.last; ++position) {
              const int64_t here = at + (position - range.first) * p.w.stride;
              follow<S>(best + position * lanes, index + position * lanes, image + here * lanes, 1, here, 0, lanes);
            }
          }
        }
      for (int64_t i = 0; i < width; ++i) dst[r * width + i] = S::write(best[i]);
    }
  });
}

// The element count that a window's sum is divided by.
struct Divisor {
  const Pool& p;
  bool include_pad;
  std::optional<int64_t> fixed;
  int64_t operator()(int64_t oy, int64_t ox) const {
    if (fixed) return *fixed;
    auto extent = [&](const Pool::Axis& a, int64_t position) {
      const int64_t start = position * a.stride - a.padding, end = std::min(start + a.kernel, a.in + a.padding);
      return include_pad ? end - start : std::min(end, a.in) - std::max<int64_t>(start, 0);
    };
    return extent(p.h, oy) * extent(p.w, ox);
  }
};

template <class S>
void avg_rows(const Tensor& in, const Tensor& out, const Pool& p, bool channels_last, const Divisor& divisor) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const Images images(in, channels_last);
  const int64_t lanes = images.lanes, width = p.w.out * lanes;
  const T* src = in.data_as<const T>();
  T* dst = out.data_as<T>();
  const int64_t row_work = width * p.h.inside() * p.w.inside();
  const std::vector<Range> ranges = ranges_of(p.w);
  parallel_for(0, images.count * p.h.out, std::max<int64_t>(1, kWork / row_work), [&](int64_t begin, int64_t end) {
    Tensor memory = empty_tensor(Dims{width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
    N* sum = memory.data_as<N>();
    for (int64_t r = begin; r < end; ++r) {
      const T* image = src + r / p.h.out * p.h.in * p.w.in * lanes;
      std::fill(sum, sum + width, N(0));
      const int64_t start = r % p.h.out * p.h.stride - p.h.padding, stop = std::min(p.h.in, start + p.h.kernel);
      for (int64_t y = std::max<int64_t>(start, 0); y < stop; ++y)
        for (int64_t j = 0; j < p.w.inside(); ++j) {
          const Range range = ranges[static_cast<size_t>(j)];
          const T* row = image + (y * p.w.in + range.first * p.w.stride - p.w.padding + j) * lanes;
          for (int64_t position = range.first; position < range.last; ++position, row += p.w.stride * lanes)
            for (int64_t l = 0; l < lanes; ++l)
              sum[position * lanes + l] = plus<N>(sum[position * lanes + l], S::read(row[l]));
        }
      for (int64_t x = 0; x < p.w.out; ++x) {
        const int64_t by = divisor(r % p.h.out, x);
        for (int64_t l = 0; l < lanes; ++l) dst[r * width + x * lanes + l] = S::write(over(sum[x * lanes + l], by));
      }
    }
  });
}

// --- backward passes: one plane at a time, so that no two threads add to one element. `visit` gets accumulators of a
// plane (zeroed), the plane's incoming gradients, and the stride between its neighbours.
template <class S, class F>
void for_planes(const Tensor& grad_in, const Tensor& grad, bool channels_last, const F& visit) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const int64_t channels = grad.size(-3), batch = grad.dim() == 4 ? grad.size(0) : 1;
  const int64_t in_size = grad_in.size(-2) * grad_in.size(-1), out_size = grad.size(-2) * grad.size(-1),
                step = channels_last ? channels : 1;
  T* dst = grad_in.data_as<T>();
  const T* src = grad.data_as<const T>();
  parallel_for(0, batch * channels, std::max<int64_t>(1, kWork / std::max<int64_t>(in_size, 1)),
               [&](int64_t begin, int64_t end) {
                 Tensor memory = empty_tensor(Dims{in_size * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
                 N* sum = memory.data_as<N>();
                 for (int64_t q = begin; q < end; ++q) {
                   const int64_t b = q / channels, c = q % channels, at = channels_last ? c : c * in_size,
                                 from = channels_last ? c : c * out_size;
                   const int64_t first = b * channels * out_size + from;
                   T* to = dst + b * channels * in_size + at;
                   if constexpr (std::is_same_v<T, N>)
                     if (step == 1) {  // the result is its own accumulator
                       std::fill(to, to + in_size, N(0));
                       visit(to, src + first, first, step);
                       continue;
                     }
                   std::fill(sum, sum + in_size, N(0));
                   visit(sum, src + first, first, step);
                   for (int64_t i = 0; i < in_size; ++i) to[i * step] = S::write(sum[i]);
                 }
               });
}

bool is_last(const Tensor& t, MemoryFormat format) { return t.dim() == 4 && format == MemoryFormat::ChannelsLast; }

using Two = std::tuple<Tensor, Tensor>;
Two max_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const Pool p = plan_pool("max_pool2d", self, kernel, stride, padding, dilation, ceil_mode);
  Tensor in = contiguous(self, p.format);
  Tensor out = empty_tensor(p.output, self.dtype(), Device{}, p.format),
         indices = empty_tensor(p.output, DType::Int64, Device{}, p.format);
  for_type("max_pool2d", self.dtype(), [&]<class S>(S) {
    if (out.numel() != 0) max_rows<S>(in, out, indices, p, is_last(self, p.format));
  });
  return {out, indices};
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         IntSpan dilation, bool ceil_mode, const Tensor& indices) {
  const Pool p = plan_pool("max_pool2d_with_indices_backward", self, kernel, stride, padding, dilation, ceil_mode);
  check_pool_backward("max_pool2d_with_indices_backward", p, self, grad, indices);
  Tensor g = contiguous(grad, p.format), chosen = contiguous(indices, p.format),
         out = empty_tensor(self.sizes(), self.dtype(), Device{}, p.format);
  const int64_t in_size = p.h.in * p.w.in, out_size = p.h.out * p.w.out;
  for_type("max_pool2d_backward", self.dtype(), [&]<class S>(S) {
    const int64_t* index = chosen.data_as<const int64_t>();
    for_planes<S>(out, g, is_last(self, p.format), [&](auto* sum, const auto* from, int64_t first, int64_t step) {
      for (int64_t i = 0; i < out_size; ++i) {
        const int64_t at = index[first + i * step];
        FC_CHECK(at >= 0 && at < in_size, "max_pool2d_with_indices_backward: index ", at,
                 " is out of range for a plane of ", in_size, " elements");
        sum[at] = plus<typename S::Number>(sum[at], S::read(from[i * step]));
      }
    });
  });
  return out;
}

Tensor avg_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode, bool include_pad,
                std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor must be not zero");
  const Pool p = plan_pool("avg_pool2d", self, kernel, stride, padding, one, ceil_mode);
  Tensor in = contiguous(self, p.format), out = empty_tensor(p.output, self.dtype(), Device{}, p.format);
  for_average_type("avg_pool2d", self.dtype(), [&]<class S>(S) {
    if (out.numel() != 0) avg_rows<S>(in, out, p, is_last(self, p.format), {p, include_pad, divisor});
  });
  return out;
}

Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         bool ceil_mode, bool include_pad, std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, "avg_pool2d_backward: divisor must be not zero");
  const Pool p = plan_pool("avg_pool2d_backward", self, kernel, stride, padding, one, ceil_mode);
  check_pool_backward("avg_pool2d_backward", p, self, grad, Tensor());
  Tensor g = contiguous(grad, p.format), out = empty_tensor(self.sizes(), self.dtype(), Device{}, p.format);
  const Divisor by{p, include_pad, divisor};
  for_average_type("avg_pool2d_backward", self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    for_planes<S>(out, g, is_last(self, p.format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      for (int64_t oy = 0; oy < p.h.out; ++oy)
        for (int64_t ox = 0; ox < p.w.out; ++ox) {
          const N share = over<N>(S::read(from[(oy * p.w.out + ox) * step]), by(oy, ox));
          const int64_t y0 = oy * p.h.stride - p.h.padding, x0 = ox * p.w.stride - p.w.padding;
          for (int64_t y = std::max<int64_t>(y0, 0); y < std::min(p.h.in, y0 + p.h.kernel); ++y)
            for (int64_t x = std::max<int64_t>(x0, 0); x < std::min(p.w.in, x0 + p.w.kernel); ++x)
              sum[y * p.w.in + x] = plus(sum[y * p.w.in + x], share);
        }
    });
  });
  return out;
}

// Visits every window of an adaptive pooling: f(position, area, y0, y1, x0, x1).
template <class F>
void adaptive_windows(int64_t in_h, int64_t in_w, int64_t out_h, int64_t out_w, const F& f) {
  for (int64_t oy = 0; oy < out_h; ++oy)
    for (int64_t ox = 0; ox < out_w; ++ox) {
      const int64_t y0 = adaptive_first(oy, out_h, in_h), y1 = adaptive_last(oy, out_h, in_h),
                    x0 = adaptive_first(ox, out_w, in_w), x1 = adaptive_last(ox, out_w, in_w);
      f(oy * out_w + ox, (y1 - y0) * (x1 - x0), y0, y1, x0, x1);
    }
}

constexpr int64_t nothing[] = {0, 0};

MemoryFormat format_of(const Tensor& t) { return t.dim() == 4 ? suggest_memory_format(t) : MemoryFormat::Contiguous; }

Tensor adaptive_pool(const Tensor& self, IntSpan size) {
  check_adaptive_pool("adaptive_avg_pool2d", self, size);
  Dims shape(self.sizes());
  shape[shape.size() - 2] = size[0];
  shape.back() = size[1];
  const MemoryFormat format = format_of(self);
  Tensor in = contiguous(self, format), out = empty_tensor(shape, self.dtype(), Device{}, format);
  const int64_t h = self.size(-2), w = self.size(-1);
  if (out.numel() == 0) size = IntSpan(nothing);  // one of the two may be any number
  for_float_type("adaptive_avg_pool2d", self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    for_planes<S>(out, in, is_last(self, format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      adaptive_windows(h, w, size[0], size[1],
                       [&](int64_t position, int64_t area, int64_t y0, int64_t y1, int64_t x0, int64_t x1) {
                         N total = 0;
                         for (int64_t y = y0; y < y1; ++y)
                           for (int64_t x = x0; x < x1; ++x) total += S::read(from[(y * w + x) * step]);
                         sum[position] = total / static_cast<N>(area);
                       });
    });
  });
  return out;
}

Tensor adaptive_pool_backward(const Tensor& grad, const Tensor& self) {
  check_adaptive_pool_backward(grad, self);
  const MemoryFormat format = format_of(self);
  Tensor g = contiguous(grad, format), out = empty_tensor(self.sizes(), self.dtype(), Device{}, format);
  const int64_t w = self.size(-1);
  const bool any = grad.numel() != 0;  // if not, one of its sizes may be any number
  for_float_type("adaptive_avg_pool2d_backward", self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    for_planes<S>(out, g, is_last(self, format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      adaptive_windows(self.size(-2), w, any ? grad.size(-2) : 0, any ? grad.size(-1) : 0,
                       [&](int64_t position, int64_t area, int64_t y0, int64_t y1, int64_t x0, int64_t x1) {
                         const N share = S::read(from[position * step]) / static_cast<N>(area);
                         for (int64_t y = y0; y < y1; ++y)
                           for (int64_t x = x0; x < x1; ++x) sum[y * w + x] += share;
                       });
    });
  });
  return out;
}

}  // namespace

void register_pool() {
  auto set = [](const char* name, Kernel k) { find_operator(name)->set_kernel(Device::CPU, k); };
  set("aten::max_pool2d_with_indices", kernel<&max_pool>());
  set("aten::max_pool2d_with_indices_backward", kernel<&max_pool_backward>());
  set("aten::avg_pool2d", kernel<&avg_pool>());
  set("aten::avg_pool2d_backward", kernel<&avg_pool_backward>());
  set("aten::_adaptive_avg_pool2d", kernel<&adaptive_pool>());
  set("aten::_adaptive_avg_pool2d_backward", kernel<&adaptive_pool_backward>());
}

}  // namespace fc::cpu
