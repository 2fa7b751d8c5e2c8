// SPDX-License-Identifier: Apache-2.0
#include "plan/norm.h"

#include "dispatch/checks.h"

namespace fc {

int64_t check_layer_norm(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias) {
  FC_CHECK(!shape.empty(),
           "layer_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
           "but got normalized_shape = ",
           shape);
  size_t nd = input.sizes().size(), k = shape.size();
  bool fits = nd >= k && Dims::same(input.sizes().subspan(nd - k), shape);
  auto listed = [&] {
    std::string text;
    for (int64_t n : shape) text += str(", ", n);
    return text;
  };
  FC_CHECK(fits, "layer_norm: Given normalized_shape=", shape, ", expected input with shape [*", listed(),
           "], but got input of size ", input.sizes());
  for (auto [t, name] : {std::pair(&weight, "weight"), std::pair(&bias, "bias")})
    FC_CHECK(!t->defined() || Dims::same(t->sizes(), shape), "layer_norm: Expected ", name,
             " to be of same shape as normalized_shape, but got ", name, " of shape ", t->sizes(),
             " and normalized_shape = ", shape);
  return checked_numel(input.sizes().first(nd - k));
}

Dims layer_norm_stat_sizes(const Tensor& input, IntSpan shape) {
  Dims out(input.sizes());
  for (size_t d = out.size() - shape.size(); d < out.size(); ++d) out[d] = 1;
  return out;
}

int64_t check_rms_norm(const Tensor& input, IntSpan shape, const Tensor& weight) {
  FC_CHECK(!shape.empty(),
           "rms_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
           "but got normalized_shape = ",
           shape);
  FC_CHECK_AS(ValueError, input.sizes().size() >= shape.size(), "rms_norm: Input tensor must have at least ",
              shape.size(), " dimensions, but got ", input.dim());
  return check_layer_norm(input, shape, weight, Tensor());
}
int64_t check_rms_norm_backward(const Tensor& grad, const Tensor& input, IntSpan shape, const Tensor& rstd,
                                const Tensor& weight, std::span<const bool> mask) {
  const int64_t rows = check_rms_norm(input, shape, weight);
  check_norm_backward("_fused_rms_norm_backward", grad, input, {&rstd}, rows, mask, 2);
  return rows;
}
double rms_norm_eps(const Tensor& input, std::optional<double> eps) {
  if (eps) return *eps;
  return input.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23;  // of the type that is computed in
}

void check_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training) {
  FC_CHECK(input.dim() >= 2, "batch_norm: expected an input of at least 2 dimensions, got ", input.sizes());
  FC_CHECK(running_mean.defined() == running_var.defined(),
           "batch_norm: running_mean and running_var must both be given or both be None");
  FC_CHECK(training || running_mean.defined(),
           "batch_norm: Expected running_mean and running_var to be defined when training=False");
  for (const Tensor* t : {&running_mean, &running_var})  // written, although PyTorch's schema does not say so
    if (training && t->defined()) {
      check_writable("batch_norm", *t);
      check_written_once("batch_norm", *t);
    }
  int64_t c = input.size(1);
  for (auto [t, name] : {std::pair(&running_mean, "running_mean"), std::pair(&running_var, "running_var"),
                         std::pair(&weight, "weight"), std::pair(&bias, "bias")})
    FC_CHECK(!t->defined() || t->numel() == c, "batch_norm: ", name, " should contain ", c, " elements not ",
             t->numel());
}

void check_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t hxw,
                      int64_t group) {
  FC_CHECK(group > 0, "group_norm: Expected num groups to be greater than 0, got ", group);
  FC_CHECK(c > 0, "group_norm: Expected number of channels to be greater than 0, got ", c);
  FC_CHECK(hxw > 0, "group_norm: Expected HxW to be greater than 0, got ", hxw);
  FC_CHECK(c % group == 0,
           "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           input.sizes(), " and num_groups=", group);
  // Every product of some of these fits, also where another of them is zero.
  auto at_least_1 = [](int64_t v) { return std::max<int64_t>(v, 1); };
  checked_numel(Dims{at_least_1(n), std::max(at_least_1(c), group), at_least_1(hxw)});
  FC_CHECK(n >= 0 && c >= 0 && hxw >= 0 && input.numel() == n * c * hxw, "group_norm: Expected input of shape ",
           input.sizes(), " to have N * C * HxW = ", n, " * ", c, " * ", hxw, " elements");
  for (auto [t, name] : {std::pair(&weight, "weight"), std::pair(&bias, "bias")})
    FC_CHECK(!t->defined() || (t->dim() == 1 && t->numel() == c), "group_norm: Expected ", name,
             " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
             t->sizes(), " and input of shape ", input.sizes());
}

void check_norm_backward(const char* op, const Tensor& grad, const Tensor& input,
                         std::initializer_list<const Tensor*> statistics, int64_t count, std::span<const bool> mask,
                         size_t flags) {
  FC_CHECK(mask.size() == flags, op, ": expected an output_mask of ", flags, " elements, but got ", mask.size());
  FC_CHECK(grad.defined() && Dims::same(grad.sizes(), input.sizes()), op, ": expected grad_out of shape ",
           input.sizes(), ", as the input's, but got ", grad.defined() ? str(grad.sizes()) : "none");
  for (const Tensor* t : statistics)
    FC_CHECK(t->defined() && t->numel() == count, op, ": expected statistics of ", count, " elements, but got ",
             t->defined() ? str(t->sizes()) : "none");
}

void check_batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                               const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                               const Tensor& save_invstd, bool training, std::span<const bool> mask) {
  if (training) check_batch_norm(input, weight, Tensor(), Tensor(), Tensor(), true);
  else check_batch_norm(input, weight, Tensor(), running_mean, running_var, false);
  check_norm_backward("native_batch_norm_backward", grad, input,
                      {training ? &save_mean : &running_mean, training ? &save_invstd : &running_var}, input.size(1),
                      mask);
}

}  // namespace fc
