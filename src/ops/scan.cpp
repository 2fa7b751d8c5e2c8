// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes along one dimension.
#include <limits>

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/family_table.h"
#include "ops/register.h"

namespace fc {
namespace {

using OptType = std::optional<DType>;

// Runs the device's scan into a new tensor of type `type`.
Tensor scan(int opcode, const Tensor& self, int64_t dim, DType type, Tensor* indices = nullptr) {
  const Device device = self.device();
  const bool extreme = opcode == FC_SCAN_MAX || opcode == FC_SCAN_MIN;
  // Narrow floats accumulate wide and are rounded at the end; integers of sums and products are int64 or wrap.
  DType compute = extreme ? compute_type(type) : is_integral(type, true) ? DType::Int64 : compute_type(type);
  Tensor x = self.dtype() == compute ? self : to_dtype(self, compute), y = empty_tensor(self.sizes(), compute, device);
  if (indices) *indices = empty_tensor(self.sizes(), DType::Int64, device);
  if (!device.is_meta()) {
    ByteStrides xs(x), ys(y), is = indices ? ByteStrides(*indices) : ByteStrides();
    fc_scan c{};
    c.size = sizeof c;
    c.opcode = opcode;
    c.ndim = static_cast<int32_t>(x.dim());
    c.dim = static_cast<int32_t>(dim);
    c.shape = x.sizes().data();
    c.in = operand(x, xs);
    c.out = operand(y, ys);
    if (indices) c.indices = operand(*indices, is);
    if (x.dim() == 0) {
      copy_(y, x);
      if (indices) zero_(*indices);
    } else if (x.numel() > 0) {
      run_family(device, c);
    }
  }
  return y.dtype() == type ? y : to_dtype(y, type);
}

template <int opcode>
void sum_like(void*, const Operator& op, const Arg* args, Value* results) {  // (self, dim, *, dtype)
  const Tensor& self = args[0].tensor();
  int64_t dim = wrap_dim(args[1].integer(), self.dim(), op.schema().name.c_str());
  DType type = self.dtype();
  if (op.num_args() > 2 && !args[2].is_none()) type = args[2].dtype();
  else if (is_integral(type, true)) type = DType::Int64;
  results[0] = Value(scan(opcode, self, dim, type));
}
template <int opcode>
void extreme(void*, const Operator& op, const Arg* args, Value* results) {  // (self, dim)
  const Tensor& self = args[0].tensor();
  int64_t dim = wrap_dim(args[1].integer(), self.dim(), op.schema().name.c_str());
  Tensor indices;
  results[0] = Value(scan(opcode, self, dim, self.dtype(), &indices));
  results[1] = Value(std::move(indices));
}
void logcumsumexp(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor& self = args[0].tensor();
  int64_t dim = wrap_dim(args[1].integer(), self.dim(), "logcumsumexp");
  FC_CHECK_AS(NotImplementedError, is_floating(self.dtype()) || is_complex(self.dtype()),
              "\"logcumsumexp\" not implemented for '", info(self.dtype()).legacy, "'");
  results[0] = Value(scan(FC_SCAN_LOGSUMEXP, self, dim, self.dtype()));
}

Tensor cumsum(const Tensor& x, int64_t dim) { return call<"aten::cumsum", Tensor>(x, dim, OptType()); }
Tensor reverse_cumsum(const Tensor& x, int64_t dim) {
  if (x.dim() == 0 || x.numel() == 0) return x;
  return flip(cumsum(flip(x, Dims{dim}), dim), Dims{dim});
}

void cumprod_grad(Grad& g) {  // (self, dim, *, dtype)
  Tensor x = g.in(0), go = to_dtype(g.out(), x.dtype());
  int64_t dim = g.arg(1).integer();
  if (x.dim() == 0 || x.numel() == 0) {
    g.set(0, go);
    return;
  }
  bool zeros =
      x.device().is_meta() || call<"aten::_local_scalar_dense", Scalar>(call<"aten::any", Tensor>(eq(x, 0))).to_bool();
  if (!zeros) {
    g.set(0, div(reverse_cumsum(mul(go, conj(g.result())), dim), conj(x)));
    return;
  }
  // d y[i] / d x[k] = product of x[0..i] without x[k]: one running product per k.
  const int64_t n = x.size(dim);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < n; ++k) {
    Tensor rest = narrow(x, dim, k + 1, n - k - 1),
           before = call<"aten::prod.dim_int", Tensor>(narrow(x, dim, 0, k), dim, true, OptType());
    const Tensor line[] = {before, rest};
    Tensor products = call<"aten::cumprod", Tensor>(cat(line, dim), dim, OptType());
    parts.push_back(sum(mul(narrow(go, dim, k, n - k), conj(products)), Dims{dim}, true));
  }
  g.set(0, cat(parts, dim));
}

void extreme_grad(Grad& g) {
  if (g.sizes(0).empty()) g.set(0, g.out());
  else
    g.set(0, call<"aten::scatter_add", Tensor>(zeros(g.sizes(0), g.out().dtype(), g.out().device()), g.arg(1).integer(),
                                               g.result(1), g.out()));
}

// In logarithms, so that nothing overflows; positive and negative gradients apart.
void logcumsumexp_grad(Grad& g) {
  const Tensor& go = g.out();
  Tensor x = g.in(0), y = g.result();
  int64_t dim = g.arg(1).integer();
  if (x.dim() == 0 || x.numel() == 0) {
    g.set(0, go);
    return;
  }
  auto reversed = [&](const Tensor& logs) {
    return flip(call<"aten::logcumsumexp", Tensor>(flip(logs, Dims{dim}), dim), Dims{dim});
  };
  if (is_complex(x.dtype())) {
    g.set(0, exp(add(reversed(sub(log(go), conj(y))), conj(x))));
    return;
  }
  // For nothing stands a number, the lowest: between infinities the second derivative would be NaN, as it would be of
  // log(0).
  const double least = go.dtype() == DType::Float64    ? std::numeric_limits<double>::lowest()
                       : go.dtype() == DType::Float16  ? -65504.0
                       : go.dtype() == DType::BFloat16 ? -0x1.fep127
                                                       : static_cast<double>(std::numeric_limits<float>::lowest());
  Tensor lowest = full({}, least, go.dtype(), go.device());
  auto part = [&](const Tensor& grad) {
    Tensor some = gt(grad, 0);
    Tensor logs = sub(where(some, log(where(some, grad, 1)), lowest), y);
    return exp(add(reversed(logs), x));
  };
  g.set(0, sub(part(go), part(neg(go))));
}

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  FC_CHECK(self.dim() > 0, "diff expects input to be at least one-dimensional");
  FC_CHECK(n >= 0, "diff: order must be non-negative but got ", n);
  dim = wrap_dim(dim, self.dim(), "diff");
  if (n == 0) return clone(self);
  std::vector<Tensor> parts;
  for (const Tensor* t : {&prepend, &self, &append})
    if (t->defined()) parts.push_back(*t);
  Tensor x = parts.size() > 1 ? cat(parts, dim) : self;
  // Empty and meta tensors have sizes only: one step stands for any number of orders.
  bool sizes_only = x.numel() == 0 || x.device().is_meta();
  int64_t steps = std::min(n, x.size(dim)), width = sizes_only ? steps : 1;
  if (steps == 0) return clone(x);
  for (int64_t done = 0; done < steps; done += width) {
    int64_t left = x.size(dim) - width;
    Tensor a = narrow(x, dim, width, left), b = narrow(x, dim, 0, left);
    x = x.dtype() == DType::Bool ? call<"aten::logical_xor", Tensor>(a, b) : sub(a, b);
  }
  return x;
}

constexpr OpDef defs[] = {
    {.schema = "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The sum of the elements so far along a dimension.",
     .all = {sum_like<FC_SCAN_SUM>},
     .saves = "dim",
     .grad = [](Grad& g) { g.set(0, reverse_cumsum(g.out(), g.arg(1).integer())); },
     .in_place = true,
     .out = true,
     .out_type = OutType::Chosen,
     .autocast = Autocast::Float32,
     .flops = element_flops<1>},
    {.schema = "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The product of the elements so far along a dimension.",
     .all = {sum_like<FC_SCAN_PROD>},
     .saves = "self dim result",
     .grad = cumprod_grad,
     .in_place = true,
     .out = true,
     .out_type = OutType::Chosen,
     .autocast = Autocast::Float32,
     .flops = element_flops<1>},
    {.schema = "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .doc = "The largest element so far along a dimension, and its index.",
     .all = {extreme<FC_SCAN_MAX>},
     .saves = "dim result1",
     .grad = extreme_grad,
     .out = true,
     .flops = element_flops<1>},
    {.schema = "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .doc = "The smallest element so far along a dimension, and its index.",
     .all = {extreme<FC_SCAN_MIN>},
     .saves = "dim result1",
     .grad = extreme_grad,
     .out = true,
     .flops = element_flops<1>},
    {.schema = "logcumsumexp(Tensor self, int dim) -> Tensor",
     .doc = "The logarithm of the sum of exponentials so far along a dimension.",
     .all = {logcumsumexp},
     .saves = "self dim result",
     .grad = logcumsumexp_grad,
     .out = true,
     .flops = element_flops<3>},
    {.schema = "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
     .doc = "Differences of neighbours along a dimension, n times.",
     .composite = kernel<&diff>(),
     .out = true,
     .out_type = OutType::Castable},
};

}  // namespace

void define_scan() { define_all(defs); }

}  // namespace fc
