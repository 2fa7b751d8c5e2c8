// SPDX-License-Identifier: Apache-2.0
// Optimiser steps over lists of tensors, and scaling of gradients: one pass over the elements of all parameters.
// Half types are widened in blocks that stay in the first cache; tensors that are no rows are copied to ones and back.
#include "backends/cpu/optimizer.h"

#include <atomic>
#include <cmath>
#include <optional>

#include "backends/cpu/register.h"
#include "backends/cpu/walk.h"
#include "define/calls.h"
#include "plan/lists.h"

namespace fc::cpu {
namespace {

constexpr int64_t kBlock = 1024;              // elements between load and store
constexpr int64_t kGrain = int64_t{1} << 13;  // elements per thread at least
constexpr size_t kMaxLists = 5;
using Loop = void (*)(void* const* rows, int64_t n, const void* step);

double number(const char* op, const char* what, const Tensor& t) {
  FC_CHECK(t.numel() == 1, op, ": ", what, " must have one element, got ", t.numel());
  return call<"aten::_local_scalar_dense", Scalar>(reshape(t, {})).to_double();
}

// Several lists, whose i-th tensors belong together.
class Lists {
 public:
  Lists(const char* op, std::initializer_list<TensorSpan> given) : op_(op) {
    for (TensorSpan list : given) {
      check_list_lengths(op, given.begin()->size(), list.size());
      lists_.emplace_back(list.begin(), list.end());
    }
    for (size_t i = 0; i < lists_[0].size(); ++i) check(i);
  }
  ~Lists() = default;
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;

  // Runs loop on all elements; steps: one per parameter. What the first list and those from the third on hold is
  // written, and the second, the gradients, if they are scaled.
  template <class Step>
  void run(Loop OptimizerKernels::*loop, const std::vector<Step>& steps, double grad_scale) {
    for_elements_of_all(lists_[0], kGrain, [&](size_t i, int64_t from, int64_t to) {
      const DType type = lists_[0][i].dtype(), compute = compute_type(type);
      const OptimizerKernels& k = optimizer_kernels(compute);
      const auto item = static_cast<int64_t>(item_size(type));
      alignas(64) float wide[kMaxLists][kBlock];
      for (int64_t at = from; at < to; at += kBlock) {
        const int64_t n = std::min(kBlock, to - at);
        void* rows[kMaxLists];
        for (size_t a = 0; a < lists_.size(); ++a) {
          char* data = static_cast<char*>(lists_[a][i].data()) + at * item;
          rows[a] = type == compute ? static_cast<void*>(data) : wide[a];
          if (type != compute) cast_fn(type, compute)(static_cast<char*>(rows[a]), sizeof(float), data, item, n);
        }
        if (grad_scale != 1) k.scale(rows[1], n, 1 / grad_scale);
        (k.*loop)(rows, n, &steps[i]);
        for (size_t a = 0; a < lists_.size() && type != compute; ++a) {
          char* data = static_cast<char*>(lists_[a][i].data()) + at * item;
          if (a != 1 || grad_scale != 1)
            cast_fn(compute, type)(data, item, static_cast<const char*>(rows[a]), sizeof(float), n);
        }
      }
    });
    for (const Copied& c : copied_)
      if (c.list != 1 || grad_scale != 1) copy_(c.original, lists_[c.list][c.item]);
  }

  size_t size() const { return lists_[0].size(); }

 private:
  void check(size_t i) {
    const Tensor& p = lists_[0][i];
    const DType type = p.dtype();
    FC_CHECK_AS(NotImplementedError, is_floating(type) && !is_barebones(type), "\"", op_,
                "_cpu\" not implemented for '", info(type).legacy, "'");
    for (const auto& list : lists_)
      FC_CHECK(list[i].defined() && list[i].dtype() == type && Dims::same(list[i].sizes(), p.sizes()), op_,
               ": the tensors of a parameter must have its type and shape: ", type, " and ", p.sizes());
    const Tensor like = p.impl().is_dense() ? p : Tensor();
    for (size_t a = 0; a < lists_.size(); ++a) {
      Tensor& t = lists_[a][i];
      if (like.defined() && same_rows(t, like)) continue;
      copied_.push_back({a, i, t});
      t = like.defined() ? copy_(empty_strided_tensor(t.sizes(), like.strides(), t.dtype(), t.device()), t)
                         : clone(t, MemoryFormat::Contiguous);
    }
  }

  const char* op_;
  std::vector<std::vector<Tensor>> lists_;
  struct Copied {
    size_t list, item;
    Tensor original;
  };
  std::vector<Copied> copied_;  // tensors that lie otherwise than their parameter: rows stand for them
};

// What the gradients are divided by; none: they are not finite, and nothing is done.
std::optional<double> scale_of(const char* op, const Tensor& grad_scale, const Tensor& found_inf) {
  if (found_inf.defined() && number(op, "found_inf", found_inf) != 0) return {};
  return grad_scale.defined() ? number(op, "grad_scale", grad_scale) : 1.0;
}

void run_adam(const char* op, bool decoupled, TensorSpan self, TensorSpan grads, TensorSpan means, TensorSpan squares,
              TensorSpan largest, TensorSpan state_steps, double lr, double beta1, double beta2, double weight_decay,
              double eps, bool amsgrad, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  const std::optional<double> scale = scale_of(op, grad_scale, found_inf);
  if (!scale || self.empty()) return;
  check_list_lengths(op, self.size(), state_steps.size());
  std::vector<AdamStep> steps;
  for (const Tensor& t : state_steps) {
    const double step = number(op, "a step", t);
    steps.push_back({.rate = lr / (1 - std::pow(beta1, step)),
                     .root = std::sqrt(1 - std::pow(beta2, step)),
                     .shrink = decoupled ? 1 - lr * weight_decay : 1,
                     .decay = decoupled ? 0 : weight_decay,
                     .beta1 = beta1,
                     .beta2 = beta2,
                     .eps = eps,
                     .amsgrad = amsgrad,
                     .maximize = maximize});
  }
  if (amsgrad) Lists(op, {self, grads, means, squares, largest}).run(&OptimizerKernels::adam, steps, *scale);
  else Lists(op, {self, grads, means, squares}).run(&OptimizerKernels::adam, steps, *scale);
}

template <bool decoupled>
void adam(TensorSpan self, TensorSpan grads, TensorSpan means, TensorSpan squares, TensorSpan largest, TensorSpan steps,
          double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const Tensor& grad_scale, const Tensor& found_inf) {
  run_adam(decoupled ? "_fused_adamw_" : "_fused_adam_", decoupled, self, grads, means, squares, largest, steps, lr,
           beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}
template <bool decoupled>
void adam_tensor_lr(TensorSpan self, TensorSpan grads, TensorSpan means, TensorSpan squares, TensorSpan largest,
                    TensorSpan steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps,
                    bool amsgrad, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  adam<decoupled>(self, grads, means, squares, largest, steps, number("_fused_adam_", "lr", lr), beta1, beta2,
                  weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void sgd(TensorSpan self, TensorSpan grads, TensorSpan buffers, double weight_decay, double momentum, double lr,
         double dampening, bool nesterov, bool maximize, bool is_first_step, const Tensor& grad_scale,
         const Tensor& found_inf) {
  const char* op = "_fused_sgd_";
  const std::optional<double> scale = scale_of(op, grad_scale, found_inf);
  if (!scale || self.empty()) return;
  const SgdStep step{lr, weight_decay, momentum, dampening, nesterov, maximize, is_first_step};
  const std::vector<SgdStep> steps(self.size(), step);
  if (momentum != 0) Lists(op, {self, grads, buffers}).run(&OptimizerKernels::sgd, steps, *scale);
  else Lists(op, {self, grads}).run(&OptimizerKernels::sgd, steps, *scale);
}
void sgd_tensor_lr(TensorSpan self, TensorSpan grads, TensorSpan buffers, double weight_decay, double momentum,
                   const Tensor& lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, buffers, weight_decay, momentum, number("_fused_sgd_", "lr", lr), dampening, nesterov, maximize,
      is_first_step, grad_scale, found_inf);
}

void adagrad(TensorSpan self, TensorSpan grads, TensorSpan sums, TensorSpan state_steps, double lr, double lr_decay,
             double weight_decay, double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  const char* op = "_fused_adagrad_";
  const std::optional<double> scale = scale_of(op, grad_scale, found_inf);
  if (!scale || self.empty()) return;
  check_list_lengths(op, self.size(), state_steps.size());
  std::vector<AdagradStep> steps;
  for (const Tensor& t : state_steps)
    steps.push_back({lr / (1 + (number(op, "a step", t) - 1) * lr_decay), weight_decay, eps, maximize});
  Lists(op, {self, grads, sums}).run(&OptimizerKernels::adagrad, steps, *scale);
}
void adagrad_tensor_lr(TensorSpan self, TensorSpan grads, TensorSpan sums, TensorSpan steps, const Tensor& lr,
                       double lr_decay, double weight_decay, double eps, bool maximize, const Tensor& grad_scale,
                       const Tensor& found_inf) {
  adagrad(self, grads, sums, steps, number("_fused_adagrad_", "lr", lr), lr_decay, weight_decay, eps, maximize,
          grad_scale, found_inf);
}

// --- loss scaling
void unscale(TensorSpan self, const Tensor& found_inf, const Tensor& inv_scale) {
  const char* op = "_amp_foreach_non_finite_check_and_unscale_";
  FC_CHECK(found_inf.numel() == 1 && found_inf.dtype() == DType::Float32, op,
           ": found_inf must be a 1-element float tensor.");
  FC_CHECK(inv_scale.numel() == 1 && inv_scale.dtype() == DType::Float32, op,
           ": inv_scale must be a 1-element float tensor.");
  const double factor = number(op, "inv_scale", inv_scale);
  std::vector<Tensor> rows;
  for (const Tensor& t : self) {
    FC_CHECK(is_floating(t.dtype()) && !is_barebones(t.dtype()), op, ": expected floating tensors, got ", t.dtype());
    rows.push_back(t.impl().is_dense() ? t : clone(t, MemoryFormat::Contiguous));
  }
  std::atomic<bool> finite = true;
  for_elements_of_all(rows, kGrain, [&](size_t i, int64_t from, int64_t to) {
    const DType type = rows[i].dtype(), compute = compute_type(type);
    const OptimizerKernels& k = optimizer_kernels(compute);
    const auto item = static_cast<int64_t>(item_size(type));
    alignas(64) float wide[kBlock];
    for (int64_t at = from; at < to; at += kBlock) {
      const int64_t n = std::min(kBlock, to - at);
      char* data = static_cast<char*>(rows[i].data()) + at * item;
      void* row = type == compute ? static_cast<void*>(data) : wide;
      if (type != compute) cast_fn(type, compute)(static_cast<char*>(row), sizeof(float), data, item, n);
      if (!k.all_finite(row, n)) finite.store(false, std::memory_order_relaxed);
      if (factor == 1) continue;
      k.scale(row, n, factor);
      if (type != compute) cast_fn(compute, type)(data, item, static_cast<const char*>(row), sizeof(float), n);
    }
  });
  for (size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].same(self[i])) copy_(self[i], rows[i]);
  if (!finite) fill_(found_inf, 1.0);
}

Tensor update_scale(const Tensor& self, const Tensor& tracker, const Tensor& found_inf, double growth, double backoff,
                    int64_t interval) {
  const char* op = "_amp_update_scale_";
  FC_CHECK(tracker.numel() == 1 && tracker.dtype() == DType::Int32, op,
           ": growth_tracker must be a 1-element int tensor.");
  FC_CHECK(self.numel() == 1 && self.dtype() == DType::Float32, op,
           ": current_scale must be a 1-element float tensor.");
  FC_CHECK(found_inf.numel() == 1 && found_inf.dtype() == DType::Float32, op,
           ": found_inf must be a 1-element float tensor.");
  const double scale = number(op, "current_scale", self);
  if (number(op, "found_inf", found_inf) != 0) {
    fill_(self, scale * backoff);
    fill_(tracker, 0);
    return self;
  }
  const int64_t successes = static_cast<int64_t>(number(op, "growth_tracker", tracker)) + 1;
  if (successes == interval) {
    const float grown = static_cast<float>(scale * growth);
    if (std::isfinite(grown)) fill_(self, static_cast<double>(grown));
    fill_(tracker, 0);
  } else {
    fill_(tracker, successes);
  }
  return self;
}

}  // namespace

void register_optimizer() {
  set_cpu_kernel("aten::_fused_adam_", kernel<&adam<false>>());
  set_cpu_kernel("aten::_fused_adam_.tensor_lr", kernel<&adam_tensor_lr<false>>());
  set_cpu_kernel("aten::_fused_adamw_", kernel<&adam<true>>());
  set_cpu_kernel("aten::_fused_adamw_.tensor_lr", kernel<&adam_tensor_lr<true>>());
  set_cpu_kernel("aten::_fused_sgd_", kernel<&sgd>());
  set_cpu_kernel("aten::_fused_sgd_.tensor_lr", kernel<&sgd_tensor_lr>());
  set_cpu_kernel("aten::_fused_adagrad_", kernel<&adagrad>());
  set_cpu_kernel("aten::_fused_adagrad_.tensor_lr", kernel<&adagrad_tensor_lr>());
  set_cpu_kernel("aten::_amp_foreach_non_finite_check_and_unscale_", kernel<&unscale>());
  set_cpu_kernel("aten::_amp_update_scale_", kernel<&update_scale>());
}

}  // namespace fc::cpu
