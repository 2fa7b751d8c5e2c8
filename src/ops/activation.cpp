// SPDX-License-Identifier: Apache-2.0
// Activations with parameters, and the backward operators of all activations. A fused backward is an operator like any
// other: its own derivative, written in ordinary operators, gives second derivatives.
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/derivative.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

#define G (g.out())   // gradient of the result
#define DY (g.in(0))  // of a backward operator: its incoming gradient …
#define X (g.in(1))   // … and the input or result it was saved with

using F = Promote;

// For b(dy, x) = dy * f(x): d/d(dy) is b(G, x), d/dx is G * dy * f'(x). A null slope means f' = 0.
template <FixedString name, class... Params>
void backward_twice(Grad& g, Tensor (*slope)(Grad&), const Params&... params) {
  if (g.needs(0)) g.set(0, call<name, Tensor>(G, X, params...));
  if (g.needs(1)) g.set(1, slope ? mul(mul(G, DY), slope(g)) : zeros_like(G));
}

Tensor one_minus(const Tensor& t) { return rsub(t, 1); }

Tensor silu_slope(Grad& g) {  // s (1 - s) (2 + x (1 - 2 s))
  Tensor x = X, s = sigmoid(x);
  return mul(mul(s, one_minus(s)), add(mul(x, rsub(mul(s, 2), 1)), 2));
}
Tensor mish_slope(Grad& g) {  // u (2 + x (1 - s - 2 t s)), t = tanh(softplus(x)), u = (1 - t^2) s
  Tensor x = X, s = sigmoid(x), t = tanh(neg(call<"aten::log_sigmoid", Tensor>(neg(x))));
  Tensor u = mul(one_minus(mul(t, t)), s);
  return mul(u, add(mul(x, sub(one_minus(s), mul(mul(t, s), 2))), 2));
}
Tensor gelu_slope(Grad& g) {  // pdf(x) (2 - x^2)
  Tensor x2 = mul(X, X);
  return mul(mul(exp(mul(x2, -0.5)), 0.39894228040143267794), rsub(x2, 2));
}
Tensor gelu_tanh_slope(
    Grad& g) {  // with u = k (x + c x^3), t = tanh(u), d = (1 - t^2) u': d - x t d u' + x (1 - t^2) u'' / 2
  constexpr double k = 0.79788456080286535588, c = 0.044715;
  Tensor x = X, x2 = mul(x, x);
  Tensor t = tanh(mul(mul(x, add(mul(x2, c), 1)), k)), rest = one_minus(mul(t, t));
  Tensor u1 = mul(add(mul(x2, 3 * c), 1), k), d = mul(rest, u1);
  return add(sub(d, mul(mul(mul(x, t), d), u1)), mul(mul(rest, x2), 3 * k * c));
}
Tensor log_sigmoid_slope(Grad& g) {
  Tensor s = sigmoid(X);
  return neg(mul(s, one_minus(s)));
}
Tensor hardswish_slope(Grad& g) {
  Tensor inside = logical_and(gt(X, -3), lt(X, 3));
  return where(inside, Scalar(1.0 / 3), zeros_like(X));
}
Tensor softplus_slope(Grad& g) {
  const Scalar beta = g.arg(2).scalar();
  Tensor z = mul(X, beta), s = sigmoid(z);
  return where(gt(z, g.arg(3).scalar()), 0, mul(mul(s, one_minus(s)), beta));
}
Tensor logit_slope(Grad& g) {  // (2 x - 1) / (x (1 - x))^2, 0 where eps clamps
  Tensor x = X, q = mul(x, one_minus(x)), slope = div(sub(mul(x, 2), 1), mul(q, q));
  if (g.arg(2).is_none()) return slope;
  const double eps = g.arg(2).real();
  return where(logical_and(ge(x, eps), le(x, 1 - eps)), slope, 0);
}

constexpr const char* sx = "grad_output:self self";

constexpr MapRow rows[] = {
    {.schema = "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     .doc = "x where it is positive, a small multiple of it elsewhere.",
     .opcode = FC_MAP_leaky_relu,
     .inputs = 1,
     .refuses = "bic",
     .saves = "self negative_slope",
     .grad = [](Grad& g) { g.set(0, call<"aten::leaky_relu_backward", Tensor>(G, g.in(0), g.arg(1).scalar(), false)); },
     .in_place = true,
     .out = true,
     .out_type = OutType::Exact},
    {.schema = "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     .doc = "x where it is positive, alpha * (exp(x) - 1) elsewhere.",
     .opcode = FC_MAP_elu,
     .inputs = 1,
     .refuses = "bic",
     .saves = "self alpha scale input_scale",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::elu_backward", Tensor>(G, g.arg(1).scalar(), g.arg(2).scalar(), g.arg(3).scalar(),
                                                       false, g.in(0)));
         },
     .in_place = true,
     .out = true,
     .out_type = OutType::Exact},
    {.schema = "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     .doc = "x where it is above the threshold, the value elsewhere.",
     .opcode = FC_MAP_threshold,
     .inputs = 1,
     .refuses = "bc",
     .saves = "self threshold",
     .grad = [](Grad& g) { g.set(0, call<"aten::threshold_backward", Tensor>(G, g.in(0), g.arg(1).scalar())); },
     .in_place = true,
     .out = true,
     .may_repeat = true},
    {.schema = "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     .doc = "log(1 + exp(beta x)) / beta, a smooth relu.",
     .opcode = FC_MAP_softplus,
     .inputs = 1,
     .refuses = "bic",
     .saves = "self beta threshold",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::softplus_backward", Tensor>(G, g.in(0), g.arg(1).scalar(), g.arg(2).scalar()));
         },
     .out = true,
     .out_type = OutType::Exact},
    {.schema = "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     .doc = "x where it is further than lambd from zero, zero elsewhere.",
     .opcode = FC_MAP_hardshrink,
     .inputs = 1,
     .refuses = "bic",
     .saves = "self lambd",
     .grad = [](Grad& g) { g.set(0, call<"aten::hardshrink_backward", Tensor>(G, g.in(0), g.arg(1).scalar())); },
     .out = true,
     .out_type = OutType::Exact,
     .rounds = true},
    {.schema = "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
     .opcode = FC_MAP_prelu,
     .inputs = 2,
     .refuses = "bic",
     .saves = "self weight",
     .grad =
         [](Grad& g) {
           Tensor x = g.in(0), positive = gt(x, 0);
           if (g.needs(0)) g.set(0, where(positive, G, mul(G, g.in(1))));
           if (g.needs(1)) g.set(1, where(positive, 0, mul(G, x)));
         },
     .hidden = true},
    // --- backward: dy, x (or y), parameters
    {.schema = "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
     .opcode = FC_MAP_sigmoid_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "grad_output:output output",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, call<"aten::sigmoid_backward", Tensor>(G, conj(X)));
           if (g.needs(1)) g.set(1, mul(mul(conj(G), DY), rsub(mul(conj(X), 2), 1)));
         },
     .out = true,
     .hidden = true},
    {.schema = "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
     .opcode = FC_MAP_tanh_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "grad_output:output output",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, call<"aten::tanh_backward", Tensor>(G, conj(X)));
           if (g.needs(1)) g.set(1, mul(mul(conj(G), DY), mul(conj(X), -2)));
         },
     .out = true,
     .hidden = true},
    {.schema = "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
     .opcode = FC_MAP_silu_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = sx,
     .grad = [](Grad& g) { backward_twice<"aten::silu_backward">(g, silu_slope); },
     .hidden = true},
    {.schema = "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .opcode = FC_MAP_mish_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = sx,
     .grad = [](Grad& g) { backward_twice<"aten::mish_backward">(g, mish_slope); },
     .hidden = true},
    {.schema = "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .opcode = FC_MAP_hardswish_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = sx,
     .grad = [](Grad& g) { backward_twice<"aten::hardswish_backward">(g, hardswish_slope); },
     .hidden = true},
    {.schema = "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
     .opcode = FC_MAP_hardsigmoid_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "self",
     .grad = [](Grad& g) { backward_twice<"aten::hardsigmoid_backward">(g, nullptr); },
     .hidden = true},
    {.schema = "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
     .opcode = FC_MAP_log_sigmoid_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = sx,
     .grad = [](Grad& g) { backward_twice<"aten::log_sigmoid_backward">(g, log_sigmoid_slope, X); },
     .hidden = true},
    {.schema = "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
     .opcode = FC_MAP_threshold_backward,
     .inputs = 2,
     .saves = "self threshold",
     .grad = [](Grad& g) { backward_twice<"aten::threshold_backward">(g, nullptr, g.arg(2).scalar()); },
     .out = true,
     .hidden = true},
    {.schema = "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
     .opcode = FC_MAP_hardtanh_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "self min_val max_val",
     .grad =
         [](Grad& g) { backward_twice<"aten::hardtanh_backward">(g, nullptr, g.arg(2).scalar(), g.arg(3).scalar()); },
     .out = true,
     .hidden = true},
    {.schema =
         "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
     .opcode = FC_MAP_leaky_relu_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "self negative_slope self_is_result",
     .grad =
         [](Grad& g) {
           backward_twice<"aten::leaky_relu_backward">(g, nullptr, g.arg(2).scalar(), g.arg(3).boolean());
         },
     .hidden = true},
    {.schema = "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
     .opcode = FC_MAP_softplus_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "grad_output:self self beta threshold",
     .grad =
         [](Grad& g) {
           backward_twice<"aten::softplus_backward">(g, softplus_slope, g.arg(2).scalar(), g.arg(3).scalar());
         },
     .hidden = true},
    {.schema = "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
     .opcode = FC_MAP_shrink_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "self lambd",
     .grad = [](Grad& g) { backward_twice<"aten::hardshrink_backward">(g, nullptr, g.arg(2).scalar()); },
     .hidden = true,
     .rounds = true},
    {.schema = "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
     .opcode = FC_MAP_shrink_backward,
     .inputs = 2,
     .refuses = "bi",
     .saves = "self lambd",
     .grad = [](Grad& g) { backward_twice<"aten::softshrink_backward">(g, nullptr, g.arg(2).scalar()); },
     .hidden = true,
     .rounds = true},
};

// --- one map with checks or choices of its own
void run_hardtanh(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  Scalar params[] = {args[1].scalar(), args[2].scalar()};
  FC_CHECK(in.tensor->dtype() != DType::Bool, "Bool inputs not supported for hardtanh");
  FC_CHECK(in.tensor->dtype() != DType::UInt8 || (params[0].to_double() >= 0 && params[1].to_double() >= 0),
           "cannot do hardtanh on an unsigned type with negative limits: min_val is ", to_string(params[0]));
  for (int i : {0, 1}) params[i] = clamp_bound("hardtanh", params[i], i == 0, in.tensor->dtype());
  run_map("hardtanh", FC_MAP_hardtanh, {&in, 1}, params, F::Same, "c", op, args, results);
}

void run_softshrink(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  const Scalar lambda = rounded_to(in.tensor->dtype(), args[1].scalar());
  FC_CHECK(lambda.to_double() >= 0, "lambda must be greater or equal to 0, but found to be ", to_string(lambda), ".");
  run_map("softshrink", FC_MAP_softshrink, {&in, 1}, {&lambda, 1}, F::Same, "bic", op, args, results);
}

bool tanh_approximation(std::string_view approximate) {
  FC_CHECK(approximate == "none" || approximate == "tanh",
           "approximate argument must be either none or tanh, but found ", approximate);
  return approximate == "tanh";
}
void run_gelu(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  run_map("gelu", tanh_approximation(args[1].text()) ? FC_MAP_gelu_tanh : FC_MAP_gelu, {&in, 1}, {}, F::Same, "bic", op,
          args, results);
}
void run_gelu_backward(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[] = {map_input(args[0]), map_input(args[1])};
  run_map("gelu_backward", tanh_approximation(args[2].text()) ? FC_MAP_gelu_tanh_backward : FC_MAP_gelu_backward, in,
          {}, F::Same, "bic", op, args, results);
}

void run_elu_backward(void*, const Operator& op, const Arg* args, Value* results) {
  const Tensor& grad = args[0].tensor();
  const Tensor& x = args[5].tensor();
  const Scalar params[] = {args[1].scalar(), args[2].scalar(), args[3].scalar()};
  if (!args[4].boolean()) {
    const MapInput in[] = {{&grad, {}}, {&x, {}}};
    run_map("elu_backward", FC_MAP_elu_backward, in, params, F::Same, "bic", op, args, results);
    return;
  }
  FC_CHECK(params[0].to_double() >= 0,
           "In-place elu backward calculation is triggered with a negative slope which is not supported: alpha is ",
           to_string(params[0]));
  Tensor below = mul(add(x, params[0].to_double() * params[1].to_double()), params[2]);
  results[0] = Value(mul(grad, where(le(x, 0), below, params[1])));
}
void elu_backward_grad(Grad& g) {
  const Scalar alpha = g.arg(1).scalar(), scale = g.arg(2).scalar(), input_scale = g.arg(3).scalar();
  const bool is_result = g.arg(4).boolean();
  Tensor x = g.in(5);
  if (g.needs(0)) g.set(0, call<"aten::elu_backward", Tensor>(G, alpha, scale, input_scale, is_result, x));
  if (!g.needs(5)) return;
  const double k = input_scale.to_double();
  Tensor slope = is_result ? full_like(x, k) : mul(exp(mul(x, k)), k * k * alpha.to_double() * scale.to_double());
  g.set(5, mul(mul(G, DY), where(lt(x, 0), slope, 0)));
}

void run_logit(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  const Scalar eps = args[1].is_none() ? -1.0 : args[1].real();
  run_map("logit", FC_MAP_logit, {&in, 1}, {&eps, 1}, F::Float, "c", op, args, results);
}
void run_logit_backward(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[] = {map_input(args[0]), map_input(args[1])};
  const Scalar eps = args[2].is_none() ? -1.0 : args[2].real();
  run_map("logit_backward", FC_MAP_logit_backward, in, {&eps, 1}, F::Same, "bic", op, args, results);
}

constexpr OpDef defs[] = {
    {.schema = "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     .doc = "Each element limited to the range from min_val to max_val.",
     .all = {run_hardtanh},
     .saves = "self min_val max_val",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::hardtanh_backward", Tensor>(G, g.in(0), g.arg(1).scalar(), g.arg(2).scalar()));
         },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact},
    {.schema = "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     .doc = "x moved towards zero by lambd.",
     .all = {run_softshrink},
     .saves = "self lambd",
     .grad = [](Grad& g) { g.set(0, call<"aten::softshrink_backward", Tensor>(G, g.in(0), g.arg(1).scalar())); },
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact},
    {.schema = "gelu(Tensor self, *, str approximate='none') -> Tensor",
     .doc = "x times the normal distribution function of x, exactly or by a tanh formula.",
     .all = {run_gelu},
     .saves = "self approximate",
     .grad = [](Grad& g) { g.set(0, call<"aten::gelu_backward", Tensor>(G, g.in(0), g.arg(1).text())); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact},
    {.schema = "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
     .all = {run_gelu_backward},
     .saves = "grad_output:self self approximate",
     .grad =
         [](Grad& g) {
           std::string_view how = g.arg(2).text();
           backward_twice<"aten::gelu_backward">(g, how == "tanh" ? gelu_tanh_slope : gelu_slope, how);
         },
     .hidden = true},
    {.schema =
         "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
         "self_or_result) -> Tensor",
     .all = {run_elu_backward},
     .saves = "grad_output:self_or_result alpha scale input_scale is_result self_or_result",
     .grad = elu_backward_grad,
     .hidden = true},
    {.schema = "logit(Tensor self, float? eps=None) -> Tensor",
     .doc = "log(x / (1 - x)), the inverse of the sigmoid.",
     .all = {run_logit},
     .saves = "self eps",
     .grad =
         [](Grad& g) {
           std::optional<double> eps;
           if (!g.arg(1).is_none()) eps = g.arg(1).real();
           g.set(0, call<"aten::logit_backward", Tensor>(G, g.in(0), eps));
         },
     .in_place = true,
     .out = true,
     .own_forms = true},
    {.schema = "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
     .all = {run_logit_backward},
     .saves = "grad_output:self self eps",
     .grad =
         [](Grad& g) {
           std::optional<double> eps;
           if (!g.arg(2).is_none()) eps = g.arg(2).real();
           backward_twice<"aten::logit_backward">(g, logit_slope, eps);
         },
     .hidden = true},
};

#undef G
#undef DY
#undef X

// --- compositions
Tensor hardtanh_of(const Tensor& self, const Scalar& lo, const Scalar& hi) {
  return call<"aten::hardtanh", Tensor>(self, lo, hi);
}
Tensor elu_of(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return call<"aten::elu", Tensor>(self, alpha, scale, input_scale);
}
Tensor relu6(const Tensor& self) { return hardtanh_of(self, 0, 6); }
// In place they are elu's in-place form, which keeps what its derivative reads.
constexpr double kSeluAlpha = 1.6732632423543772848, kSeluScale = 1.0507009873554804934;
Tensor selu(const Tensor& self) { return elu_of(self, kSeluAlpha, kSeluScale, 1); }
Tensor selu_(const Tensor& self) { return call<"aten::elu_", Tensor>(self, kSeluAlpha, kSeluScale, 1); }
double celu_slope(const Scalar& alpha) {
  FC_CHECK(!alpha.is_zero(), "ZeroDivisionError: alpha cannot be 0 for CELU");
  return 1 / alpha.to_double();
}
Tensor celu(const Tensor& self, const Scalar& alpha) { return elu_of(self, alpha, 1, celu_slope(alpha)); }
Tensor celu_(const Tensor& self, const Scalar& alpha) {
  return call<"aten::elu_", Tensor>(self, alpha, 1, celu_slope(alpha));
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  FC_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ", info(self.dtype()).legacy,
           " and ", info(weight.dtype()).legacy);
  FC_CHECK(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (weight.numel() == 1)
    return call<"aten::_prelu_kernel", Tensor>(self, weight.dim() == 0 ? weight : view(weight, {}));
  FC_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  FC_CHECK(channels == weight.numel(),
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
           " and channel size = ", channels, ".");
  Dims shape(static_cast<size_t>(self.dim()), 1);
  shape[1] = channels;
  return call<"aten::_prelu_kernel", Tensor>(self, view(weight, shape));
}

Tensor glu(const Tensor& self, int64_t dim) {
  FC_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t d = wrap_dim(dim, self.dim(), "glu"), n = self.size(d);
  FC_CHECK(n % 2 == 0, "Halving dimension must be even, but dimension ", d, " is size ", n);
  return mul(narrow(self, d, 0, n / 2), sigmoid(narrow(self, d, n / 2, n / 2)));
}

constexpr OpDef compositions[] = {
    {.schema = "relu6(Tensor self) -> Tensor",
     .doc = "Each element limited to the range from 0 to 6.",
     .composite = kernel<&relu6>(),
     .in_place = true},
    {.schema = "selu(Tensor self) -> Tensor",
     .doc = "An elu scaled so that activations keep mean and variance.",
     .composite = kernel<&selu>()},
    {.schema = "selu_(Tensor(a!) self) -> Tensor(a!)", .composite = kernel<&selu_>()},
    {.schema = "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
     .doc = "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), element by element.",
     .composite = kernel<&celu>()},
    {.schema = "celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)", .composite = kernel<&celu_>()},
    {.schema = "prelu(Tensor self, Tensor weight) -> Tensor",
     .doc = "x where it is positive, a learned multiple of it elsewhere.",
     .composite = kernel<&prelu>(),
     .autocast = Autocast::Lower},
    {.schema = "glu(Tensor self, int dim=-1) -> Tensor",
     .doc = "The first half of a dimension times the sigmoid of the second.",
     .composite = kernel<&glu>(),
     .out = true,
     .out_type = OutType::Castable},
};

}  // namespace

void define_activation() {
  define_map_rows(rows);
  define_all(defs);
  define_all(compositions);
}

}  // namespace fc
