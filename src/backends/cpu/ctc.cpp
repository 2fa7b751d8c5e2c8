// SPDX-License-Identifier: Apache-2.0
// The forward-backward algorithm of CTC in logarithms. States of a sample are its labels with blanks around them:
// 2 * length + 1; alpha[t, s] sums all ways to be in state s at step t, beta all ways on from there.
#include "plan/ctc.h"

#include <cmath>
#include <limits>

#include "backends/cpu/register.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_sum(T a, T b, T c) {
  const T top = std::max({a, b, c});
  return top == kNever<T> ? top : top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top));
}

struct Sample {
  const int64_t* labels;
  int64_t length, steps, blank;
  int64_t states() const { return 2 * length + 1; }
  int64_t label(int64_t s) const { return s % 2 ? labels[s / 2] : blank; }
  bool skips(int64_t s) const { return s % 2 && s > 1 && labels[s / 2] != labels[s / 2 - 1]; }  // past the blank before
};

Sample sample_of(const Ctc& c, IntSpan inputs, IntSpan lengths, int64_t blank, int64_t b) {
  const auto i = static_cast<size_t>(b);
  Sample s{c.targets.data_as<int64_t>() + c.first[i], lengths[i], inputs[i], blank};
  for (int64_t k = 0; k < s.length; ++k)
    FC_CHECK(s.labels[k] >= 0 && s.labels[k] < c.classes, "ctc_loss: label ", s.labels[k], " is not in the range of ",
             c.classes, " classes");
  return s;
}

template <class F>
void with_type(const char* op, DType t, const F& f) {
  if (t == DType::Float32) f(float());
  else if (t == DType::Float64) f(double());
  else raise<NotImplementedError>("\"", op, "\" not implemented for '", info(t).legacy, "'");
}

std::tuple<Tensor, Tensor> forward(const Tensor& log_probs, const Tensor& targets, IntSpan inputs, IntSpan lengths,
                                   int64_t blank, bool) {
  const Ctc c = plan_ctc(log_probs, targets, inputs, lengths, blank);
  const int64_t width = 2 * c.longest + 1;
  Tensor loss = empty_tensor(Dims{c.batch}, log_probs.dtype(), Device{}), p = contiguous(log_probs);
  Tensor alphas =
      full(Dims{c.batch, c.steps, width}, -std::numeric_limits<double>::infinity(), log_probs.dtype(), Device{});
  with_type("ctc_loss_cpu", log_probs.dtype(), [&]<class T>(T) {
    parallel_for(0, c.batch, 1, [&](int64_t from, int64_t to) {
      for (int64_t b = from; b < to; ++b) {
        const Sample s = sample_of(c, inputs, lengths, blank, b);
        T* alpha = alphas.data_as<T>() + b * c.steps * width;
        auto prob = [&](int64_t t, int64_t state) {
          return p.data_as<T>()[(t * c.batch + b) * c.classes + s.label(state)];
        };
        if (s.steps == 0) {
          loss.data_as<T>()[b] = s.length == 0 ? T(0) : -kNever<T>;
          continue;
        }
        alpha[0] = prob(0, 0);
        if (s.length > 0) alpha[1] = prob(0, 1);
        for (int64_t t = 1; t < s.steps; ++t)
          for (int64_t k = 0; k < s.states(); ++k) {
            const T* before = alpha + (t - 1) * width;
            alpha[t * width + k] =
                log_sum(before[k], k > 0 ? before[k - 1] : kNever<T>, s.skips(k) ? before[k - 2] : kNever<T>) +
                prob(t, k);
          }
        const T* last = alpha + (s.steps - 1) * width;
        loss.data_as<T>()[b] =
            -log_sum(last[2 * s.length], s.length > 0 ? last[2 * s.length - 1] : kNever<T>, kNever<T>);
      }
    });
  });
  return {loss, alphas};
}

Tensor backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets, IntSpan inputs, IntSpan lengths,
                const Tensor& losses, const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  const Ctc c = plan_ctc(log_probs, targets, inputs, lengths, blank);
  const int64_t width = 2 * c.longest + 1;
  for (const Tensor& t : {grad, losses})
    FC_CHECK(t.dtype() == log_probs.dtype() && t.dim() == 1 && t.numel() == c.batch,
             "_ctc_loss_backward: expected a number per sample, got ", t.sizes());
  FC_CHECK(log_alpha.dtype() == log_probs.dtype() && Dims::same(log_alpha.sizes(), Dims{c.batch, c.steps, width}),
           "_ctc_loss_backward: expected log_alpha of the forward, got ", log_alpha.sizes());
  Tensor p = contiguous(log_probs), alphas = contiguous(log_alpha), g = contiguous(grad), loss = contiguous(losses);
  Tensor out = zeros(log_probs.sizes(), log_probs.dtype(), Device{});
  with_type("ctc_loss_backward_cpu", log_probs.dtype(), [&]<class T>(T) {
    parallel_for(0, c.batch, 1, [&](int64_t from, int64_t to) {
      std::vector<T> beta(static_cast<size_t>(width)), next(beta), seen(static_cast<size_t>(c.classes));
      for (int64_t b = from; b < to; ++b) {
        const Sample s = sample_of(c, inputs, lengths, blank, b);
        const T nll = loss.data_as<T>()[b], scale = g.data_as<T>()[b];
        if (zero_infinity && std::isinf(nll)) continue;
        const T* alpha = alphas.data_as<T>() + b * c.steps * width;
        for (int64_t t = s.steps - 1; t >= 0; --t) {
          const T* row = p.data_as<T>() + (t * c.batch + b) * c.classes;
          std::fill(seen.begin(), seen.end(), kNever<T>);
          for (int64_t k = s.states() - 1; k >= 0; --k) {
            T on;
            if (t == s.steps - 1) on = k >= s.states() - 2 ? T(0) : kNever<T>;
            else
              on = log_sum(next[static_cast<size_t>(k)],
                           k + 1 < s.states() ? next[static_cast<size_t>(k + 1)] : kNever<T>,
                           k + 2 < s.states() && s.skips(k + 2) ? next[static_cast<size_t>(k + 2)] : kNever<T>);
            beta[static_cast<size_t>(k)] = on + row[s.label(k)];
            T& sum = seen[static_cast<size_t>(s.label(k))];
            sum = log_sum(sum, alpha[t * width + k] + on, kNever<T>);
          }
          T* to_row = out.data_as<T>() + (t * c.batch + b) * c.classes;
          for (int64_t k = 0; k < c.classes; ++k)  // alpha holds the step's probability already
            to_row[k] = (std::exp(row[k]) - std::exp(seen[static_cast<size_t>(k)] + nll)) * scale;
          beta.swap(next);
        }
      }
    });
  });
  return out;
}

}  // namespace

void register_ctc() {
  set_cpu_kernel("aten::_ctc_loss", kernel<&forward>());
  set_cpu_kernel("aten::_ctc_loss_backward", kernel<&backward>());
}

}  // namespace fc::cpu
