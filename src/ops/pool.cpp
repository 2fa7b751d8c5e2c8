// SPDX-License-Identifier: Apache-2.0
// Pooling, and unfold and fold (im2col, col2im).
#include "plan/pool.h"

#include "define/row.h"
#include "ops/register.h"
#include "plan/conv.h"

namespace fc {
namespace {

const int64_t one[] = {1};

// --- shape rules. Names in messages are the operators' own.
using Two = std::tuple<Tensor, Tensor>;
template <FixedString op, int64_t spatial>
Two max_pool_meta(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                  bool ceil_mode) {
  Pool p = plan_pool(op.value, self, kernel, stride, padding, dilation, ceil_mode, spatial);
  const DType index = spatial == 2 ? pool_index_type(self.device()) : DType::Int64;
  return {empty_tensor(p.output, self.dtype(), self.device(), p.format),
          empty_tensor(p.output, index, self.device(), p.format)};
}
template <FixedString op, int64_t spatial>
Tensor avg_pool_meta(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode, bool,
                     std::optional<int64_t> divisor) {
  FC_CHECK(!divisor || *divisor != 0, op.value, ": divisor must be not zero");
  Pool p = plan_pool(op.value, self, kernel, stride, padding, one, ceil_mode, spatial);
  return empty_tensor(p.output, self.dtype(), self.device(), p.format);
}
Tensor like_self(const Tensor& grad, const Tensor& self, int64_t spatial) {
  return empty_tensor(self.sizes(), grad.dtype(), self.device(), pool_format(self, spatial));
}
template <FixedString op, int64_t spatial>
Tensor max_pool_backward_meta(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                              IntSpan dilation, bool ceil_mode, const Tensor& indices) {
  check_pool_backward(op.value, plan_pool(op.value, self, kernel, stride, padding, dilation, ceil_mode, spatial), self,
                      grad, indices);
  return like_self(grad, self, spatial);
}
template <FixedString op, int64_t spatial>
Tensor avg_pool_backward_meta(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                              bool ceil_mode, bool, std::optional<int64_t>) {
  check_pool_backward(op.value, plan_pool(op.value, self, kernel, stride, padding, one, ceil_mode, spatial), self, grad,
                      Tensor());
  return like_self(grad, self, spatial);
}
template <FixedString op, int64_t spatial>
Tensor adaptive_meta(const Tensor& self, IntSpan size) {
  check_adaptive_pool(op.value, self, size, spatial);
  return empty_tensor(with_spatial(self, size), self.dtype(), self.device(), pool_format(self, spatial));
}
template <FixedString op, int64_t spatial>
Tensor adaptive_backward_meta(const Tensor& grad, const Tensor& self) {
  check_adaptive_pool_backward(op.value, grad, self, spatial);
  return like_self(grad, self, spatial);
}
template <FixedString op, int64_t spatial>
Two adaptive_max_meta(const Tensor& self, IntSpan size) {
  Tensor out = adaptive_meta<op, spatial>(self, size);
  return {out, empty_tensor(out.sizes(), DType::Int64, self.device(), pool_format(self, spatial))};
}
template <FixedString op, int64_t spatial>
Tensor adaptive_max_backward_meta(const Tensor& grad, const Tensor& self, const Tensor&) {
  return adaptive_backward_meta<op, spatial>(grad, self);
}
template <FixedString op, int64_t spatial>
Two fractional_meta(const Tensor& self, IntSpan kernel, IntSpan size, const Tensor& samples) {
  const Dims shape = check_fractional_pool(op.value, self, kernel, size, samples, spatial);
  const MemoryFormat format = pool_format(self, spatial);
  return {empty_tensor(shape, self.dtype(), self.device(), format),
          empty_tensor(shape, DType::Int64, self.device(), format)};
}
template <int64_t spatial>
Tensor fractional_backward_meta(const Tensor& grad, const Tensor& self, IntSpan, IntSpan, const Tensor&) {
  return like_self(grad, self, spatial);
}

// --- written in other operators
Tensor max_pool2d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                  bool ceil_mode) {
  return std::get<0>(call<"aten::max_pool2d_with_indices", std::tuple<Tensor, Tensor>>(self, kernel, stride, padding,
                                                                                       dilation, ceil_mode));
}

Tensor max_pool3d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                  bool ceil_mode) {
  return std::get<0>(call<"aten::max_pool3d_with_indices", Two>(self, kernel, stride, padding, dilation, ceil_mode));
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

Tensor adaptive_avg_pool3d(const Tensor& self, IntSpan size) {
  check_adaptive_pool("adaptive_avg_pool3d", self, size, 3);
  if (size[0] == 1 && size[1] == 1 && size[2] == 1) return mean(self, Dims{-1, -2, -3}, true);
  return call<"aten::_adaptive_avg_pool3d", Tensor>(self, size);
}
Two adaptive_max_pool1d(const Tensor& self, IntSpan size) {
  FC_CHECK(self.dim() == 2 || self.dim() == 3, "adaptive_max_pool1d(): Expected 2D or 3D tensor, but got ",
           self.sizes());
  FC_CHECK(size.size() == 1, "adaptive_max_pool1d: output_size must be one integer");
  auto [values, indices] = call<"aten::adaptive_max_pool2d", Two>(unsqueeze(self, -2), Dims{1, size[0]});
  return {squeeze(values, -2), squeeze(indices, -2)};
}

// --- unpooling: values back at the indices that pooling took them from, zeros elsewhere
Tensor unpool(const char* op, const Tensor& self, const Tensor& indices, IntSpan size, int64_t spatial) {
  const auto n = static_cast<size_t>(spatial);
  FC_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == pool_index_type(indices.device()), op,
           ": elements in indices should be type int64 but got: ", indices.dtype());
  FC_CHECK(size.size() == n, op, ": There should be exactly ", n, " elements in output_size, but got ", size.size());
  FC_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, op, ": Input to unpooling should be a ", spatial + 1,
           "d or ", spatial + 2, "d Tensor, but got ", self.sizes());
  FC_CHECK(Dims::same(self.sizes(), indices.sizes()), op,
           ": Expected shape of indices to be same as that of the input tensor (", self.sizes(),
           ") but got indices tensor with shape: ", indices.sizes());
  for (int64_t d = 1; d < self.dim(); ++d)
    FC_CHECK(self.size(d) > 0, op, ": Expected input to have non-zero size for non-batch dimensions, but got ",
             self.sizes(), " with dimension ", d, " being empty.");
  const IntSpan lead = self.sizes().first(self.sizes().size() - n);
  Dims flat(lead), planes(lead);
  flat.push_back(checked_numel(self.sizes().last(n)));
  planes.push_back(checked_numel(size));
  return reshape(scatter_to(reshape(self, flat), -1, to_dtype(reshape(indices, flat), DType::Int64), planes),
                 with_spatial(self, size));
}
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntSpan size) {
  return unpool("max_unpool2d", self, indices, size, 2);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntSpan size, IntSpan stride, IntSpan padding) {
  FC_CHECK(stride.size() == 3 && padding.size() == 3,
           "max_unpool3d: There should be exactly three elements (depth, height, width) in stride and padding");
  for (int64_t s : stride)
    FC_CHECK(s > 0, "max_unpool3d: strides should be greater than zero, but got stride: ", stride);
  return unpool("max_unpool3d", self, indices, size, 3);
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
    const int64_t room = wide - reach;  // divided towards minus infinity, for the message
    b.positions.push_back(room / stride[i] - (room < 0 && room % stride[i] != 0) + 1);
  }
  FC_CHECK(b.positions[0] > 0 && b.positions[1] > 0, op, ": Given input with spatial size (", size[0], ", ", size[1],
           "), kernel_size=(", kernel[0], ", ", kernel[1], "), dilation=(", dilation[0], ", ", dilation[1],
           "), padding=(", padding[0], ", ", padding[1], "), calculated shape of the array of sliding blocks as (",
           b.positions[0], ", ", b.positions[1], "), but its components must be at least one.");
  return b;
}

Tensor im2col(const Tensor& self, IntSpan kernel, IntSpan dilation, IntSpan padding, IntSpan stride) {
  const bool batch = self.dim() == 4;
  FC_CHECK((batch || self.dim() == 3) && std::ranges::find(self.sizes().subspan(batch), 0) == self.sizes().end(),
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
template <FixedString backward>
void max_pool_grad(Grad& g) {
  if (!g.out(0).defined()) return;
  Tensor self = g.in(0), indices = g.result(1);
  g.set(0, call<backward, Tensor>(g.out(0), self, g.arg(1).ints(), g.arg(2).ints(), g.arg(3).ints(), g.arg(4).ints(),
                                  g.arg(5).boolean(), indices));
}
// The gradient of a gradient that went where indices say: what arrived there. Positions count in planes.
void give_back_grad(Grad& g, const Tensor& indices, size_t spatial) {
  if (g.needs(1)) g.set(1, zeros_like(g.out()));
  if (!g.needs(0)) return;
  const Tensor& from = g.out();
  const IntSpan lead = from.sizes().first(from.sizes().size() - spatial);
  Dims flat(lead), picked(lead);
  flat.push_back(checked_numel(from.sizes().last(spatial)));
  picked.push_back(checked_numel(indices.sizes().last(spatial)));
  g.set(0, reshape(gather(reshape(from, flat), -1, reshape(indices, picked)), indices.sizes()));
}
std::optional<int64_t> divisor(const Arg& a) { return a.is_none() ? std::nullopt : std::optional(a.integer()); }
template <FixedString backward>
void avg_pool_grad(Grad& g) {
  Tensor self = g.in(0);
  g.set(0, call<backward, Tensor>(g.out(), self, g.arg(1).ints(), g.arg(2).ints(), g.arg(3).ints(), g.arg(4).boolean(),
                                  g.arg(5).boolean(), divisor(g.arg(6))));
}
template <FixedString forward>
void avg_pool_backward_grad(Grad& g) {
  if (g.needs(0))
    g.set(0, call<forward, Tensor>(g.out(), g.arg(2).ints(), g.arg(3).ints(), g.arg(4).ints(), g.arg(5).boolean(),
                                   g.arg(6).boolean(), divisor(g.arg(7))));
}
template <FixedString backward>
void adaptive_grad(Grad& g) {
  Tensor self = g.in(0);
  g.set(0, call<backward, Tensor>(g.out(), self));
}
template <FixedString forward, size_t spatial>
void adaptive_backward_grad(Grad& g) {
  if (g.needs(0)) g.set(0, call<forward, Tensor>(g.out(), g.in(0).sizes().last(spatial)));
}
template <FixedString backward>
void adaptive_max_grad(Grad& g) {
  if (!g.out(0).defined()) return;
  Tensor self = g.in(0), indices = g.result(1);
  g.set(0, call<backward, Tensor>(g.out(0), self, indices));
}
template <FixedString backward>
void fractional_grad(Grad& g) {
  if (!g.out(0).defined()) return;
  Tensor self = g.in(0), indices = g.result(1);
  g.set(0, call<backward, Tensor>(g.out(0), self, g.arg(1).ints(), g.arg(2).ints(), indices));
}

// The rows of images and of volumes: N is 2 or 3.
#define MAX_POOL(N, what)                                                                                            \
  {.schema = "max_pool" #N "d_with_indices(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N     \
             "] padding=0, int[" #N "] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",                       \
   .doc = "max_pool" #N "d, with the index of each largest element.",                                                \
   .meta = kernel<&max_pool_meta<"max_pool" #N "d", N>>(),                                                           \
   .decomposition = MAX_DECOMPOSITION_##N,                                                                           \
   .saves = "self kernel_size stride padding dilation ceil_mode result1",                                            \
   .grad = max_pool_grad<"aten::max_pool" #N "d_with_indices_backward">},                                            \
      {.schema =                                                                                                     \
           "max_pool" #N "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #N "] kernel_size, int[" #N \
           "] stride, int[" #N "] padding, int[" #N "] dilation, bool ceil_mode, Tensor indices) -> Tensor",         \
       .meta = kernel<&max_pool_backward_meta<"max_pool" #N "d_with_indices_backward", N>>(),                        \
       .decomposition = MAX_BACKWARD_DECOMPOSITION_##N,                                                              \
       .saves = "indices",                                                                                           \
       .grad = [](Grad& g) { give_back_grad(g, g.in(7), N); },                                                       \
       .hidden = true},                                                                                              \
  {                                                                                                                  \
    .schema = "max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N                 \
              "] padding=0, int[" #N "] dilation=1, bool ceil_mode=False) -> Tensor",                                \
    .doc = "The largest element of each sliding window of " what ".", .composite = kernel<&max_pool##N##d>(),        \
    .cpu_autocast = WIDE_##N                                                                                         \
  }
#define AVG_POOL(N, what)                                                                                      \
  {.schema = "avg_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N            \
             "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> " \
             "Tensor",                                                                                         \
   .doc = "Averages over sliding windows of " what ".",                                                        \
   .meta = kernel<&avg_pool_meta<"avg_pool" #N "d", N>>(),                                                     \
   .decomposition = AVG_DECOMPOSITION_##N,                                                                     \
   .saves = "self kernel_size stride padding ceil_mode count_include_pad divisor_override",                    \
   .grad = avg_pool_grad<"aten::avg_pool" #N "d_backward">,                                                    \
   .cpu_autocast = WIDE_##N},                                                                                  \
  {                                                                                                            \
    .schema = "avg_pool" #N "d_backward(Tensor grad_output, Tensor self, int[" #N "] kernel_size, int[" #N     \
              "] stride, int[" #N                                                                              \
              "] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) "                     \
              "-> Tensor",                                                                                     \
    .meta = kernel<&avg_pool_backward_meta<"avg_pool" #N "d_backward", N>>(),                                  \
    .decomposition = AVG_BACKWARD_DECOMPOSITION_##N,                                                           \
    .saves = "kernel_size stride padding ceil_mode count_include_pad divisor_override",                        \
    .grad = avg_pool_backward_grad<"aten::avg_pool" #N "d">, .hidden = true                                    \
  }
#define ADAPTIVE_POOL(N)                                                                                              \
  {.schema = "_adaptive_avg_pool" #N "d(Tensor self, SymInt[" #N "] output_size) -> Tensor",                          \
   .meta = kernel<&adaptive_meta<"adaptive_avg_pool" #N "d", N>>(),                                                   \
   .decomposition = ADAPTIVE_DECOMPOSITION_##N,                                                                       \
   .saves = "self",                                                                                                   \
   .grad = adaptive_grad<"aten::_adaptive_avg_pool" #N "d_backward">,                                                 \
   .hidden = true},                                                                                                   \
      {.schema = "_adaptive_avg_pool" #N "d_backward(Tensor grad_output, Tensor self) -> Tensor",                     \
       .meta = kernel<&adaptive_backward_meta<"adaptive_avg_pool" #N "d_backward", N>>(),                             \
       .decomposition = ADAPTIVE_BACKWARD_DECOMPOSITION_##N,                                                          \
       .saves = "grad_output",                                                                                        \
       .grad = adaptive_backward_grad<"aten::_adaptive_avg_pool" #N "d", N>,                                          \
       .hidden = true},                                                                                               \
      {.schema = "adaptive_max_pool" #N "d(Tensor self, int[" #N "] output_size) -> (Tensor, Tensor)",                \
       .meta = kernel<&adaptive_max_meta<"adaptive_max_pool" #N "d", N>>(),                                           \
       .saves = "self result1",                                                                                       \
       .grad = adaptive_max_grad<"aten::adaptive_max_pool" #N "d_backward">,                                          \
       .cpu_autocast = WIDE_##N,                                                                                      \
       .hidden = true},                                                                                               \
      {.schema = "adaptive_max_pool" #N "d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",      \
       .meta = kernel<&adaptive_max_backward_meta<"adaptive_max_pool" #N "d_backward", N>>(),                         \
       .saves = "indices",                                                                                            \
       .grad = [](Grad& g) { give_back_grad(g, g.in(2), N); },                                                        \
       .hidden = true},                                                                                               \
      {.schema = "fractional_max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N                           \
                 "] output_size, Tensor random_samples) -> (Tensor, Tensor)",                                         \
       .meta = kernel<&fractional_meta<"fractional_max_pool" #N "d", N>>(),                                           \
       .saves = "self kernel_size output_size result1",                                                               \
       .grad = fractional_grad<"aten::fractional_max_pool" #N "d_backward">,                                          \
       .constant = "random_samples",                                                                                  \
       .cpu_autocast = Autocast::Float32,                                                                             \
       .hidden = true},                                                                                               \
  {                                                                                                                   \
    .schema = "fractional_max_pool" #N "d_backward(Tensor grad_output, Tensor self, int[" #N "] kernel_size, int[" #N \
              "] output_size, Tensor indices) -> Tensor",                                                             \
    .meta = kernel<&fractional_backward_meta<N>>(), .saves = "indices",                                               \
    .grad = [](Grad& g) { give_back_grad(g, g.in(4), N); }, .hidden = true                                            \
  }
#define WIDE_2 std::nullopt  // on the CPU, under autocast
#define WIDE_3 Autocast::Float32
// Volumes on a device without a kernel go to the CPU.
#define MAX_DECOMPOSITION_2 kernel<&max_pool_decomposition>()
#define MAX_BACKWARD_DECOMPOSITION_2 kernel<&max_pool_backward_decomposition>()
#define AVG_DECOMPOSITION_2 kernel<&avg_pool_decomposition>()
#define AVG_BACKWARD_DECOMPOSITION_2 kernel<&avg_pool_backward_decomposition>()
#define ADAPTIVE_DECOMPOSITION_2 kernel<&adaptive_decomposition>()
#define ADAPTIVE_BACKWARD_DECOMPOSITION_2 kernel<&adaptive_backward_decomposition>()
#define MAX_DECOMPOSITION_3 Kernel()
#define MAX_BACKWARD_DECOMPOSITION_3 Kernel()
#define AVG_DECOMPOSITION_3 Kernel()
#define AVG_BACKWARD_DECOMPOSITION_3 Kernel()
#define ADAPTIVE_DECOMPOSITION_3 Kernel()
#define ADAPTIVE_BACKWARD_DECOMPOSITION_3 Kernel()

constexpr OpDef defs[] = {
    MAX_POOL(2, "images"),
    MAX_POOL(3, "volumes"),
    {.schema = "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] "
               "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .doc = "max_pool1d, with the index of each largest element.",
     .composite = kernel<&max_pool1d_with_indices>()},
    {.schema = "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
               "bool ceil_mode=False) -> Tensor",
     .doc = "The largest element of each sliding window of a sequence.",
     .composite = kernel<&max_pool1d>()},
    AVG_POOL(2, "images"),
    AVG_POOL(3, "volumes"),
    {.schema = "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
               "bool count_include_pad=True) -> Tensor",
     .doc = "Averages over sliding windows of a sequence.",
     .composite = kernel<&avg_pool1d>()},
    ADAPTIVE_POOL(2),
    ADAPTIVE_POOL(3),
    {.schema = "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .composite = kernel<&adaptive_avg_pool3d>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     .doc = "The largest elements of windows chosen so that the result has the given length, and where they stood.",
     .composite = kernel<&adaptive_max_pool1d>()},
    {.schema = "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
     .composite = kernel<&max_unpool2d>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema =
         "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
     .composite = kernel<&max_unpool3d>(),
     .cpu_autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .doc = "Averages over windows chosen so that the result has the given height and width.",
     .composite = kernel<&adaptive_avg_pool2d>()},
    {.schema = "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .doc = "Averages over windows chosen so that the result has the given length.",
     .composite = kernel<&adaptive_avg_pool1d>()},
    {.schema = "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .doc = "Sliding blocks of images as columns.",
     .all = kernel<&im2col>(),
     .saves = "kernel_size dilation padding stride",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::col2im", Tensor>(g.out(), g.sizes(0).last(2), g.arg(1).ints(), g.arg(2).ints(),
                                                 g.arg(3).ints(), g.arg(4).ints()));
         }},
    {.schema = "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
               "stride) -> Tensor",
     .doc = "Sums columns of sliding blocks back into images: the inverse walk of im2col.",
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
