// SPDX-License-Identifier: Apache-2.0
// Distances between rows of two matrices, of one matrix, and between pairs.
#include "plan/distance.h"

#include <cmath>

#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdim) {
  const int64_t rank = std::max(a.dim(), b.dim());
  return call<"aten::linalg_vector_norm", Tensor>(
      add(sub(a, b), eps), Scalar(p), std::optional<IntSpan>(Dims{rank - 1}), keepdim, std::optional<DType>());
}

// sqrt(|a|^2 - 2ab + |b|^2) as one product: [-2a, |a|^2, 1] and [b, 1, |b|^2].
Tensor euclidean(const Tensor& x1, const Tensor& x2) {
  auto squares = [](const Tensor& x) { return sum(square(x), Dims{-1}, true); };
  const Tensor n1 = squares(x1), n2 = squares(x2);
  const Tensor left[] = {mul(x1, -2), n1, ones_like(n1)}, right[] = {x2, ones_like(n2), n2};
  return sqrt(call<"aten::clamp_min", Tensor>(matmul(cat(left, -1), transpose(cat(right, -1), -2, -1)), Scalar(0)));
}
void euclidean_grad(Grad& g) {
  const Tensor x1 = g.in(0), x2 = g.in(1), r = g.result(), share = masked_fill(div(g.out(), r), eq(r, 0), 0);
  auto pull = [](const Tensor& share, const Tensor& x, const Tensor& other) {
    return sub(mul(x, sum(share, Dims{-1}, true)), matmul(share, other));
  };
  if (g.needs(0)) g.set(0, pull(share, x1, x2));
  if (g.needs(1)) g.set(1, pull(transpose(share, -2, -1), x2, x1));
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  const Distances d = plan_distances(x1, x2, p);
  const int64_t how = mode.value_or(0);
  FC_CHECK(how >= 0 && how <= 2, "possible modes: 0, 1, 2, but was: ", how);
  // Many rows: one large product, which loses digits of small distances. 1: always, 2: never.
  const bool product = p == 2 && d.size > 0 && (how == 1 || (how == 0 && (d.n > 25 || d.m > 25)));
  return product ? call<"aten::_euclidean_dist", Tensor>(x1, x2)
                 : call<"aten::_cdist_forward", Tensor>(x1, x2, p, mode);
}
Tensor cdist_meta(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>) {
  return empty_tensor(plan_distances(x1, x2, p).output, x1.dtype(), x1.device());
}
Tensor cdist_backward_meta(const Tensor&, const Tensor& x1, const Tensor& x2, double p, const Tensor&) {
  const Distances d = plan_distances(x1, x2, p);
  Dims shape(d.output);
  shape.back() = d.size;
  return empty_tensor(shape, x1.dtype(), x1.device());
}
void cdist_grad(Grad& g) {  // (x1, x2, p, compute_mode); the engine sums over what was broadcast
  const Tensor x1 = g.in(0), x2 = g.in(1), r = g.result(), go = g.out();
  const double p = g.arg(2).real();
  if (g.needs(0)) g.set(0, call<"aten::_cdist_backward", Tensor>(go, x1, x2, p, r));
  if (g.needs(1))
    g.set(1, call<"aten::_cdist_backward", Tensor>(transpose(go, -2, -1), x2, x1, p, transpose(r, -2, -1)));
}

// On devices without a kernel: all differences at once.
Tensor norm_of(const Tensor& difference, double p) {
  return call<"aten::linalg_vector_norm", Tensor>(difference, Scalar(p), std::optional<IntSpan>(Dims{-1}), false,
                                                  std::optional<DType>());
}
// What a gradient of distances gives to the first of two rows; where the distance is 0, nothing.
Tensor pull(const Tensor& grad, const Tensor& difference, double p, const Tensor& distance) {
  if (p == 0) return zeros_like(difference);
  const Tensor g = unsqueeze(grad, -1), d = unsqueeze(distance, -1), sign = sgn(difference);
  if (p == 1) return mul(g, sign);
  if (std::isinf(p)) return mul(mul(g, sign), to_dtype(eq(abs(difference), d), difference.dtype()));
  const Tensor share = div(abs(difference), d);
  return masked_fill(mul(mul(g, sign), call<"aten::pow.Tensor_Scalar", Tensor>(share, Scalar(p - 1))), eq(d, 0), 0);
}
Tensor cdist_decomposition(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>) {
  plan_distances(x1, x2, p);
  return norm_of(sub(unsqueeze(x1, -2), unsqueeze(x2, -3)), p);
}
Tensor cdist_backward_decomposition(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                                    const Tensor& distances) {
  const Distances d = plan_distances(x1, x2, p);
  FC_CHECK(Dims::same(grad.sizes(), d.output) && Dims::same(distances.sizes(), d.output),
           "_cdist_backward: expected a gradient and distances of size ", IntSpan(d.output), ", got ", grad.sizes(),
           " and ", distances.sizes());
  return sum(pull(grad, sub(unsqueeze(x1, -2), unsqueeze(x2, -3)), p, distances), Dims{-2});
}

Tensor pdist(const Tensor& self, double p) {
  check_pdist(self, p);
  return call<"aten::_pdist_forward", Tensor>(self, p);
}
Tensor pdist_meta(const Tensor& self, double p) {
  return empty_tensor(Dims{check_pdist(self, p)}, self.dtype(), self.device());
}
Tensor pdist_backward_meta(const Tensor&, const Tensor& self, double p, const Tensor&) {
  check_pdist(self, p);
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}

constexpr OpDef defs[] = {
    {.schema = "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor",
     .doc = "The p-norm of x1 - x2 + eps along the last dimension.",
     .composite = kernel<&pairwise_distance>()},
    {.schema = "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
     .doc = "The p-norm distance between every row of x1 and every row of x2.",
     .composite = kernel<&cdist>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
     .all = kernel<&euclidean>(),
     .saves = "x1 x2 result",
     .grad = euclidean_grad,
     .hidden = true},
    {.schema = "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     .meta = kernel<&cdist_meta>(),
     .decomposition = kernel<&cdist_decomposition>(),
     .saves = "x1 x2 p result",
     .grad = cdist_grad,
     .hidden = true},
    {.schema = "_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
     .meta = kernel<&cdist_backward_meta>(),
     .decomposition = kernel<&cdist_backward_decomposition>(),
     .hidden = true},
    {.schema = "pdist(Tensor self, float p=2.) -> Tensor",
     .doc = "The p-norm distance between every two rows, row by row.",
     .composite = kernel<&pdist>(),
     .autocast = Autocast::Float32},
    {.schema = "_pdist_forward(Tensor self, float p=2.) -> Tensor",
     .meta = kernel<&pdist_meta>(),
     .saves = "self p result",
     .grad =
         [](Grad& g) {
           Tensor self = g.in(0), r = g.result();
           g.set(0, call<"aten::_pdist_backward", Tensor>(g.out(), self, g.arg(1).real(), r));
         },
     .hidden = true},
    {.schema = "_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor",
     .meta = kernel<&pdist_backward_meta>(),
     .hidden = true},
};

}  // namespace

void define_distance() { define_all(defs); }

}  // namespace fc
