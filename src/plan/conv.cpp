// SPDX-License-Identifier: Apache-2.0
#include "plan/conv.h"

namespace fc {
namespace {

// "4 x 5"
std::string by(IntSpan sizes) {
  std::string out;
  for (size_t i = 0; i < sizes.size(); ++i) out += str(i ? " x " : "", sizes[i]);
  return out;
}

int64_t product(IntSpan sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

}  // namespace

Dims expand_parameter(const char* name, IntSpan given, size_t n) {
  FC_CHECK(given.size() == n || given.size() == 1, "expected ", name, " to be a single integer value or a list of ", n,
           " values to match the convolution dimensions, but got ", name, "=", given);
  return given.size() == n ? Dims(given) : Dims(n, given[0]);
}

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

Tensor sliding_windows(const Tensor& padded, IntSpan kernel, IntSpan positions, const Convolution& c) {
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
  add(positions, c.stride);
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

// --- the three bilinear maps of a convolution y = x * w. x: [batch, channels, size…], y: [batch, outputs, positions…],
// w: [outputs, channels / groups, kernel…].

// y from x and w
Tensor output_from(const Tensor& x, const Tensor& w, IntSpan positions, const Convolution& c) {
  const int64_t g = c.groups, outputs = w.size(0), depth = w.size(1) * product(spatial(w)), length = product(positions);
  Dims shape{x.size(0), outputs};
  for (int64_t p : positions) shape.push_back(p);
  if (checked_numel(shape) == 0 || depth == 0) return zeros(shape, x.dtype(), x.device());
  Tensor columns = reshape(sliding_windows(pad_with_zeros(x, c.padding), spatial(w), positions, c),
                           Dims{x.size(0), g, depth, length});
  return reshape(matmul(reshape(w, Dims{1, g, outputs / g, depth}), columns), shape);
}

// x from y and w: every window's share is added back to the positions it came from.
Tensor input_from(const Tensor& y, const Tensor& w, IntSpan size, const Convolution& c) {
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
    Tensor positions = sliding_windows(out, spatial(w), spatial(y), c);
    add_windows(positions, reshape(columns, positions.sizes()), spatial(w));
  }
  for (size_t i = 0; i < size.size(); ++i) out = narrow(out, static_cast<int64_t>(i) + 2, c.padding[i], size[i]);
  return contiguous(out);
}

// w from x and y
Tensor weight_from(const Tensor& x, const Tensor& y, IntSpan weight, const Convolution& c) {
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
  IntSpan positions = IntSpan(c.output).subspan(2);
  Tensor out = c.transposed ? input_from(input, weight, positions, c) : output_from(input, weight, positions, c);
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
    gi = c.transposed ? output_from(grad, conj(weight), spatial(input), c)
                      : input_from(grad, conj(weight), spatial(input), c);
  if (mask[1])
    gw = c.transposed ? weight_from(grad, conj(input), weight.sizes(), c)
                      : weight_from(conj(input), grad, weight.sizes(), c);
  if (mask[2]) gb = bias_gradient(grad);
  return out;
}

}  // namespace fc
