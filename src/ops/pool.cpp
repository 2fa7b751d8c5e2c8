// SPDX-License-Identifier: Apache-2.0
// Pooling, and unfold and fold (im2col, col2im).
#include "ops/pool.h"

#include "ops/conv.h"
#include "ops/define.h"
#include "ops/families.h"

namespace fc {
namespace {

int64_t output_size(int64_t in, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation, bool ceil_mode) {
  FC_CHECK(stride != 0, "stride should not be zero");
  FC_CHECK(padding >= 0, "pad must be non-negative, but got pad: ", padding);
  int64_t reach, numerator;
  FC_CHECK(!__builtin_mul_overflow(dilation, kernel - 1, &reach) && !__builtin_add_overflow(reach, 1, &reach),
           "pooling: a dilation of ", dilation, " overflows");
  FC_CHECK(in <= kMaxStride, "pooling: a dimension of size ", in, " is too large");
  FC_CHECK(padding <= reach / 2, "pad should be at most half of effective kernel size, but got pad=", padding,
           ", kernel_size=", kernel, " and dilation=", dilation);
  FC_CHECK(!__builtin_sub_overflow(in + 2 * padding, reach, &numerator), "pooling: sizes overflow");
  if (ceil_mode) numerator += stride - 1;
  int64_t out = numerator / stride - (numerator % stride != 0 && (numerator < 0) != (stride < 0)) + 1;  // rounds down
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;  // the last window must start inside
  return out;
}

int64_t pick(IntSpan list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

}  // namespace

Pool plan_pool(const char* op, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
               bool ceil_mode) {
  FC_CHECK(kernel.size() == 1 || kernel.size() == 2, op,
           ": kernel_size must either be a single int, or a tuple of two ints");
  FC_CHECK(stride.size() <= 2, op, ": stride must either be omitted, a single int, or a tuple of two ints");
  FC_CHECK(padding.size() == 1 || padding.size() == 2, op,
           ": padding must either be a single int, or a tuple of two ints");
  FC_CHECK(dilation.size() == 1 || dilation.size() == 2, op,
           ": dilation must be either a single int, or a tuple of two ints");
  FC_CHECK(self.dim() == 3 || self.dim() == 4, op, ": non-empty 3D or 4D (batch mode) tensor expected for input, got ",
           self.sizes());
  if (stride.empty()) stride = kernel;
  Pool p;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t in = self.size(static_cast<int64_t>(i) - 2), k = pick(kernel, i), s = pick(stride, i),
                  pad = pick(padding, i), d = pick(dilation, i);
    for (int64_t v : {k, s, pad, d})
      FC_CHECK(v >= INT32_MIN && v <= INT32_MAX, op, ": integer out of range: kernel_size=", k, " stride=", s,
               " padding=", pad, " dilation=", d);
    (i ? p.w : p.h) = Pool::Axis{k, s, pad, d, in, output_size(in, k, pad, s, d, ceil_mode)};
  }
  FC_CHECK(p.h.kernel > 0 && p.w.kernel > 0, op, ": kernel size should be greater than zero, but got kH: ", p.h.kernel,
           " kW: ", p.w.kernel);
  FC_CHECK(p.h.stride > 0 && p.w.stride > 0, op, ": stride should be greater than zero, but got dH: ", p.h.stride,
           " dW: ", p.w.stride);
  FC_CHECK(p.h.dilation > 0 && p.w.dilation > 0, op,
           ": dilation should be greater than zero, but got dilationH: ", p.h.dilation, " dilationW: ", p.w.dilation);
  const int64_t planes = self.size(-3);
  FC_CHECK(planes != 0 && p.h.in != 0 && p.w.in != 0, op,
           ": Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:", self.sizes());
  FC_CHECK(p.h.out >= 1 && p.w.out >= 1, op, ": Given input size: (", planes, "x", p.h.in, "x", p.w.in,
           "). Calculated output size: (", planes, "x", p.h.out, "x", p.w.out, "). Output size is too small");
  p.output = Dims(self.sizes());
  p.output[p.output.size() - 2] = p.h.out;
  p.output.back() = p.w.out;
  if (self.dim() == 4) p.format = suggest_memory_format(self);
  return p;
}

void check_adaptive_pool(const char* op, const Tensor& self, IntSpan size) {
  FC_CHECK(size.size() == 2, op, ": output_size must be 2");
  FC_CHECK(size[0] >= 0 && size[1] >= 0, op,
           ": elements of output_size must be greater than or equal to 0 but received {", size[0], ", ", size[1], "}");
  FC_CHECK(self.dim() == 3 || self.dim() == 4, op, "(): Expected 3D or 4D tensor, but got ", self.sizes());
  for (int64_t d : {-3, -2, -1})
    FC_CHECK(self.size(d) > 0, op,
             "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(),
             " with dimension ", d + self.dim(), " being empty");
  for (size_t i : {0, 1}) {  // windows are found by products of the two sizes of a dimension
    int64_t product;
    FC_CHECK(!__builtin_add_overflow(self.size(static_cast<int64_t>(i) - 2), 1, &product) &&
                 !__builtin_mul_overflow(product, size[i], &product),
             op, ": output_size ", size, " is too large for an input of size ", self.sizes());
  }
}

void check_adaptive_pool_backward(const Tensor& grad, const Tensor& self) {
  const char* op = "adaptive_avg_pool2d_backward";
  FC_CHECK(grad.dim() == self.dim() && grad.dtype() == self.dtype(), op, ": expected a gradient like ", self.dtype(),
           " ", self.sizes(), ", got ", grad.dtype(), " ", grad.sizes());
  check_adaptive_pool(op, self, grad.sizes().last(std::min<size_t>(grad.sizes().size(), 2)));
  for (int64_t d = 0; d < grad.dim() - 2; ++d)
    FC_CHECK(grad.size(d) == self.size(d), op, ": expected a gradient of the input's batch and channels ", self.sizes(),
             ", got ", grad.sizes());
}

void check_pool_backward(const char* op, const Pool& p, const Tensor& self, const Tensor& grad, const Tensor& indices) {
  FC_CHECK(Dims::same(grad.sizes(), p.output) && grad.dtype() == self.dtype(), op, ": expected a ", self.dtype(),
           " gradient of size ", IntSpan(p.output), ", got ", grad.dtype(), " ", grad.sizes());
  FC_CHECK(!indices.defined() || (Dims::same(indices.sizes(), p.output) && indices.dtype() == DType::Int64), op,
           ": expected int64 indices of size ", IntSpan(p.output), ", got ", indices.dtype(), " ", indices.sizes());
}

namespace {

const int64_t one[] = {1};

// --- shape rules
std::tuple<Tensor, Tensor> max_pool_meta(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                                         IntSpan dilation, bool ceil_mode) {
  Pool p = plan_pool("max_pool2d", self, kernel, stride, padding, dilation, ceil_mode);
  return {empty_tensor(p.output, self.dtype(), self.device(), p.format),
          empty_tensor(p.output, DType::Int64, self.device(), p.format)};
}
Tensor avg_pool_meta(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode, bool,
                     std::optional<int64_t> divisor) {
  FC_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor must be not zero");
  Pool p = plan_pool("avg_pool2d", self, kernel, stride, padding, one, ceil_mode);
  return empty_tensor(p.output, self.dtype(), self.device(), p.format);
}
Tensor like_self(const Tensor& grad, const Tensor& self) {
  return empty_tensor(self.sizes(), grad.dtype(), self.device(),
                      self.dim() == 4 ? suggest_memory_format(self) : MemoryFormat::Contiguous);
}
Tensor max_pool_backward_meta(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                              IntSpan dilation, bool ceil_mode, const Tensor& indices) {
  const char* op = "max_pool2d_with_indices_backward";
  check_pool_backward(op, plan_pool(op, self, kernel, stride, padding, dilation, ceil_mode), self, grad, indices);
  return like_self(grad, self);
}
Tensor avg_pool_backward_meta(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                              bool ceil_mode, bool, std::optional<int64_t>) {
  const char* op = "avg_pool2d_backward";
  check_pool_backward(op, plan_pool(op, self, kernel, stride, padding, one, ceil_mode), self, grad, Tensor());
  return like_self(grad, self);
}
Tensor adaptive_meta(const Tensor& self, IntSpan size) {
  check_adaptive_pool("adaptive_avg_pool2d", self, size);
  Dims shape(self.sizes());
  shape[shape.size() - 2] = size[0];
  shape.back() = size[1];
  return empty_tensor(shape, self.dtype(), self.device(),
                      self.dim() == 4 ? suggest_memory_format(self) : MemoryFormat::Contiguous);
}

Tensor adaptive_backward_meta(const Tensor& grad, const Tensor& self) {
  check_adaptive_pool_backward(grad, self);
  return like_self(grad, self);
}

// --- written in other operators
Tensor max_pool2d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                  bool ceil_mode) {
  return std::get<0>(call<"aten::max_pool2d_with_indices", std::tuple<Tensor, Tensor>>(self, kernel, stride, padding,
                                                                                       dilation, ceil_mode));
}

// A row is an image of height 1.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                                                   IntSpan dilation, bool ceil_mode) {
  FC_CHECK(self.dim() == 2 || self.dim() == 3,
           "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:",
           self.sizes());
  for (IntSpan list : {kernel, padding, dilation})
    FC_CHECK(list.size() == 1, "max_pool1d() kernel_size, padding and dilation must be single integers");
  FC_CHECK(stride.size() <= 1, "max_pool1d() stride must be omitted or a single integer");
  const int64_t k = kernel[0], s = stride.empty() ? k : stride[0];
  FC_CHECK(k > 0, "max_pool1d() kernel_size must be greater than zero, but got ", k);
  FC_CHECK(s > 0, "max_pool1d() stride must be greater than zero, but got ", s);
  FC_CHECK(padding[0] >= 0, "max_pool1d() padding must be non-negative, but got ", padding[0]);
  FC_CHECK(padding[0] <= k / 2,
           "max_pool1d() padding should be at most half of kernel size, but got padding=", padding[0],
           " and kernel_size=", k);
  FC_CHECK(dilation[0] > 0, "max_pool1d() dilation must be greater than zero, but got ", dilation[0]);
  const int64_t out = output_size(self.size(-1), k, padding[0], s, dilation[0], ceil_mode);
  FC_CHECK(out > 0, "max_pool1d() Invalid computed output size: ", out);
  const int64_t kernel2[] = {1, k}, stride2[] = {1, s}, padding2[] = {0, padding[0]}, dilation2[] = {1, dilation[0]};
  auto [values, indices] = call<"aten::max_pool2d_with_indices", std::tuple<Tensor, Tensor>>(
      unsqueeze(self, -2), IntSpan(kernel2), IntSpan(stride2), IntSpan(padding2), IntSpan(dilation2), ceil_mode);
  return {squeeze(values, -2), squeeze(indices, -2)};
}
Tensor max_pool1d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                  bool ceil_mode) {
  return std::get<0>(max_pool1d_with_indices(self, kernel, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool1d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode,
                  bool include_pad) {
  FC_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for avg_pool1d)");
  FC_CHECK(kernel.size() == 1 && stride.size() <= 1 && padding.size() == 1,
           "avg_pool1d() kernel_size, stride and padding must be single integers");
  const int64_t kernel2[] = {1, kernel[0]}, stride2[] = {1, stride.empty() ? kernel[0] : stride[0]},
                padding2[] = {0, padding[0]};
  return squeeze(call<"aten::avg_pool2d", Tensor>(unsqueeze(self, -2), IntSpan(kernel2), IntSpan(stride2),
                                                  IntSpan(padding2), ceil_mode, include_pad, std::optional<int64_t>()),
                 -2);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntSpan size) {
  check_adaptive_pool("adaptive_avg_pool2d", self, size);
  if (size[0] == 1 && size[1] == 1) return mean(self, Dims{-1, -2}, true);
  return call<"aten::_adaptive_avg_pool2d", Tensor>(self, size);
}
Tensor adaptive_avg_pool1d(const Tensor& self, IntSpan size) {
  FC_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for adaptive_avg_pool1d)");
  FC_CHECK(size.size() == 1, "adaptive_avg_pool1d: output_size must be one integer");
  return squeeze(adaptive_avg_pool2d(unsqueeze(self, -2), Dims{1, size[0]}), -2);
}

// --- unfold and fold
struct Blocks {
  Convolution c;
  Dims places;
};
Blocks plan_blocks(const char* op, IntSpan size, IntSpan kernel, IntSpan dilation, IntSpan padding, IntSpan stride) {
  for (IntSpan list : {kernel, dilation, padding, stride})
    FC_CHECK(list.size() == 2, op, ": kernel_size, dilation, padding and stride need two entries each");
  FC_CHECK(kernel[0] > 0 && kernel[1] > 0, op,
           ": kernel size should be greater than zero, but got kernel_height: ", kernel[0],
           " kernel_width: ", kernel[1]);
  FC_CHECK(dilation[0] > 0 && dilation[1] > 0, op,
           ": dilation should be greater than zero, but got dilation_height: ", dilation[0],
           " dilation_width: ", dilation[1]);
  FC_CHECK(padding[0] >= 0 && padding[1] >= 0, op, ": padding should be non-negative, but got pad_height: ", padding[0],
           " pad_width: ", padding[1]);
  FC_CHECK(stride[0] > 0 && stride[1] > 0, op,
           ": stride should be greater than zero, but got stride_height: ", stride[0], " stride_width: ", stride[1]);
  Blocks b;
  b.c.stride = stride;
  b.c.padding = padding;
  b.c.dilation = dilation;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t wide = padded_size(size[i], padding[i]), reach = kernel_reach(kernel[i], dilation[i]);
    b.places.push_back(wide < reach ? 0 : (wide - reach) / stride[i] + 1);
  }
  FC_CHECK(b.places[0] > 0 && b.places[1] > 0, op, ": Given input with spatial size (", size[0], ", ", size[1],
           "), kernel_size=(", kernel[0], ", ", kernel[1], "), dilation=(", dilation[0], ", ", dilation[1],
           "), padding=(", padding[0], ", ", padding[1], "), calculated shape of the array of sliding blocks as (",
           b.places[0], ", ", b.places[1], "), but its components must be at least one.");
  return b;
}

Tensor im2col(const Tensor& self, IntSpan kernel, IntSpan dilation, IntSpan padding, IntSpan stride) {
  FC_CHECK(self.dim() == 3 || self.dim() == 4,
           "im2col: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
           "input, but got: ",
           self.sizes());
  Tensor x = self.dim() == 3 ? unsqueeze(self, 0) : self;
  Blocks b = plan_blocks("im2col", x.sizes().subspan(2), kernel, dilation, padding, stride);
  const int64_t depth = checked_numel(Dims{x.size(1), kernel[0], kernel[1]}), length = checked_numel(b.places);
  Tensor out;
  if (self.device().is_meta()) out = empty_tensor(Dims{x.size(0), depth, length}, self.dtype(), self.device());
  else
    out = clone(
        reshape(sliding_windows(pad_with_zeros(x, padding), kernel, b.places, b.c), Dims{x.size(0), depth, length}),
        MemoryFormat::Contiguous);
  return self.dim() == 3 ? squeeze(out, 0) : out;
}

Tensor col2im(const Tensor& self, IntSpan size, IntSpan kernel, IntSpan dilation, IntSpan padding, IntSpan stride) {
  FC_CHECK(self.dim() == 2 || self.dim() == 3,
           "col2im: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
           "for input, but got: ",
           self.sizes());
  FC_CHECK(size.size() == 2 && kernel.size() == 2, "col2im: output_size and kernel_size need two entries each");
  FC_CHECK(size[0] > 0 && size[1] > 0, "col2im: output_size should be greater than zero, but got ", size);
  Tensor x = self.dim() == 2 ? unsqueeze(self, 0) : self;
  Blocks b = plan_blocks("col2im", size, kernel, dilation, padding, stride);
  const int64_t area = checked_numel(kernel), length = checked_numel(b.places);
  FC_CHECK(x.size(1) % area == 0 && x.size(1) > 0,
           "col2im: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
           "input.size(1)=",
           x.size(1), " and kernel_size=(", kernel[0], ", ", kernel[1], ").");
  FC_CHECK(x.size(2) == length, "col2im: Given output_size=(", size[0], ", ", size[1], "), kernel_size=(", kernel[0],
           ", ", kernel[1], "), dilation=(", dilation[0], ", ", dilation[1], "), padding=(", padding[0], ", ",
           padding[1], "), stride=(", stride[0], ", ", stride[1],
           "), expected size of input's dimension 2 to match the calculated number of sliding blocks ", b.places[0],
           " * ", b.places[1], " = ", length, ", but got input.size(2)=", x.size(2), ".");
  const int64_t channels = x.size(1) / area;
  Tensor out;
  if (self.device().is_meta()) {
    out = empty_tensor(Dims{x.size(0), channels, size[0], size[1]}, self.dtype(), self.device());
  } else {
    Tensor wide = zeros(Dims{x.size(0), channels, size[0] + 2 * padding[0], size[1] + 2 * padding[1]}, self.dtype(),
                        self.device());
    if (wide.numel() != 0) {
      Tensor windows = sliding_windows(wide, kernel, b.places, b.c);
      add_windows(windows, reshape(x, windows.sizes()), kernel);
    }
    out = contiguous(narrow(narrow(wide, 2, padding[0], size[0]), 3, padding[1], size[1]));
  }
  return self.dim() == 2 ? squeeze(out, 0) : out;
}

// --- derivatives
void max_pool_grad(Grad& g) {
  if (!g.out(0).defined()) return;
  Tensor self = g.in(0), indices = g.result(1);
  g.set(0, call<"aten::max_pool2d_with_indices_backward", Tensor>(g.out(0), self, g.arg(1).ints(), g.arg(2).ints(),
                                                                  g.arg(3).ints(), g.arg(4).ints(), g.arg(5).boolean(),
                                                                  indices));
}
void max_pool_backward_grad(Grad& g) {
  if (!g.needs(0)) return;
  Tensor indices = g.in(7);  // the places that were chosen, in planes
  const Tensor& from = g.out();
  Dims flat(from.sizes().first(from.sizes().size() - 2)), picked = flat;
  flat.push_back(from.size(-2) * from.size(-1));
  picked.push_back(indices.size(-2) * indices.size(-1));
  g.set(0, reshape(call<"aten::gather", Tensor>(reshape(from, flat), -1, reshape(indices, picked), false),
                   indices.sizes()));
}
std::optional<int64_t> divisor(const Arg& a) { return a.is_none() ? std::nullopt : std::optional(a.integer()); }
void avg_pool_grad(Grad& g) {
  Tensor self = g.in(0);
  g.set(0, call<"aten::avg_pool2d_backward", Tensor>(g.out(), self, g.arg(1).ints(), g.arg(2).ints(), g.arg(3).ints(),
                                                     g.arg(4).boolean(), g.arg(5).boolean(), divisor(g.arg(6))));
}
void avg_pool_backward_grad(Grad& g) {
  if (g.needs(0))
    g.set(0, call<"aten::avg_pool2d", Tensor>(g.out(), g.arg(2).ints(), g.arg(3).ints(), g.arg(4).ints(),
                                              g.arg(5).boolean(), g.arg(6).boolean(), divisor(g.arg(7))));
}

constexpr OpDef defs[] = {
    {.schema = "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
               "dilation=1, bool "
               "ceil_mode=False) -> (Tensor, Tensor)",
     .meta = kernel<&max_pool_meta>(),
     .decomposition = kernel<&max_pool_parts>(),
     .saves = "self kernel_size stride padding dilation ceil_mode result1",
     .grad = max_pool_grad},
    {.schema = "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
               "int[2] padding, int[2] "
               "dilation, bool ceil_mode, Tensor indices) -> Tensor",
     .meta = kernel<&max_pool_backward_meta>(),
     .decomposition = kernel<&max_pool_backward_parts>(),
     .saves = "indices",
     .grad = max_pool_backward_grad,
     .hidden = true},
    {.schema = "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
               "bool ceil_mode=False) -> Tensor",
     .composite = kernel<&max_pool2d>()},
    {.schema = "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] "
               "dilation=1, bool "
               "ceil_mode=False) -> (Tensor, Tensor)",
     .composite = kernel<&max_pool1d_with_indices>()},
    {.schema = "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
               "bool ceil_mode=False) -> Tensor",
     .composite = kernel<&max_pool1d>()},
    {.schema = "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
               "bool count_include_pad=True, "
               "int? divisor_override=None) -> Tensor",
     .meta = kernel<&avg_pool_meta>(),
     .decomposition = kernel<&avg_pool_parts>(),
     .saves = "self kernel_size stride padding ceil_mode count_include_pad divisor_override",
     .grad = avg_pool_grad},
    {.schema = "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] "
               "padding, bool ceil_mode, bool "
               "count_include_pad, int? divisor_override) -> Tensor",
     .meta = kernel<&avg_pool_backward_meta>(),
     .decomposition = kernel<&avg_pool_backward_parts>(),
     .saves = "kernel_size stride padding ceil_mode count_include_pad divisor_override",
     .grad = avg_pool_backward_grad,
     .hidden = true},
    {.schema = "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
               "bool count_include_pad=True) "
               "-> Tensor",
     .composite = kernel<&avg_pool1d>()},
    {.schema = "_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
     .meta = kernel<&adaptive_meta>(),
     .decomposition = kernel<&adaptive_parts>(),
     .saves = "self",
     .grad =
         [](Grad& g) {
           Tensor self = g.in(0);
           g.set(0, call<"aten::_adaptive_avg_pool2d_backward", Tensor>(g.out(), self));
         },
     .hidden = true},
    {.schema = "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = kernel<&adaptive_backward_meta>(),
     .decomposition = kernel<&adaptive_backward_parts>(),
     .saves = "grad_output",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, call<"aten::_adaptive_avg_pool2d", Tensor>(g.out(), g.in(0).sizes().last(2)));
         },
     .hidden = true},
    {.schema = "adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
     .composite = kernel<&adaptive_avg_pool2d>()},
    {.schema = "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .composite = kernel<&adaptive_avg_pool1d>()},
    {.schema = "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .all = kernel<&im2col>(),
     .saves = "kernel_size dilation padding stride",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::col2im", Tensor>(g.out(), g.sizes(0).last(2), g.arg(1).ints(), g.arg(2).ints(),
                                                 g.arg(3).ints(), g.arg(4).ints()));
         }},
    {.schema = "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
               "stride) -> Tensor",
     .all = kernel<&col2im>(),
     .saves = "kernel_size dilation padding stride",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::im2col", Tensor>(g.out(), g.arg(2).ints(), g.arg(3).ints(), g.arg(4).ints(),
                                                 g.arg(5).ints()));
         }},
};

}  // namespace

void define_pool() { define_all(defs); }

}  // namespace fc
