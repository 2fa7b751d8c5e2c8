// SPDX-License-Identifier: Apache-2.0
// Losses. Those over classes (nll_loss) have kernels; the others are written in pointwise operators and reductions,
// with a gradient of their own where that saves passes over memory.
#include "plan/loss.h"

#include <cmath>

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/forward_level.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {

namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor reduce_loss(const Tensor& loss, int64_t reduction) {
  FC_CHECK(reduction >= 0 && reduction <= 2, "loss: reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  if (reduction == kReduceMean) return call<"aten::mean", Tensor>(loss, std::optional<DType>());
  return reduction == kReduceSum ? sum(loss) : loss;
}
// What one element's loss contributes, given the gradient of the reduced loss.
Tensor spread(const Tensor& g, int64_t reduction, int64_t numel) {
  return reduction == kReduceMean ? div(g, numel) : g;
}
int64_t broadcast_numel(const Tensor& a, const Tensor& b) {
  return checked_numel(broadcast_shapes("loss", a.sizes(), b.sizes()));
}

// --- classes
Dims class_first(const Tensor& self, const ClassShape& s) {
  return self.dim() == 1 ? Dims{1, s.c, 1} : Dims{s.n, s.c, s.s};
}
Dims loss_sizes(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduction == kReduceNone && self.dim() > 1 ? Dims(target.sizes()) : Dims{};
}

Pair nll_meta(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t) {
  check_nll(self, target, weight, reduction);
  return {empty_tensor(loss_sizes(self, target, reduction), self.dtype(), self.device()),
          empty_tensor({}, self.dtype(), self.device())};
}
// Which class each target names, without an index: a device needs only pointwise operators and sums.
struct Chosen {
  Tensor named, weight;  // [N, C, S]: whether the class is the target; [N, 1, S]: its weight; nothing where ignored
};
Chosen choose(const Tensor& self, const Tensor& target, const Tensor& weight, const ClassShape& s,
              int64_t ignore_index) {
  Tensor t = reshape(to_dtype(target, DType::Int64), Dims{s.n, 1, s.s}), ignored = eq(t, ignore_index);
  t = masked_fill(t, ignored, 0);
  if (t.numel() > 0) {
    auto number = [](const Tensor& v) { return call<"aten::_local_scalar_dense", Scalar>(v).to_int(); };
    const int64_t least = number(amin(t, Dims{})), most = number(amax(t, Dims{}));
    // An ignored target stands as 0, which is no class if there are none.
    FC_CHECK_AS(IndexError, (least >= 0 && most < s.c) || (s.c == 0 && all_true(ignored)), "nll_loss: Target ",
                least < 0 ? least : most, " is out of bounds.");
  }
  Tensor classes = call<"aten::arange", Tensor>(Scalar(s.c), DType::Int64, nullptr, self.device(), nullptr);
  Tensor named = masked_fill(eq(t, view(classes, Dims{1, s.c, 1})), ignored, false);
  Tensor w = weight.defined() ? sum(where(named, view(contiguous(weight), Dims{1, s.c, 1}), Scalar(0)), Dims{1}, true)
                              : full(t.sizes(), 1, self.dtype(), self.device());
  return {named, masked_fill(w, ignored, 0)};
}
Pair nll_decomposition(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                       int64_t ignore_index) {
  ClassShape s = check_nll(self, target, weight, reduction);
  Chosen c = choose(self, target, weight, s, ignore_index);
  Tensor picked = sum(where(c.named, reshape(self, class_first(self, s)), Scalar(0)), Dims{1}, true);
  Tensor loss = neg(mul(picked, c.weight)), total = sum(c.weight);
  if (reduction == kReduceNone) return {reshape(loss, loss_sizes(self, target, reduction)), zeros_like(total)};
  return {reduction == kReduceMean ? div(sum(loss), total) : sum(loss), total};
}
Tensor nll_backward_meta(const Tensor&, const Tensor& self, const Tensor&, const Tensor&, int64_t, int64_t,
                         const Tensor&) {
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}
Tensor nll_backward_decomposition(const Tensor& g, const Tensor& self, const Tensor& target, const Tensor& weight,
                                  int64_t reduction, int64_t ignore_index, const Tensor& total_weight) {
  ClassShape s = check_nll(self, target, weight, reduction);
  Chosen c = choose(self, target, weight, s, ignore_index);
  Tensor go = reduction == kReduceNone   ? reshape(g, c.weight.sizes())
              : reduction == kReduceMean ? div(g, total_weight)
                                         : g;
  return reshape(where(c.named, neg(mul(c.weight, go)), Scalar(0)), self.sizes());
}
template <FixedString backward>
void nll_grad(Grad& g) {  // (self, target, weight, reduction, ignore_index)
  g.set(0, call<backward, Tensor>(g.out(), g.in(0), g.in(1), g.in(2), g.arg(3).integer(), g.arg(4).integer(),
                                  g.result(1)));
}
// The backward is linear in grad_output; its transpose is the loss itself.
template <FixedString forward>
void nll_backward_grad(Grad& g) {  // (grad_output, self, target, weight, reduction, ignore_index, total_weight)
  if (g.needs(0))
    g.set(0, std::get<0>(call<forward, Pair>(g.out(), g.in(2), g.in(3), g.arg(4).integer(), g.arg(5).integer())));
  if (g.needs(1)) g.set(1, zeros_like(g.out()));
}

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  return std::get<0>(call<"aten::nll_loss_forward", Pair>(self, target, weight, reduction, ignore_index));
}
Tensor nll_loss2d(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                  int64_t ignore_index) {
  return std::get<0>(call<"aten::nll_loss2d_forward", Pair>(self, target, weight, reduction, ignore_index));
}
Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                   int64_t ignore_index) {
  FC_CHECK_AS(ValueError, self.dim() > 0, "nll_loss: Expected 1 or more dimensions (got ", self.dim(), ")");
  return self.dim() <= 2 ? nll_loss(self, target, weight, reduction, ignore_index)
                         : nll_loss2d(self, target, weight, reduction, ignore_index);
}

// Cross-entropy of rows: log_softmax and nll_loss in one, which keeps two numbers of each row for the gradient.
Three rows_meta(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t) {
  const ClassShape s = check_cross_entropy_rows(self, target, weight, reduction);
  auto [loss, total] = nll_meta(self, target, weight, reduction, 0);
  return {loss, total, empty_tensor(Dims{s.n, 2}, self.dtype(), self.device())};
}
Three rows_decomposition(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                         int64_t ignore_index) {
  check_cross_entropy_rows(self, target, weight, reduction);
  const Tensor top = amax(self, Dims{1}, true), less = log(sum(exp(sub(self, top)), Dims{1}, true));
  auto [loss, total] = nll_decomposition(sub(sub(self, top), less), target, weight, reduction, ignore_index);
  return {loss, total, cat(std::vector{top, less}, 1)};
}
Tensor rows_backward_meta(const Tensor& g, const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor&) {
  return nll_backward_meta(g, self, target, weight, reduction, ignore_index, total_weight);
}
Tensor rows_backward_decomposition(const Tensor& g, const Tensor& self, const Tensor& target, const Tensor& weight,
                                   int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                                   const Tensor& terms) {
  const Tensor logs = sub(sub(self, narrow(terms, 1, 0, 1)), narrow(terms, 1, 1, 1));
  const Tensor slopes = nll_backward_decomposition(g, logs, target, weight, reduction, ignore_index, total_weight);
  return sub(slopes, mul(exp(logs), sum(slopes, Dims{1}, true)));
}
void rows_grad(Grad& g) {  // (self, target, weight, reduction, ignore_index)
  const int64_t reduction = g.arg(3).integer(), ignore_index = g.arg(4).integer();
  if (!is_differentiated()) {
    g.set(0, call<"facula::cross_entropy_rows_backward", Tensor>(g.out(), g.in(0), g.in(1), g.in(2), reduction,
                                                                 ignore_index, g.result(1), g.result(2)));
    return;
  }
  // With a graph of its own the gradient goes through operators that have derivatives.
  const Tensor logs = call<"aten::_log_softmax", Tensor>(g.in(0), 1, false);
  const Tensor slopes =
      call<"aten::nll_loss_backward", Tensor>(g.out(), logs, g.in(1), g.in(2), reduction, ignore_index, g.result(1));
  g.set(0, call<"aten::_log_softmax_backward_data", Tensor>(slopes, logs, 1, g.dtype(0)));
}
// Whether the call may be one operator that no other layer has to know: plain tensors on the CPU.
bool may_fuse_rows(const Tensor& self, const Tensor& target, const Tensor& weight) {
  constexpr LayerSet kSeen = layer::Python | layer::Route | layer::Sparse | layer::Trace;
  auto plain = [](const Tensor& t) { return t.device().is_cpu() && !(t.impl().layers() & kSeen); };
  return self.dim() == 2 && self.size(1) > 0 && (self.dtype() == DType::Float32 || self.dtype() == DType::Float64) &&
         plain(self) && plain(target) && (!weight.defined() || plain(weight)) && !(thread_state().include & kSeen) &&
         !(process_layers() & kSeen);
}

Tensor per_class(const Tensor& weight, const Tensor& self) {
  if (self.dim() < 2) return weight;
  Dims sizes(static_cast<size_t>(self.dim()), 1);
  sizes[1] = weight.numel();
  return reshape(weight, sizes);
}

Tensor cross_entropy_probabilities(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                                   double smoothing) {
  const int64_t dim = self.dim() == 1 ? 0 : 1, classes = self.size(dim);
  FC_CHECK(is_floating(target.dtype()),
           "cross_entropy: Expected floating point type for target with class probabilities, got ",
           info(target.dtype()).legacy);
  FC_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
           "cross_entropy: weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ", weight.sizes());
  Tensor t = smoothing > 0 ? add(mul(target, 1 - smoothing), smoothing / static_cast<double>(classes)) : target;
  Tensor terms = mul(call<"aten::log_softmax.int", Tensor>(self, dim, std::optional<DType>()), t);
  if (weight.defined()) terms = mul(terms, per_class(weight, self));
  if (reduction == kReduceNone) return neg(sum(terms, Dims{dim}));
  Tensor total = neg(sum(terms));
  return reduction == kReduceSum ? total : div(total, static_cast<double>(self.numel()) / static_cast<double>(classes));
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore_index, double smoothing) {
  FC_CHECK(smoothing >= 0 && smoothing <= 1,
           "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  if (Dims::same(self.sizes(), target.sizes()) && self.dim() > 0) {
    FC_CHECK(ignore_index < 0, "cross_entropy: ignore_index is not supported for floating point target");
    return cross_entropy_probabilities(self, target, weight, reduction, smoothing);
  }
  if (smoothing == 0 && may_fuse_rows(self, target, weight))
    return std::get<0>(call<"facula::cross_entropy_rows", Three>(self, target, weight, reduction, ignore_index));
  const int64_t dim = self.dim() == 1 ? 0 : 1;
  Tensor logs = call<"aten::log_softmax.int", Tensor>(self, dim, std::optional<DType>());
  Tensor nll = call<"aten::nll_loss_nd", Tensor>(logs, target, weight, reduction, ignore_index);
  if (smoothing == 0) return nll;
  // The part of every class alike.
  Tensor even = neg(sum(weight.defined() ? mul(logs, per_class(weight, self)) : logs, Dims{dim}));
  Tensor ignored = eq(target, ignore_index);
  even = masked_fill(even, ignored, 0);
  if (reduction == kReduceSum) {
    even = sum(even);
  } else if (reduction == kReduceMean) {
    Tensor count = weight.defined()
                       ? sum(masked_fill(call<"aten::index_select", Tensor>(
                                             weight, 0, reshape(masked_fill(target, ignored, 0), Dims{-1})),
                                         reshape(ignored, Dims{-1}), 0))
                       : sum(logical_not(ignored));
    even = div(sum(even), count);
  }
  return add(mul(nll, 1 - smoothing), mul(even, smoothing / static_cast<double>(self.size(dim))));
}

// --- differences
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(square(sub(self, target)), reduction);
}
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(abs(sub(self, target)), reduction);
}

Tensor mapped(const char* op, int opcode, const Tensor& a, const Tensor& b, double parameter) {
  const MapInput in[] = {{&a, {}}, {&b, {}}};
  check_kind(str(map_opcode(opcode).name, "_cpu").c_str(), "bic", result_type(in));  // also of no elements
  const Scalar params[] = {parameter};
  Tensor result;
  const MapRequest r{.op = op, .opcode = opcode, .inputs = in, .params = params};
  FC_CHECK_AS(NotImplementedError, try_map(r, result) || decompose_map(r, result), op, ": not implemented on ",
              a.device());
  return result;
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  FC_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta, got ", beta);
  return reduce_loss(
      beta == 0 ? abs(sub(self, target)) : mapped("smooth_l1_loss", FC_MAP_smooth_l1, self, target, beta), reduction);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  FC_CHECK(delta > 0, "huber_loss does not support non-positive values for delta, got ", delta);
  return reduce_loss(mapped("huber_loss", FC_MAP_huber, self, target, delta), reduction);
}
Tensor clamp(const Tensor& x, double low, double high) {
  return call<"aten::clamp", Tensor>(x, std::optional<Scalar>(low), std::optional<Scalar>(high));
}

// Slopes of the three, as functions of self - target.
Tensor mse_backward(const Tensor& g, const Tensor& self, const Tensor& target, int64_t reduction) {
  double factor = reduction == kReduceMean ? 2 / static_cast<double>(broadcast_numel(self, target)) : 2;
  return mul(mul(sub(self, target), factor), g);
}
Tensor smooth_l1_backward(const Tensor& g, const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  Tensor d = sub(self, target), slope = beta == 0 ? sgn(d) : clamp(div(d, beta), -1, 1);
  return mul(slope, spread(g, reduction, broadcast_numel(self, target)));
}
Tensor huber_backward(const Tensor& g, const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  return mul(clamp(sub(self, target), -delta, delta), spread(g, reduction, broadcast_numel(self, target)));
}
void set_both(Grad& g, const Tensor& d) {
  if (g.needs(0)) g.set(0, d);
  if (g.needs(1)) g.set(1, neg(d));
}

// --- probabilities
Tensor clamped_log(const Tensor& x) { return call<"aten::clamp_min", Tensor>(log(x), Scalar(-100)); }

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  FC_CHECK_AS(ValueError, Dims::same(self.sizes(), target.sizes()), "binary_cross_entropy: Using a target size (",
              target.sizes(), ") that is different to the input size (", self.sizes(),
              ") is deprecated. Please ensure they have the same size.");
  if (!self.device().is_meta()) {
    Tensor inside = call<"aten::logical_and", Tensor>(ge(self, 0), call<"aten::le.Scalar", Tensor>(self, Scalar(1)));
    bool all_inside = call<"aten::_local_scalar_dense", Scalar>(call<"aten::all", Tensor>(inside)).to_bool();
    FC_CHECK(all_inside, "binary_cross_entropy: all elements of input should be between 0 and 1");
  }
  Tensor loss =
      sub(mul(sub(target, 1), call<"aten::clamp_min", Tensor>(call<"aten::log1p", Tensor>(neg(self)), Scalar(-100))),
          mul(target, clamped_log(self)));
  return reduce_loss(weight.defined() ? mul(loss, weight) : loss, reduction);
}
Tensor binary_cross_entropy_backward(const Tensor& g, const Tensor& self, const Tensor& target, const Tensor& weight,
                                     int64_t reduction) {
  Tensor below = call<"aten::clamp_min", Tensor>(mul(rsub(self, 1), self), Scalar(1e-12));
  Tensor d = mul(div(sub(self, target), below), spread(g, reduction, self.numel()));
  return weight.defined() ? mul(d, weight) : d;
}
void binary_cross_entropy_grad(Grad& g) {  // (self, target, weight, reduction)
  Tensor x = g.in(0), t = g.in(1), w = g.in(2);
  const int64_t reduction = g.arg(3).integer();
  if (g.needs(0)) g.set(0, binary_cross_entropy_backward(g.out(), x, t, w, reduction));
  if (g.needs(1)) {
    Tensor d =
        mul(sub(call<"aten::clamp_min", Tensor>(call<"aten::log1p", Tensor>(neg(x)), Scalar(-100)), clamped_log(x)),
            spread(g.out(), reduction, x.numel()));
    g.set(1, w.defined() ? mul(d, w) : d);
  }
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  FC_CHECK_AS(ValueError, Dims::same(self.sizes(), target.sizes()), "binary_cross_entropy_with_logits: Target size (",
              target.sizes(), ") must be the same as input size (", self.sizes(), ")");
  Tensor minus_log = neg(call<"aten::log_sigmoid", Tensor>(self));
  if (pos_weight.defined()) minus_log = mul(minus_log, add(mul(sub(pos_weight, 1), target), 1));
  Tensor loss = add(mul(rsub(target, 1), self), minus_log);
  return reduce_loss(weight.defined() ? mul(loss, weight) : loss, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  Tensor loss = log_target ? mul(exp(target), sub(target, self))
                           : sub(call<"aten::xlogy.Tensor", Tensor>(target, target), mul(target, self));
  return reduce_loss(loss, reduction);
}
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(call<"aten::log1p", Tensor>(exp(neg(mul(target, self)))), reduction);
}
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        int64_t reduction) {
  Tensor loss = log_input ? sub(exp(input), mul(target, input)) : sub(input, mul(target, log(add(input, eps))));
  if (full) {  // Stirling's approximation, for targets above 1
    Tensor term = add(sub(mul(target, log(target)), target), mul(log(mul(target, 6.283185307179586)), 0.5));
    loss = add(loss, masked_fill(term, logical_not(gt(target, 1)), 0));
  }
  return reduce_loss(loss, reduction);
}

// --- margins
Tensor positive_part(const Tensor& x) { return call<"aten::clamp_min", Tensor>(x, Scalar(0)); }
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
  Tensor none = zeros_like(self);
  return reduce_loss(
      add(where(ne(target, 1), positive_part(rsub(self, margin)), none), where(ne(target, -1), self, none)), reduction);
}
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin, int64_t reduction) {
  return reduce_loss(positive_part(add(mul(neg(target), sub(a, b)), margin)), reduction);
}
Tensor cosine_similarity(const Tensor& first, const Tensor& second, int64_t dim, double eps) {
  const Dims shape = broadcast_shapes("cosine_similarity", first.sizes(), second.sizes());
  const Tensor a = expand(first, shape), b = expand(second, shape);
  auto norm = [&](const Tensor& t) {
    return call<"aten::clamp_min", Tensor>(
        call<"aten::linalg_vector_norm", Tensor>(t, Scalar(2), std::optional<IntSpan>(Dims{dim}), true,
                                                 std::optional<DType>()),
        Scalar(eps));
  };
  return sum(mul(div(a, norm(a)), div(b, norm(b))), Dims{dim});
}
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin, int64_t reduction) {
  FC_CHECK(target.dim() + 1 == std::max(a.dim(), b.dim()), "cosine_embedding_loss: ", target.dim(),
           "D target tensor expects ", target.dim() + 1, "D input tensors, but found inputs with sizes ", a.sizes(),
           " and ", b.sizes(), ".");
  constexpr double eps = 1e-12;
  const Dims dim{target.dim()};
  Tensor cosine = div(sum(mul(a, b), dim), sqrt(mul(add(sum(mul(a, a), dim), eps), add(sum(mul(b, b), dim), eps))));
  Tensor none = zeros_like(cosine);
  return reduce_loss(
      add(where(eq(target, 1), rsub(cosine, 1), none), where(eq(target, -1), positive_part(sub(cosine, margin)), none)),
      reduction);
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, int64_t reduction) {
  auto distance = [&](const Tensor& x, const Tensor& y) {
    return call<"aten::linalg_vector_norm", Tensor>(add(sub(x, y), eps), Scalar(p), std::optional<IntSpan>(Dims{-1}),
                                                    false, std::optional<DType>());
  };
  Tensor far = distance(anchor, negative);
  if (swap) far = call<"aten::minimum", Tensor>(far, distance(positive, negative));
  return reduce_loss(positive_part(add(sub(distance(anchor, positive), far), margin)), reduction);
}

// Losses over all classes but the targets: input [C] or [N, C].
void check_classes(const char* op, const Tensor& self) {
  FC_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) != 0), op,
           ": Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", self.sizes());
}
Tensor as_rows(const Tensor& t) { return t.dim() == 2 ? t : reshape(t, Dims{1, -1}); }

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, int64_t reduction) {
  check_classes("multi_margin_loss", self);
  FC_CHECK(p.to_double() == 1 || p.to_double() == 2, "multi_margin_loss: only p == 1 and p == 2 supported");
  const Tensor x = as_rows(self);
  const int64_t n = x.size(0), classes = x.size(1);
  FC_CHECK(target.dim() <= 1 && target.numel() == n, "multi_margin_loss: inconsistent target size, expected ", n,
           " but got ", target.sizes());
  FC_CHECK(!weight.defined() || (weight.dim() <= 1 && weight.numel() == classes),
           "multi_margin_loss: inconsistent weight size, expected ", classes, " but got ", weight.sizes());
  const Tensor t = reshape(target, Dims{n, 1});
  const Tensor excess = add(sub(x, gather(x, 1, t)), margin);
  Tensor loss = masked_fill(excess, logical_not(gt(excess, 0)), 0);  // NaN exceeds nothing
  if (p.to_double() == 2) loss = square(loss);
  if (weight.defined()) loss = mul(loss, gather(expand(reshape(weight, Dims{1, classes}), x.sizes()), 1, t));
  const Tensor numbers = call<"aten::arange", Tensor>(Scalar(classes), DType::Int64, nullptr, self.device(), nullptr);
  loss = div(sum(masked_fill(loss, eq(numbers, t), 0), Dims{1}), classes);
  return reduce_loss(target.dim() == 0 ? reshape(loss, {}) : loss, reduction);
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_classes("multilabel_margin_loss", self);
  FC_CHECK(Dims::same(self.sizes(), target.sizes()),
           "multilabel_margin_loss: inconsistent target size: ", target.sizes(), " for input of size: ", self.sizes());
  const Tensor x = as_rows(self);
  Tensor t = as_rows(target);
  // The targets of a row end before its first negative one.
  Tensor counts = eq(call<"aten::cumsum", Tensor>(lt(t, 0), 1, std::optional<DType>()), 0);
  if (!self.device().is_meta() && t.numel() > 0) {  // as many columns as the row with most targets has
    const int64_t most = call<"aten::_local_scalar_dense", Scalar>(amax(sum(counts, Dims{1}), Dims{})).to_int();
    counts = narrow(counts, 1, 0, most);
    t = narrow(t, 1, 0, most);
  }
  t = masked_fill(t, logical_not(counts), 0);
  const Tensor named = gt(call<"aten::scatter_add", Tensor>(zeros(x.sizes(), DType::Int64, self.device()), 1, t,
                                                            to_dtype(counts, DType::Int64)),
                          0);
  Tensor loss = positive_part(rsub(sub(unsqueeze(gather(x, 1, t), 2), unsqueeze(x, 1)), 1));
  loss = masked_fill(loss, logical_or(unsqueeze(logical_not(counts), 2), unsqueeze(named, 1)), 0);
  loss = div(sum(loss, Dims{1, 2}), x.size(1));
  return reduce_loss(self.dim() < 2 ? reshape(loss, {}) : loss, reduction);
}

#define NLL "Tensor self, Tensor target, Tensor? weight"

constexpr OpDef defs[] = {
    {.schema = "nll_loss_forward(" NLL ", int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
     .meta = kernel<&nll_meta>(),
     .decomposition = kernel<&nll_decomposition>(),
     .saves = "self target weight reduction ignore_index result1",
     .grad = nll_grad<"aten::nll_loss_backward">,
     .differentiable_results = 1,
     .constant = "weight",
     .hidden = true},
    {.schema = "nll_loss_backward(Tensor grad_output, " NLL
               ", int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     .meta = kernel<&nll_backward_meta>(),
     .decomposition = kernel<&nll_backward_decomposition>(),
     .saves = "target weight reduction ignore_index",
     .grad = nll_backward_grad<"aten::nll_loss_forward">,
     .hidden = true},
    {.schema =
         "nll_loss2d_forward(" NLL ", int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
     .meta = kernel<&nll_meta>(),
     .decomposition = kernel<&nll_decomposition>(),
     .saves = "self target weight reduction ignore_index result1",
     .grad = nll_grad<"aten::nll_loss2d_backward">,
     .differentiable_results = 1,
     .constant = "weight",
     .hidden = true},
    {.schema = "nll_loss2d_backward(Tensor grad_output, " NLL
               ", int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     .meta = kernel<&nll_backward_meta>(),
     .decomposition = kernel<&nll_backward_decomposition>(),
     .saves = "target weight reduction ignore_index",
     .grad = nll_backward_grad<"aten::nll_loss2d_forward">,
     .hidden = true},
    {.schema = "facula::cross_entropy_rows(" NLL
               ", int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight, Tensor terms)",
     .meta = kernel<&rows_meta>(),
     .decomposition = kernel<&rows_decomposition>(),
     .saves = "self~ target weight reduction ignore_index result1 result2",
     .grad = rows_grad,
     .differentiable_results = 1,
     .constant = "weight",
     .hidden = true,
     .flops = element_flops<4>},
    {.schema = "facula::cross_entropy_rows_backward(Tensor grad_output, " NLL
               ", int reduction, SymInt ignore_index, Tensor total_weight, Tensor terms) -> Tensor",
     .meta = kernel<&rows_backward_meta>(),
     .decomposition = kernel<&rows_backward_decomposition>(),
     .differentiable = false,
     .hidden = true,
     .flops = element_flops<4>},
    {.schema = "nll_loss(" NLL "=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
     .composite = kernel<&nll_loss>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "nll_loss2d(" NLL "=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
     .composite = kernel<&nll_loss2d>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "nll_loss_nd(" NLL "=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
     .composite = kernel<&nll_loss_nd>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "cross_entropy_loss(" NLL
               "=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
     .composite = kernel<&cross_entropy_loss>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .all = kernel<&mse_loss>(),
     .saves = "self target reduction",
     .grad = [](Grad& g) { set_both(g, mse_backward(g.out(), g.in(0), g.in(1), g.arg(2).integer())); },
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
     .composite = kernel<&mse_backward>(),
     .hidden = true},
    {.schema = "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .composite = kernel<&l1_loss>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
     .all = kernel<&smooth_l1_loss>(),
     .saves = "self target reduction beta",
     .grad =
         [](Grad& g) {
           set_both(g, smooth_l1_backward(g.out(), g.in(0), g.in(1), g.arg(2).integer(), g.arg(3).real()));
         },
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema =
         "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
     .composite = kernel<&smooth_l1_backward>(),
     .hidden = true},
    {.schema = "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
     .all = kernel<&huber_loss>(),
     .saves = "self target reduction delta",
     .grad =
         [](Grad& g) { set_both(g, huber_backward(g.out(), g.in(0), g.in(1), g.arg(2).integer(), g.arg(3).real())); },
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema =
         "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
     .composite = kernel<&huber_backward>(),
     .hidden = true},
    {.schema = "binary_cross_entropy(" NLL "=None, int reduction=1) -> Tensor",
     .all = kernel<&binary_cross_entropy>(),
     .saves = "self target weight reduction",
     .grad = binary_cross_entropy_grad,
     .constant = "weight",
     .out = true,
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "binary_cross_entropy_backward(Tensor grad_output, " NLL "=None, int reduction=1) -> Tensor",
     .composite = kernel<&binary_cross_entropy_backward>(),
     .hidden = true},
    {.schema = "binary_cross_entropy_with_logits(" NLL "=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
     .doc = "Cross entropy between targets and the sigmoid of the input, computed without overflow.",
     .composite = kernel<&binary_cross_entropy_with_logits>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32},
    {.schema = "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
     .doc = "The Kullback-Leibler divergence of targets from log probabilities, element by element or reduced.",
     .composite = kernel<&kl_div>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32},
    {.schema = "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .composite = kernel<&soft_margin_loss>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema =
         "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
     .doc = "The negative log likelihood of counts under a Poisson distribution.",
     .composite = kernel<&poisson_nll_loss>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor",
     .doc = "The element itself for target 1, its hinge to the margin for target -1.",
     .composite = kernel<&hinge_embedding_loss>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> "
               "Tensor",
     .doc = "Asks that one input is ranked above the other by a margin.",
     .composite = kernel<&margin_ranking_loss>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
     .doc = "The cosine of the angle between vectors along a dimension.",
     .composite = kernel<&cosine_similarity>()},
    {.schema = "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) "
               "-> Tensor",
     .doc = "Pulls pairs of vectors together or apart by the cosine of their angle.",
     .composite = kernel<&cosine_embedding_loss>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, "
               "float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
     .doc = "Asks that an anchor is closer to the positive than to the negative by a margin.",
     .composite = kernel<&triplet_margin_loss>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
               "reduction=1) -> Tensor",
     .composite = kernel<&multi_margin_loss>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .composite = kernel<&multilabel_margin_loss>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
};
#undef NLL

}  // namespace

void define_loss() { define_all(defs); }

}  // namespace fc
