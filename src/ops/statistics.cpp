// SPDX-License-Identifier: Apache-2.0
// Reductions made of several folds: variances, norms, logsumexp, and what is written with them.
#include <cmath>
#include <limits>

#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/reduce.h"

namespace fc {
namespace {

using OptScalar = std::optional<Scalar>;
using OptDims = std::optional<IntSpan>;
using OptType = std::optional<DType>;
using Pair = std::tuple<Tensor, Tensor>;

Arg dims_arg(const OptDims& d) { return d ? Arg(*d) : Arg(); }
int64_t rank(Grad& g) { return static_cast<int64_t>(g.sizes(0).size()); }
bool flag(Grad& g, int arg) { return g.arg(arg).boolean(); }

// --- variance
// A complex tensor's real or imaginary parts as a view.
Tensor part_of(const Tensor& z, int64_t which) {
  Dims strides(z.strides());
  for (int64_t& s : strides) s *= 2;
  return make_view(z, z.sizes(), strides, z.offset() * 2 + which, real_of(z.dtype()));
}

double correction_of(const OptScalar& c) { return c ? c->to_double() : 1; }

// Two passes, mean and then squared deviations from it: no cancellation, whatever the mean.
Pair variance(const char* op, const Tensor& self, const OptDims& dim, const OptScalar& correction, bool keepdim,
              bool root, bool want_mean) {
  FC_CHECK_AS(NotImplementedError, is_floating(self.dtype()) || is_complex(self.dtype()), op,
              ": std and var only support floating point and complex dtypes");
  DimSet dims = reduced_dims(op, dims_arg(dim), self.dim());
  const double count = static_cast<double>(reduced_numel(self.sizes(), dims)),
               freedom = count - correction_of(correction);
  if (freedom <= 0)
    warn(str(op,
             "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
             "numel divided by output numel)."));
  DType compute = compute_type(self.dtype());
  Tensor mean, total;
  ReduceRequest r{.op = op,
                  .opcode = FC_REDUCE_mean,
                  .in = self,
                  .dims = dims,
                  .keepdim = true,
                  .compute = compute,
                  .result = compute};
  if (!try_reduce(r, mean)) mean = to_dtype(fc::mean(self, reduced_list(dims, self.dim()), true), compute);
  auto deviations = [&](const Tensor& x, const Tensor& center) {
    Tensor out;
    ReduceRequest q{.op = op,
                    .opcode = FC_REDUCE_sum_deviations,
                    .in = x,
                    .dims = dims,
                    .keepdim = keepdim,
                    .compute = real_of(compute),
                    .result = real_of(compute),
                    .shift = &center};
    if (!try_reduce(q, out)) out = sum(square(sub(x, center)), reduced_list(dims, x.dim()), keepdim);
    return out;
  };
  if (!is_complex(self.dtype())) total = deviations(self, mean);
  else
    total = add(deviations(part_of(self, 0), clone(part_of(mean, 0))),
                deviations(part_of(self, 1), clone(part_of(mean, 1))));
  Tensor var = div(total, std::max(freedom, 0.0));
  if (root) var = sqrt(var);
  if (!want_mean) return {to_dtype(var, real_of(self.dtype())), Tensor()};
  if (!keepdim) mean = make_view(mean, var.sizes(), contiguous_strides(var.sizes()), 0);
  return {to_dtype(var, real_of(self.dtype())), to_dtype(mean, self.dtype())};
}

Tensor var_kernel(const Tensor& self, OptDims dim, OptScalar correction, bool keepdim) {
  return std::get<0>(variance("var", self, dim, correction, keepdim, false, false));
}
Tensor std_kernel(const Tensor& self, OptDims dim, OptScalar correction, bool keepdim) {
  return std::get<0>(variance("std", self, dim, correction, keepdim, true, false));
}
Pair var_mean_kernel(const Tensor& self, OptDims dim, OptScalar correction, bool keepdim) {
  return variance("var_mean", self, dim, correction, keepdim, false, true);
}
Pair std_mean_kernel(const Tensor& self, OptDims dim, OptScalar correction, bool keepdim) {
  return variance("std_mean", self, dim, correction, keepdim, true, true);
}

// All four have (self, dim, correction, keepdim).
Tensor var_grad(Grad& g, const Tensor& grad_var) {
  DimSet dims = reduced_dims("var", g.arg(1), rank(g));
  double freedom = static_cast<double>(reduced_numel(g.sizes(0), dims)) - (g.arg(2).is_none() ? 1 : g.arg(2).real());
  Tensor x = g.in(0);
  Tensor centered = sub(x, mean(x, reduced_list(dims, x.dim()), true));
  return mul(mul(restore_dims(grad_var, g.arg(1), flag(g, 3), rank(g)), 2 / std::max(freedom, 0.0)), centered);
}
Tensor var_grad_of_std(Grad& g) { return masked_fill(div(g.out(), mul(g.result(), 2)), eq(g.result(), 0), 0); }
Tensor mean_grad(Grad& g) {
  int64_t n = reduced_numel(g.sizes(0), reduced_dims("mean", g.arg(1), rank(g)));
  return expand(div(restore_dims(g.out(1), g.arg(1), flag(g, 3), rank(g)), n), g.sizes(0));
}
template <bool root>
void var_mean_grad(Grad& g) {
  Tensor sum;
  if (g.out(0).defined()) sum = var_grad(g, root ? var_grad_of_std(g) : g.out());
  if (g.out(1).defined()) sum = sum.defined() ? add(sum, mean_grad(g)) : mean_grad(g);
  g.set(0, sum);
}

// The forms with `unbiased` name the correction 1 or 0.
template <FixedString op, class R>
struct Unbiased {
  static R whole(const Tensor& self, bool unbiased) {
    return call<op, R>(self, OptDims(), OptScalar(unbiased ? 1 : 0), false);
  }
  static R dims(const Tensor& self, OptDims dim, bool unbiased, bool keepdim) {
    return call<op, R>(self, dim, OptScalar(unbiased ? 1 : 0), keepdim);
  }
};

// --- logsumexp
Tensor logsumexp_kernel(const Tensor& self, IntSpan dim, bool keepdim) {
  Tensor x = is_integral(self.dtype(), true) ? to_dtype(self, default_dtype()) : self;
  Dims dims = reduced_list(reduced_dims("logsumexp", dim, x.dim()), x.dim());
  if (x.numel() == 0) return log(sum(exp(x), dims, keepdim));
  Tensor top = amax(is_complex(x.dtype()) ? call<"aten::real", Tensor>(x) : x, dims, true);
  top = masked_fill(top, eq(abs(top), std::numeric_limits<double>::infinity()), 0);
  Tensor result = log(sum(exp(sub(x, top)), dims, keepdim));
  return add(result, keepdim ? top : reshape(top, result.sizes()));
}

// --- norms
Tensor vector_norm(const Tensor& self, const Scalar& ord, OptDims dim, bool keepdim, OptType dtype) {
  const char* op = "linalg.vector_norm";
  DType type = self.dtype();
  FC_CHECK_AS(NotImplementedError, is_floating(type) || is_complex(type), op,
              ": Expected a floating point or complex tensor as input of norm. Got ", info(type).legacy);
  FC_CHECK(!dtype || is_floating(*dtype) || is_complex(*dtype), op, ": dtype should be floating point or complex. Got ",
           info(*dtype).legacy);
  Tensor x = self;
  if (dtype && *dtype != type) x = to_dtype(x, *dtype);
  DType result = real_of(x.dtype());
  if (is_complex(x.dtype())) x = abs(x);
  const double p = ord.to_double();
  DimSet bits = reduced_dims(op, dims_arg(dim), x.dim());
  Dims dims = reduced_list(bits, x.dim());
  if (reduced_numel(x.sizes(), bits) == 0 && (p < 0 || p == std::numeric_limits<double>::infinity()))
    raise<Error>(op, " cannot compute the ", ord,
                 " norm on an empty tensor because the operation does not have an identity");
  auto fold = [&](int opcode) {
    Tensor out;
    ReduceRequest r{.op = "norm",
                    .opcode = opcode,
                    .in = x,
                    .dims = bits,
                    .keepdim = keepdim,
                    .compute = compute_type(result),
                    .result = result};
    bool root = opcode == FC_REDUCE_sum_squares;
    if (root) r.result = compute_type(result);
    if (!try_reduce(r, out)) out = sum(root ? square(x) : abs(x), dims, keepdim);
    return root ? to_dtype(sqrt(out), result) : out;
  };
  if (p == 2) return fold(FC_REDUCE_sum_squares);
  if (p == 1) return fold(FC_REDUCE_sum_abs);
  if (p == 0) return to_dtype(sum(ne(x, 0), dims, keepdim), result);
  if (std::isinf(p)) return p > 0 ? amax(abs(x), dims, keepdim) : amin(abs(x), dims, keepdim);
  return pow(sum(pow(abs(x), p), dims, keepdim), 1 / p);
}

// x may be anywhere, zero included: where the norm is zero its derivative is taken as zero.
void vector_norm_grad(Grad& g) {
  Tensor x = g.in(0);
  const double p = g.arg(1).real();
  Tensor grad = restore_dims(g.out(), g.arg(2), flag(g, 3), rank(g)),
         norm = restore_dims(g.result(), g.arg(2), flag(g, 3), rank(g));
  auto at_zero = [&](const Tensor& t) { return masked_fill(t, eq(norm, 0), 0); };
  if (p == 0) return;
  if (p == 1) {
    g.set(0, mul(sgn(x), grad));
  } else if (p == 2) {
    g.set(0, at_zero(mul(grad, div(x, norm))));
  } else if (std::isinf(p)) {
    Tensor mask = to_dtype(eq(abs(x), norm), norm.dtype());
    Tensor count = sum(mask, reduced_list(reduced_dims("norm", g.arg(2), rank(g)), rank(g)), true);
    g.set(0, mul(mul(sgn(x), mask), div(grad, count)));
  } else if (p < 1) {
    g.set(0, mul(masked_fill(mul(sgn(x), pow(abs(x), p - 1)), eq(x, 0), 0), mul(grad, pow(norm, 1 - p))));
  } else if (p < 2) {
    g.set(0, mul(mul(sgn(x), pow(abs(x), p - 1)), at_zero(div(grad, pow(norm, p - 1)))));
  } else {
    g.set(0, mul(mul(x, pow(abs(x), p - 2)), at_zero(div(grad, pow(norm, p - 1)))));
  }
}

Tensor norm_of(const Tensor& self, const OptScalar& p, OptDims dim, bool keepdim, OptType dtype) {
  DType type = self.dtype();
  FC_CHECK_AS(NotImplementedError, is_floating(type) || is_complex(type),
              "norm(): input dtype should be either floating point or complex. Got ", info(type).legacy, " instead.");
  return call<"aten::linalg_vector_norm", Tensor>(self, p.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor norm_whole(const Tensor& self, const Scalar& p) { return norm_of(self, p, {}, false, {}); }
Tensor norm_whole_dtype(const Tensor& self, OptScalar p, DType dtype) { return norm_of(self, p, {}, false, dtype); }
Tensor norm_dims(const Tensor& self, OptScalar p, IntSpan dim, bool keepdim) {
  return norm_of(self, p, dim, keepdim, {});
}
Tensor norm_dims_dtype(const Tensor& self, OptScalar p, IntSpan dim, bool keepdim, DType dtype) {
  return norm_of(self, p, dim, keepdim, dtype);
}

Tensor dist(const Tensor& a, const Tensor& b, const Scalar& p) { return norm_of(sub(a, b), p, {}, false, {}); }

// --- written with the others
Pair aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  Dims dims;
  if (dim) dims.push_back(*dim);
  FC_CHECK(dim || self.numel() != 0,
           "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  return {amin(self, dims, keepdim), amax(self, dims, keepdim)};
}

Tensor nanmean(const Tensor& self, OptDims dim, bool keepdim, OptType dtype) {
  FC_CHECK_AS(NotImplementedError, is_floating(self.dtype()) || is_complex(self.dtype()),
              "nanmean(): expected input to have floating point or complex dtype but got ", info(self.dtype()).legacy);
  Tensor count = call<"aten::sum.dim_IntList", Tensor>(eq(self, self), dim, keepdim, OptType());
  return div(call<"aten::nansum", Tensor>(self, dim, keepdim, dtype), count);
}

#define VAR_ROWS(name, results)                                                                          \
  {.schema = name "(Tensor self, bool unbiased=True) -> " results,                                       \
   .composite = kernel<&Unbiased<"aten::" name ".correction", ResultOf<sizeof(results)>>::whole>()},     \
  {                                                                                                      \
    .schema = name ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> " results, \
    .composite = kernel<&Unbiased<"aten::" name ".correction", ResultOf<sizeof(results)>>::dims>(),      \
    .out = sizeof(results) == sizeof("Tensor"), .out_type = OutType::Castable                            \
  }
template <size_t n>
using ResultOf = std::conditional_t<n == sizeof("Tensor"), Tensor, Pair>;

constexpr OpDef defs[] = {
    VAR_ROWS("var", "Tensor"),
    {.schema =
         "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .doc = "The variance of all elements or along dimensions.",
     .all = kernel<&var_kernel>(),
     .saves = "self dim correction keepdim",
     .grad = [](Grad& g) { g.set(0, var_grad(g, g.out())); },
     .out = true,
     .out_type = OutType::Castable,
     .flops = element_flops<4>},
    VAR_ROWS("std", "Tensor"),
    {.schema =
         "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .doc = "The standard deviation of all elements or along dimensions.",
     .all = kernel<&std_kernel>(),
     .saves = "self dim correction keepdim result",
     .grad = [](Grad& g) { g.set(0, var_grad(g, var_grad_of_std(g))); },
     .out = true,
     .out_type = OutType::Castable,
     .flops = element_flops<4>},
    VAR_ROWS("var_mean", "(Tensor, Tensor)"),
    {.schema = "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
               "(Tensor, Tensor)",
     .doc = "The variance and the mean.",
     .all = kernel<&var_mean_kernel>(),
     .saves = "self dim correction keepdim",
     .grad = var_mean_grad<false>,
     .flops = element_flops<4>},
    VAR_ROWS("std_mean", "(Tensor, Tensor)"),
    {.schema = "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
               "(Tensor, Tensor)",
     .doc = "The standard deviation and the mean.",
     .all = kernel<&std_mean_kernel>(),
     .saves = "self dim correction keepdim result",
     .grad = var_mean_grad<true>,
     .flops = element_flops<4>},
    {.schema = "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .doc = "The logarithm of the sum of exponentials along dimensions, without overflow.",
     .all = kernel<&logsumexp_kernel>(),
     .saves = "self dim keepdim result",
     .grad =
         [](Grad& g) {
           Tensor y = restore_dims(g.result(), g.arg(1), flag(g, 2), rank(g));
           g.set(0, mul(restore_dims(g.out(), g.arg(1), flag(g, 2), rank(g)), conj(exp(sub(g.in(0), y)))));
         },
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Float32,
     .flops = element_flops<4>},
    {.schema = "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .doc = "The p-norm of the elements, over all or some dimensions.",
     .all = kernel<&vector_norm>(),
     .saves = "self ord dim keepdim result",
     .grad = vector_norm_grad,
     .out = true,
     .flops = element_flops<2>},
    {.schema = "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
     .doc = "The p-norm of the elements, over all or some dimensions.",
     .composite = kernel<&norm_whole_dtype>()},
    {.schema = "norm.Scalar(Tensor self, Scalar p=2) -> Tensor", .composite = kernel<&norm_whole>()},
    {.schema =
         "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
     .composite = kernel<&norm_dims_dtype>(),
     .out = true},
    {.schema = "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     .composite = kernel<&norm_dims>(),
     .out = true},
    {.schema = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
     .doc = "The p-norm of input - other.",
     .composite = kernel<&dist>()},
    {.schema = "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     .doc = "The smallest and the largest element, in one pass.",
     .composite = kernel<&aminmax>(),
     .out = true},
    {.schema = "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .doc = "The mean of the elements that are not NaN.",
     .composite = kernel<&nanmean>(),
     .out = true,
     .out_type = OutType::Castable},
};
#undef VAR_ROWS

}  // namespace

void define_statistics() { define_all(defs); }

}  // namespace fc
