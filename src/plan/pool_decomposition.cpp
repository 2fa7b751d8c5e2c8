// SPDX-License-Identifier: Apache-2.0
// Pooling in pointwise operators on views, for devices without kernels: one step per element of the window, each over
// all positions at once. Small tables of places and counts are made on the CPU and copied.
#include <limits>
#include <vector>

#include "plan/pool.h"

namespace fc {
namespace {

// f(position) for every position of the result, as a tensor [height, width] on the device.
template <class F>
Tensor table(const Pool& p, DType type, Device device, const F& f) {
  std::vector<int64_t> values;
  for (int64_t y = 0; y < p.h.out; ++y)
    for (int64_t x = 0; x < p.w.out; ++x) values.push_back(f(y, x));
  Tensor host = empty_tensor(Dims{p.h.out, p.w.out}, DType::Int64, Device{});
  std::copy(values.begin(), values.end(), host.data_as<int64_t>());
  Tensor out = empty_tensor(host.sizes(), type, device);
  return copy_(out, to_dtype(host, type));
}

// Memory for an image with its padding, and for windows that reach beyond it.
struct Padded {
  Tensor all, image;
  Padded(const Tensor& like, DType type, const Pool& p, const Scalar& fill) {
    Dims shape(like.sizes());
    auto room = [](const Pool::Axis& a) {
      return std::max(a.in + a.padding, (a.out - 1) * a.stride + (a.inside() - 1) * a.dilation + 1);
    };
    shape[shape.size() - 2] = room(p.h) + p.h.padding;
    shape.back() = room(p.w) + p.w.padding;
    all = full(shape, fill, type, like.device());
    image = narrow(narrow(all, -2, p.h.padding, p.h.in), -1, p.w.padding, p.w.in);
  }
};

// Calls f(view, y, x) for each element of the window: what all positions see there, and where it lies from their start.
template <class F>
void each_element(const Pool& p, const Tensor& padded, const F& f) {
  for (int64_t i = 0; i < p.h.inside(); ++i)
    for (int64_t j = 0; j < p.w.inside(); ++j) {
      auto part = [](const Tensor& t, int64_t dim, const Pool::Axis& a, int64_t k) {
        const int64_t first = k * a.dilation;
        return slice(t, dim, first, first + (a.out - 1) * a.stride + 1, a.stride);
      };
      f(part(part(padded, -2, p.h, i), -1, p.w, j), i * p.h.dilation, j * p.w.dilation);
    }
}

Tensor flat_starts(const Pool& p, Device device) {  // of windows, padding included
  return table(p, DType::Int64, device, [&](int64_t y, int64_t x) {
    return (y * p.h.stride - p.h.padding) * p.w.in + x * p.w.stride - p.w.padding;
  });
}

Scalar lowest(DType t) {
  switch (t) {
    case DType::UInt8: return 0;
    case DType::Int8: return INT8_MIN;
    case DType::Int16: return INT16_MIN;
    case DType::Int32: return INT32_MIN;
    case DType::Int64: return INT64_MIN;
    default: return -std::numeric_limits<double>::infinity();
  }
}

// The element counts that windows' sums are divided by.
Tensor divisors(const Pool& p, bool include_pad, std::optional<int64_t> fixed, DType type, Device device) {
  auto extent = [&](const Pool::Axis& a, int64_t position) {
    const int64_t start = position * a.stride - a.padding, end = std::min(start + a.kernel, a.in + a.padding);
    return include_pad ? end - start : std::min(end, a.in) - std::max<int64_t>(start, 0);
  };
  return table(p, type, device, [&](int64_t y, int64_t x) { return fixed ? *fixed : extent(p.h, y) * extent(p.w, x); });
}
Tensor divide(const Tensor& a, const Tensor& b) { return is_floating(a.dtype()) ? div(a, b) : div_mode(a, b, "trunc"); }

void check_type(const char* op, DType t, bool known) {
  FC_CHECK_AS(NotImplementedError, known && !is_barebones(t), "\"", op, "\" not implemented for '", info(t).legacy,
              "'");
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool_decomposition(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                                                  IntSpan dilation, bool ceil_mode) {
  const Pool p = plan_pool("max_pool2d", self, kernel, stride, padding, dilation, ceil_mode);
  check_type("max_pool2d", self.dtype(), self.dtype() != DType::Bool && !is_complex(self.dtype()));
  Padded in(self, self.dtype(), p, lowest(self.dtype()));
  copy_(in.image, self);
  const Tensor starts = flat_starts(p, self.device());
  auto first = [](const Pool::Axis& a, int64_t position) {  // coordinate of a window inside the image
    const int64_t start = position * a.stride - a.padding;
    return start >= 0 ? start : start + (-start + a.dilation - 1) / a.dilation * a.dilation;
  };
  Tensor best = full(p.output, lowest(self.dtype()), self.dtype(), self.device());
  Tensor index = expand(table(p, DType::Int64, self.device(),
                              [&](int64_t y, int64_t x) { return first(p.h, y) * p.w.in + first(p.w, x); }),
                        p.output);
  each_element(p, in.all, [&](const Tensor& seen, int64_t y, int64_t x) {
    Tensor take = logical_or(gt(seen, best), isnan(seen));
    best = where(take, seen, best);
    index = where(take, add(starts, y * p.w.in + x), index);
  });
  return {contiguous(best, p.format), contiguous(to_dtype(index, pool_index_type(self.device())), p.format)};
}

Tensor max_pool_backward_decomposition(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride,
                                       IntSpan padding, IntSpan dilation, bool ceil_mode, const Tensor& indices) {
  const Pool p = plan_pool("max_pool2d_with_indices_backward", self, kernel, stride, padding, dilation, ceil_mode);
  check_pool_backward("max_pool2d_with_indices_backward", p, self, grad, indices);
  const DType type = compute_type(self.dtype());
  Padded out(self, type, p, 0);
  const Tensor starts = flat_starts(p, self.device()), g = to_dtype(grad, type);
  // What a position in the padding is mistaken for adds to the padding, which is thrown away.
  each_element(p, out.all, [&](const Tensor& seen, int64_t y, int64_t x) {
    add_(seen, where(eq(indices, add(starts, y * p.w.in + x)), g, Scalar(0)));
  });
  return to_dtype(contiguous(out.image, p.format), self.dtype());
}

Tensor avg_pool_decomposition(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode,
                              bool include_pad, std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor must be not zero");
  const Pool p = plan_pool("avg_pool2d", self, kernel, stride, padding, one, ceil_mode);
  check_type("avg_pool2d", self.dtype(), is_floating(self.dtype()) || self.dtype() == DType::Int64);
  const DType type = compute_type(self.dtype());
  Padded in(self, type, p, 0);
  copy_(in.image, self);
  Tensor sum = zeros(p.output, type, self.device());
  each_element(p, in.all, [&](const Tensor& seen, int64_t, int64_t) { add_(sum, seen); });
  sum = divide(sum, divisors(p, include_pad, divisor, type, self.device()));
  return to_dtype(contiguous(sum, p.format), self.dtype());
}

Tensor avg_pool_backward_decomposition(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride,
                                       IntSpan padding, bool ceil_mode, bool include_pad,
                                       std::optional<int64_t> divisor) {
  const int64_t one[] = {1};
  FC_CHECK(!divisor || *divisor != 0, "avg_pool2d_backward: divisor must be not zero");
  const Pool p = plan_pool("avg_pool2d_backward", self, kernel, stride, padding, one, ceil_mode);
  check_pool_backward("avg_pool2d_backward", p, self, grad, Tensor());
  const DType type = compute_type(self.dtype());
  Padded out(self, type, p, 0);
  Tensor share = divide(to_dtype(grad, type), divisors(p, include_pad, divisor, type, self.device()));
  each_element(p, out.all, [&](const Tensor& seen, int64_t, int64_t) { add_(seen, share); });
  return to_dtype(contiguous(out.image, p.format), self.dtype());
}

namespace {

// One axis of an adaptive pooling: sums of windows along dim, or their transpose.
Tensor adaptive_sums(const Tensor& x, int64_t dim, int64_t out) {
  std::vector<Tensor> sums;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t first = adaptive_first(i, out, x.size(dim)), last = adaptive_last(i, out, x.size(dim));
    sums.push_back(sum(narrow(x, dim, first, last - first), Dims{dim}));
  }
  return stack(sums, dim);
}
Tensor adaptive_spread(const Tensor& g, int64_t dim, int64_t in) {
  Dims shape(g.sizes());
  shape[static_cast<size_t>(g.dim() + dim)] = in;
  Tensor out = zeros(shape, g.dtype(), g.device());
  for (int64_t i = 0; i < g.size(dim); ++i) {
    const int64_t first = adaptive_first(i, g.size(dim), in), last = adaptive_last(i, g.size(dim), in);
    add_(narrow(out, dim, first, last - first), narrow(g, dim, i, 1));
  }
  return out;
}
Tensor adaptive_areas(const Tensor& like, IntSpan in, IntSpan out, DType type) {
  Pool p;
  p.h.out = out[0];
  p.w.out = out[1];
  auto width = [](int64_t i, int64_t n, int64_t size) {
    return adaptive_last(i, n, size) - adaptive_first(i, n, size);
  };
  return table(p, type, like.device(),
               [&](int64_t y, int64_t x) { return width(y, out[0], in[0]) * width(x, out[1], in[1]); });
}
MemoryFormat format_of(const Tensor& t) { return t.dim() == 4 ? suggest_memory_format(t) : MemoryFormat::Contiguous; }

}  // namespace

Tensor adaptive_decomposition(const Tensor& self, IntSpan size) {
  check_adaptive_pool("adaptive_avg_pool2d", self, size);
  check_type("adaptive_avg_pool2d", self.dtype(), is_floating(self.dtype()));
  const DType type = compute_type(self.dtype());
  if (size[0] == 0 || size[1] == 0 || self.numel() == 0) {
    Dims shape(self.sizes());
    shape[shape.size() - 2] = size[0];
    shape.back() = size[1];
    return zeros(shape, self.dtype(), self.device());
  }
  Tensor sums = to_dtype(adaptive_sums(adaptive_sums(to_dtype(self, type), -2, size[0]), -1, size[1]), type);
  return to_dtype(contiguous(divide(sums, adaptive_areas(self, self.sizes().last(2), size, type)), format_of(self)),
                  self.dtype());
}
Tensor adaptive_backward_decomposition(const Tensor& grad, const Tensor& self) {
  check_adaptive_pool_backward("adaptive_avg_pool2d_backward", grad, self);
  const DType type = compute_type(self.dtype());
  if (grad.numel() == 0) return zeros(self.sizes(), self.dtype(), self.device());
  Tensor share = div(to_dtype(grad, type), adaptive_areas(self, self.sizes().last(2), grad.sizes().last(2), type));
  return to_dtype(
      contiguous(adaptive_spread(adaptive_spread(share, -2, self.size(-2)), -1, self.size(-1)), format_of(self)),
      self.dtype());
}

}  // namespace fc
