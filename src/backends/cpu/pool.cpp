// SPDX-License-Identifier: Apache-2.0
// Pooling kernels. Forward passes go through a row of results at a time: for each element of the window one sweep over
// the row (or, for channels-last memory, over the channels of one position), which compilers vectorise.
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
  Images(const Tensor& t, int64_t spatial, bool channels_last)
      : count((t.dim() == spatial + 2 ? t.size(0) : 1) * (channels_last ? 1 : t.size(-spatial - 1))),
        lanes(channels_last ? t.size(-spatial - 1) : 1) {}
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

// One past its last.
int64_t window_stop(const Pool::Axis& a, int64_t position) {
  return std::min(a.in, position * a.stride - a.padding + a.kernel * a.dilation);
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
  const Images images(in, p.spatial, channels_last);
  const int64_t lanes = images.lanes, width = p.w.out * lanes;
  const T* src = in.data_as<const T>();
  T* dst = out.data_as<T>();
  int64_t* positions = indices.data_as<int64_t>();
  const int64_t row_work = width * p.d.inside() * p.h.inside() * p.w.inside();
  const std::vector<Range> ranges = ranges_of(p.w);
  parallel_for(0, images.count * p.d.out * p.h.out, std::max<int64_t>(1, kWork / row_work),
               [&](int64_t begin, int64_t end) {
                 Tensor memory = empty_tensor(Dims{width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
                 N* best = memory.data_as<N>();
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t oy = r % p.h.out, oz = r / p.h.out % p.d.out;
                   const T* image = src + r / p.h.out / p.d.out * p.d.in * p.h.in * p.w.in * lanes;
                   int64_t* index = positions + r * width;
                   const int64_t y0 = window_first(p.h, oy), z0 = window_first(p.d, oz);
                   for (int64_t x = 0; x < p.w.out; ++x)
                     for (int64_t l = 0; l < lanes; ++l) {
                       best[x * lanes + l] = std::numeric_limits<N>::has_infinity ? -std::numeric_limits<N>::infinity()
                                                                                  : std::numeric_limits<N>::lowest();
                       index[x * lanes + l] = (z0 * p.h.in + y0) * p.w.in + window_first(p.w, x);
                     }
                   const int64_t stop = window_stop(p.h, oy), z_stop = window_stop(p.d, oz);
                   for (int64_t z = z0; z < z_stop; z += p.d.dilation)
                     for (int64_t y = y0; y < stop; y += p.h.dilation)
                       for (int64_t j = 0; j < p.w.inside(); ++j) {
                         const Range range = ranges[static_cast<size_t>(j)];
                         const int64_t x = range.first * p.w.stride - p.w.padding + j * p.w.dilation,
                                       at = (z * p.h.in + y) * p.w.in + x;
                         if (lanes == 1) {
                           follow<S>(best + range.first, index + range.first, image + at, p.w.stride, at, p.w.stride,
                                     range.last - range.first);
                         } else {
                           for (int64_t position = range.first; position < range.last; ++position) {
                             const int64_t here = at + (position - range.first) * p.w.stride;
                             follow<S>(best + position * lanes, index + position * lanes, image + here * lanes, 1, here,
                                       0, lanes);
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
  int64_t operator()(int64_t oz, int64_t oy, int64_t ox) const {
    if (fixed) return *fixed;
    auto extent = [&](const Pool::Axis& a, int64_t position) {
      const int64_t start = position * a.stride - a.padding, end = std::min(start + a.kernel, a.in + a.padding);
      return include_pad ? end - start : std::min(end, a.in) - std::max<int64_t>(start, 0);
    };
    return extent(p.d, oz) * extent(p.h, oy) * extent(p.w, ox);
  }
};

template <class S>
void avg_rows(const Tensor& in, const Tensor& out, const Pool& p, bool channels_last, const Divisor& divisor) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const Images images(in, p.spatial, channels_last);
  const int64_t lanes = images.lanes, width = p.w.out * lanes;
  const T* src = in.data_as<const T>();
  T* dst = out.data_as<T>();
  const int64_t row_work = width * p.d.inside() * p.h.inside() * p.w.inside();
  const std::vector<Range> ranges = ranges_of(p.w);
  parallel_for(
      0, images.count * p.d.out * p.h.out, std::max<int64_t>(1, kWork / row_work), [&](int64_t begin, int64_t end) {
        Tensor memory = empty_tensor(Dims{width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
        N* sum = memory.data_as<N>();
        for (int64_t r = begin; r < end; ++r) {
          const int64_t oy = r % p.h.out, oz = r / p.h.out % p.d.out;
          const T* image = src + r / p.h.out / p.d.out * p.d.in * p.h.in * p.w.in * lanes;
          std::fill(sum, sum + width, N(0));
          const int64_t stop = window_stop(p.h, oy), z_stop = window_stop(p.d, oz);
          for (int64_t z = window_first(p.d, oz); z < z_stop; ++z)
            for (int64_t y = window_first(p.h, oy); y < stop; ++y)
              for (int64_t j = 0; j < p.w.inside(); ++j) {
                const Range range = ranges[static_cast<size_t>(j)];
                const T* row = image + ((z * p.h.in + y) * p.w.in + range.first * p.w.stride - p.w.padding + j) * lanes;
                for (int64_t position = range.first; position < range.last; ++position, row += p.w.stride * lanes)
                  for (int64_t l = 0; l < lanes; ++l)
                    sum[position * lanes + l] = plus<N>(sum[position * lanes + l], S::read(row[l]));
              }
          for (int64_t x = 0; x < p.w.out; ++x) {
            const int64_t by = divisor(oz, oy, x);
            for (int64_t l = 0; l < lanes; ++l) dst[r * width + x * lanes + l] = S::write(over(sum[x * lanes + l], by));
          }
        }
      });
}

int64_t plane_size(const Tensor& t, int64_t spatial) {
  int64_t n = 1;
  for (int64_t d = -spatial; d < 0; ++d) n *= t.size(d);
  return n;
}

// --- backward passes: one plane at a time, so that no two threads add to one element. `visit` gets accumulators of a
// plane (zeroed), the plane's incoming gradients, and the stride between its neighbours.
template <class S, class F>
void for_planes(const Tensor& grad_in, const Tensor& grad, int64_t spatial, bool channels_last, const F& visit) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const int64_t channels = grad.size(-spatial - 1), batch = grad.dim() == spatial + 2 ? grad.size(0) : 1;
  const int64_t in_size = plane_size(grad_in, spatial), out_size = plane_size(grad, spatial),
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

bool is_last(MemoryFormat format) { return format != MemoryFormat::Contiguous; }

// Names in messages.
constexpr const char *max_name[] = {"", "", "max_pool2d", "max_pool3d"},
                     *max_backward_name[] = {"", "", "max_pool2d_with_indices_backward",
                                             "max_pool3d_with_indices_backward"},
                     *avg_name[] = {"", "", "avg_pool2d", "avg_pool3d"},
                     *avg_backward_name[] = {"", "", "avg_pool2d_backward", "avg_pool3d_backward"},
                     *adaptive_avg_name[] = {"", "", "adaptive_avg_pool2d", "adaptive_avg_pool3d"},
                     *adaptive_avg_backward_name[] = {"", "", "adaptive_avg_pool2d_backward",
                                                      "adaptive_avg_pool3d_backward"},
                     *adaptive_max_name[] = {"", "", "adaptive_max_pool2d", "adaptive_max_pool3d"},
                     *adaptive_max_backward_name[] = {"", "", "adaptive_max_pool2d_backward",
                                                      "adaptive_max_pool3d_backward"},
                     *fractional_name[] = {"", "", "fractional_max_pool2d", "fractional_max_pool3d"},
                     *fractional_backward_name[] = {"", "", "fractional_max_pool2d_backward",
                                                    "fractional_max_pool3d_backward"};

using Two = std::tuple<Tensor, Tensor>;
template <int64_t spatial>
Two max_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const Pool p = plan_pool(max_name[spatial], self, kernel, stride, padding, dilation, ceil_mode, spatial);
  Tensor in = contiguous(self, p.format);
  Tensor out = empty_tensor(p.output, self.dtype(), Device{}, p.format),
         indices = empty_tensor(p.output, DType::Int64, Device{}, p.format);
  for_type(max_name[spatial], self.dtype(), [&]<class S>(S) {
    if (out.numel() != 0) max_rows<S>(in, out, indices, p, is_last(p.format));
  });
  return {out, indices};
}

// Gradients go where the indices say, plane by plane.
Tensor give_back(const char* op, const Tensor& grad, const Tensor& self, const Tensor& indices, int64_t spatial) {
  const MemoryFormat format = pool_format(self, spatial);
  Tensor g = contiguous(grad, format), chosen = contiguous(indices, format),
         out = empty_tensor(self.sizes(), self.dtype(), Device{}, format);
  const int64_t in_size = plane_size(self, spatial), out_size = plane_size(grad, spatial);
  for_type(op, self.dtype(), [&]<class S>(S) {
    const int64_t* index = chosen.data_as<const int64_t>();
    for_planes<S>(out, g, spatial, is_last(format), [&](auto* sum, const auto* from, int64_t first, int64_t step) {
      for (int64_t i = 0; i < out_size; ++i) {
        const int64_t at = index[first + i * step];
        FC_CHECK(at >= 0 && at < in_size, op, ": index ", at, " is out of range for a plane of ", in_size, " elements");
        sum[at] = plus<typename S::Number>(sum[at], S::read(from[i * step]));
      }
    });
  });
  return out;
}
template <int64_t spatial>
Tensor max_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         IntSpan dilation, bool ceil_mode, const Tensor& indices) {
  const char* op = max_backward_name[spatial];
  check_pool_backward(op, plan_pool(op, self, kernel, stride, padding, dilation, ceil_mode, spatial), self, grad,
                      indices);
  return give_back(op, grad, self, indices, spatial);
}

template <int64_t spatial>
Tensor avg_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode, bool include_pad,
                std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, avg_name[spatial], ": divisor must be not zero");
  const Pool p = plan_pool(avg_name[spatial], self, kernel, stride, padding, one, ceil_mode, spatial);
  Tensor in = contiguous(self, p.format), out = empty_tensor(p.output, self.dtype(), Device{}, p.format);
  for_average_type(avg_name[spatial], self.dtype(), [&]<class S>(S) {
    if (out.numel() != 0) avg_rows<S>(in, out, p, is_last(p.format), {p, include_pad, divisor});
  });
  return out;
}

template <int64_t spatial>
Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         bool ceil_mode, bool include_pad, std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, avg_backward_name[spatial], ": divisor must be not zero");
  const Pool p = plan_pool(avg_backward_name[spatial], self, kernel, stride, padding, one, ceil_mode, spatial);
  check_pool_backward(avg_backward_name[spatial], p, self, grad, Tensor());
  Tensor g = contiguous(grad, p.format), out = empty_tensor(self.sizes(), self.dtype(), Device{}, p.format);
  const Divisor by{p, include_pad, divisor};
  for_average_type(avg_backward_name[spatial], self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    for_planes<S>(out, g, spatial, is_last(p.format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      for (int64_t i = 0; i < p.d.out * p.h.out * p.w.out; ++i) {
        const int64_t oz = i / p.w.out / p.h.out, oy = i / p.w.out % p.h.out, ox = i % p.w.out;
        const N share = over<N>(S::read(from[i * step]), by(oz, oy, ox));
        const int64_t z_stop = window_stop(p.d, oz), y_stop = window_stop(p.h, oy), x_stop = window_stop(p.w, ox);
        for (int64_t z = window_first(p.d, oz); z < z_stop; ++z)
          for (int64_t y = window_first(p.h, oy); y < y_stop; ++y)
            for (int64_t x = window_first(p.w, ox); x < x_stop; ++x) {
              N& to = sum[(z * p.h.in + y) * p.w.in + x];
              to = plus(to, share);
            }
      }
    });
  });
  return out;
}

// --- windows that are not all alike: [first, last) of every position, along each of three dimensions
struct Span {
  int64_t first, last;
};
struct Windows {
  std::vector<Span> along[3];
  int64_t in[3] = {1, 1, 1};

  Windows(const Tensor& self, int64_t spatial) {
    for (int64_t d = 0; d < 3; ++d) {
      const int64_t own = d - (3 - spatial);
      if (own < 0) along[d] = {{0, 1}};
      else in[d] = self.size(own - spatial);
    }
  }
  // f(position, offset of the first element, spans)
  template <class F>
  void each(const F& f) const {
    int64_t position = 0;
    for (const Span& z : along[0])
      for (const Span& y : along[1])
        for (const Span& x : along[2]) f(position++, z, y, x);
  }
  int64_t at(int64_t z, int64_t y, int64_t x) const { return (z * in[1] + y) * in[2] + x; }
};
// f(offset) for every element of a window.
template <class F>
void inside(const Windows& w, const Span& z, const Span& y, const Span& x, const F& f) {
  for (int64_t k = z.first; k < z.last; ++k)
    for (int64_t j = y.first; j < y.last; ++j)
      for (int64_t i = x.first; i < x.last; ++i) f(w.at(k, j, i));
}
int64_t area(const Span& z, const Span& y, const Span& x) {
  return (z.last - z.first) * (y.last - y.first) * (x.last - x.first);
}

// As many windows as `size` says, which cover the input evenly.
Windows adaptive_windows(const Tensor& self, IntSpan size) {
  const auto spatial = static_cast<int64_t>(size.size());
  Windows w(self, spatial);
  for (int64_t n : size)
    if (n == 0) {  // no windows; the other sizes may be any number
      for (auto& list : w.along) list.clear();
      return w;
    }
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t out = size[static_cast<size_t>(d)], in = self.size(d - spatial);
    auto& list = w.along[3 - spatial + d];
    for (int64_t i = 0; i < out; ++i) list.push_back({adaptive_first(i, out, in), adaptive_last(i, out, in)});
  }
  return w;
}

template <int64_t spatial>
Tensor adaptive_pool(const Tensor& self, IntSpan size) {
  const char* op = adaptive_avg_name[spatial];
  check_adaptive_pool(op, self, size, spatial);
  const MemoryFormat format = pool_format(self, spatial);
  Tensor in = contiguous(self, format), out = empty_tensor(with_spatial(self, size), self.dtype(), Device{}, format);
  const Windows windows = out.numel() ? adaptive_windows(self, size) : Windows(self, spatial);
  for_float_type(op, self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    if (out.numel() == 0) return;
    for_planes<S>(out, in, spatial, is_last(format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      windows.each([&](int64_t position, const Span& z, const Span& y, const Span& x) {
        N total = 0;
        inside(windows, z, y, x, [&](int64_t at) { total += S::read(from[at * step]); });
        sum[position] = total / static_cast<N>(area(z, y, x));
      });
    });
  });
  return out;
}

template <int64_t spatial>
Tensor adaptive_pool_backward(const Tensor& grad, const Tensor& self) {
  const char* op = adaptive_avg_backward_name[spatial];
  check_adaptive_pool_backward(op, grad, self, spatial);
  const MemoryFormat format = pool_format(self, spatial);
  Tensor g = contiguous(grad, format), out = empty_tensor(self.sizes(), self.dtype(), Device{}, format);
  if (grad.numel() == 0) return zero_(out);
  const Windows windows = adaptive_windows(self, grad.sizes().last(static_cast<size_t>(spatial)));
  for_float_type(op, self.dtype(), [&]<class S>(S) {
    using N = typename S::Number;
    for_planes<S>(out, g, spatial, is_last(format), [&](N* sum, const auto* from, int64_t, int64_t step) {
      windows.each([&](int64_t position, const Span& z, const Span& y, const Span& x) {
        const N share = S::read(from[position * step]) / static_cast<N>(area(z, y, x));
        inside(windows, z, y, x, [&](int64_t at) { sum[at] += share; });
      });
    });
  });
  return out;
}

// The largest element of each window and where it stands. list_windows() gives a function of the plane that says which
// windows; it runs after the results were made, since a size that they have no room for has no room for its windows.
template <class W>
Two max_of_windows(const char* op, const Tensor& self, IntSpan size, const W& list_windows) {
  const auto spatial = static_cast<int64_t>(size.size());
  const MemoryFormat format = pool_format(self, spatial);
  Tensor in = contiguous(self), out = empty_tensor(with_spatial(self, size), self.dtype(), Device{}),
         indices = empty_tensor(with_spatial(self, size), DType::Int64, Device{});
  for_type(op, self.dtype(), [&]<class S>(S) {
    using T = typename S::Stored;
    using N = typename S::Number;
    if (out.numel() == 0) return;
    const auto windows_of = list_windows();
    const int64_t in_size = plane_size(self, spatial), out_size = plane_size(out, spatial);
    const T* src = in.template data_as<const T>();
    T* dst = out.template data_as<T>();
    auto* positions = indices.template data_as<int64_t>();
    parallel_for(0, self.numel() / in_size, std::max<int64_t>(1, kWork / in_size), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* from = src + plane * in_size;
        const Windows& windows = windows_of(plane);
        windows.each([&](int64_t position, const Span& z, const Span& y, const Span& x) {
          int64_t best = windows.at(z.first, y.first, x.first);
          N most = S::read(from[best]);
          inside(windows, z, y, x, [&](int64_t at) {
            const N v = S::read(from[at]);
            if (v > most || v != v) {
              most = v;
              best = at;
            }
          });
          dst[plane * out_size + position] = S::write(most);
          positions[plane * out_size + position] = best;
        });
      }
    });
  });
  return {contiguous(out, format), contiguous(indices, format)};
}

template <int64_t spatial>
Two adaptive_max_pool(const Tensor& self, IntSpan size) {
  check_adaptive_pool(adaptive_max_name[spatial], self, size, spatial);
  return max_of_windows(adaptive_max_name[spatial], self, size, [&] {
    return [windows = adaptive_windows(self, size)](int64_t) -> const Windows& { return windows; };
  });
}
void check_indices(const char* op, const Tensor& grad, const Tensor& self, const Tensor& indices) {
  FC_CHECK(grad.dtype() == self.dtype() && indices.dtype() == DType::Int64 && Dims::same(grad.sizes(), indices.sizes()),
           op, ": expected a ", self.dtype(), " gradient and int64 indices of its size, got ", grad.dtype(), " ",
           grad.sizes(), " and ", indices.dtype(), " ", indices.sizes());
}
template <int64_t spatial>
Tensor adaptive_max_pool_backward(const Tensor& grad, const Tensor& self, const Tensor& indices) {
  const char* op = adaptive_max_backward_name[spatial];
  check_adaptive_pool_backward(op, grad, self, spatial);
  check_indices(op, grad, self, indices);
  return give_back(op, grad, self, indices, spatial);
}

// Windows of one size, whose positions a random number per plane and dimension moves.
template <int64_t spatial>
Two fractional_pool(const Tensor& self, IntSpan kernel, IntSpan size, const Tensor& samples) {
  check_fractional_pool(fractional_name[spatial], self, kernel, size, samples, spatial);
  for_float_type(fractional_name[spatial], self.dtype(), [](auto) {});
  Tensor numbers = contiguous(to_dtype(samples, DType::Float64));
  const auto* u = numbers.data_as<double>();
  const bool single = self.dtype() != DType::Float64;  // positions are rounded as the elements' type does
  auto list = [&] {
    std::vector<Windows> planes;
    for (int64_t plane = 0; plane < (self.dim() == spatial + 2 ? self.size(0) : 1) * self.size(-spatial - 1); ++plane) {
      Windows& w = planes.emplace_back(self, spatial);
      for (int64_t d = 0; d < spatial; ++d) {
        const int64_t in = self.size(d - spatial), k = kernel[static_cast<size_t>(d)],
                      out = size[static_cast<size_t>(d)];
        // Images take their numbers last dimension first, volumes first dimension first.
        const double sample = u[plane * spatial + (spatial == 2 ? 1 - d : d)];
        auto start = [&](int64_t i) -> int64_t {
          if (i == out - 1) return in - k;
          if (single) {
            const float by = static_cast<float>(in - k) / static_cast<float>(out - 1), s = static_cast<float>(sample);
            return static_cast<int64_t>((static_cast<float>(i) + s) * by) - static_cast<int64_t>(s * by);
          }
          const double by = static_cast<double>(in - k) / static_cast<double>(out - 1);
          return static_cast<int64_t>((static_cast<double>(i) + sample) * by) - static_cast<int64_t>(sample * by);
        };
        for (int64_t i = 0; i < out; ++i) {
          const int64_t first = start(i);
          FC_CHECK(first >= 0 && first <= in - k, fractional_name[spatial], ": random samples must be in [0, 1), got ",
                   sample);
          w.along[3 - spatial + d].push_back({first, first + k});
        }
      }
    }
    return [planes = std::move(planes)](int64_t plane) -> const Windows& { return planes[static_cast<size_t>(plane)]; };
  };
  return max_of_windows(fractional_name[spatial], self, size, list);
}
template <int64_t spatial>
Tensor fractional_pool_backward(const Tensor& grad, const Tensor& self, IntSpan, IntSpan size, const Tensor& indices) {
  const char* op = fractional_backward_name[spatial];
  FC_CHECK(size.size() == static_cast<size_t>(spatial) && self.dim() > spatial &&
               Dims::same(grad.sizes(), with_spatial(self, size)),
           op, ": expected a gradient of the input's batch and channels ", self.sizes(), " and of size ", size,
           ", got ", grad.sizes());
  check_indices(op, grad, self, indices);
  return give_back(op, grad, self, indices, spatial);
}

}  // namespace

void register_pool() {
  set_cpu_kernel("aten::max_pool2d_with_indices", kernel<&max_pool<2>>());
  set_cpu_kernel("aten::max_pool2d_with_indices_backward", kernel<&max_pool_backward<2>>());
  set_cpu_kernel("aten::max_pool3d_with_indices", kernel<&max_pool<3>>());
  set_cpu_kernel("aten::max_pool3d_with_indices_backward", kernel<&max_pool_backward<3>>());
  set_cpu_kernel("aten::avg_pool2d", kernel<&avg_pool<2>>());
  set_cpu_kernel("aten::avg_pool2d_backward", kernel<&avg_pool_backward<2>>());
  set_cpu_kernel("aten::avg_pool3d", kernel<&avg_pool<3>>());
  set_cpu_kernel("aten::avg_pool3d_backward", kernel<&avg_pool_backward<3>>());
  set_cpu_kernel("aten::_adaptive_avg_pool2d", kernel<&adaptive_pool<2>>());
  set_cpu_kernel("aten::_adaptive_avg_pool2d_backward", kernel<&adaptive_pool_backward<2>>());
  set_cpu_kernel("aten::_adaptive_avg_pool3d", kernel<&adaptive_pool<3>>());
  set_cpu_kernel("aten::_adaptive_avg_pool3d_backward", kernel<&adaptive_pool_backward<3>>());
  set_cpu_kernel("aten::adaptive_max_pool2d", kernel<&adaptive_max_pool<2>>());
  set_cpu_kernel("aten::adaptive_max_pool2d_backward", kernel<&adaptive_max_pool_backward<2>>());
  set_cpu_kernel("aten::adaptive_max_pool3d", kernel<&adaptive_max_pool<3>>());
  set_cpu_kernel("aten::adaptive_max_pool3d_backward", kernel<&adaptive_max_pool_backward<3>>());
  set_cpu_kernel("aten::fractional_max_pool2d", kernel<&fractional_pool<2>>());
  set_cpu_kernel("aten::fractional_max_pool2d_backward", kernel<&fractional_pool_backward<2>>());
  set_cpu_kernel("aten::fractional_max_pool3d", kernel<&fractional_pool<3>>());
  set_cpu_kernel("aten::fractional_max_pool3d_backward", kernel<&fractional_pool_backward<3>>());
}

}  // namespace fc::cpu
