// SPDX-License-Identifier: Apache-2.0
// Normalisations: layer, batch, group, instance, root mean square. The native_ operators return the statistics that
// their backward operators need. When a backward is itself to be differentiated (create_graph), the gradient is
// computed in ordinary operators instead of the fused backward, so that any order works.
#include "plan/norm.h"

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/checks.h"
#include "dispatch/forward_level.h"
#include "ops/register.h"

namespace fc {

namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Mask = std::span<const bool>;

Tensor empty_if(bool wanted, IntSpan sizes, DType type, Device device) {
  return wanted ? empty_tensor(sizes, type, device) : Tensor();
}

// A per-channel vector as a tensor that broadcasts over [N, C, …].
Tensor per_channel(const Tensor& v, int64_t ndim) {
  if (!v.defined()) return v;
  Dims sizes(static_cast<size_t>(ndim), 1);
  sizes[1] = v.numel();
  return reshape(v, sizes);
}
Dims all_but_channels(int64_t ndim) {
  Dims dims{0};
  for (int64_t d = 2; d < ndim; ++d) dims.push_back(d);
  return dims;
}
Dims last_dims(int64_t ndim, size_t count) {
  Dims dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(ndim - static_cast<int64_t>(count) + static_cast<int64_t>(i));
  return dims;
}

struct Standardised {
  Tensor hat, rstd, mean;
};
Standardised standardise(const Tensor& x, IntSpan dims, double eps) {
  Tensor m = mean(x, dims, true), c = sub(x, m);
  Tensor r = rsqrt(add(mean(mul(c, c), dims, true), eps));
  return {mul(c, r), r, m};
}
// Gradient of the standardised input, g being what flows into it.
Tensor through_standardise(const Tensor& g, const Standardised& s, IntSpan dims) {
  return mul(s.rstd, sub(sub(g, mean(g, dims, true)), mul(s.hat, mean(mul(g, s.hat), dims, true))));
}

// --- layer norm
Tensor layer_norm(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias, double eps, bool) {
  return std::get<0>(call<"aten::native_layer_norm", Three>(input, shape, weight, bias, eps));
}
Three layer_norm_meta(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias, double) {
  check_layer_norm(input, shape, weight, bias);
  Dims stats = layer_norm_stat_sizes(input, shape);
  DType t = compute_type(input.dtype());
  return {empty_tensor(input.sizes(), input.dtype(), input.device()), empty_tensor(stats, t, input.device()),
          empty_tensor(stats, t, input.device())};
}
Three layer_norm_decomposition(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias,
                               double eps) {
  check_layer_norm(input, shape, weight, bias);
  Tensor x = contiguous(to_dtype(input, compute_type(input.dtype())));
  Standardised s = standardise(x, last_dims(input.dim(), shape.size()), eps);
  Tensor y = weight.defined() ? mul(s.hat, weight) : s.hat;
  if (bias.defined()) y = add(y, bias);
  return {to_dtype(y, input.dtype()), s.mean, s.rstd};
}
Three layer_norm_backward_meta(const Tensor& g, const Tensor& input, IntSpan shape, const Tensor& mean,
                               const Tensor& rstd, const Tensor& weight, const Tensor&, Mask mask) {
  const int64_t rows = check_layer_norm(input, shape, weight, Tensor());
  check_norm_backward("native_layer_norm_backward", g, input, {&mean, &rstd}, rows, mask);
  DType t = weight.defined() ? weight.dtype() : input.dtype();
  return {empty_if(mask[0], input.sizes(), input.dtype(), g.device()), empty_if(mask[1], shape, t, g.device()),
          empty_if(mask[2], shape, t, g.device())};
}
Three layer_norm_backward_decomposition(const Tensor& g, const Tensor& input, IntSpan shape, const Tensor& mean,
                                        const Tensor& rstd, const Tensor& weight, const Tensor&, Mask mask) {
  const int64_t rows = check_layer_norm(input, shape, weight, Tensor());
  check_norm_backward("native_layer_norm_backward", g, input, {&mean, &rstd}, rows, mask);
  const Dims stats = layer_norm_stat_sizes(input, shape);
  const Tensor m = reshape(mean, stats), r = reshape(rstd, stats);
  Standardised s{mul(sub(input, m), r), r, m};
  Three out;
  if (mask[0])
    std::get<0>(out) =
        to_dtype(through_standardise(weight.defined() ? mul(g, weight) : g, s, last_dims(input.dim(), shape.size())),
                 input.dtype());
  if (mask[1])
    std::get<1>(out) = to_dtype(sum_to_size(mul(g, s.hat), shape), weight.defined() ? weight.dtype() : input.dtype());
  if (mask[2]) std::get<2>(out) = to_dtype(sum_to_size(g, shape), weight.defined() ? weight.dtype() : input.dtype());
  return out;
}
void layer_norm_grad(Grad& g) {  // (input, normalized_shape, weight, bias, eps)
  const Tensor& go = g.out();
  if (!go.defined()) return;
  Tensor x = g.in(0), w = g.in(2);
  IntSpan shape = g.arg(1).ints();
  if (!is_differentiated()) {
    const bool mask[3] = {g.needs(0), g.needs(2), g.needs(3)};
    auto [dx, dw, db] = call<"aten::native_layer_norm_backward", Three>(go, x, shape, g.result(1), g.result(2), w,
                                                                        Tensor(), Mask(mask));
    g.set(0, dx);
    g.set(2, dw);
    g.set(3, db);
    return;
  }
  Dims dims = last_dims(x.dim(), shape.size());
  Standardised s = standardise(x, dims, g.arg(4).real());
  if (g.needs(0)) g.set(0, through_standardise(w.defined() ? mul(go, w) : go, s, dims));
  if (g.needs(2)) g.set(2, mul(go, s.hat));  // the engine sums over what was broadcast
  if (g.needs(3)) g.set(3, go);
}

// --- batch norm
Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool) {
  if (input.dim() == 1 && input.numel() == 0) return clone(input);  // PyTorch takes it for a batch of nothing
  if (input.numel() == 0) {  // no statistics: what was learned stays, and gets gradients of 0
    check_batch_norm(input, weight, bias, running_mean, running_var, training);
    Tensor y = clone(input);
    if (weight.defined()) y = mul(y, per_channel(weight, input.dim()));
    return to_dtype(bias.defined() ? add(y, per_channel(bias, input.dim())) : y, input.dtype());
  }
  return std::get<0>(
      call<"aten::native_batch_norm", Three>(input, weight, bias, running_mean, running_var, training, momentum, eps));
}
Three batch_norm_legit(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                       const Tensor& running_var, bool training, double momentum, double eps) {
  return call<"aten::native_batch_norm", Three>(input, weight, bias, running_mean, running_var, training, momentum,
                                                eps);
}
Three batch_norm_without(const Tensor& input, const Tensor& weight, const Tensor& bias, bool training, double momentum,
                         double eps) {
  return batch_norm_legit(input, weight, bias, Tensor(), Tensor(), training, momentum, eps);
}
Three batch_norm_by_running(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                            const Tensor& running_var, double momentum, double eps) {
  return batch_norm_legit(input, weight, bias, running_mean, running_var, false, momentum, eps);
}
Three batch_norm_meta(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training, double, double) {
  check_batch_norm(input, weight, bias, running_mean, running_var, training);
  Dims stats{training ? input.size(1) : 0};
  DType t = compute_type(input.dtype());
  return {empty_tensor(input.sizes(), input.dtype(), input.device(), suggest_memory_format(input)),
          empty_tensor(stats, t, input.device()), empty_tensor(stats, t, input.device())};
}
Three batch_norm_decomposition(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
                               double eps) {
  check_batch_norm(input, weight, bias, running_mean, running_var, training);
  const int64_t nd = input.dim();
  DType t = compute_type(input.dtype());
  Tensor x = contiguous(to_dtype(input, t), suggest_memory_format(input)), m, r;
  if (training) {
    Standardised s = standardise(x, all_but_channels(nd), eps);
    m = reshape(s.mean, Dims{-1});
    r = reshape(s.rstd, Dims{-1});
    if (running_mean.defined()) {
      double n = static_cast<double>(input.numel()) / static_cast<double>(std::max<int64_t>(input.size(1), 1));
      Tensor var = sub(reciprocal(mul(r, r)), eps);
      copy_(running_mean, add(mul(running_mean, 1 - momentum), m, momentum));
      copy_(running_var, add(mul(running_var, 1 - momentum), var, momentum * n / (n - 1)));
    }
  } else {
    m = to_dtype(running_mean, t);
    r = rsqrt(add(to_dtype(running_var, t), eps));
  }
  Tensor y = mul(sub(x, per_channel(m, nd)), per_channel(r, nd));
  if (weight.defined()) y = mul(y, per_channel(weight, nd));
  if (bias.defined()) y = add(y, per_channel(bias, nd));
  Tensor none = empty_tensor(Dims{0}, t, input.device());
  return {to_dtype(y, input.dtype()), training ? m : none, training ? r : none};
}
Three batch_norm_backward_meta(const Tensor& g, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                               const Tensor& running_var, const Tensor& mean, const Tensor& rstd, bool training, double,
                               Mask mask) {
  check_batch_norm_backward(g, input, weight, running_mean, running_var, mean, rstd, training, mask);
  DType t = weight.defined() ? weight.dtype() : input.dtype();
  Dims c{input.size(1)};
  return {empty_if(mask[0], input.sizes(), input.dtype(), g.device()), empty_if(mask[1], c, t, g.device()),
          empty_if(mask[2], c, t, g.device())};
}

// The statistics may be the saved ones (fused) or computed afresh from x (differentiable).
Three batch_norm_grads(const Tensor& g, const Standardised& s, const Tensor& weight, bool training, Mask mask) {
  const int64_t nd = g.dim();
  Dims dims = all_but_channels(nd);
  Three out;
  if (mask[0]) {
    Tensor gw = weight.defined() ? mul(g, per_channel(weight, nd)) : g;
    std::get<0>(out) = training ? through_standardise(gw, s, dims) : mul(gw, s.rstd);
  }
  if (mask[1]) std::get<1>(out) = sum(mul(g, s.hat), dims);
  if (mask[2]) std::get<2>(out) = sum(g, dims);
  return out;
}
Standardised fixed_stats(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  Tensor m = per_channel(mean, x.dim()), r = per_channel(rstd, x.dim());
  return {mul(sub(x, m), r), r, m};
}
Three batch_norm_backward_decomposition(const Tensor& g, const Tensor& input, const Tensor& weight,
                                        const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
                                        const Tensor& rstd, bool training, double eps, Mask mask) {
  check_batch_norm_backward(g, input, weight, running_mean, running_var, mean, rstd, training, mask);
  const DType t = compute_type(input.dtype()), weight_type = weight.defined() ? weight.dtype() : input.dtype();
  Tensor x = to_dtype(input, t);
  Standardised s = training ? fixed_stats(x, mean, rstd) : fixed_stats(x, running_mean, rsqrt(add(running_var, eps)));
  Three out = batch_norm_grads(to_dtype(g, t), s, weight, training, mask);
  if (mask[0]) std::get<0>(out) = to_dtype(std::get<0>(out), input.dtype());
  if (mask[1]) std::get<1>(out) = to_dtype(std::get<1>(out), weight_type);
  if (mask[2]) std::get<2>(out) = to_dtype(std::get<2>(out), weight_type);
  return out;
}
void batch_norm_grad(Grad& g) {  // (input, weight, bias, running_mean, running_var, training, momentum, eps)
  const Tensor& go = g.out();
  if (!go.defined()) return;
  const bool mask[3] = {g.needs(0), g.needs(1), g.needs(2)}, training = g.arg(5).boolean();
  const double eps = g.arg(7).real();
  Tensor x = g.in(0), w = g.in(1);
  Three out;
  if (!is_differentiated()) {
    // The running statistics only matter in evaluation; training has changed them since.
    Tensor mean = training ? Tensor() : g.in(3), var = training ? Tensor() : g.in(4);
    out = call<"aten::native_batch_norm_backward", Three>(go, x, w, mean, var, g.result(1), g.result(2), training, eps,
                                                          Mask(mask));
  } else {
    Standardised s =
        training ? standardise(x, all_but_channels(x.dim()), eps) : fixed_stats(x, g.in(3), rsqrt(add(g.in(4), eps)));
    out = batch_norm_grads(go, s, w, training, mask);
  }
  g.set(0, std::get<0>(out));
  g.set(1, std::get<1>(out));
  g.set(2, std::get<2>(out));
}

// Each sample's channels become channels of one large sample.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool cudnn) {
  FC_CHECK(input.dim() >= 2, "instance_norm: expected an input of at least 2 dimensions, got ", input.sizes());
  FC_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
           "instance_norm: Expected running_mean and running_var to be defined when use_input_stats is false");
  const int64_t n = input.size(0), c = input.size(1);
  auto repeated = [&](const Tensor& t) {
    return t.defined() ? reshape(expand(unsqueeze(t, 0), Dims{n, c}), Dims{n * c}) : t;
  };
  Dims sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = n * c;
  Tensor mean = repeated(running_mean), var = repeated(running_var);
  Tensor y = call<"aten::batch_norm", Tensor>(reshape(contiguous(input), sizes), repeated(weight), repeated(bias), mean,
                                              var, use_input_stats, momentum, eps, cudnn);
  if (use_input_stats && running_mean.defined()) {
    GradMode off(false);
    copy_(running_mean, fc::mean(reshape(mean, Dims{n, c}), Dims{0}));
    copy_(running_var, fc::mean(reshape(var, Dims{n, c}), Dims{0}));
  }
  return reshape(y, input.sizes());
}

// --- group norm
Tensor group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double eps, bool) {
  FC_CHECK(input.dim() >= 2, "group_norm: Expected at least 2 dimensions for input tensor but received ", input.dim());
  int64_t n = input.size(0), c = input.size(1), s = 1;
  for (int64_t d = 2; d < input.dim(); ++d) s *= input.size(d);
  return std::get<0>(call<"aten::native_group_norm", Three>(input, weight, bias, n, c, s, groups, eps));
}
Three group_norm_meta(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t hxw,
                      int64_t group, double) {
  check_group_norm(input, weight, bias, n, c, hxw, group);
  DType t = compute_type(input.dtype());
  return {empty_tensor(input.sizes(), input.dtype(), input.device()), empty_tensor(Dims{n, group}, t, input.device()),
          empty_tensor(Dims{n, group}, t, input.device())};
}
Three group_norm_decomposition(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                               int64_t hxw, int64_t group, double eps) {
  check_group_norm(input, weight, bias, n, c, hxw, group);
  Standardised s =
      standardise(reshape(to_dtype(input, compute_type(input.dtype())), Dims{n, group, c / group * hxw}), Dims{2}, eps);
  Tensor y = reshape(s.hat, Dims{n, c, hxw});
  if (weight.defined()) y = mul(y, per_channel(weight, 3));
  if (bias.defined()) y = add(y, per_channel(bias, 3));
  return {to_dtype(reshape(y, input.sizes()), input.dtype()), reshape(s.mean, Dims{n, group}),
          reshape(s.rstd, Dims{n, group})};
}
Three group_norm_backward_meta(const Tensor& g, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                               const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group, Mask mask) {
  check_group_norm(input, weight, Tensor(), n, c, hxw, group);
  check_norm_backward("native_group_norm_backward", g, input, {&mean, &rstd}, n * group, mask);
  DType t = weight.defined() ? weight.dtype() : input.dtype();
  return {empty_if(mask[0], input.sizes(), input.dtype(), g.device()), empty_if(mask[1], Dims{c}, t, g.device()),
          empty_if(mask[2], Dims{c}, t, g.device())};
}
Three group_norm_grads(const Tensor& grad, const Standardised& s, IntSpan sizes, const Tensor& weight, int64_t n,
                       int64_t c, int64_t hxw, Mask mask) {
  Tensor g = reshape(grad, Dims{n, c, hxw});
  Three out;
  if (mask[0]) {
    Tensor gw = weight.defined() ? mul(g, per_channel(weight, 3)) : g;
    std::get<0>(out) = reshape(through_standardise(reshape(gw, s.hat.sizes()), s, Dims{2}), sizes);
  }
  if (mask[1]) std::get<1>(out) = sum(mul(g, reshape(s.hat, Dims{n, c, hxw})), Dims{0, 2});
  if (mask[2]) std::get<2>(out) = sum(g, Dims{0, 2});
  return out;
}
Three group_norm_backward_decomposition(const Tensor& g, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                                        const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                                        Mask mask) {
  check_group_norm(input, weight, Tensor(), n, c, hxw, group);
  check_norm_backward("native_group_norm_backward", g, input, {&mean, &rstd}, n * group, mask);
  const DType t = compute_type(input.dtype()), weight_type = weight.defined() ? weight.dtype() : input.dtype();
  Tensor x = reshape(to_dtype(input, t), Dims{n, group, c / group * hxw}), m = reshape(mean, Dims{n, group, 1}),
         r = reshape(rstd, Dims{n, group, 1});
  Three out = group_norm_grads(to_dtype(g, t), {mul(sub(x, m), r), r, m}, input.sizes(), weight, n, c, hxw, mask);
  if (mask[0]) std::get<0>(out) = to_dtype(std::get<0>(out), input.dtype());
  if (mask[1]) std::get<1>(out) = to_dtype(std::get<1>(out), weight_type);
  if (mask[2]) std::get<2>(out) = to_dtype(std::get<2>(out), weight_type);
  return out;
}
void group_norm_grad(Grad& g) {  // (input, weight, bias, N, C, HxW, group, eps)
  const Tensor &go = g.out(0), &of_mean = g.out(1), &of_rstd = g.out(2);
  const bool mask[3] = {g.needs(0), g.needs(1), g.needs(2)};
  const int64_t n = g.arg(3).integer(), c = g.arg(4).integer(), hxw = g.arg(5).integer(), group = g.arg(6).integer();
  Tensor x = g.in(0), w = g.in(1);
  const bool statistics = mask[0] && (of_mean.defined() || of_rstd.defined());
  Standardised s;
  if (is_differentiated() || statistics)
    s = standardise(reshape(x, Dims{n, group, c / group * hxw}), Dims{2}, g.arg(7).real());
  Three out;
  if (go.defined())
    out = is_differentiated() ? group_norm_grads(go, s, x.sizes(), w, n, c, hxw, mask)
                              : call<"aten::native_group_norm_backward", Three>(go, x, g.result(1), g.result(2), w, n,
                                                                                c, hxw, group, Mask(mask));
  if (statistics) {  // d mean / dx is 1 / size, d rstd / dx is -rstd^2 hat / size
    const Dims per_group{n, group, 1};
    Tensor flow;
    if (of_mean.defined()) flow = expand(reshape(of_mean, per_group), s.hat.sizes());
    if (of_rstd.defined()) {
      Tensor more = neg(mul(mul(reshape(of_rstd, per_group), mul(s.rstd, s.rstd)), s.hat));
      flow = flow.defined() ? add(flow, more) : more;
    }
    flow = reshape(div(flow, c / group * hxw), x.sizes());
    std::get<0>(out) = std::get<0>(out).defined() ? add(std::get<0>(out), flow) : flow;
  }
  g.set(0, std::get<0>(out));
  g.set(1, std::get<1>(out));
  g.set(2, std::get<2>(out));
}

// --- root mean square
using Two = std::tuple<Tensor, Tensor>;
struct Scaled {
  Tensor hat, rstd;
};
Scaled scale_rms(const Tensor& x, IntSpan shape, double eps) {
  Tensor r = rsqrt(add(mean(mul(x, x), last_dims(x.dim(), shape.size()), true), eps));
  return {mul(x, r), r};
}
// Gradients of input and weight; g is what flows into the result.
Two rms_norm_grads(const Tensor& g, const Scaled& s, const Tensor& weight, IntSpan shape, Mask mask) {
  Two out;
  if (mask[0]) {
    Tensor gw = weight.defined() ? mul(g, weight) : g;
    Tensor along = mean(mul(gw, s.hat), last_dims(g.dim(), shape.size()), true);
    std::get<0>(out) = mul(s.rstd, sub(gw, mul(s.hat, along)));
  }
  if (mask[1]) std::get<1>(out) = sum_to_size(mul(g, s.hat), shape);
  return out;
}

Two rms_norm_meta(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double>) {
  check_rms_norm(input, shape, weight);
  return {empty_tensor(input.sizes(), input.dtype(), input.device()),
          empty_tensor(layer_norm_stat_sizes(input, shape), compute_type(input.dtype()), input.device())};
}
Two rms_norm_decomposition(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps) {
  check_rms_norm(input, shape, weight);
  Scaled s = scale_rms(contiguous(to_dtype(input, compute_type(input.dtype()))), shape, rms_norm_eps(input, eps));
  return {to_dtype(weight.defined() ? mul(s.hat, weight) : s.hat, input.dtype()), s.rstd};
}
Two rms_norm_backward_meta(const Tensor& g, const Tensor& input, IntSpan shape, const Tensor& rstd,
                           const Tensor& weight, Mask mask) {
  check_rms_norm_backward(g, input, shape, rstd, weight, mask);
  return {empty_if(mask[0], input.sizes(), input.dtype(), g.device()),
          empty_if(mask[1], shape, weight.defined() ? weight.dtype() : input.dtype(), g.device())};
}
Two rms_norm_backward_decomposition(const Tensor& g, const Tensor& input, IntSpan shape, const Tensor& rstd,
                                    const Tensor& weight, Mask mask) {
  check_rms_norm_backward(g, input, shape, rstd, weight, mask);
  const DType t = compute_type(input.dtype());
  const Tensor r = reshape(rstd, layer_norm_stat_sizes(input, shape));
  auto [dx, dw] = rms_norm_grads(to_dtype(g, t), {mul(to_dtype(input, t), r), r}, weight, shape, mask);
  if (mask[0]) dx = to_dtype(dx, input.dtype());
  if (mask[1]) dw = to_dtype(dw, weight.defined() ? weight.dtype() : input.dtype());
  return {dx, dw};
}
void rms_norm_grad(Grad& g) {  // (input, normalized_shape, weight, eps)
  if (!g.out().defined()) return;
  Tensor x = g.in(0), w = g.in(2);
  IntSpan shape = g.arg(1).ints();
  const bool mask[2] = {g.needs(0), g.needs(2)};
  auto [dx, dw] =
      is_differentiated()
          ? rms_norm_grads(
                g.out(),
                scale_rms(x, shape,
                          rms_norm_eps(x, g.arg(3).is_none() ? std::nullopt : std::optional(g.arg(3).real()))),
                w, shape, mask)
          : call<"aten::_fused_rms_norm_backward", Two>(g.out(), x, shape, g.result(1), w, Mask(mask));
  g.set(0, dx);
  g.set(2, dw);
}
Tensor rms_norm(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps) {
  if (is_floating(input.dtype()) && !is_barebones(input.dtype()))
    return std::get<0>(call<"aten::_fused_rms_norm", Two>(input, shape, weight, eps));
  check_rms_norm(input, shape, weight);
  Tensor hat = scale_rms(input, shape, rms_norm_eps(input, eps)).hat;
  return to_dtype(weight.defined() ? mul(hat, weight) : hat, input.dtype());
}

// Operations of an element: one for the mean, three for the variance, two to normalise, two for weight and bias.
// Backward: two to normalise again, one for the weight, three for two sums, four for the input's gradient, three for
// the others.
constexpr OpDef defs[] = {
    {.schema = "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
               "eps=1e-05, bool cudnn_enable=True) -> Tensor",
     .doc = "Normalises the last dimensions of each sample by their mean and variance.",
     .composite = kernel<&layer_norm>(),
     .autocast = Autocast::Float32},
    {.schema = "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
               "(Tensor, Tensor, Tensor)",
     .doc = "layer_norm that also returns the means and the inverse deviations.",
     .meta = kernel<&layer_norm_meta>(),
     .decomposition = kernel<&layer_norm_decomposition>(),
     .saves = "input normalized_shape weight eps result1 result2",
     .grad = layer_norm_grad,
     .differentiable_results = 1,
     .flops = element_flops<8>},
    {.schema = "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, "
               "Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of native_layer_norm.",
     .meta = kernel<&layer_norm_backward_meta>(),
     .decomposition = kernel<&layer_norm_backward_decomposition>(),
     .flops = element_flops<13>},
    {.schema = "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
               "training, float momentum, float eps, "
               "bool cudnn_enabled) -> Tensor",
     .doc = "Normalises each channel over the batch by its mean and variance, or by running ones.",
     .composite = kernel<&batch_norm>()},
    {.schema = "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
               "running_var, bool training, float momentum, float eps) "
               "-> (Tensor, Tensor, Tensor)",
     .doc = "batch_norm that also returns the mean and the inverse deviation.",
     .meta = kernel<&batch_norm_meta>(),
     .decomposition = kernel<&batch_norm_decomposition>(),
     .saves = "input weight running_mean running_var training eps result1 result2",
     .grad = batch_norm_grad,
     .differentiable_results = 1,
     .flops = element_flops<8>},
    {.schema = "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
               "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "native_batch_norm, which says that it changes its statistics.",
     .composite = kernel<&batch_norm_legit>()},
    {.schema = "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float "
               "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .composite = kernel<&batch_norm_without>()},
    {.schema = "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
               "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "native_batch_norm by running statistics.",
     .composite = kernel<&batch_norm_by_running>()},
    {.schema = "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
               "Tensor? running_var, Tensor? save_mean, "
               "Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of native_batch_norm.",
     .meta = kernel<&batch_norm_backward_meta>(),
     .decomposition = kernel<&batch_norm_backward_decomposition>(),
     .flops = element_flops<13>},
    {.schema = "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
               "bool use_input_stats, float momentum, float eps, "
               "bool cudnn_enabled) -> Tensor",
     .doc = "Normalises each channel of each sample by its mean and variance.",
     .composite = kernel<&instance_norm>()},
    {.schema = "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
               "cudnn_enabled=True) -> Tensor",
     .doc = "Normalises groups of channels of each sample by their mean and variance.",
     .composite = kernel<&group_norm>(),
     .autocast = Autocast::Float32},
    {.schema = "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int "
               "group, float eps) -> (Tensor, Tensor, Tensor)",
     .doc = "group_norm that also returns the means and the inverse deviations.",
     .meta = kernel<&group_norm_meta>(),
     .decomposition = kernel<&group_norm_decomposition>(),
     .saves = "input weight N C HxW group eps result1 result2",
     .grad = group_norm_grad,
     .flops = element_flops<8>},
    {.schema = "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, "
               "SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .doc = "The gradients of native_group_norm.",
     .meta = kernel<&group_norm_backward_meta>(),
     .decomposition = kernel<&group_norm_backward_decomposition>(),
     .flops = element_flops<13>},
    {.schema = "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
     .doc = "Divides the last dimensions of each sample by their root mean square.",
     .composite = kernel<&rms_norm>()},
    {.schema = "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
     .doc = "rms_norm that also returns the inverse root mean squares.",
     .meta = kernel<&rms_norm_meta>(),
     .decomposition = kernel<&rms_norm_decomposition>(),
     .saves = "input normalized_shape weight eps result1",
     .grad = rms_norm_grad,
     .differentiable_results = 1,
     .flops = element_flops<4>},
    {.schema = "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? "
               "weight, bool[2] output_mask) -> (Tensor, Tensor)",
     .doc = "The gradients of _fused_rms_norm.",
     .meta = kernel<&rms_norm_backward_meta>(),
     .decomposition = kernel<&rms_norm_backward_decomposition>(),
     .flops = element_flops<9>},
};

}  // namespace

void define_norm() { define_all(defs); }

}  // namespace fc
