// SPDX-License-Identifier: Apache-2.0
// Three operators as PyTorch once had them, with work that changes nothing: what a value profiler has to find. The
// programs beside this folder use them with --naive, which builds this file.
#include "define/calls.h"
#include "define/row.h"

namespace {

using fc::call;
using fc::Dims;
using fc::IntSpan;
using fc::Tensor;

// Rows of the picture's patches times the weights. The ones are filled on every call, though only the bias reads them;
// and the output is zeroed for products that are added to it.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding) {
  const int64_t kh = weight.size(2), kw = weight.size(3), outputs = weight.size(0);
  const int64_t h = (x.size(2) + 2 * padding[0] - kh) / stride[0] + 1,
                w = (x.size(3) + 2 * padding[1] - kw) / stride[1] + 1;
  const Tensor columns = call<"aten::im2col", Tensor>(x, Dims{kh, kw}, Dims{1, 1}, padding, stride);
  const Tensor flat = fc::view(weight, Dims{outputs, weight.size(1) * kh * kw});
  const Tensor out = fc::empty_tensor(Dims{x.size(0), outputs, h, w}, x.dtype(), x.device());
  for (int64_t i = 0; i < x.size(0); ++i) {
    const Tensor ones = fc::fill_(fc::empty_tensor(Dims{1, h * w}, x.dtype(), x.device()), 1);
    const Tensor to = fc::view(fc::select(out, 0, i), Dims{outputs, h * w});
    if (bias.defined()) fc::copy_(to, fc::mm(fc::view(bias, Dims{outputs, 1}), ones));
    else fc::zero_(to);
    call<"aten::addmm_", Tensor>(to, flat, fc::select(columns, 0, i), fc::Scalar(1), fc::Scalar(1));
  }
  return out;
}

// The gradient is made as zeros and zeroed again.
Tensor pad_backward(const Tensor& grad, const Tensor& self, IntSpan padding) {
  Tensor out = fc::zeros_like(self);
  fc::zero_(out);
  return fc::add_(out, call<"facula::pad_edges_backward", Tensor>(grad, self.sizes(), padding, int64_t{1}));
}
Tensor pad(const Tensor& self, IntSpan padding) { return call<"aten::replication_pad3d", Tensor>(self, padding); }

// Rows of the padding index are zeroed, though the table holds zeros there.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding) {
  Dims shape(indices.sizes());
  shape.push_back(weight.size(1));
  const Tensor flat = call<"aten::index_select", Tensor>(weight, int64_t{0}, fc::reshape(indices, Dims{-1}));
  const Tensor rows = fc::view(flat, shape);
  if (padding >= 0)
    call<"aten::masked_fill_.Scalar", Tensor>(rows, fc::unsqueeze(fc::eq(indices, fc::Scalar(padding)), -1),
                                              fc::Scalar(0));
  return rows;
}

constexpr fc::OpDef defs[] = {
    {.schema = "naive::convolution(Tensor x, Tensor weight, Tensor? bias, int[2] stride, int[2] padding) -> Tensor",
     .composite = fc::kernel<&convolution>()},
    {.schema = "naive::pad_backward(Tensor grad, Tensor self, int[6] padding) -> Tensor",
     .composite = fc::kernel<&pad_backward>()},
    {.schema = "naive::pad(Tensor self, int[6] padding) -> Tensor",
     .all = fc::kernel<&pad>(),
     .saves = "self padding",
     .grad = [](fc::Grad& g) { g.set(0, call<"naive::pad_backward", Tensor>(g.out(), g.in(0), g.arg(1).ints())); }},
    {.schema = "naive::embedding(Tensor weight, Tensor indices, int padding_idx) -> Tensor",
     .composite = fc::kernel<&embedding>()},
};

}  // namespace

extern "C" void facula_library_init() { fc::define_all(defs); }
