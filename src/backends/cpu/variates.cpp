// SPDX-License-Identifier: Apache-2.0
// Random variables with a tensor as parameter. All is computed in double, one element after the other: how many words
// one takes depends on the words, so that only this order gives the same numbers for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "backends/cpu/random.h"
#include "backends/cpu/register.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/threads.h"
#include "define/calls.h"
#include "define/row.h"
#include "kernels/math.h"
#include "plan/pointwise.h"

namespace fc::cpu {
namespace {

// Draws of one call; holds the generator's lock.
class Draws {
 public:
  explicit Draws(Generator* g) : source_(host_generator("sample", Device{}, g)), g_(*source_), lock_(g_.mutex) {}

  double unit() { return static_cast<double>(g_.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }  // in [0, 1)

  // Marsaglia and Tsang 2000: a cube of a normal number, nearly always accepted. Below 1 the concentration is raised by
  // one, and the result taken to a power of another draw; the logarithm of that stays finite.
  double log_gamma(double a) {
    double boost = 0;
    if (a < 1) {
      boost = std::max(std::log(1 - unit()) / a, -1e300);
      a += 1;
    }
    const double d = a - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double z = next_normal(g_), t = 1 + c * z;
      if (!(t > 0)) continue;
      const double v = t * t * t;
      if (std::log(1 - unit()) < 0.5 * z * z + d - d * v + d * std::log(v)) return std::log(d * v) + boost;
    }
  }

  // Small rates multiply uniform numbers until they fall below exp(-rate); large ones are drawn by transformed
  // rejection (Hörmann 1993, PTRS).
  double poisson(double rate) {
    if (rate == 0) return 0;
    if (rate < 10) {
      const double end = std::exp(-rate);
      double count = 0;
      for (double product = unit(); product > end; product *= unit()) ++count;
      return count;
    }
    const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b,
                 log_alpha = std::log(1.1239 + 1.1328 / (b - 3.4)), accept = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
      const double u = unit() - 0.5, v = unit(), edge = 0.5 - std::fabs(u);
      const double k = std::floor((2 * a / edge + b) * u + rate + 0.43);
      if (edge >= 0.07 && v <= accept) return k;
      if (k < 0 || (edge < 0.013 && v > edge)) continue;
      if (std::log(v) + log_alpha - std::log(a / (edge * edge) + b) <= -rate + k * log_rate - std::lgamma(k + 1))
        return k;
    }
  }

  // Hörmann 1993 (BTRS) where many succeed, else the waiting times between successes are summed.
  double binomial(double n, double p) {
    if (p > 0.5) return n - binomial(n, 1 - p);
    if (n == 0 || p == 0) return 0;
    if (n * p < 10) {
      const double log_q = std::log1p(-p);
      if (!(log_q < 0)) return 0;
      double k = 0;
      for (double at = std::ceil(std::log(unit()) / log_q); at <= n; at += std::ceil(std::log(unit()) / log_q)) ++k;
      return k;
    }
    const double root = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * root, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double c = n * p + 0.5, accept = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * root, m = std::floor((n + 1) * p);
    const double log_odds = std::log(p / (1 - p)), at_mode = std::lgamma(m + 1) + std::lgamma(n - m + 1);
    for (;;) {
      const double u = unit() - 0.5, us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + c);
      double v = unit();
      if (us >= 0.07 && v <= accept) return k;
      if (k < 0 || k > n) continue;
      v = std::log(v * alpha / (a / (us * us) + b));
      if (v <= at_mode - std::lgamma(k + 1) - std::lgamma(n - k + 1) + (k - m) * log_odds) return k;
    }
  }

 private:
  Ref<CpuGenerator> source_;
  CpuGenerator& g_;
  std::lock_guard<std::mutex> lock_;
};

// The integral from 0 to infinity of exp(exponent(u)) factor(u), where the exponent starts at 0 and falls in the end:
// ten points of Gauss and Legendre in each of ten ranges, which grow fourfold up to where nothing is left.
template <class Exponent, class Factor>
double integral(Exponent exponent, Factor factor) {
  constexpr double at[] = {0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845,
                           0.9739065285171717};
  constexpr double weight[] = {0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806,
                               0.0666713443086881};
  double end = 1e-9;
  while (exponent(end) > -40 && end < 1e300) end *= 2;
  double sum = 0, high = end;
  for (int range = 0; range < 10; ++range) {
    const double low = range == 9 ? 0 : high / 4, middle = (low + high) / 2, half = (high - low) / 2;
    double part = 0;
    for (int i = 0; i < 5; ++i)
      for (double u : {middle - half * at[i], middle + half * at[i]})
        part += weight[i] * std::exp(exponent(u)) * factor(u);
    sum += half * part;
    high = low;
  }
  return sum;
}

// dx/da = -(dF/da) / f at fixed F, for the density f of a gamma variable x with concentration a. As df/da is
// f (log t - digamma(a)), it is an integral over t below x, or above: the one whose factor has one sign, except that a
// small x has all of its variation above on scales too different for the ranges. t = x exp(-u) or x exp(u).
double gamma_slope(double x, double a) {
  x = std::max(x, std::numeric_limits<double>::min());
  const double below = math::digamma(a) - std::log(x);
  if (below > 0 || (a < 1 && x < 1))
    return x * integral([&](double u) { return -a * u - x * std::expm1(-u); }, [&](double u) { return below + u; });
  return x * integral([&](double u) { return a * u - x * std::expm1(u); }, [&](double u) { return u - below; });
}

// The same for x of a beta variable with concentrations a and total - a, over 1 - x. Above, 1 - t = (1 - x) exp(-u).
double dirichlet_slope(double x, double a, double total) {
  const double b = total - a, tiny = std::numeric_limits<double>::min();
  x = std::clamp(x, tiny, 1 - 0x1p-53);
  const double mean_log = math::digamma(a) - math::digamma(total), log_x = std::log(x);
  if (mean_log > log_x || (a < 1 && x < 0.5)) {
    return x / (1 - x) *
           integral([&](double u) { return -a * u + (b - 1) * (std::log1p(-x * std::exp(-u)) - std::log1p(-x)); },
                    [&](double u) { return mean_log - log_x + u; });
  }
  auto log_t = [&](double u) { return std::log1p(-(1 - x) * std::exp(-u)); };
  return integral([&](double u) { return -b * u + (a - 1) * (log_t(u) - log_x); },
                  [&](double u) { return log_t(u) - mean_log; });
}

Tensor wide(const Tensor& x) { return contiguous(to_dtype(x, DType::Float64)); }
Tensor made(const char* op, const Tensor& like) {
  check_kind(op, "bic", like.dtype());
  return empty_tensor(like.sizes(), DType::Float64, Device{});
}
// A sample as the type has it: its smallest number instead of 0, where 0 is no value of the variable.
double least(DType t) {
  return t == DType::Float64   ? std::numeric_limits<double>::min()
         : t == DType::Float16 ? 0x1p-14
                               : static_cast<double>(std::numeric_limits<float>::min());
}
double below_one(DType t) {  // the largest number of the type that is
  return 1 - (t == DType::Float64 ? 0x1p-53 : t == DType::Float16 ? 0x1p-11 : t == DType::BFloat16 ? 0x1p-8 : 0x1p-24);
}
void need(bool fine, const char* op, const char* what, double value) {
  FC_CHECK(fine, "invalid ", what, " argument in ", op, ": ", value);
}

Tensor standard_gamma(const Tensor& self, Generator* g) {
  Tensor out = made("_standard_gamma", self), a = wide(self);
  auto* to = out.data_as<double>();
  const double floor = least(self.dtype());
  Draws draws(g);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double concentration = a.data_as<double>()[i];
    need(concentration >= 0 && std::isfinite(concentration), "_standard_gamma", "concentration", concentration);
    to[i] = std::max(concentration > 0 ? std::exp(draws.log_gamma(concentration)) : 0, floor);
  }
  return to_dtype(out, self.dtype());
}

// Gamma variables over their sum, by their logarithms: not all of them underflow.
Tensor sample_dirichlet(const Tensor& self, Generator* g) {
  FC_CHECK(self.dim() > 0, "_sample_dirichlet: concentrations along the last dimension are expected, got a scalar");
  Tensor out = made("_sample_dirichlet", self), a = wide(self);
  const int64_t n = self.size(-1);
  const double floor = least(self.dtype()), top = below_one(self.dtype());
  Draws draws(g);
  for (int64_t row = 0; n > 0 && row < a.numel() / n; ++row) {
    const double* from = a.data_as<double>() + row * n;
    double *to = out.data_as<double>() + row * n, most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      need(from[i] > 0 && std::isfinite(from[i]), "_sample_dirichlet", "concentration", from[i]);
      to[i] = draws.log_gamma(from[i]);
      most = std::max(most, to[i]);
    }
    for (int64_t i = 0; i < n; ++i) sum += to[i] = std::exp(to[i] - most);
    for (int64_t i = 0; i < n; ++i) to[i] = std::clamp(to[i] / sum, floor, top);
  }
  return to_dtype(out, self.dtype());
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  FC_CHECK(count.dtype() == prob.dtype(), "Found dtype ", count.dtype(), " but expected ", prob.dtype());
  const Dims shape = broadcast_shapes("binomial", count.sizes(), prob.sizes());
  Tensor n = wide(expand(count, shape)), p = wide(expand(prob, shape)), out = made("binomial", expand(prob, shape));
  Draws draws(g);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double trials = n.data_as<double>()[i], chance = p.data_as<double>()[i];
    need(trials >= 0 && std::isfinite(trials), "binomial", "count", trials);
    need(chance >= 0 && chance <= 1, "binomial", "prob", chance);
    out.data_as<double>()[i] = draws.binomial(std::floor(trials), chance);
  }
  return to_dtype(out, prob.dtype());
}

Tensor poisson(const Tensor& self, Generator* g) {
  check_kind("poisson", "bc", self.dtype());
  Tensor rates = wide(self), out = empty_tensor(self.sizes(), DType::Float64, Device{});
  const double* rate = rates.data_as<double>();
  for (int64_t i = 0; i < rates.numel(); ++i)
    FC_CHECK(rate[i] >= 0 && rate[i] < 0x1p62, "poisson: invalid Poisson rate, expected rate to be non-negative, got ",
             rate[i]);
  Draws draws(g);
  for (int64_t i = 0; i < rates.numel(); ++i) out.data_as<double>()[i] = draws.poisson(rate[i]);
  return to_dtype(out, self.dtype());
}

Tensor standard_gamma_grad(const Tensor& self, const Tensor& output) {
  FC_CHECK(Dims::same(self.sizes(), output.sizes()),
           "_standard_gamma_grad: concentrations and samples of one shape are expected");
  Tensor out = made("_standard_gamma_grad", self), a = wide(self), x = wide(output);
  parallel_for(0, out.numel(), 16, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      out.data_as<double>()[i] = gamma_slope(x.data_as<double>()[i], a.data_as<double>()[i]);
  });
  return to_dtype(out, self.dtype());
}

Tensor dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  FC_CHECK(Dims::same(x.sizes(), alpha.sizes()) && Dims::same(x.sizes(), total.sizes()),
           "_dirichlet_grad: x, alpha and total of one shape are expected");
  Tensor out = made("_dirichlet_grad", x), xs = wide(x), a = wide(alpha), t = wide(total);
  parallel_for(0, out.numel(), 16, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      out.data_as<double>()[i] =
          dirichlet_slope(xs.data_as<double>()[i], a.data_as<double>()[i], t.data_as<double>()[i]);
  });
  return to_dtype(out, x.dtype());
}

}  // namespace

void register_variates() {
  set_cpu_kernel("aten::_standard_gamma", kernel<&standard_gamma>());
  set_cpu_kernel("aten::_standard_gamma_grad", kernel<&standard_gamma_grad>());
  set_cpu_kernel("aten::_sample_dirichlet", kernel<&sample_dirichlet>());
  set_cpu_kernel("aten::_dirichlet_grad", kernel<&dirichlet_grad>());
  set_cpu_kernel("aten::binomial", kernel<&binomial>());
  set_cpu_kernel("aten::poisson", kernel<&poisson>());
}

}  // namespace fc::cpu
