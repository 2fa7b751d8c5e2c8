// SPDX-License-Identifier: Apache-2.0
// Steps of optimisers over all parameters of a group, and what loss scaling needs: operators over lists of tensors that
// a device does in one pass (backends/cpu/optimizer.cpp). state_steps count the steps including this one. With
// found_inf 1 nothing is changed; grad_scale is taken off the gradients first.
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

void nothing(void*, const Operator&, const Arg*, Value*) {}
Tensor same_scale(const Tensor& self, const Tensor&, const Tensor&, double, double, int64_t) { return self; }

#define FC_ADAM(name, overload, lr)                                                                   \
  {                                                                                                   \
    .schema = name overload                                                                           \
        "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "   \
        "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, " lr                                  \
        " lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, " \
        "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",                                     \
    .meta = {nothing}, .differentiable = false, .partial = "grads"                                    \
  }
#define FC_SGD(overload, lr)                                                                                       \
  {                                                                                                                \
    .schema = "_fused_sgd_" overload                                                                               \
              "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, " \
              "float momentum, " lr                                                                                \
              " lr, float dampening, bool nesterov, bool maximize, bool is_first_step, "                           \
              "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",                                            \
    .meta = {nothing}, .differentiable = false, .partial = "grads"                                                 \
  }
#define FC_ADAGRAD(overload, lr)                                                                                  \
  {                                                                                                               \
    .schema = "_fused_adagrad_" overload                                                                          \
              "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor(d!)[] state_steps, *, " lr \
              " lr, float lr_decay, float weight_decay, float eps, bool maximize, "                               \
              "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",                                           \
    .meta = {nothing}, .differentiable = false, .partial = "grads"                                                \
  }

constexpr OpDef defs[] = {
    FC_ADAM("_fused_adam_", "", "float"),
    FC_ADAM("_fused_adam_", ".tensor_lr", "Tensor"),
    FC_ADAM("_fused_adamw_", "", "float"),
    FC_ADAM("_fused_adamw_", ".tensor_lr", "Tensor"),
    FC_SGD("", "float"),
    FC_SGD(".tensor_lr", "Tensor"),
    FC_ADAGRAD("", "float"),
    FC_ADAGRAD(".tensor_lr", "Tensor"),
    {.schema = "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) "
               "-> ()",
     .meta = {nothing},
     .differentiable = false},
    {.schema = "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, "
               "float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
     .meta = kernel<&same_scale>(),
     .differentiable = false},
};

#undef FC_ADAM
#undef FC_SGD
#undef FC_ADAGRAD

}  // namespace

void define_optimizer() { define_all(defs); }

}  // namespace fc
