// SPDX-License-Identifier: Apache-2.0
#include "ops/conv.h"

#include "ops/define.h"
#include "ops/families.h"

namespace fc {
namespace {

// "4 x 5"
std::string by(IntSpan sizes) {
  std::string out;
  for (size_t i = 0; i < sizes.size(); ++i) out += str(i ? " x " : "", sizes[i]);
  return out;
}

Dims expand_parameter(const char* name, IntSpan given, size_t n) {
  FC_CHECK(given.size() == n || given.size() == 1, "expected ", name, " to be a single integer value or a list of ", n,
           " values to match the convolution dimensions, but got ", name, "=", given);
  return given.size() == n ? Dims(given) : Dims(n, given[0]);
}

int64_t product(IntSpan sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

IntSpan spatial(const Tensor& t) { return t.sizes().subspan(2); }

}  // namespace

int64_t kernel_reach(int64_t kernel, int64_t dilation) {
  int64_t r;
  FC_CHECK(!__builtin_mul_overflow(dilation, kernel - 1, &r) && !__builtin_add_overflow(r, 1, &r),
           "convolution: a dilation of ", dilation, " overflows");
  return r;
}
int64_t padded_size(int64_t size, int64_t padding) {
  int64_t r;
  FC_CHECK(!__builtin_mul_overflow(padding, int64_t{2}, &r) && !__builtin_add_overflow(r, size, &r),
           "convolution: a padding of ", padding, " overflows");
  return r;
}

Convolution plan_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                             IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                             int64_t groups) {
  FC_CHECK(weight.dim() >= 3, "weight should have at least three dimensions, but got weight of size ", weight.sizes());
  const size_t n = weight.sizes().size() - 2;
  Convolution c;
  c.stride = expand_parameter("stride", stride, n);
  c.padding = expand_parameter("padding", padding, n);
  c.dilation = expand_parameter("dilation", dilation, n);
  c.output_padding = expand_parameter("output_padding", output_padding, n);
  c.transposed = transposed;
  c.groups = groups;
  FC_CHECK(groups > 0, "non-positive groups is not supported: groups=", groups);
  for (size_t i = 0; i < n; ++i) {
    FC_CHECK(c.padding[i] >= 0, "negative padding is not supported: padding=", IntSpan(c.padding));
    FC_CHECK(c.output_padding[i] >= 0,
             "negative output_padding is not supported: output_padding=", IntSpan(c.output_padding));
    FC_CHECK(c.stride[i] > 0, "non-positive stride is not supported: stride=", IntSpan(c.stride));
    FC_CHECK(c.dilation[i] > 0, "dilation should be greater than zero, but got ", IntSpan(c.dilation));
  }
  FC_CHECK(input.dim() == weight.dim(), "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
           "-dimensional weight ", weight.sizes(), ", but got ", input.dim(), "-dimensional input of size ",
           input.sizes(), " instead");
  FC_CHECK(weight.size(0) >= groups, "Given groups=", groups, ", expected weight to be at least ", groups,
           " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  FC_CHECK(weight.size(0) % groups == 0, "Given groups=", groups, ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  FC_CHECK(input.size(1) == channels, "Given ", transposed ? "transposed=" : "groups=", transposed ? 1 : groups,
           ", weight of size ", weight.sizes(), ", expected input", input.sizes(), " to have ", channels,
           " channels, but got ", input.size(1), " channels instead");
  const int64_t out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  FC_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == out_channels), "Given ",
           transposed ? "transposed=1, " : "", "weight of size ", weight.sizes(),
           ", expected bias to be 1-dimensional with ", out_channels, " elements, but got bias of size ",
           bias.defined() ? bias.sizes() : IntSpan(), " instead");
  FC_CHECK(input.dtype() == weight.dtype(), "convolution: expected scalar type ", info(input.dtype()).legacy,
           " but found ", info(weight.dtype()).legacy);
  FC_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type (", input.dtype(), ") and bias type (",
           bias.defined() ? bias.dtype() : input.dtype(), ") should be the same");
  FC_CHECK(input.device() == weight.device() && (!bias.defined() || bias.device() == input.device()),
           "convolution: Expected all tensors to be on the "
           "same device, but found at least two devices, ",
           input.device(), " and ", weight.device(), "!");
  FC_CHECK_AS(NotImplementedError, input.dtype() != DType::Bool && !is_barebones(input.dtype()),
              "\"convolution\" not implemented for '", info(input.dtype()).legacy, "'");
  for (int64_t size : spatial(weight))
    FC_CHECK(size > 0, "convolution: kernel size should be greater than zero, but got weight of size ", weight.sizes());
  c.output = {input.size(0), out_channels};
  if (transposed) {
    bool small = false;
    for (size_t i = 0; i < n; ++i) {
      FC_CHECK(c.output_padding[i] < std::max(c.stride[i], c.dilation[i]),
               "output padding must be smaller than either stride or dilation, but got "
               "output_padding=",
               IntSpan(c.output_padding), " stride=", IntSpan(c.stride), " dilation=", IntSpan(c.dilation));
      const __int128 size = static_cast<__int128>(spatial(input)[i] - 1) * c.stride[i] +
                            kernel_reach(spatial(weight)[i], c.dilation[i]) + c.output_padding[i] -
                            padded_size(0, c.padding[i]);
      FC_CHECK(size <= INT64_MAX && size >= INT64_MIN, "convolution: a stride of ", c.stride[i], " overflows");
      small |= size < 1;
      c.output.push_back(static_cast<int64_t>(size));
    }
    FC_CHECK(!small || input.numel() == 0, "Given input size per channel: (", by(spatial(input)),
             "). Calculated output size per channel: (", by(IntSpan(c.output).subspan(2)),
             "). Output size is too small");
  } else {
    Dims wide, kernel;
    bool fits = true;
    for (size_t i = 0; i < n; ++i) {
      wide.push_back(padded_size(spatial(input)[i], c.padding[i]));
      kernel.push_back(kernel_reach(spatial(weight)[i], c.dilation[i]));
      fits &= kernel[i] <= wide[i];
      c.output.push_back((wide[i] - kernel[i]) / c.stride[i] + 1);
    }
    FC_CHECK(fits, "Calculated padded input size per channel: (", by(wide), "). Kernel size: (", by(kernel),
             "). Kernel size can't be greater than actual input size");
  }
  checked_numel(spatial(weight));  // fits, also where there are no channels
  for (size_t i = 0; i < n; ++i)
    FC_CHECK(spatial(input)[i] > 0 || input.size(0) == 0 || input.size(1) == 0,
             "Only zero batch or zero channel inputs are supported, but got input shape: ", input.sizes());
  if (input.dim() == 4 && (suggest_memory_format(input) == MemoryFormat::ChannelsLast ||
                           suggest_memory_format(weight) == MemoryFormat::ChannelsLast))
    c.format = MemoryFormat::ChannelsLast;
  if (input.dim() == 5 && (suggest_memory_format(input) == MemoryFormat::ChannelsLast3d ||
                           suggest_memory_format(weight) == MemoryFormat::ChannelsLast3d))
    c.format = MemoryFormat::ChannelsLast3d;
  return c;
}

void check_convolution_backward(const Convolution& c, const Tensor& grad, const Tensor& input,
                                std::span<const bool> mask) {
  FC_CHECK(mask.size() == 3, "convolution_backward: expected an output_mask of 3 elements, but got ", mask.size());
  FC_CHECK(Dims::same(grad.sizes(), c.output), "convolution_backward: expected grad_output of size ", IntSpan(c.output),
           ", got ", grad.sizes());
  FC_CHECK(grad.dtype() == input.dtype(), "convolution_backward: expected scalar type ", info(input.dtype()).legacy,
           " but found ", info(grad.dtype()).legacy);
}

Tensor pad_with_zeros(const Tensor& x, IntSpan padding) {
  Dims shape(x.sizes());
  bool any = false;
  for (size_t i = 0; i < padding.size(); ++i) {
    shape[i + 2] += 2 * padding[i];
    any |= padding[i] != 0;
  }
  if (!any) return contiguous(x);
  Tensor out = zeros(shape, x.dtype(), x.device());
  Tensor middle = out;
  for (size_t i = 0; i < padding.size(); ++i)
    middle = narrow(middle, static_cast<int64_t>(i) + 2, padding[i], x.size(static_cast<int64_t>(i) + 2));
  copy_(middle, x);
  return out;
}

Tensor sliding_windows(const Tensor& padded, IntSpan kernel, IntSpan places, const Convolution& c) {
  Dims shape{padded.size(0), c.groups, padded.size(1) / c.groups};
  Dims strides{padded.stride(0), padded.stride(1) * (padded.size(1) / c.groups), padded.stride(1)};
  // A step that is never taken may be any number, too large to multiply among them.
  auto add = [&](IntSpan sizes, IntSpan steps) {
    for (size_t i = 0; i < kernel.size(); ++i) {
      shape.push_back(sizes[i]);
      strides.push_back(sizes[i] > 1 ? padded.strides()[i + 2] * steps[i] : 1);
    }
  };
  add(kernel, c.dilation);
  add(places, c.stride);
  return as_strided(padded, shape, strides);
}

void add_windows(const Tensor& windows, const Tensor& from, IntSpan kernel) {
  const size_t n = kernel.size();
  Dims at(n);  // a counter over the kernel's elements
  for (int64_t left = product(kernel); left > 0; --left) {
    Tensor to = windows, part = from;
    for (size_t i = 0; i < n; ++i) {
      to = select(to, 3, at[i]);
      part = select(part, 3, at[i]);
    }
    add_(to, part);
    for (size_t i = n; i-- > 0;) {
      if (++at[i] < kernel[i]) break;
      at[i] = 0;
    }
  }
}

namespace {

// --- the three bilinear maps of a convolution y = x * w. x: [batch, channels, size…], y: [batch, outputs, places…],
// w: [outputs, channels / groups, kernel…].

// y from x and w
Tensor correlate(const Tensor& x, const Tensor& w, IntSpan places, const Convolution& c) {
  const int64_t g = c.groups, outputs = w.size(0), depth = w.size(1) * product(spatial(w)), length = product(places);
  Dims shape{x.size(0), outputs};
  for (int64_t p : places) shape.push_back(p);
  if (checked_numel(shape) == 0 || depth == 0) return zeros(shape, x.dtype(), x.device());
  Tensor columns =
      reshape(sliding_windows(pad_with_zeros(x, c.padding), spatial(w), places, c), Dims{x.size(0), g, depth, length});
  return reshape(matmul(reshape(w, Dims{1, g, outputs / g, depth}), columns), shape);
}

// x from y and w: every window's share is added back to the places it came from.
Tensor spread(const Tensor& y, const Tensor& w, IntSpan size, const Convolution& c) {
  const int64_t g = c.groups, outputs = w.size(0), channels = w.size(1) * g, depth = w.size(1) * product(spatial(w)),
                length = product(spatial(y));
  Dims shape{y.size(0), channels};
  for (int64_t s : size) shape.push_back(s);
  Dims wide = shape;
  for (size_t i = 0; i < size.size(); ++i) wide[i + 2] += 2 * c.padding[i];
  Tensor out = zeros(wide, y.dtype(), y.device());
  if (out.numel() != 0 && y.numel() != 0) {
    Tensor columns = matmul(transpose(reshape(w, Dims{1, g, outputs / g, depth}), 2, 3),
                            reshape(y, Dims{y.size(0), g, outputs / g, length}));
    Tensor places = sliding_windows(out, spatial(w), spatial(y), c);
    add_windows(places, reshape(columns, places.sizes()), spatial(w));
  }
  for (size_t i = 0; i < size.size(); ++i) out = narrow(out, static_cast<int64_t>(i) + 2, c.padding[i], size[i]);
  return contiguous(out);
}

// w from x and y
Tensor match(const Tensor& x, const Tensor& y, IntSpan weight, const Convolution& c) {
  if (checked_numel(weight) == 0 || x.numel() == 0 || y.numel() == 0) return zeros(weight, x.dtype(), x.device());
  const int64_t g = c.groups, outputs = weight[0], length = product(spatial(y)), depth = product(weight.subspan(1));
  Tensor left = reshape(transpose(transpose(reshape(y, Dims{y.size(0), g, outputs / g, length}), 0, 1), 1, 2),
                        Dims{g, outputs / g, y.size(0) * length});
  Tensor columns = reshape(sliding_windows(pad_with_zeros(x, c.padding), weight.subspan(2), spatial(y), c),
                           Dims{x.size(0), g, depth, length});
  Tensor right = reshape(permute(columns, Dims{1, 0, 3, 2}), Dims{g, x.size(0) * length, depth});
  return reshape(bmm(left, right), weight);
}

}  // namespace

Tensor convolve_by_products(const Tensor& input, const Tensor& weight, const Tensor& bias, const Convolution& c) {
  IntSpan places = IntSpan(c.output).subspan(2);
  Tensor out = c.transposed ? spread(input, weight, places, c) : correlate(input, weight, places, c);
  if (bias.defined()) {
    Dims shape(c.output.size(), 1);
    shape[1] = bias.size(0);
    add_(out, view(contiguous(bias), shape));
  }
  return contiguous(out, c.format);
}

static Tensor bias_gradient(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return sum(grad, dims);
}

ConvGradients convolve_backward_by_products(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                            const Convolution& c, std::span<const bool> mask) {
  ConvGradients out;
  auto& [gi, gw, gb] = out;
  if (mask[0])
    gi =
        c.transposed ? correlate(grad, conj(weight), spatial(input), c) : spread(grad, conj(weight), spatial(input), c);
  if (mask[1])
    gw = c.transposed ? match(grad, conj(input), weight.sizes(), c) : match(conj(input), grad, weight.sizes(), c);
  if (mask[2]) gb = bias_gradient(grad);
  return out;
}

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
    return convolution(x, weight, bias, stride, padding, dilation, false, none, groups);
  });
}

template <int n>
Tensor conv_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                    std::string_view padding, IntSpan dilation, int64_t groups) {
  const int64_t none[] = {0};
  if (padding == "valid") return conv<n>(input, weight, bias, stride, none, dilation, groups);
  FC_CHECK(padding == "same", "Invalid padding string: '", padding, "'");
  for (int64_t s : stride)
    FC_CHECK(s == 1, "padding='same' is not supported for strided convolutions, got stride=", stride);
  FC_CHECK(weight.dim() == n + 2, "Expected a ", n + 2, "-dimensional weight for ", conv_names[n],
           ", but got weight of size ", weight.sizes());
  return with_batch<n>(conv_names[n], input, [&](const Tensor& x) {
    Dims d = expand_parameter("dilation", dilation, n), both, shape(x.sizes());
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
      widths.push_back(shape[i + 2] - x.sizes()[i + 2]);
    }
    Tensor wide = call<"aten::constant_pad_nd", Tensor>(x, IntSpan(widths), Scalar(0));
    return convolution(wide, weight, bias, stride, both, dilation, false, none, groups);
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
#define CONV(n, one, zero)                                                                                            \
  {.schema = "conv" #n "d" HEAD "int[" #n "] stride=" one ", int[" #n "] padding=" zero ", int[" #n "] dilation=" one \
             ", int groups=1) -> Tensor",                                                                             \
   .composite = kernel<&conv<n>>(),                                                                                   \
   .autocast = Autocast::Lower},                                                                                      \
  {                                                                                                                   \
    .schema = "conv" #n "d.padding" HEAD "int[" #n "] stride=" one ", str padding=\"valid\", int[" #n                 \
              "] dilation=" one ", int groups=1) -> Tensor",                                                          \
    .composite = kernel<&conv_padding<n>>(), .autocast = Autocast::Lower                                              \
  }
#define CONV_TRANSPOSE(n, name, one, zero)                                                                           \
  {                                                                                                                  \
    .schema = name HEAD "int[" #n "] stride=" one ", int[" #n "] padding=" zero ", int[" #n "] output_padding=" zero \
                        ", int groups=1, int[" #n "] dilation=" one ") -> Tensor",                                   \
    .composite = kernel<&conv_transpose<n>>(), .autocast = Autocast::Lower                                           \
  }

constexpr OpDef defs[] = {
    {.schema = "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
               "bool transposed, int[] "
               "output_padding, int groups) -> Tensor",
     .meta = kernel<&convolution_meta>(),
     .decomposition = kernel<&convolution_by_products>(),
     .saves = "input weight stride padding dilation transposed output_padding groups",
     .grad = convolution_grad},
    {.schema = "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, "
               "int[] padding, int[] "
               "dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, "
               "Tensor)",
     .meta = kernel<&backward_meta>(),
     .decomposition = kernel<&backward_by_products>(),
     .saves = "grad_output input weight stride padding dilation transposed output_padding groups",
     .grad = backward_grad,
     .hidden = true},
    CONV(1, "[1]", "[0]"),
    CONV(2, "[1, 1]", "[0, 0]"),
    CONV(3, "[1, 1, 1]", "[0, 0, 0]"),
    CONV_TRANSPOSE(1, "conv_transpose1d", "[1]", "[0]"),
    CONV_TRANSPOSE(2, "conv_transpose2d.input", "[1, 1]", "[0, 0]"),
    CONV_TRANSPOSE(3, "conv_transpose3d.input", "[1, 1, 1]", "[0, 0, 0]"),
};

}  // namespace

void define_conv() { define_all(defs); }

}  // namespace fc
