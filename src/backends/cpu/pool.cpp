// SPDX-License-Identifier: Apache-2.0
// Pooling kernels. Forward passes go through a row of results at a time. Vectors hold neighbours of a row, or for
// channels-last memory the channels of one pixel; pool.h has the inner loops.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/pool.h"
#include "backends/cpu/register.h"
#include "backends/cpu/walk.h"
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

// The elements in which a maximum is looked for: as wide as the places of a plane need.
template <class S, class F>
void for_compared_type(int64_t plane, F f) {
  using T = typename S::Number;
  if constexpr (std::is_same_v<T, double>) f(double());
  else if constexpr (std::is_same_v<T, int64_t>) f(int64_t());
  else if constexpr (std::is_integral_v<T>) plane <= INT32_MAX ? f(int32_t()) : f(int64_t());
  else plane <= INT32_MAX ? f(float()) : f(double());
}

// Rows of the image as T, with `before` elements that are lower than all others in front and as many as vectors may
// read behind. Those that the next row of results sees again are kept.
template <class T>
class PoolRows {
 public:
  PoolRows(int64_t kept, int64_t before, int64_t length, int64_t width, T lowest, CastFn cast, int64_t item)
      : before_(before),
        length_(length),
        width_(width),
        cast_(cast),
        item_(item),
        memory_(empty_tensor(Dims{kept * width * static_cast<int64_t>(sizeof(T))}, DType::UInt8, Device{})),
        tags_(static_cast<size_t>(kept), -1) {
    T* all = memory_.data_as<T>();
    std::fill(all, all + kept * width, lowest);
  }
  // `tag` tells rows apart, `slot` those that are seen together.
  const T* row(int64_t slot, int64_t tag, const char* from) {
    T* to = memory_.data_as<T>() + slot * width_;
    if (std::exchange(tags_[static_cast<size_t>(slot)], tag) != tag)
      cast_(reinterpret_cast<char*>(to + before_), sizeof(T), from, item_, length_);
    return to;
  }

 private:
  int64_t before_, length_, width_;
  CastFn cast_;
  int64_t item_;
  Tensor memory_;
  std::vector<int64_t> tags_;
};

template <class T>
constexpr DType dtype_of() {
  return std::is_same_v<T, float>    ? DType::Float32
         : std::is_same_v<T, double> ? DType::Float64
         : sizeof(T) == 4            ? DType::Int32
                                     : DType::Int64;
}

// Of such a copy: all that vectors of results read.
int64_t copied_width(const Pool::Axis& w, int64_t lanes, bool channels_last) {
  if (channels_last) return w.in * lanes;
  return std::max(w.in + w.padding, w.out * w.stride + w.inside() * w.dilation) +
         kPoolSlack * std::max<int64_t>(w.stride, 2);
}

template <class S, class N>
void max_rows(const Tensor& in, const Tensor& out, const Tensor& indices, const Pool& p, bool channels_last) {
  using T = typename S::Stored;
  using Place = PoolPlace<N>;
  const Images images(in, p.spatial, channels_last);
  const PoolKernels<N> k = FC_VARIANT(pool_kernels<N>)();
  const int64_t lanes = images.lanes, width = p.w.out * lanes, kernel = p.w.inside();
  const T lowest_stored =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  const N lowest =
      std::numeric_limits<N>::has_infinity ? -std::numeric_limits<N>::infinity() : static_cast<N>(lowest_stored);
  const char* src = static_cast<const char*>(in.data());
  const auto item = static_cast<int64_t>(sizeof(T));
  T* dst = out.data_as<T>();
  int64_t* positions = indices.data_as<int64_t>();
  constexpr bool same = std::is_same_v<T, N>;
  const CastFn to_number = cast_fn(in.dtype(), dtype_of<N>()), to_stored = cast_fn(dtype_of<N>(), out.dtype());
  const int64_t kept = p.d.inside() * p.h.inside(), before = channels_last ? 0 : p.w.padding;
  const int64_t row_width = copied_width(p.w, lanes, channels_last);
  std::vector<Place> first(static_cast<size_t>(p.w.out + kPoolSlack));
  for (int64_t x = 0; x < p.w.out; ++x) first[static_cast<size_t>(x)] = static_cast<Place>(window_first(p.w, x));
  const int64_t row_work = width * kept * kernel;
  parallel_for(
      0, images.count * p.d.out * p.h.out, std::max<int64_t>(1, kWork / row_work), [&](int64_t begin, int64_t end) {
        std::optional<PoolRows<N>> copies;
        if (!same || !channels_last) copies.emplace(kept, before, p.w.in * lanes, row_width, lowest, to_number, item);
        Tensor memory = empty_tensor(Dims{(width + kPoolSlack) * static_cast<int64_t>(sizeof(N) + sizeof(Place))},
                                     DType::UInt8, Device{});
        N* best = memory.data_as<N>();
        auto* place = reinterpret_cast<Place*>(best + width + kPoolSlack);
        std::vector<const N*> rows(static_cast<size_t>(kept)), pixels(static_cast<size_t>(kept * kernel));
        std::vector<Place> places(static_cast<size_t>(kept)), pixel_places(static_cast<size_t>(kept * kernel)),
            starts(static_cast<size_t>(p.w.out + kPoolSlack));
        for (int64_t r = begin; r < end; ++r) {
          const int64_t oy = r % p.h.out, oz = r / p.h.out % p.d.out, plane = r / p.h.out / p.d.out;
          const char* image = src + plane * p.d.in * p.h.in * p.w.in * lanes * item;
          const int64_t y0 = window_first(p.h, oy), z0 = window_first(p.d, oz), stop = window_stop(p.h, oy),
                        z_stop = window_stop(p.d, oz);
          size_t n = 0;
          for (int64_t z = z0; z < z_stop; z += p.d.dilation)
            for (int64_t y = y0; y < stop; y += p.h.dilation, ++n) {
              const int64_t line = z * p.h.in + y;
              const char* from = image + line * p.w.in * lanes * item;
              const int64_t slot = z / p.d.dilation % p.d.inside() * p.h.inside() + y / p.h.dilation % p.h.inside();
              rows[n] =
                  copies ? copies->row(slot, plane * p.d.in * p.h.in + line, from) : reinterpret_cast<const N*>(from);
              places[n] = static_cast<Place>(line * p.w.in - before);
            }
          const auto origin = static_cast<Place>((z0 * p.h.in + y0) * p.w.in);
          T* to = dst + r * width;
          int64_t* index = positions + r * width;
          if (!channels_last) {
            for (size_t x = 0; x < static_cast<size_t>(p.w.out); ++x) starts[x] = origin + first[x];
            k.max_row({rows.data(), places.data(), static_cast<int64_t>(n), p.w.out, kernel, p.w.stride, p.w.dilation,
                       starts.data(), lowest},
                      best, place);
            k.widen(place, index, width);
          } else {
            N* pixel = best;
            if constexpr (same) pixel = to;
            for (int64_t x = 0; x < p.w.out; ++x, pixel += lanes, index += lanes) {
              const int64_t x_stop = window_stop(p.w, x);
              size_t m = 0;
              for (size_t i = 0; i < n; ++i)
                for (int64_t at = first[static_cast<size_t>(x)]; at < x_stop; at += p.w.dilation, ++m) {
                  pixels[m] = rows[i] + at * lanes;
                  pixel_places[m] = places[i] + static_cast<Place>(at);
                }
              k.max_pixel({pixels.data(), pixel_places.data(), static_cast<int64_t>(m), lanes,
                           origin + first[static_cast<size_t>(x)], lowest},
                          pixel, index);
            }
            if constexpr (same) continue;
          }
          to_stored(reinterpret_cast<char*>(to), item, reinterpret_cast<const char*>(best), sizeof(N), width);
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
  constexpr bool same = std::is_same_v<T, N>;
  const Images images(in, p.spatial, channels_last);
  const PoolKernels<N> k = FC_VARIANT(pool_kernels<N>)();
  const int64_t lanes = images.lanes, width = p.w.out * lanes, kernel = p.w.inside(),
                kept = p.d.inside() * p.h.inside();
  const auto item = static_cast<int64_t>(sizeof(T));
  const char* src = static_cast<const char*>(in.data());
  T* dst = out.data_as<T>();
  const CastFn to_number = cast_fn(in.dtype(), dtype_of<N>()), to_stored = cast_fn(dtype_of<N>(), out.dtype());
  const int64_t row_width = copied_width(p.w, lanes, channels_last), row_work = width * kept * kernel;
  parallel_for(
      0, images.count * p.d.out * p.h.out, std::max<int64_t>(1, kWork / row_work), [&](int64_t begin, int64_t end) {
        std::optional<PoolRows<N>> copies;
        if (!same || !channels_last)
          copies.emplace(kept, channels_last ? 0 : p.w.padding, p.w.in * lanes, row_width, N(0), to_number, item);
        Tensor memory =
            empty_tensor(Dims{(width + kPoolSlack) * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
        N* sums = memory.data_as<N>();
        std::vector<const N*> rows(static_cast<size_t>(kept)), pixels(static_cast<size_t>(kept * kernel));
        for (int64_t r = begin; r < end; ++r) {
          const int64_t oy = r % p.h.out, oz = r / p.h.out % p.d.out, plane = r / p.h.out / p.d.out;
          const char* image = src + plane * p.d.in * p.h.in * p.w.in * lanes * item;
          const int64_t stop = window_stop(p.h, oy), z_stop = window_stop(p.d, oz);
          size_t n = 0;
          for (int64_t z = window_first(p.d, oz); z < z_stop; ++z)
            for (int64_t y = window_first(p.h, oy); y < stop; ++y, ++n) {
              const int64_t line = z * p.h.in + y;
              const char* from = image + line * p.w.in * lanes * item;
              const int64_t slot = z % p.d.inside() * p.h.inside() + y % p.h.inside();
              rows[n] =
                  copies ? copies->row(slot, plane * p.d.in * p.h.in + line, from) : reinterpret_cast<const N*>(from);
            }
          T* to = dst + r * width;
          N* sum = sums;
          if constexpr (same) {
            if (channels_last) sum = to;
          }
          if (!channels_last)
            k.sum_row({rows.data(), nullptr, static_cast<int64_t>(n), p.w.out, kernel, p.w.stride, 1, nullptr, N(0)},
                      sum);
          for (int64_t x = 0; x < p.w.out; ++x) {
            N* pixel = sum + x * lanes;
            if (channels_last) {
              const int64_t x_stop = window_stop(p.w, x);
              size_t m = 0;
              for (size_t i = 0; i < n; ++i)
                for (int64_t at = window_first(p.w, x); at < x_stop; ++at) pixels[m++] = rows[i] + at * lanes;
              k.sum_pixel({pixels.data(), nullptr, static_cast<int64_t>(m), lanes, 0, N(0)}, pixel);
            }
            const int64_t by = divisor(oz, oy, x);
            for (int64_t l = 0; l < lanes; ++l) pixel[l] = over(pixel[l], by);
          }
          if (sum == sums)
            to_stored(reinterpret_cast<char*>(to), item, reinterpret_cast<const char*>(sums), sizeof(N), width);
        }
      });
}

int64_t plane_size(const Tensor& t, int64_t spatial) {
  int64_t n = 1;
  for (int64_t d = -spatial; d < 0; ++d) n *= t.size(d);
  return n;
}

// --- backward passes: a plane, or some channels of an image, at a time, so that no two threads add to one element.
// What is added up: `lanes` accumulators of each of the input's places lie `step` apart, the gradients of each of the
// result's `from_step`; `first` is where in the whole gradient they begin. The lanes of a plane are one (a constant).
template <class S, class Lanes>
struct Block {
  typename S::Number* sum;
  int64_t step;
  const typename S::Stored* from;
  int64_t from_step, first;
  Lanes lanes;
};
using OneLane = std::integral_constant<int64_t, 1>;

// visit(Block): its accumulators are zero.
template <class S, class F>
void for_blocks(const Tensor& grad_in, const Tensor& grad, int64_t spatial, bool channels_last, const F& visit) {
  using T = typename S::Stored;
  using N = typename S::Number;
  constexpr bool same = std::is_same_v<T, N>;
  if (grad_in.numel() == 0) return;
  [[maybe_unused]] const CastFn to_stored = cast_fn(dtype_of<N>(), grad_in.dtype());
  const int64_t channels = grad.size(-spatial - 1), batch = grad.dim() == spatial + 2 ? grad.size(0) : 1,
                in_size = plane_size(grad_in, spatial), out_size = plane_size(grad, spatial);
  T* dst = grad_in.data_as<T>();
  const T* src = grad.data_as<const T>();
  // All channels of an image, unless there are more threads than images: then whole lines of the cache.
  const int64_t line = 64 / static_cast<int64_t>(sizeof(T)), parts = (2 * num_threads() + batch - 1) / batch,
                width = !channels_last           ? 1
                        : batch >= num_threads() ? channels
                                                 : std::min(channels, (channels / parts + line) / line * line),
                blocks = (channels + width - 1) / width;
  parallel_for(
      0, batch * blocks, std::max<int64_t>(1, kWork / std::max<int64_t>(in_size * width, 1)),
      [&](int64_t begin, int64_t end) {
        Tensor memory =
            same ? Tensor()
                 : empty_tensor(Dims{in_size * width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
        N* own = same ? nullptr : memory.data_as<N>();
        for (int64_t q = begin; q < end; ++q) {
          const int64_t b = q / blocks, c = q % blocks * width, lanes = std::min(width, channels - c),
                        step = channels_last ? channels : 1;
          const int64_t first = b * channels * out_size + (channels_last ? c : c * out_size);
          T* to = dst + b * channels * in_size + (channels_last ? c : c * in_size);
          N* sum = own;
          int64_t sum_step = lanes;
          if constexpr (same) sum = to, sum_step = step;  // the result is its own accumulator
          if (sum_step == lanes || !channels_last) std::fill(sum, sum + in_size * lanes, N(0));
          else
            for (int64_t i = 0; i < in_size; ++i) std::fill(sum + i * sum_step, sum + i * sum_step + lanes, N(0));
          if (channels_last) visit(Block<S, int64_t>{sum, sum_step, src + first, step, first, lanes});
          else visit(Block<S, OneLane>{sum, 1, src + first, 1, first, {}});
          if constexpr (!same) {
            const bool whole = lanes == channels || !channels_last;
            for (int64_t i = 0; i < (whole ? 1 : in_size); ++i)
              to_stored(reinterpret_cast<char*>(to + i * step), sizeof(T),
                        reinterpret_cast<const char*>(sum + i * lanes), sizeof(N), whole ? in_size * lanes : lanes);
          }
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
    if (out.numel() != 0)
      for_compared_type<S>(p.d.in * p.h.in * p.w.in,
                           [&]<class N>(N) { max_rows<S, N>(in, out, indices, p, is_last(p.format)); });
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
    for_blocks<S>(out, g, spatial, is_last(format), [&](const auto& b) {
      for (int64_t i = 0; i < out_size; ++i) {
        const auto* from = b.from + i * b.from_step;
        const int64_t* at = index + b.first + i * b.from_step;
        for (int64_t l = 0; l < b.lanes; ++l) {
          FC_CHECK(at[l] >= 0 && at[l] < in_size, op, ": index ", at[l], " is out of range for a plane of ", in_size,
                   " elements");
          auto& to = b.sum[at[l] * b.step + l];
          to = plus<typename S::Number>(to, S::read(from[l]));
        }
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

// Every element of a window gets its share of the gradient, row by row of the result, first windows first.
template <class S, class Lanes>
void spread(const Block<S, Lanes>& b, const Pool& p, const Divisor& by) {
  using N = typename S::Number;
  const int64_t width = p.w.out * b.lanes;
  Tensor memory = empty_tensor(Dims{width * static_cast<int64_t>(sizeof(N))}, DType::UInt8, Device{});
  N* __restrict share = memory.data_as<N>();
  const std::vector<Range> ranges = ranges_of(p.w);
  for (int64_t r = 0; r < p.d.out * p.h.out; ++r) {
    const int64_t oz = r / p.h.out, oy = r % p.h.out, z_stop = window_stop(p.d, oz), y_stop = window_stop(p.h, oy);
    for (int64_t x = 0; x < p.w.out; ++x) {
      const int64_t divisor = by(oz, oy, x);
      for (int64_t l = 0; l < b.lanes; ++l)
        share[x * b.lanes + l] = over<N>(S::read(b.from[(r * p.w.out + x) * b.from_step + l]), divisor);
    }
    for (int64_t z = window_first(p.d, oz); z < z_stop; ++z)
      for (int64_t y = window_first(p.h, oy); y < y_stop; ++y)
        for (auto j = static_cast<int64_t>(ranges.size()); j-- > 0;) {
          const Range range = ranges[static_cast<size_t>(j)];
          N* __restrict row = b.sum + ((z * p.h.in + y) * p.w.in + j - p.w.padding) * b.step;
          const int64_t step = p.w.stride * b.step;
          for (int64_t x = range.first; x < range.last; ++x)
            for (int64_t l = 0; l < b.lanes; ++l)
              row[x * step + l] = plus<N>(row[x * step + l], share[x * b.lanes + l]);
        }
  }
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
    for_blocks<S>(out, g, spatial, is_last(p.format), [&](const auto& b) { spread(b, p, by); });
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
    for_blocks<S>(out, in, spatial, is_last(format), [&](const auto& b) {
      windows.each([&](int64_t position, const Span& z, const Span& y, const Span& x) {
        N* to = b.sum + position * b.step;
        inside(windows, z, y, x, [&](int64_t at) {
          for (int64_t l = 0; l < b.lanes; ++l) to[l] += S::read(b.from[at * b.from_step + l]);
        });
        const N count = static_cast<N>(area(z, y, x));
        for (int64_t l = 0; l < b.lanes; ++l) to[l] /= count;
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
    for_blocks<S>(out, g, spatial, is_last(format), [&](const auto& b) {
      windows.each([&](int64_t position, const Span& z, const Span& y, const Span& x) {
        const N count = static_cast<N>(area(z, y, x));
        const auto* from = b.from + position * b.from_step;
        inside(windows, z, y, x, [&](int64_t at) {
          for (int64_t l = 0; l < b.lanes; ++l) b.sum[at * b.step + l] += S::read(from[l]) / count;
        });
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
