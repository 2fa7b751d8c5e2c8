// SPDX-License-Identifier: Apache-2.0
// Devices compute in float32, so that nothing here may need the difference of large numbers: acceptance is decided by
// formulas in which the leading terms have been cancelled by hand.
#include "plan/variates.h"

#include <limits>

#include "core/error.h"
#include "define/calls.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

Tensor unit(T like, Generator* g) {  // in [0, 1)
  return call<"aten::uniform_", Tensor>(empty_tensor(like.sizes(), like.dtype(), like.device()), 0.0, 1.0, g);
}
Tensor positive(T like, Generator* g) { return rsub(unit(like, g), 1); }  // in (0, 1]
Tensor normal(T like, Generator* g) {
  return call<"aten::normal_", Tensor>(empty_tensor(like.sizes(), like.dtype(), like.device()), 0.0, 1.0, g);
}
Tensor log1p(T x) { return call<"aten::log1p", Tensor>(x); }
Tensor floor(T x) { return call<"aten::floor", Tensor>(x); }
Tensor at_least(T x, double low) { return call<"aten::clamp_min", Tensor>(x, Scalar(low)); }
bool none(T x) { return all_true(logical_not(x)); }

// candidate(accepted) makes candidates for all elements; the first one that is accepted stays.
template <class Candidate>
Tensor first_accepted(T like, Candidate candidate) {
  Tensor result = zeros_like(like), open = full(like.sizes(), true, DType::Bool, like.device());
  while (!none(open)) {
    Tensor accepted;
    const Tensor drawn = candidate(accepted);
    result = where(logical_and(open, accepted), drawn, result);
    open = logical_and(open, logical_not(accepted));
  }
  return result;
}

// Marsaglia and Tsang 2000. With x = c z, for a normal z, the candidate is d (1 + x)^3, and accepted with probability
// exp(3 d r(x)), where r is log(1 + x) without the first three terms of its series.
Tensor log_gamma(T a, Generator* g) {
  const Tensor below_one = lt(a, 1), d = sub(where(below_one, add(a, 1), a), 1.0 / 3), c = rsqrt(mul(d, 9));
  const Tensor cube = first_accepted(a, [&](Tensor& accepted) {
    const Tensor x = mul(c, normal(a, g)), log_t = log1p(x);
    const Tensor whole = add(sub(log_t, x), mul(square(x), sub(mul(x, -1.0 / 3), -0.5)));
    const Tensor series = mul(square(square(x)), add(mul(x, add(mul(x, add(mul(x, 1.0 / 7), -1.0 / 6)), 0.2)), -0.25));
    const Tensor r = where(lt(abs(x), 0.1), series, whole);  // below -1 not a number: not accepted
    accepted = le(log(positive(a, g)), mul(d, mul(r, 3)));
    return mul(log_t, 3);
  });
  const Tensor boost = at_least(div(log(positive(a, g)), a), -1e30);
  return add(add(log(d), cube), where(below_one, boost, 0));
}

// log k! without Stirling's leading terms, for k >= 1.
Tensor stirling_rest(T k) {
  const Tensor inverse = reciprocal(k);
  return mul(inverse, sub(mul(square(inverse), -1.0 / 360), -1.0 / 12));
}
// k log(k / mean) - k + mean.
Tensor deviance(T k, T mean) {
  const Tensor x = div(sub(k, mean), mean);
  return mul(mean, sub(mul(add(x, 1), log1p(x)), x));
}

// How many values of the distribution function, which starts with `first` and whose differences next(p, k) gives, lie
// at or below a uniform number. Values that no uniform number tells from 1 do not count.
template <class Next>
Tensor by_inversion(T first, Generator* g, Next next) {
  const Tensor u = unit(first, g);
  const double least = first.dtype() == DType::Float64 ? 1e-18 : 1e-9;
  Tensor p = first, sum = first, count = zeros_like(first);
  for (int64_t k = 1;; ++k) {
    const Tensor open = logical_and(ge(u, sum), gt(p, least));
    if (none(open)) return count;
    count = add(count, open);
    p = next(p, k);
    sum = add(sum, p);
  }
}

// Hörmann 1993: what transformed rejection takes, apart from the distribution itself.
struct Transform {
  Tensor a, b, center, scale, accept;  // scale: of v before it is compared with the density
  double least_edge;                   // below it v must be smaller than the edge
};
template <class LogDensity>
Tensor by_transformed_rejection(const Transform& h, Generator* g, LogDensity log_density) {
  return first_accepted(h.b, [&](Tensor& accepted) {
    const Tensor u = sub(unit(h.b, g), 0.5), v = positive(h.b, g), edge = rsub(abs(u), 0.5);
    Tensor k = floor(add(mul(add(div(mul(h.a, 2), edge), h.b), u), h.center));
    const Tensor at_once = logical_and(ge(edge, 0.07), le(v, h.accept));
    const Tensor scaled = log(div(mul(v, h.scale), add(div(h.a, square(edge)), h.b)));
    const Tensor allowed = logical_and(gt(edge, 0), logical_or(ge(edge, h.least_edge), le(v, edge)));
    accepted = logical_or(at_once, logical_and(allowed, le(scaled, log_density(k))));
    return k;
  });
}

double smallest(DType t) {
  return t == DType::Float64   ? std::numeric_limits<double>::min()
         : t == DType::Float16 ? 0x1p-14
                               : static_cast<double>(std::numeric_limits<float>::min());
}
double below_one(DType t) {  // the largest number of the type that is
  return 1 - (t == DType::Float64 ? 0x1p-53 : t == DType::Float16 ? 0x1p-11 : t == DType::BFloat16 ? 0x1p-8 : 0x1p-24);
}
Tensor computed(const char* op, T x) {
  check_kind(op, "bic", x.dtype());
  return to_dtype(x, compute_type(x.dtype()));
}
void need(const char* op, const char* what, T fine) {
  FC_CHECK(all_true(fine), "invalid ", what, " argument in ", op, ": a number outside of its range");
}
constexpr double kFew = 10;  // means below it are drawn by inversion
constexpr double kTwoPi = 6.283185307179586;

}  // namespace

Tensor draw_gamma(const Tensor& self, Generator* g) {
  const Tensor a = computed("_standard_gamma", self);
  need("_standard_gamma", "concentration", logical_and(ge(a, 0), isfinite(a)));
  const Tensor x = where(gt(a, 0), exp(log_gamma(a, g)), 0);
  return to_dtype(at_least(x, smallest(self.dtype())), self.dtype());
}

Tensor draw_dirichlet(const Tensor& self, Generator* g) {
  FC_CHECK(self.dim() > 0, "_sample_dirichlet: concentrations along the last dimension are expected, got a scalar");
  const Tensor a = computed("_sample_dirichlet", self);
  need("_sample_dirichlet", "concentration", logical_and(gt(a, 0), isfinite(a)));
  const Tensor x = call<"aten::_softmax", Tensor>(log_gamma(a, g), int64_t{-1}, false);
  const Tensor inside = call<"aten::clamp_max", Tensor>(x, Scalar(below_one(self.dtype())));
  return to_dtype(at_least(inside, smallest(self.dtype())), self.dtype());
}

Tensor draw_poisson(const Tensor& self, Generator* g) {
  check_kind("poisson", "bc", self.dtype());
  const Tensor rate = to_dtype(self, is_floating(self.dtype()) ? compute_type(self.dtype()) : DType::Float32);
  FC_CHECK(all_true(logical_and(ge(rate, 0), lt(rate, 0x1p62))),
           "poisson: invalid Poisson rate, expected rate to be non-negative");
  const Tensor few = lt(rate, kFew);
  Tensor count = zeros_like(rate);
  if (!none(few)) {
    const Tensor low = where(few, rate, 0);
    count = by_inversion(exp(neg(low)), g, [&](T p, int64_t k) { return mul(p, div(low, Scalar(k))); });
  }
  if (!all_true(few)) {
    const Tensor high = where(few, kFew, rate), b = add(mul(sqrt(high), 2.53), 0.931);
    const Transform h{.a = add(mul(b, 0.02483), -0.059),
                      .b = b,
                      .center = add(high, 0.43),
                      .scale = add(mul(reciprocal(sub(b, 3.4)), 1.1328), 1.1239),
                      .accept = rsub(mul(reciprocal(sub(b, 2)), 3.6224), 0.9277),
                      .least_edge = 0.013};
    const Tensor many = by_transformed_rejection(h, g, [&](T k) {
      const Tensor log_p = neg(add(add(deviance(k, high), stirling_rest(k)), mul(log(mul(k, kTwoPi)), 0.5)));
      return where(eq(k, 0), neg(high), log_p);  // below 0 not a number
    });
    count = where(few, count, many);
  }
  return to_dtype(count, self.dtype());
}

Tensor draw_binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  FC_CHECK(count.dtype() == prob.dtype(), "Found dtype ", count.dtype(), " but expected ", prob.dtype());
  const Dims shape = broadcast_shapes("binomial", count.sizes(), prob.sizes());
  const Tensor n = floor(computed("binomial", expand(count, shape))), p = computed("binomial", expand(prob, shape));
  need("binomial", "count", logical_and(ge(n, 0), isfinite(n)));
  need("binomial", "prob", logical_and(ge(p, 0), le(p, 1)));
  const Tensor often = gt(p, 0.5), q = where(often, rsub(p, 1), p), few = lt(mul(n, q), kFew);
  Tensor k = zeros_like(n);
  if (!none(few)) {
    const Tensor trials = where(few, n, 0), odds = div(q, rsub(q, 1));
    const auto next = [&](T before, int64_t i) {
      return mul(before, mul(div(sub(trials, Scalar(i - 1)), Scalar(i)), odds));
    };
    k = call<"aten::minimum", Tensor>(by_inversion(exp(mul(trials, log1p(neg(q)))), g, next), trials);
  }
  if (!all_true(few)) {
    const Tensor trials = where(few, 4 * kFew, n), chance = where(few, 0.5, q), mean = mul(trials, chance),
                 others = sub(trials, mean), root = sqrt(mul(mean, rsub(chance, 1))), b = add(mul(root, 2.53), 1.15);
    const Transform h{.a = add(add(mul(b, 0.0248), -0.0873), mul(chance, 0.01)),
                      .b = b,
                      .center = add(mean, 0.5),
                      .scale = mul(add(mul(reciprocal(b), 5.1), 2.83), root),
                      .accept = rsub(mul(reciprocal(b), 4.2), 0.92),
                      .least_edge = 0};
    const auto log_p = [&](T x) {
      const Tensor rest = sub(trials, x), log_parts = log(mul(mul(x, div(rest, trials)), kTwoPi));
      const Tensor inside = neg(add(add(add(deviance(x, mean), deviance(rest, others)), mul(log_parts, 0.5)),
                                    sub(add(stirling_rest(x), stirling_rest(rest)), stirling_rest(trials))));
      const Tensor none_succeed = mul(trials, log1p(neg(chance))), all_succeed = mul(trials, log(chance));
      return where(eq(x, 0), none_succeed, where(eq(rest, 0), all_succeed, inside));  // else not a number
    };
    const Tensor at_mode = log_p(floor(mul(add(trials, 1), chance)));
    k = where(few, k, by_transformed_rejection(h, g, [&](T x) { return sub(log_p(x), at_mode); }));
  }
  return to_dtype(where(often, sub(n, k), k), prob.dtype());
}

}  // namespace fc
