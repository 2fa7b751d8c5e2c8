// SPDX-License-Identifier: Apache-2.0
#include "plan/conv.h"

#include "core/sparse.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

// --- operators
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                   IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  return call<"aten::convolution", Tensor>(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                                           groups);
}
Tensor convolution_meta(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                        IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  Convolution c = plan_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  return empty_tensor(c.output, input.dtype(), input.device(), c.format);
}
Tensor convolution_by_products(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                               IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                               int64_t groups) {
  return convolve_by_products(
      input, weight, bias,
      plan_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups));
}

using OptSizes = std::optional<IntSpan>;
ConvGradients backward(const Tensor& grad, const Tensor& input, const Tensor& weight, OptSizes bias_sizes,
                       IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                       int64_t groups, std::span<const bool> mask) {
  return call<"aten::convolution_backward", ConvGradients>(grad, input, weight, bias_sizes, stride, padding, dilation,
                                                           transposed, output_padding, groups, mask);
}
ConvGradients backward_meta(const Tensor& grad, const Tensor& input, const Tensor& weight, OptSizes, IntSpan stride,
                            IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups,
                            std::span<const bool> mask) {
  check_convolution_backward(
      plan_convolution(input, weight, {}, stride, padding, dilation, transposed, output_padding, groups), grad, input,
      mask);
  ConvGradients out;
  auto& [gi, gw, gb] = out;
  if (mask[0]) gi = empty_tensor(input.sizes(), grad.dtype(), grad.device());
  if (mask[1]) gw = empty_tensor(weight.sizes(), grad.dtype(), grad.device());
  if (mask[2]) gb = empty_tensor(Dims{grad.size(1)}, grad.dtype(), grad.device());
  return out;
}
ConvGradients backward_by_products(const Tensor& grad, const Tensor& input, const Tensor& weight, OptSizes,
                                   IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                                   IntSpan output_padding, int64_t groups, std::span<const bool> mask) {
  Convolution c = plan_convolution(input, weight, {}, stride, padding, dilation, transposed, output_padding, groups);
  check_convolution_backward(c, grad, input, mask);
  return convolve_backward_by_products(grad, input, weight, c, mask);
}

void convolution_grad(Grad& g) {
  const bool mask[] = {g.needs(0), g.needs(1), g.needs(2)};
  Tensor input = g.in(0), weight = g.in(1);
  auto [gi, gw, gb] =
      backward(g.out(), input, weight, mask[2] ? OptSizes(g.sizes(2)) : OptSizes(), g.arg(3).ints(), g.arg(4).ints(),
               g.arg(5).ints(), g.arg(6).boolean(), g.arg(7).ints(), g.arg(8).integer(), mask);
  if (mask[0]) g.set(0, gi);
  if (mask[1]) g.set(1, gw);
  if (mask[2]) g.set(2, gb);
}

// The backward is bilinear too: its derivatives are convolutions with the incoming gradients in one place each.
void backward_grad(Grad& g) {
  const Tensor &of_input = g.out(0), &of_weight = g.out(1), &of_bias = g.out(2);
  Tensor grad = g.in(0), input = g.in(1), weight = g.in(2);
  IntSpan stride = g.arg(4).ints(), padding = g.arg(5).ints(), dilation = g.arg(6).ints(),
          output_padding = g.arg(8).ints();
  const bool transposed = g.arg(7).boolean();
  const int64_t groups = g.arg(9).integer();
  if (g.needs(0)) {
    Tensor sum;
    auto more = [&](Tensor t) { sum = sum.defined() ? add(sum, t) : t; };
    if (of_input.defined())
      more(convolution(of_input, weight, {}, stride, padding, dilation, transposed, output_padding, groups));
    if (of_weight.defined())
      more(convolution(input, of_weight, {}, stride, padding, dilation, transposed, output_padding, groups));
    if (of_bias.defined()) {
      Dims shape(grad.sizes().size(), 1);
      shape[1] = of_bias.numel();
      more(expand(view(of_bias, shape), grad.sizes()));
    }
    g.set(0, sum);
  }
  const bool input_only[] = {true, false, false}, weight_only[] = {false, true, false};
  if (g.needs(1) && of_weight.defined())
    g.set(1, std::get<0>(backward(grad, input, of_weight, {}, stride, padding, dilation, transposed, output_padding,
                                  groups, input_only)));
  if (g.needs(2) && of_input.defined())
    g.set(2, std::get<1>(backward(grad, of_input, weight, {}, stride, padding, dilation, transposed, output_padding,
                                  groups, weight_only)));
}

// --- the named forms: batched or not, padding as numbers or as a word
template <int n>
Tensor with_batch(const char* name, const Tensor& input, auto run) {
  const bool batched = input.dim() == n + 2;
  FC_CHECK(batched || input.dim() == n + 1, "Expected ", n + 1, "D (unbatched) or ", n + 2, "D (batched) input to ",
           name, ", but got input of size: ", input.sizes());
  return batched ? run(input) : squeeze(run(unsqueeze(input, 0)), 0);
}

constexpr const char* conv_names[] = {"", "conv1d", "conv2d", "conv3d"};
constexpr const char* transpose_names[] = {"", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};

template <int n>
Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
            IntSpan dilation, int64_t groups) {
  const int64_t none[] = {0};
  return with_batch<n>(conv_names[n], input, [&](const Tensor& x) {
    if (n == 2 && is_sparse(weight))
      return call<"aten::_sparse_conv2d", Tensor>(x, weight, bias, padding, stride, dilation, groups);
    return convolution(x, weight, bias, stride, padding, dilation, false, none, groups);
  });
}

// With the padding that "same" or "valid" stands for, of a batch.
Tensor convolution_mode(const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride,
                        std::string_view padding, IntSpan dilation, int64_t groups) {
  const int64_t none[] = {0};
  if (padding == "valid") return convolution(x, weight, bias, stride, none, dilation, false, none, groups);
  FC_CHECK(padding == "same", "Invalid padding string: '", padding, "'");
  for (int64_t s : stride)
    FC_CHECK(s == 1, "padding='same' is not supported for strided convolutions, got stride=", stride);
  FC_CHECK(x.dim() > 2 && weight.dim() == x.dim(), "Expected a weight of as many dimensions as the input of size ",
           x.sizes(), ", but got weight of size ", weight.sizes());
  const size_t n = spatial(weight).size();
  Dims d = expand_parameter("dilation", dilation, static_cast<int>(n)), both, shape(x.sizes());
  bool uneven = false;
  for (size_t i = 0; i < n; ++i) {
    FC_CHECK(d[i] > 0, "dilation should be greater than zero, but got ", dilation);
    const int64_t total = kernel_reach(spatial(weight)[i], d[i]) - 1;
    both.push_back(total / 2);
    shape[i + 2] += total % 2;
    uneven |= total % 2 != 0;
  }
  if (!uneven) return convolution(x, weight, bias, stride, both, dilation, false, none, groups);
  // The odd element of padding goes to the right.
  Dims widths;
  for (size_t i = n; i-- > 0;) {
    widths.push_back(0);
    widths.push_back(shape[i + 2] - x.size(static_cast<int64_t>(i) + 2));
  }
  Tensor wide = call<"aten::constant_pad_nd", Tensor>(x, IntSpan(widths), Scalar(0));
  return convolution(wide, weight, bias, stride, both, dilation, false, none, groups);
}

template <int n>
Tensor conv_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                    std::string_view padding, IntSpan dilation, int64_t groups) {
  FC_CHECK(weight.dim() == n + 2, "Expected a ", n + 2, "-dimensional weight for ", conv_names[n],
           ", but got weight of size ", weight.sizes());
  return with_batch<n>(conv_names[n], input, [&](const Tensor& x) {
    return call<"aten::_convolution_mode", Tensor>(x, weight, bias, stride, padding, dilation, groups);
  });
}

template <int n>
Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                      IntSpan output_padding, int64_t groups, IntSpan dilation) {
  return with_batch<n>(transpose_names[n], input, [&](const Tensor& x) {
    return convolution(x, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

#define HEAD "(Tensor input, Tensor weight, Tensor? bias=None, "
#define CONV(n, one, zero, what)                                                                             \
  {.schema = "conv" #n "d" HEAD "SymInt[" #n "] stride=" one ", SymInt[" #n "] padding=" zero ", SymInt[" #n \
             "] dilation=" one ", SymInt groups=1) -> Tensor",                                               \
   .doc = "Cross-correlates " what " with a bank of kernels.",                                               \
   .composite = kernel<&conv<n>>(),                                                                          \
   .autocast = Autocast::Lower},                                                                             \
  {                                                                                                          \
    .schema = "conv" #n "d.padding" HEAD "SymInt[" #n "] stride=" one ", str padding=\"valid\", SymInt[" #n  \
              "] dilation=" one ", SymInt groups=1) -> Tensor",                                              \
    .composite = kernel<&conv_padding<n>>(), .autocast = Autocast::Lower                                     \
  }
#define CONV_TRANSPOSE(n, name, one, zero)                                                                        \
  {                                                                                                               \
    .schema = name HEAD "SymInt[" #n "] stride=" one ", SymInt[" #n "] padding=" zero ", SymInt[" #n              \
                        "] output_padding=" zero ", SymInt groups=1, SymInt[" #n "] dilation=" one ") -> Tensor", \
    .doc = "The gradient of conv" #n "d with respect to its input, used as an operator.",                         \
    .composite = kernel<&conv_transpose<n>>(), .autocast = Autocast::Lower                                        \
  }

// What convolution is to tracers and counters of operations; the switches are cuDNN's and MKL's.
Tensor convolution_with_switches(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                                 IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                                 int64_t groups, bool, bool, bool, bool) {
  return convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}
Tensor convolution_deprecated(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                              IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                              int64_t groups, bool, bool, bool) {
  return convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

// Sequences as [time, batch, channel], weights as [time, in, out].
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  FC_CHECK(self.dim() == 3, "conv_tbc: Input must have 3 dims: time, batch, in_channel");
  FC_CHECK(weight.dim() == 3, "conv_tbc: Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  FC_CHECK(bias.dim() == 1, "conv_tbc: Bias must be 1-D");
  const int64_t one[] = {1}, padding[] = {pad};
  return permute(call<"aten::conv1d", Tensor>(permute(self, Dims{1, 2, 0}), permute(weight, Dims{2, 1, 0}), bias,
                                              IntSpan(one), IntSpan(padding), IntSpan(one), int64_t{1}),
                 Dims{2, 0, 1});
}

// A multiplication and an addition for each element of the weight at each position of the kernel: those of the result,
// or of the input of a transposed convolution.
int64_t flops_at(IntSpan positions, const Tensor& weight) {
  FC_CHECK(positions.size() > 2, "convolution: expected a batch of channels, got sizes ", positions);
  int64_t flops = flop_product({2, weight.numel(), positions[0]});
  for (int64_t n : positions.subspan(2)) flops = flop_product({flops, n});
  return flops;
}
int64_t convolution_flops(const Arg* args) {
  const Tensor &input = args[0].tensor(), &weight = args[1].tensor();
  const bool transposed = args[6].boolean();
  if (transposed) return flops_at(input.sizes(), weight);
  const Convolution c = plan_convolution(input, weight, Tensor(), args[3].ints(), args[4].ints(), args[5].ints(),
                                         transposed, args[7].ints(), args[8].integer());
  return flops_at(c.output, weight);
}
int64_t backward_flops(const Arg* args) {  // of input and weight, as far as they are asked for
  const std::span<const bool> asked = args[10].bools();
  FC_CHECK(asked.size() == 3, "convolution_backward: output_mask has ", asked.size(), " values, expected 3");
  const int swept = args[7].boolean() ? 1 : 0;
  return flop_product({asked[0] + asked[1], flops_at(args[swept].tensor().sizes(), args[2].tensor())});
}

#define SWITCHED(name, output, last)                                                                             \
  name "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool " \
       "transposed, " output                                                                                     \
       "[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled" last ") -> Tensor"

constexpr OpDef defs[] = {
    {.schema = "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
               "dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     .doc = "All convolutions in one operator; conv1d to conv_transpose3d call it.",
     .meta = kernel<&convolution_meta>(),
     .decomposition = kernel<&convolution_by_products>(),
     .saves = "input weight stride padding dilation transposed output_padding groups",
     .grad = convolution_grad,
     .flops = convolution_flops},
    {.schema = "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] "
               "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
               "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .meta = kernel<&backward_meta>(),
     .decomposition = kernel<&backward_by_products>(),
     .saves = "grad_output input weight stride padding dilation transposed output_padding groups",
     .grad = backward_grad,
     .hidden = true,
     .flops = backward_flops},
    {.schema = SWITCHED("_convolution", "SymInt", ", bool allow_tf32"),
     .composite = kernel<&convolution_with_switches>()},
    {.schema = SWITCHED("_convolution.deprecated", "int", ""), .composite = kernel<&convolution_deprecated>()},
    {.schema = "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] "
               "dilation, SymInt groups) -> Tensor",
     .composite = kernel<&convolution_mode>()},
    CONV(1, "[1]", "[0]", "sequences"),
    CONV(2, "[1, 1]", "[0, 0]", "images"),
    CONV(3, "[1, 1, 1]", "[0, 0, 0]", "volumes"),
    CONV_TRANSPOSE(1, "conv_transpose1d", "[1]", "[0]"),
    CONV_TRANSPOSE(2, "conv_transpose2d.input", "[1, 1]", "[0, 0]"),
    CONV_TRANSPOSE(3, "conv_transpose3d.input", "[1, 1, 1]", "[0, 0, 0]"),
    {.schema = "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
     .doc = "A convolution over sequences whose dimensions are time, batch, channel.",
     .composite = kernel<&conv_tbc>(),
     .autocast = Autocast::Lower},
};

}  // namespace

void define_conv() { define_all(defs); }

}  // namespace fc
