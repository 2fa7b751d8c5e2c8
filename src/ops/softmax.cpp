// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax along one dimension, with their backward operators.
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/forward_level.h"
#include "ops/register.h"

namespace fc {
namespace {

using OptType = std::optional<DType>;

Tensor softmax_int(const Tensor& self, int64_t dim, OptType dtype) {
  return call<"aten::_softmax", Tensor>(dtype ? to_dtype(self, *dtype) : self, dim, false);
}
Tensor log_softmax_int(const Tensor& self, int64_t dim, OptType dtype) {
  return call<"aten::_log_softmax", Tensor>(dtype ? to_dtype(self, *dtype) : self, dim, false);
}

// A line in which everything is masked has no share to give.
Tensor safe_softmax(const Tensor& self, int64_t dim, OptType dtype) {
  const Tensor out = softmax_int(self, dim, dtype);
  const Tensor masked = call<"aten::all.dim", Tensor>(eq(self, Scalar(-__builtin_inf())), dim, true);
  return where(masked, Scalar(0), out);
}

Tensor like_input(const Tensor& self, int64_t dim, bool) {
  wrap_dim(dim, self.dim(), "softmax");
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}
Tensor like_gradient(const Tensor& grad, const Tensor&, int64_t, DType input_dtype) {
  return empty_tensor(grad.sizes(), input_dtype, grad.device());
}

Tensor shifted(const Tensor& x, int64_t dim) { return x.numel() ? sub(x, amax(x, Dims{dim}, true)) : x; }

// Contiguous, as the results are, and in the type that half types are computed in.
Tensor widened(const Tensor& t) { return contiguous(to_dtype(t, compute_type(t.dtype()))); }

Tensor softmax_decomposition(const Tensor& self, int64_t dim, bool) {
  Tensor e = exp(shifted(widened(self), dim));
  return to_dtype(div(e, sum(e, Dims{dim}, true)), self.dtype());
}
Tensor log_softmax_decomposition(const Tensor& self, int64_t dim, bool) {
  Tensor s = shifted(widened(self), dim);
  return to_dtype(sub(s, log(sum(exp(s), Dims{dim}, true))), self.dtype());
}
Tensor softmax_backward_decomposition(const Tensor& grad, const Tensor& result, int64_t dim, DType input_dtype) {
  Tensor g = widened(grad), y = widened(result);
  return to_dtype(mul(sub(g, sum(mul(g, y), Dims{dim}, true)), y), input_dtype);
}
Tensor log_softmax_backward_decomposition(const Tensor& grad, const Tensor& result, int64_t dim, DType input_dtype) {
  Tensor g = widened(grad), y = widened(result);
  return to_dtype(sub(g, mul(exp(y), sum(g, Dims{dim}, true))), input_dtype);
}

Tensor log_softmax_backward_in_place(const Tensor& grad, const Tensor& output, int64_t dim) {
  return copy_(grad, call<"aten::_log_softmax_backward_data", Tensor>(grad, output, dim, grad.dtype()));
}
// Over many classes the gradient is as large as all logits: one that nobody else sees is overwritten.
void log_softmax_grad(Grad& g) {
  const Tensor& go = g.out();
  const int64_t dim = g.arg(1).integer();
  const bool alone = !is_differentiated() && go.device().is_cpu() && go.dtype() == g.dtype(0) && go.is_contiguous() &&
                     !go.impl().is_sparse() && !(go.impl().layers() & layer::Python) && go.impl().use_count() == 1 &&
                     go.impl().storage()->use_count() == 1 && go.impl().storage()->resizable();
  g.set(0, alone ? call<"facula::log_softmax_backward_", Tensor>(go, g.result(), dim)
                 : call<"aten::_log_softmax_backward_data", Tensor>(go, g.result(), dim, g.dtype(0)));
}

// Gradients of the backward operators (grad_output, output, dim, input_dtype). h: what flows in.
void softmax_double_backward(Grad& g) {
  const Tensor& h = g.out();
  int64_t dim = g.arg(2).integer();
  Tensor go = g.in(0), y = g.in(1);
  if (g.needs(0)) g.set(0, call<"aten::_softmax_backward_data", Tensor>(h, y, dim, go.dtype()));
  if (g.needs(1)) {
    Tensor inner = sub(go, sum(mul(go, y), Dims{dim}, true));
    g.set(1, sub(mul(h, inner), mul(go, sum(mul(h, y), Dims{dim}, true))));
  }
}
void log_softmax_double_backward(Grad& g) {
  const Tensor& h = g.out();
  int64_t dim = g.arg(2).integer();
  Tensor y = exp(g.in(1));
  if (g.needs(0)) g.set(0, sub(h, sum(mul(h, y), Dims{dim}, true)));
  if (g.needs(1)) g.set(1, neg(mul(mul(h, y), sum(g.in(0), Dims{dim}, true))));
}

// Operations of an element: maximum, difference, exponential, sum, quotient (or difference). Backward: the product and
// its sum, and two more (or sum, exponential, product, difference).
constexpr OpDef defs[] = {
    {.schema = "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .doc = "Exponentials divided by their sum along a dimension.",
     .composite = kernel<&softmax_int>(),
     .out = true,
     .autocast = Autocast::Float32},
    {.schema = "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .doc = "softmax that is zero where a whole line is masked by minus infinity.",
     .composite = kernel<&safe_softmax>()},
    {.schema = "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .doc = "The logarithm of softmax along a dimension, without overflow.",
     .composite = kernel<&log_softmax_int>(),
     .out = true,
     .autocast = Autocast::Float32},
    {.schema = "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .composite = kernel<&softmax_int>()},
    {.schema = "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .composite = kernel<&log_softmax_int>()},
    {.schema = "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = kernel<&like_input>(),
     .decomposition = kernel<&softmax_decomposition>(),
     .saves = "dim result",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::_softmax_backward_data", Tensor>(g.out(), g.result(), g.arg(1).integer(), g.dtype(0)));
         },
     .flops = element_flops<5>},
    {.schema = "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = kernel<&like_input>(),
     .decomposition = kernel<&log_softmax_decomposition>(),
     .saves = "dim result",
     .grad = log_softmax_grad,
     .flops = element_flops<5>},
    {.schema = "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .meta = kernel<&like_gradient>(),
     .decomposition = kernel<&softmax_backward_decomposition>(),
     .saves = "grad_output output dim",
     .grad = softmax_double_backward,
     .flops = element_flops<4>},
    {.schema =
         "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .meta = kernel<&like_gradient>(),
     .decomposition = kernel<&log_softmax_backward_decomposition>(),
     .saves = "grad_output output dim",
     .grad = log_softmax_double_backward,
     .flops = element_flops<4>},
    {.schema = "facula::log_softmax_backward_(Tensor(a!) grad_output, Tensor output, int dim) -> Tensor(a!)",
     .all = kernel<&log_softmax_backward_in_place>(),
     .differentiable = false,
     .hidden = true,
     .flops = element_flops<4>},
};

}  // namespace

void define_softmax() { define_all(defs); }

}  // namespace fc
