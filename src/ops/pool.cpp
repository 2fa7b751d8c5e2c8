// SPDX-License-Identifier: Apache-2.0
// Pooling, and unfold and fold (im2col, col2im).
#include "plan/pool.h"

#include "define/row.h"
#include "ops/register.h"
#include "plan/conv.h"

namespace fc {
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
  const int64_t out = pooled_size(self.size(-1), k, padding[0], s, dilation[0], ceil_mode);
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
  Dims positions;
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
    b.positions.push_back(wide < reach ? 0 : (wide - reach) / stride[i] + 1);
  }
  FC_CHECK(b.positions[0] > 0 && b.positions[1] > 0, op, ": Given input with spatial size (", size[0], ", ", size[1],
           "), kernel_size=(", kernel[0], ", ", kernel[1], "), dilation=(", dilation[0], ", ", dilation[1],
           "), padding=(", padding[0], ", ", padding[1], "), calculated shape of the array of sliding blocks as (",
           b.positions[0], ", ", b.positions[1], "), but its components must be at least one.");
  return b;
}

Tensor im2col(const Tensor& self, IntSpan kernel, IntSpan dilation, IntSpan padding, IntSpan stride) {
  FC_CHECK(self.dim() == 3 || self.dim() == 4,
           "im2col: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
           "input, but got: ",
           self.sizes());
  Tensor x = self.dim() == 3 ? unsqueeze(self, 0) : self;
  Blocks b = plan_blocks("im2col", x.sizes().subspan(2), kernel, dilation, padding, stride);
  const int64_t depth = checked_numel(Dims{x.size(1), kernel[0], kernel[1]}), length = checked_numel(b.positions);
  Tensor out;
  if (self.device().is_meta()) out = empty_tensor(Dims{x.size(0), depth, length}, self.dtype(), self.device());
  else
    out = clone(
        reshape(sliding_windows(pad_with_zeros(x, padding), kernel, b.positions, b.c), Dims{x.size(0), depth, length}),
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
  const int64_t area = checked_numel(kernel), length = checked_numel(b.positions);
  FC_CHECK(x.size(1) % area == 0 && x.size(1) > 0,
           "col2im: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
           "input.size(1)=",
           x.size(1), " and kernel_size=(", kernel[0], ", ", kernel[1], ").");
  FC_CHECK(x.size(2) == length, "col2im: Given output_size=(", size[0], ", ", size[1], "), kernel_size=(", kernel[0],
           ", ", kernel[1], "), dilation=(", dilation[0], ", ", dilation[1], "), padding=(", padding[0], ", ",
           padding[1], "), stride=(", stride[0], ", ", stride[1],
           "), expected size of input's dimension 2 to match the calculated number of sliding blocks ", b.positions[0],
           " * ", b.positions[1], " = ", length, ", but got input.size(2)=", x.size(2), ".");
  const int64_t channels = x.size(1) / area;
  Tensor out;
  if (self.device().is_meta()) {
    out = empty_tensor(Dims{x.size(0), channels, size[0], size[1]}, self.dtype(), self.device());
  } else {
    Tensor wide = zeros(Dims{x.size(0), channels, size[0] + 2 * padding[0], size[1] + 2 * padding[1]}, self.dtype(),
                        self.device());
    if (wide.numel() != 0) {
      Tensor windows = sliding_windows(wide, kernel, b.positions, b.c);
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
  Tensor indices = g.in(7);  // the positions that were chosen, in planes
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
     .decomposition = kernel<&max_pool_decomposition>(),
     .saves = "self kernel_size stride padding dilation ceil_mode result1",
     .grad = max_pool_grad},
    {.schema = "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
               "int[2] padding, int[2] "
               "dilation, bool ceil_mode, Tensor indices) -> Tensor",
     .meta = kernel<&max_pool_backward_meta>(),
     .decomposition = kernel<&max_pool_backward_decomposition>(),
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
     .decomposition = kernel<&avg_pool_decomposition>(),
     .saves = "self kernel_size stride padding ceil_mode count_include_pad divisor_override",
     .grad = avg_pool_grad},
    {.schema = "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] "
               "padding, bool ceil_mode, bool "
               "count_include_pad, int? divisor_override) -> Tensor",
     .meta = kernel<&avg_pool_backward_meta>(),
     .decomposition = kernel<&avg_pool_backward_decomposition>(),
     .saves = "kernel_size stride padding ceil_mode count_include_pad divisor_override",
     .grad = avg_pool_backward_grad,
     .hidden = true},
    {.schema = "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
               "bool count_include_pad=True) "
               "-> Tensor",
     .composite = kernel<&avg_pool1d>()},
    {.schema = "_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
     .meta = kernel<&adaptive_meta>(),
     .decomposition = kernel<&adaptive_decomposition>(),
     .saves = "self",
     .grad =
         [](Grad& g) {
           Tensor self = g.in(0);
           g.set(0, call<"aten::_adaptive_avg_pool2d_backward", Tensor>(g.out(), self));
         },
     .hidden = true},
    {.schema = "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = kernel<&adaptive_backward_meta>(),
     .decomposition = kernel<&adaptive_backward_decomposition>(),
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
