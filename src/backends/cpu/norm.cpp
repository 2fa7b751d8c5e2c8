// SPDX-License-Identifier: Apache-2.0
// Layer, root mean square, batch and group normalisation and their gradients, with the kernels of rows.h. Half types
// are widened first. Sums over rows are cut into chunks by the shape alone and added up in order.
#include "plan/norm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "backends/cpu/register.h"
#include "backends/cpu/rows.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "plan/reduce.h"

namespace fc::cpu {
namespace {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Mask = std::span<const bool>;

constexpr int64_t kGrain = 4096;  // elements per thread at least
int64_t grain(int64_t per_item) { return std::max<int64_t>(kGrain / std::max<int64_t>(per_item, 1), 1); }

DType checked_type(const char* op, const Tensor& t) {
  FC_CHECK_AS(NotImplementedError, is_floating(t.dtype()) && !is_barebones(t.dtype()), "\"", op,
              "_cpu\" not implemented for '", info(t.dtype()).legacy, "'");
  return compute_type(t.dtype());
}

// A contiguous tensor in the compute type; an undefined one stays so.
Tensor widen(const Tensor& t, DType type) {
  if (!t.defined() || (t.dtype() == type && t.is_contiguous())) return t;
  return contiguous(to_dtype(t, type));
}
Tensor narrow_to(const Tensor& t, DType type) { return t.dtype() == type ? t : to_dtype(t, type); }

char* at(const Tensor& t, int64_t i) {
  return static_cast<char*>(t.data()) + i * static_cast<int64_t>(item_size(t.dtype()));
}
const void* data_or_null(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

double get(const Tensor& t, int64_t i) {
  return t.dtype() == DType::Float64 ? t.data_as<double>()[i] : static_cast<double>(t.data_as<float>()[i]);
}
double get_or(const Tensor& t, int64_t i, double otherwise) { return t.defined() ? get(t, i) : otherwise; }
void set(const Tensor& t, int64_t i, double v) {
  if (t.dtype() == DType::Float64) t.data_as<double>()[i] = v;
  else t.data_as<float>()[i] = static_cast<float>(v);
}

// --- layer norm, and the one by root mean squares, which leaves the mean in; `centred` says which
Three normalise_rows(const char* op, const Tensor& input, IntSpan shape, int64_t rows, const Tensor& weight,
                     const Tensor& bias, double eps, bool centred) {
  const DType type = checked_type(op, input);
  Dims stats = layer_norm_stat_sizes(input, shape);
  Tensor x = widen(input, type), w = widen(weight, type), b = widen(bias, type);
  Tensor y = empty_tensor(x.sizes(), type, Device{}), rstd = empty_tensor(stats, type, Device{}),
         mean = centred ? empty_tensor(stats, type, Device{}) : Tensor();
  const int64_t n = checked_numel(shape);
  const RowKernels& k = row_kernels(type);
  if (n == 0) {
    zero_(rstd);
    if (centred) zero_(mean);
  } else {
    parallel_for(0, rows, grain(n), [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) {
        double m = 0, d;
        if (centred) {
          k.moments(at(x, r * n), n, &m, &d);
          set(mean, r, m);
        } else {
          double sums[2];
          k.pair_sums(at(x, r * n), at(x, r * n), n, 0, nullptr, sums);
          d = sums[1];
        }
        double s = 1 / std::sqrt(d / static_cast<double>(n) + eps);
        k.normalise(at(x, r * n), at(y, r * n), n, m, s, data_or_null(w), data_or_null(b));
        set(rstd, r, s);
      }
    });
  }
  return {narrow_to(y, input.dtype()), mean, rstd};
}
Three layer_norm(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias, double eps) {
  const int64_t rows = check_layer_norm(input, shape, weight, bias);
  return normalise_rows("layer_norm", input, shape, rows, weight, bias, eps, true);
}
Two rms_norm(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps) {
  const int64_t rows = check_rms_norm(input, shape, weight);
  auto [y, mean, rstd] =
      normalise_rows("rms_norm", input, shape, rows, weight, Tensor(), rms_norm_eps(input, eps), false);
  return {y, rstd};
}

// sums[0] += for each column the weight's gradient, sums[1] the bias's, over `rows` rows of n columns.
template <class Fold>
void sum_rows(int64_t rows, int64_t n, DType type, const Tensor& dw, const Tensor& db, const Fold& fold) {
  const int64_t chunk = std::max<int64_t>(16, (rows + 63) / 64), chunks = (rows + chunk - 1) / chunk;
  Tensor partial = zeros(Dims{std::max<int64_t>(chunks, 1), 2, n}, type, Device{});
  parallel_for(0, chunks, grain(chunk * n), [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c)
      fold(c * chunk, std::min(chunk, rows - c * chunk), at(partial, c * 2 * n), at(partial, (c * 2 + 1) * n));
  });
  Tensor total = sum(partial, Dims{0});
  copy_(dw, make_view(total, Dims{n}, Dims{1}, 0));
  copy_(db, make_view(total, Dims{n}, Dims{1}, n));
}

// The mean is undefined where it was left in.
Three rows_backward(const char* op, const Tensor& grad, const Tensor& input, IntSpan shape, int64_t rows,
                    const Tensor& mean, const Tensor& rstd, const Tensor& weight, Mask mask) {
  const DType type = checked_type(op, input), weight_type = weight.defined() ? weight.dtype() : input.dtype();
  const bool centred = mean.defined();
  Tensor g = widen(grad, type), x = widen(input, type), w = widen(weight, type), s = widen(rstd, type),
         m = centred ? widen(mean, type) : zeros(Dims{rows}, type, Device{});
  const int64_t n = checked_numel(shape);
  const RowKernels& k = row_kernels(type);
  Three out;
  Tensor dx = mask[0] ? empty_tensor(x.sizes(), type, Device{}) : Tensor();
  auto input_gradient = [&](int64_t r) {
    double sums[2], u = get(m, r), v = get(s, r);
    k.pair_sums(at(g, r * n), at(x, r * n), n, u, data_or_null(w), sums);
    const double b = -v * v * v * sums[1] / static_cast<double>(n);
    const double c = centred ? -v * sums[0] / static_cast<double>(n) - b * u : 0;
    k.affine(at(g, r * n), at(x, r * n), at(dx, r * n), n, v, b, c, data_or_null(w));
  };
  if (mask[1] || mask[2]) {
    Tensor dw = empty_tensor(Dims{n}, weight_type, Device{}), db = empty_tensor(Dims{n}, weight_type, Device{});
    // A few rows at a time, so that the second use finds them in the first cache.
    const int64_t few = std::clamp<int64_t>(2048 / std::max<int64_t>(n, 1), 1, 16);
    sum_rows(rows, n, type, dw, db, [&](int64_t row, int64_t count, char* pw, char* pb) {
      for (int64_t end = row + count; row < end; row += few) {
        const int64_t now = std::min(few, end - row);
        for (int64_t r = row; mask[0] && r < row + now; ++r) input_gradient(r);
        k.column_sums(at(g, row * n), at(x, row * n), now, n, n, at(m, row), at(s, row), pw, pb);
      }
    });
    if (mask[1]) std::get<1>(out) = make_view(dw, shape, contiguous_strides(shape), 0);
    if (mask[2]) std::get<2>(out) = make_view(db, shape, contiguous_strides(shape), 0);
  } else if (mask[0]) {
    parallel_for(0, rows, grain(n), [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) input_gradient(r);
    });
  }
  if (mask[0]) std::get<0>(out) = narrow_to(dx, input.dtype());
  return out;
}
Three layer_norm_backward(const Tensor& grad, const Tensor& input, IntSpan shape, const Tensor& mean,
                          const Tensor& rstd, const Tensor& weight, const Tensor&, Mask mask) {
  const int64_t rows = check_layer_norm(input, shape, weight, Tensor());
  check_norm_backward("native_layer_norm_backward", grad, input, {&mean, &rstd}, rows, mask);
  return rows_backward("layer_norm_backward", grad, input, shape, rows, mean, rstd, weight, mask);
}
Two rms_norm_backward(const Tensor& grad, const Tensor& input, IntSpan shape, const Tensor& rstd, const Tensor& weight,
                      Mask mask) {
  const int64_t rows = check_rms_norm_backward(grad, input, shape, rstd, weight, mask);
  const bool wanted[3] = {mask[0], mask[1], false};
  auto [dx, dw, db] =
      rows_backward("rms_norm_backward", grad, input, shape, rows, Tensor(), rstd, weight, Mask(wanted));
  return {dx, dw};
}

// --- batch norm: [N, C, S] in memory, or [N, S, C] ("last")
struct Channels {
  int64_t n, c, s;
  bool last;
  MemoryFormat format;
};
Channels channels_of(const Tensor& t) {
  Channels l{t.size(0), t.size(1), checked_numel(t.sizes().subspan(2)), false, MemoryFormat::Contiguous};
  checked_numel(Dims{l.n, l.s});  // fits, also where there are no channels
  l.format = suggest_memory_format(t);
  l.last = t.dim() == 2 || l.format != MemoryFormat::Contiguous;
  return l;
}
Tensor widen_as(const Tensor& t, DType type, MemoryFormat format) {
  return t.dtype() == type && t.is_contiguous(format) ? t : contiguous(to_dtype(t, type), format);
}

// y = (g - b[c]) * a[c] + c[c], or with a second tensor y = g * a[c] + x * b[c] + c[c].
void per_channel(const RowKernels& k, const Channels& l, const Tensor& g, const Tensor& x, const Tensor& y,
                 const Tensor& a, const Tensor& b, const Tensor& c) {
  if (l.last) {
    const int64_t rows = l.n * l.s;
    parallel_for(0, rows, grain(l.c), [&](int64_t from, int64_t to) {
      k.affine_columns(at(g, from * l.c), x.defined() ? at(x, from * l.c) : nullptr, at(y, from * l.c), to - from, l.c,
                       l.c, a.data(), b.data(), c.data());
    });
    return;
  }
  parallel_for(0, l.n * l.c, grain(l.s), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      int64_t j = i % l.c;
      k.affine(at(g, i * l.s), x.defined() ? at(x, i * l.s) : nullptr, at(y, i * l.s), l.s, get(a, j), get(b, j),
               get(c, j), nullptr);
    }
  });
}

Dims all_but_channels(int64_t ndim) {
  Dims dims{0};
  for (int64_t d = 2; d < ndim; ++d) dims.push_back(d);
  return dims;
}

Three batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                 const Tensor& running_var, bool training, double momentum, double eps) {
  check_batch_norm(input, weight, bias, running_mean, running_var, training);
  const DType type = checked_type("batch_norm", input);
  const Channels l = channels_of(input);
  Tensor x = widen_as(input, type, l.format), w = widen(weight, type), b = widen(bias, type);
  Tensor y = empty_tensor(input.sizes(), type, Device{}, l.format), mean, rstd;
  if (training) {
    auto [var, center] = call<"aten::var_mean.correction", std::tuple<Tensor, Tensor>>(
        x, std::optional<IntSpan>(all_but_channels(x.dim())), std::optional<Scalar>(0), false);
    mean = center;
    rstd = empty_tensor(Dims{l.c}, type, Device{});
    for (int64_t j = 0; j < l.c; ++j) set(rstd, j, 1 / std::sqrt(get(var, j) + eps));
    if (running_mean.defined()) {
      const double count = static_cast<double>(l.n * l.s);
      copy_(running_mean, add(mul(running_mean, 1 - momentum), mean, momentum));
      copy_(running_var, add(mul(running_var, 1 - momentum), var, momentum * count / (count - 1)));
    }
  } else {
    mean = widen(running_mean, type);
    Tensor var = widen(running_var, type);
    rstd = empty_tensor(Dims{l.c}, type, Device{});
    for (int64_t j = 0; j < l.c; ++j) set(rstd, j, 1 / std::sqrt(get(var, j) + eps));
  }
  const Tensor scale = w.defined() ? mul(rstd, w) : rstd, shift = b.defined() ? b : zeros(Dims{l.c}, type, Device{});
  if (x.numel()) per_channel(row_kernels(type), l, x, Tensor(), y, scale, mean, shift);
  Tensor none = training ? Tensor() : empty_tensor(Dims{0}, type, Device{});
  return {narrow_to(y, input.dtype()), training ? mean : none, training ? rstd : none};
}

Three batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                          const Tensor& running_var, const Tensor& save_mean, const Tensor& save_invstd, bool training,
                          double eps, Mask mask) {
  check_batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, mask);
  const DType type = checked_type("batch_norm_backward", input),
              weight_type = weight.defined() ? weight.dtype() : input.dtype();
  const Channels l = channels_of(input);
  Tensor x = widen_as(input, type, l.format), g = widen_as(grad, type, l.format), w = widen(weight, type);
  const RowKernels& k = row_kernels(type);
  Tensor mean = widen(training ? save_mean : running_mean, type), rstd = widen(save_invstd, type);
  if (!training) {
    Tensor var = widen(running_var, type);
    rstd = empty_tensor(Dims{l.c}, type, Device{});
    for (int64_t j = 0; j < l.c; ++j) set(rstd, j, 1 / std::sqrt(get(var, j) + eps));
  }
  // Per channel: the sum of g, and of g * (x - mean).
  Tensor s0 = zeros(Dims{l.c}, type, Device{}), s1 = zeros(Dims{l.c}, type, Device{});
  if (x.numel() == 0) {
    // No sums: without channels there may be any number of rows.
  } else if (l.last) {
    sum_rows(l.n * l.s, l.c, type, s1, s0, [&](int64_t row, int64_t count, char* pw, char* pb) {
      k.column_sums(at(g, row * l.c), at(x, row * l.c), count, l.c, l.c, mean.data(), nullptr, pw, pb);
    });
  } else {
    parallel_for(0, l.c, grain(l.n * l.s), [&](int64_t from, int64_t to) {
      for (int64_t j = from; j < to; ++j) {
        double total[2] = {0, 0};
        for (int64_t i = 0; i < l.n; ++i) {
          double sums[2];
          k.pair_sums(at(g, (i * l.c + j) * l.s), at(x, (i * l.c + j) * l.s), l.s, get(mean, j), nullptr, sums);
          total[0] += sums[0];
          total[1] += sums[1];
        }
        set(s0, j, total[0]);
        set(s1, j, total[1]);
      }
    });
  }
  Three out;
  if (mask[0]) {
    Tensor dx = empty_tensor(input.sizes(), type, Device{}, l.format);
    Tensor a = empty_tensor(Dims{l.c}, type, Device{}), b = zeros(Dims{l.c}, type, Device{}),
           c = zeros(Dims{l.c}, type, Device{});
    const double count = static_cast<double>(l.n * l.s);
    for (int64_t j = 0; j < l.c; ++j) {
      const double r = get(rstd, j), scale = r * get_or(w, j, 1);
      set(a, j, scale);
      if (!training) continue;
      const double slope = -scale * r * r * get(s1, j) / count;
      set(b, j, slope);
      set(c, j, -scale * get(s0, j) / count - slope * get(mean, j));
    }
    if (x.numel()) per_channel(k, l, g, training ? x : Tensor(), dx, a, b, c);
    std::get<0>(out) = narrow_to(dx, input.dtype());
  }
  if (mask[1]) std::get<1>(out) = narrow_to(mul(s1, rstd), weight_type);
  if (mask[2]) std::get<2>(out) = narrow_to(s0, weight_type);
  return out;
}

// --- group norm
Three group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t hxw,
                 int64_t group, double eps) {
  check_group_norm(input, weight, bias, n, c, hxw, group);
  const DType type = checked_type("group_norm", input);
  Tensor x = widen(input, type), w = widen(weight, type), b = widen(bias, type);
  Tensor y = empty_tensor(x.sizes(), type, Device{}), mean = empty_tensor(Dims{n, group}, type, Device{}),
         rstd = empty_tensor(Dims{n, group}, type, Device{});
  const int64_t per = c / group, size = per * hxw;
  const RowKernels& k = row_kernels(type);
  if (size > 0)
    parallel_for(0, n * group, grain(size), [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) {
        double m, d;
        k.moments(at(x, r * size), size, &m, &d);
        const double s = 1 / std::sqrt(d / static_cast<double>(size) + eps);
        set(mean, r, m);
        set(rstd, r, s);
        for (int64_t i = 0; i < per; ++i) {
          const int64_t channel = r % group * per + i, start = r * size + i * hxw;
          const double scale = s * get_or(w, channel, 1);
          k.affine(at(x, start), nullptr, at(y, start), hxw, scale, m, get_or(b, channel, 0), nullptr);
        }
      }
    });
  return {narrow_to(y, input.dtype()), mean, rstd};
}

Three group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                          const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group, Mask mask) {
  check_group_norm(input, weight, Tensor(), n, c, hxw, group);
  check_norm_backward("native_group_norm_backward", grad, input, {&mean, &rstd}, n * group, mask);
  const DType type = checked_type("group_norm_backward", input),
              weight_type = weight.defined() ? weight.dtype() : input.dtype();
  Tensor g = widen(grad, type), x = widen(input, type), w = widen(weight, type), m = widen(mean, type),
         s = widen(rstd, type);
  const int64_t per = c / group;
  const double size = static_cast<double>(per * hxw);
  const RowKernels& k = row_kernels(type);
  std::vector<double> s0(static_cast<size_t>(n * c)), s1(static_cast<size_t>(n * c));  // per sample and channel
  Three out;
  if (mask[0]) std::get<0>(out) = empty_tensor(x.sizes(), type, Device{});
  parallel_for(0, n * group, grain(per * hxw), [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) {
      const double u = get(m, r), v = get(s, r);
      double a0 = 0, a1 = 0;
      for (int64_t i = 0; i < per; ++i) {
        const int64_t row = r * per + i;
        double sums[2];
        k.pair_sums(at(g, row * hxw), at(x, row * hxw), hxw, u, nullptr, sums);
        s0[static_cast<size_t>(row)] = sums[0];
        s1[static_cast<size_t>(row)] = sums[1];
        const double scale = get_or(w, row % c, 1);
        a0 += scale * sums[0];
        a1 += scale * sums[1];
      }
      if (!mask[0]) continue;
      const double slope = -v * v * v * a1 / size;
      for (int64_t i = 0; i < per; ++i) {
        const int64_t row = r * per + i;
        k.affine(at(g, row * hxw), at(x, row * hxw), at(std::get<0>(out), row * hxw), hxw, v * get_or(w, row % c, 1),
                 slope, -v * a0 / size - slope * u, nullptr);
      }
    }
  });
  if (mask[0]) std::get<0>(out) = narrow_to(std::get<0>(out), input.dtype());
  Tensor dw = zeros(Dims{c}, type, Device{}), db = zeros(Dims{c}, type, Device{});
  for (int64_t j = 0; j < c; ++j) {
    double tw = 0, tb = 0;
    for (int64_t i = 0; i < n; ++i) {
      tw += s1[static_cast<size_t>(i * c + j)] * get(s, i * group + j / per);
      tb += s0[static_cast<size_t>(i * c + j)];
    }
    set(dw, j, tw);
    set(db, j, tb);
  }
  if (mask[1]) std::get<1>(out) = narrow_to(dw, weight_type);
  if (mask[2]) std::get<2>(out) = narrow_to(db, weight_type);
  return out;
}

}  // namespace

void register_norm() {
  set_cpu_kernel("aten::native_layer_norm", kernel<&layer_norm>());
  set_cpu_kernel("aten::native_layer_norm_backward", kernel<&layer_norm_backward>());
  set_cpu_kernel("aten::_fused_rms_norm", kernel<&rms_norm>());
  set_cpu_kernel("aten::_fused_rms_norm_backward", kernel<&rms_norm_backward>());
  set_cpu_kernel("aten::native_batch_norm", kernel<&batch_norm>());
  set_cpu_kernel("aten::native_batch_norm_backward", kernel<&batch_norm_backward>());
  set_cpu_kernel("aten::native_group_norm", kernel<&group_norm>());
  set_cpu_kernel("aten::native_group_norm_backward", kernel<&group_norm_backward>());
}

}  // namespace fc::cpu
