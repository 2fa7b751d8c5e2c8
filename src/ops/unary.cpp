// SPDX-License-Identifier: Apache-2.0
// Every fact about the unary pointwise operators: one row each. The formula itself is in facula/formulas under the
// same name. From a row follow `x(self)`, `x_(self)` and `x.out(self, *, out)`.
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/math.h"
#include "facula/opcodes/shared.h"
#include "facula/opcodes/unary.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

// In formulas: g is the incoming gradient, x the input, y the result; each is saved only if the row says so.
#define G (g.out())
#define X (g.in(0))
#define Y (g.result())

struct UnaryRow {
  const char* name;
  int opcode;
  Promote promote = Promote::Same;
  const char* doc = nullptr;
  const char* refuses = "";  // kinds of element type: b bool, i integers, f floating, c complex
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows (steps, tests)
  Autocast autocast = Autocast::None;
  KeepsZero keeps_zero = KeepsZero::No;
  bool foreach = false;
  // Besides x(self): i in-place, o out=. What becomes float takes an out= that the result can be cast to, what does not
  // one of the result's type, unless c says that it is cast as well.
  const char* forms = "io";
  // What few operators need.
  void (*check)(const char* name, const Operator& op, DType type) = nullptr;  // throws, in PyTorch's words
  DType (*compute)(DType type) = nullptr;                                     // what to compute in; null: by promotion
  // uint16, uint32 and uint64 have no unary kernels. Integers need no rounding, are finite and here not negative, so a
  // binary opcode gives the result from the operand and itself; -1: none does.
  int wide_unsigned = -1;
  bool dense = false;          // the result is contiguous, whatever the input is
  const char* node = nullptr;  // autograd's name for a call, where that is not <Name>Backward0
};

constexpr auto zero_grad = [](Grad& g) { g.set(0, zeros_like(G)); };
constexpr double two_over_sqrt_pi = 1.12837916709551257390, ln2 = 0.69314718055994530942, ln10 = 2.30258509299404568402,
                 sqrt_two_pi = 2.50662827463100050242;

// Of complex z: what points along z does not change sgn(z); the rest does, by 1 / |z|.
void sgn_grad(Grad& g) {
  if (!is_complex(g.dtype(0))) {
    g.set(0, zeros_like(G));
    return;
  }
  Tensor x = X, y = Y, size = abs(x), along = mul(y, call<"aten::real", Tensor>(mul(conj(y), G)));
  g.set(0, where(eq(size, 0), 0, div(sub(G, along), size)));
}
void angle_grad(Grad& g) {
  if (!is_complex(g.dtype(0))) {
    g.set(0, zeros_like(G));
    return;
  }
  Tensor x = X, size = abs(x), turn = div(mul(x, Scalar(ComplexDouble{0, 1})), mul(size, size));
  g.set(0, mul(G, where(eq(size, 0), 0, turn)));
}

// clang-format off
void refuse_bool(const char*, const Operator&, DType type) {
  FC_CHECK_AS(NotImplementedError, type != DType::Bool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
              "the `~` or `logical_not()` operator instead.");
}
void refuse_complex_in_place(const char* name, const Operator& op, DType type) {
  FC_CHECK(!op.is_in_place || !is_complex(type), "In-place ", name, " is not supported for complex tensors.");
}
void refuse_complex(const char* name, const Operator&, DType type) {
  FC_CHECK_AS(TypeError, !is_complex(type), name, " does not support complex inputs.");
}
DType as_bool(DType) { return DType::Bool; }
DType bool_as_int(DType type) { return type == DType::Bool ? DType::Int64 : DType::Undefined; }

constexpr UnaryRow rows[] = {
    // --- arithmetic
    {.name = "neg", .opcode = FC_MAP_neg,
     .doc = "Minus each element.",
     .refuses = "b", .grad = [](Grad& g) { g.set(0, neg(G)); }, .keeps_zero = KeepsZero::Linear, .foreach = true, .check = refuse_bool},
    {.name = "abs", .opcode = FC_MAP_abs, .promote = Promote::Real,
     .doc = "Absolute value of each element.",
     .refuses = "b", .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, sgn(X))); },
     .keeps_zero = KeepsZero::Function, .foreach = true, .check = refuse_complex_in_place},
    {.name = "square", .opcode = FC_MAP_square,
     .doc = "The square of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, mul(conj(X), 2.0))); }, .keeps_zero = KeepsZero::Function, .forms = "ioc",
     .compute = bool_as_int, .node = "PowBackward0"},
    {.name = "reciprocal", .opcode = FC_MAP_reciprocal, .promote = Promote::Float,
     .doc = "1 / x, element by element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, neg(mul(G, conj(mul(Y, Y))))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "sqrt", .opcode = FC_MAP_sqrt, .promote = Promote::Float,
     .doc = "Square root of each element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, div(G, conj(mul(Y, 2)))); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "rsqrt", .opcode = FC_MAP_rsqrt, .promote = Promote::Float,
     .doc = "1 / sqrt(x), element by element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, mul(mul(G, -0.5), conj(mul(Y, mul(Y, Y))))); },
     .autocast = Autocast::Float32, .foreach = true},
    {.name = "sign", .opcode = FC_MAP_sign,
     .doc = "-1, 0 or 1 by the sign of each element.",
     .refuses = "c", .grad = zero_grad, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "sgn", .opcode = FC_MAP_sgn,
     .doc = "The sign of each element; of a complex number its direction.",
     .saves = "self result", .grad = sgn_grad, .keeps_zero = KeepsZero::Function},
    // --- rounding
    {.name = "floor", .opcode = FC_MAP_floor,
     .doc = "The largest integer not above each element.",
     .refuses = "bc", .grad = zero_grad, .keeps_zero = KeepsZero::Function, .foreach = true, .wide_unsigned = FC_MAP_bitwise_or},
    {.name = "ceil", .opcode = FC_MAP_ceil,
     .doc = "The smallest integer not below each element.",
     .refuses = "bc", .grad = zero_grad, .keeps_zero = KeepsZero::Function, .foreach = true, .wide_unsigned = FC_MAP_bitwise_or},
    {.name = "trunc", .opcode = FC_MAP_trunc,
     .doc = "Each element without the part behind the point.",
     .refuses = "bc", .grad = zero_grad, .keeps_zero = KeepsZero::Function, .foreach = true, .wide_unsigned = FC_MAP_bitwise_or},
    {.name = "round", .opcode = FC_MAP_round,
     .doc = "Each element rounded to the nearest integer, halves to even, or to decimals.",
     .refuses = "bc", .grad = zero_grad, .keeps_zero = KeepsZero::Function, .foreach = true, .wide_unsigned = FC_MAP_bitwise_or},
    {.name = "frac", .opcode = FC_MAP_frac,
     .doc = "The part of each element behind the point.",
     .refuses = "bic", .grad = [](Grad& g) { g.set(0, G); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    // --- exponentials and logarithms
    {.name = "exp", .opcode = FC_MAP_exp, .promote = Promote::Float,
     .doc = "e to the power of each element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, mul(G, conj(Y))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "exp2", .opcode = FC_MAP_exp2, .promote = Promote::Float,
     .doc = "2 to the power of each element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, mul(mul(G, conj(Y)), ln2)); }, .autocast = Autocast::Float32},
    {.name = "expm1", .opcode = FC_MAP_expm1, .promote = Promote::Float,
     .doc = "exp(x) - 1, precise near zero.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, mul(G, add(conj(Y), 1))); }, .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "log", .opcode = FC_MAP_log, .promote = Promote::Float,
     .doc = "Natural logarithm of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(X))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "log2", .opcode = FC_MAP_log2, .promote = Promote::Float,
     .doc = "Logarithm to base 2 of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(mul(X, ln2)))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "log10", .opcode = FC_MAP_log10, .promote = Promote::Float,
     .doc = "Logarithm to base 10 of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(mul(X, ln10)))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "log1p", .opcode = FC_MAP_log1p, .promote = Promote::Float,
     .doc = "log(1 + x), precise near zero.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(add(X, 1)))); }, .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function, .foreach = true},
    // --- trigonometry
    {.name = "sin", .opcode = FC_MAP_sin, .promote = Promote::Float,
     .doc = "Sine of each element, in radians.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(cos(X)))); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "cos", .opcode = FC_MAP_cos, .promote = Promote::Float,
     .doc = "Cosine of each element, in radians.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, neg(mul(G, conj(sin(X))))); }, .foreach = true},
    {.name = "tan", .opcode = FC_MAP_tan, .promote = Promote::Float,
     .doc = "Tangent of each element, in radians.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, mul(G, conj(add(mul(Y, Y), 1)))); },
     .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "asin", .opcode = FC_MAP_asin, .promote = Promote::Float,
     .doc = "Arc sine of each element, in radians.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(rsqrt(rsub(mul(X, X), 1))))); },
     .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "acos", .opcode = FC_MAP_acos, .promote = Promote::Float,
     .doc = "Arc cosine of each element, in radians.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, neg(mul(G, conj(rsqrt(rsub(mul(X, X), 1)))))); },
     .autocast = Autocast::Float32, .foreach = true},
    {.name = "atan", .opcode = FC_MAP_atan, .promote = Promote::Float,
     .doc = "Arc tangent of each element, in radians.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(add(mul(X, X), 1)))); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "sinh", .opcode = FC_MAP_sinh, .promote = Promote::Float,
     .doc = "Hyperbolic sine of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(cosh(X)))); }, .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "cosh", .opcode = FC_MAP_cosh, .promote = Promote::Float,
     .doc = "Hyperbolic cosine of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(sinh(X)))); }, .autocast = Autocast::Float32, .foreach = true},
    {.name = "tanh", .opcode = FC_MAP_tanh, .promote = Promote::Float,
     .doc = "Hyperbolic tangent of each element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, call<"aten::tanh_backward", Tensor>(G, Y)); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "asinh", .opcode = FC_MAP_asinh, .promote = Promote::Float,
     .doc = "Inverse hyperbolic sine of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(rsqrt(add(mul(X, X), 1))))); }, .keeps_zero = KeepsZero::Function},
    {.name = "acosh", .opcode = FC_MAP_acosh, .promote = Promote::Float,
     .doc = "Inverse hyperbolic cosine of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, conj(rsqrt(sub(mul(X, X), 1))))); }},
    {.name = "atanh", .opcode = FC_MAP_atanh, .promote = Promote::Float,
     .doc = "Inverse hyperbolic tangent of each element.",
     .saves = "self", .grad = [](Grad& g) { g.set(0, div(G, conj(rsub(mul(X, X), 1)))); }, .keeps_zero = KeepsZero::Function},
    {.name = "deg2rad", .opcode = FC_MAP_deg2rad, .promote = Promote::Float,
     .doc = "Degrees to radians.",
     .refuses = "c", .grad = [](Grad& g) { g.set(0, mul(G, 0.017453292519943295)); }, .keeps_zero = KeepsZero::Linear},
    {.name = "rad2deg", .opcode = FC_MAP_rad2deg, .promote = Promote::Float,
     .doc = "Radians to degrees.",
     .refuses = "c", .grad = [](Grad& g) { g.set(0, mul(G, 57.29577951308232)); }, .keeps_zero = KeepsZero::Linear},
    {.name = "sinc", .opcode = FC_MAP_sinc, .promote = Promote::Float,
     .doc = "sin(pi x) / (pi x), and 1 at zero.",
     .saves = "self result", .grad = [](Grad& g) {
       Tensor px = mul(X, 3.14159265358979323846), d = div(sub(cos(px), Y), X);
       g.set(0, mul(G, conj(where(eq(X, 0), 0, d))));
     }},
    // --- error function and gamma
    {.name = "erf", .opcode = FC_MAP_erf, .promote = Promote::Float,
     .doc = "The error function.",
     .refuses = "c", .saves = "self",
     .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), two_over_sqrt_pi))); }, .keeps_zero = KeepsZero::Function, .foreach = true},
    {.name = "erfc", .opcode = FC_MAP_erfc, .promote = Promote::Float,
     .doc = "One minus the error function, without cancellation.",
     .refuses = "c", .saves = "self",
     .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), -two_over_sqrt_pi))); }, .foreach = true},
    {.name = "erfinv", .opcode = FC_MAP_erfinv, .promote = Promote::Float,
     .doc = "The inverse of the error function.",
     .refuses = "c", .saves = "result",
     .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(mul(Y, Y)), 1 / two_over_sqrt_pi))); },
     .autocast = Autocast::Float32, .keeps_zero = KeepsZero::Function},
    {.name = "lgamma", .opcode = FC_MAP_lgamma, .promote = Promote::Float,
     .doc = "The logarithm of the gamma function's magnitude.",
     .refuses = "c", .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, digamma(X))); }, .foreach = true},
    {.name = "digamma", .opcode = FC_MAP_digamma, .promote = Promote::Float,
     .doc = "The logarithmic derivative of the gamma function.",
     .refuses = "c", .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, polygamma(1, X))); }},
    {.name = "i0", .opcode = FC_MAP_i0, .promote = Promote::Float,
     .doc = "The modified Bessel function of the first kind of order 0.",
     .refuses = "c", .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, call<"aten::special_i1", Tensor>(X))); }},
    {.name = "special_i1", .opcode = FC_MAP_i1, .promote = Promote::Float,
     .doc = "The modified Bessel function of the first kind of order 1.",
     .refuses = "c", .saves = "self result", .grad = [](Grad& g) {
       Tensor x = X, ratio = where(eq(x, 0), 0.5, div(Y, x));
       g.set(0, mul(G, sub(call<"aten::i0", Tensor>(x), ratio)));
     }, .forms = "o"},
    {.name = "special_ndtr", .opcode = FC_MAP_ndtr, .promote = Promote::Float,
     .doc = "The normal distribution function: the probability that a standard normal number is below each element.",
     .refuses = "c", .saves = "self",
     .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(mul(mul(X, X), -0.5)), 1 / sqrt_two_pi))); }, .forms = "o"},
    {.name = "special_log_ndtr", .opcode = FC_MAP_log_ndtr, .promote = Promote::Float,
     .doc = "The logarithm of the normal distribution function, exact far below zero.",
     .refuses = "c", .saves = "self result",
     .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(sub(mul(mul(X, X), -0.5), Y)), 1 / sqrt_two_pi))); }, .forms = "o"},
    {.name = "special_entr", .opcode = FC_MAP_entr, .promote = Promote::Float,
     .doc = "The entropy -x * log(x) of each element: 0 at 0, -inf below.",
     .refuses = "c", .saves = "self", .grad = [](Grad& g) { g.set(0, mul(G, neg(add(log(X), 1)))); }, .forms = "o"},
    // --- tests and bits
    {.name = "logical_not", .opcode = FC_MAP_logical_not, .promote = Promote::Predicate,
     .doc = "Whether each element is false.",
     .forms = "ioc", .compute = as_bool},
    {.name = "isnan", .opcode = FC_MAP_isnan, .promote = Promote::Predicate,
     .doc = "Whether each element is NaN.",
     .keeps_zero = KeepsZero::Function, .forms = "", .wide_unsigned = FC_MAP_ne},
    {.name = "isinf", .opcode = FC_MAP_isinf, .promote = Promote::Predicate,
     .doc = "Whether each element is infinite.",
     .keeps_zero = KeepsZero::Function, .forms = "", .wide_unsigned = FC_MAP_ne},
    {.name = "isfinite", .opcode = FC_MAP_isfinite, .promote = Promote::Predicate,
     .doc = "Whether each element is neither infinite nor NaN.",
     .forms = "", .wide_unsigned = FC_MAP_eq},
    {.name = "isposinf", .opcode = FC_MAP_isposinf, .promote = Promote::Predicate,
     .doc = "Whether each element is plus infinity.",
     .refuses = "c", .keeps_zero = KeepsZero::Function, .forms = "o", .check = refuse_complex},
    {.name = "isneginf", .opcode = FC_MAP_isneginf, .promote = Promote::Predicate,
     .doc = "Whether each element is minus infinity.",
     .refuses = "c", .keeps_zero = KeepsZero::Function, .forms = "o", .check = refuse_complex},
    {.name = "signbit", .opcode = FC_MAP_signbit, .promote = Promote::Predicate,
     .doc = "Whether the sign bit of each element is set.",
     .refuses = "c", .keeps_zero = KeepsZero::Function, .forms = "o", .wide_unsigned = FC_MAP_ne},
    {.name = "bitwise_not", .opcode = FC_MAP_bitwise_not,
     .doc = "Bitwise complement of integers, logical NOT of bools.",
     .refuses = "fc"},
    // --- complex
    {.name = "_conj_physical", .opcode = FC_MAP_conj_physical,
     .grad = [](Grad& g) { g.set(0, conj(G)); }, .keeps_zero = KeepsZero::Linear, .forms = ""},
    {.name = "angle", .opcode = FC_MAP_angle, .promote = Promote::RealFloat,
     .doc = "The angle of each complex number in radians; 0 or pi for real ones.",
     .saves = "self", .grad = angle_grad, .keeps_zero = KeepsZero::Function, .forms = "o"},
    // --- activations
    {.name = "relu", .opcode = FC_MAP_relu,
     .doc = "x where it is positive, zero elsewhere.",
     .refuses = "bc", .saves = "result",
     .grad = [](Grad& g) { g.set(0, call<"aten::threshold_backward", Tensor>(G, Y, Scalar(0))); }, .keeps_zero = KeepsZero::Function, .forms = "i",
     .wide_unsigned = FC_MAP_bitwise_or},
    {.name = "sigmoid", .opcode = FC_MAP_sigmoid, .promote = Promote::Float,
     .doc = "1 / (1 + exp(-x)), element by element.",
     .saves = "result", .grad = [](Grad& g) { g.set(0, call<"aten::sigmoid_backward", Tensor>(G, Y)); }, .foreach = true},
    {.name = "silu", .opcode = FC_MAP_silu,
     .doc = "x * sigmoid(x), element by element.",
     .refuses = "bi", .saves = "self", .grad = [](Grad& g) { g.set(0, call<"aten::silu_backward", Tensor>(G, X)); }},
    {.name = "mish", .opcode = FC_MAP_mish,
     .doc = "x * tanh(softplus(x)), element by element.",
     .refuses = "bi", .saves = "self", .grad = [](Grad& g) { g.set(0, call<"aten::mish_backward", Tensor>(G, X)); }},
    {.name = "hardswish", .opcode = FC_MAP_hardswish,
     .doc = "x times a sigmoid of straight lines.",
     .refuses = "bic", .saves = "self",
     .grad = [](Grad& g) { g.set(0, call<"aten::hardswish_backward", Tensor>(G, X)); }},
    {.name = "hardsigmoid", .opcode = FC_MAP_hardsigmoid,
     .doc = "A sigmoid of straight lines.",
     .refuses = "bic", .saves = "self",
     .grad = [](Grad& g) { g.set(0, call<"aten::hardsigmoid_backward", Tensor>(G, X)); }},
    {.name = "log_sigmoid", .opcode = FC_MAP_log_sigmoid,
     .doc = "The logarithm of the sigmoid, without overflow.",
     .refuses = "bic", .saves = "self",
     .grad = [](Grad& g) { g.set(0, call<"aten::log_sigmoid_backward", Tensor>(G, X, X)); }, .forms = "o",
     .dense = true},
};
// clang-format on

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const UnaryRow*>(context);
  MapInput input{&args[0].tensor(), {}};
  Tensor dense;
  if (row.dense && !input.tensor->is_contiguous()) {
    dense = contiguous(*input.tensor);
    input.tensor = &dense;
  }
  const DType type = input.tensor->dtype();
  if (row.check) row.check(row.name, op, type);
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = {&input, 1}};
  const MapInput twice[] = {input, input};
  if (row.wide_unsigned >= 0 && is_barebones(type) && is_integral(type, false)) {
    r.opcode = row.wide_unsigned;
    r.inputs = twice;
  } else {
    check_kind(row.name, row.refuses, seen_type(row.promote, type));
  }
  if (row.compute) r.compute = row.compute(type);
  set_target(r, op, args);
  if (row.promote == Promote::Real && is_complex(type)) r.out_type = OutType::Castable;  // it is cast anyway
  results[0] = Value(run_pointwise(r));
}

#undef G
#undef X
#undef Y

}  // namespace

void define_unary() {
  for (const UnaryRow& row : rows) {
    auto has = [&](char form) { return std::string_view(row.forms).find(form) != std::string_view::npos; };
    const bool floats = row.promote == Promote::Float || row.promote == Promote::RealFloat;
    std::string schema = str(row.name, "(Tensor self) -> Tensor");
    define({.schema = schema.c_str(),
            .doc = row.doc,
            .node = row.node,
            .all = {run, const_cast<UnaryRow*>(&row)},
            .saves = row.saves,
            .grad = row.grad,
            .differentiable = row.grad != nullptr,
            .in_place = has('i'),
            .out = has('o'),
            .own_forms = true,
            .out_type = floats || has('c') ? OutType::Castable : OutType::Exact,
            .autocast = row.autocast,
            .keeps_zero = row.keeps_zero,
            .foreach = row.foreach,
            .map = {static_cast<int16_t>(row.opcode), 1, 0, row.promote}});
  }
}

}  // namespace fc
