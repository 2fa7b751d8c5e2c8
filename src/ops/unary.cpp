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

// What few operators need.
struct UnarySpecial {
  void (*check)(const char* name, const Operator& op, DType type) = nullptr;  // throws, in PyTorch's words
  DType (*compute)(DType type) = nullptr;                                     // what to compute in; null: by promotion
  // uint16, uint32 and uint64 have no unary kernels. Integers need no rounding, are finite and here not negative, so a
  // binary opcode gives the result from the operand and itself; -1: none does.
  int wide_unsigned = -1;
  bool dense = false;          // the result is contiguous, whatever the input is
  const char* node = nullptr;  // autograd's name for a call, where that is not <Name>Backward0
};
struct UnaryRow {
  const char* name;
  int opcode;
  const char* doc;
  Promote promote = Promote::Same;
  const char* refuses = "";  // kinds of element type: b bool, i integers, f floating, c complex
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows (steps, tests)
  Autocast autocast = Autocast::None;
  // Besides x(self): i in-place, o out=. What becomes float takes an out= that the result can be cast to, what does not
  // one of the result's type, unless c says that it is cast as well.
  const char* forms = "io";
  UnarySpecial special = {};
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
    {"neg", FC_MAP_neg,
     "Minus each element.",
     Promote::Same, "b", "", [](Grad& g) { g.set(0, neg(G)); }, Autocast::None, "io", {.check = refuse_bool}},
    {"abs", FC_MAP_abs,
     "Absolute value of each element.",
     Promote::Real, "b", "self", [](Grad& g) { g.set(0, mul(G, sgn(X))); }, Autocast::None, "io", {.check = refuse_complex_in_place}},
    {"square", FC_MAP_square,
     "The square of each element.",
     Promote::Same, "", "self", [](Grad& g) { g.set(0, mul(G, mul(conj(X), 2.0))); }, Autocast::None, "ioc", {.compute = bool_as_int, .node = "PowBackward0"}},
    {"reciprocal", FC_MAP_reciprocal,
     "1 / x, element by element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, neg(mul(G, conj(mul(Y, Y))))); }, Autocast::Float32},
    {"sqrt", FC_MAP_sqrt,
     "Square root of each element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, div(G, conj(mul(Y, 2)))); }},
    {"rsqrt", FC_MAP_rsqrt,
     "1 / sqrt(x), element by element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(mul(G, -0.5), conj(mul(Y, mul(Y, Y))))); }, Autocast::Float32},
    {"sign", FC_MAP_sign,
     "-1, 0 or 1 by the sign of each element.",
     Promote::Same, "c", "", zero_grad},
    {"sgn", FC_MAP_sgn,
     "The sign of each element; of a complex number its direction.",
     Promote::Same, "", "self result", sgn_grad},
    // --- rounding
    {"floor", FC_MAP_floor,
     "The largest integer not above each element.",
     Promote::Same, "bc", "", zero_grad, Autocast::None, "io", {.wide_unsigned = FC_MAP_bitwise_or}},
    {"ceil", FC_MAP_ceil,
     "The smallest integer not below each element.",
     Promote::Same, "bc", "", zero_grad, Autocast::None, "io", {.wide_unsigned = FC_MAP_bitwise_or}},
    {"trunc", FC_MAP_trunc,
     "Each element without the part behind the point.",
     Promote::Same, "bc", "", zero_grad, Autocast::None, "io", {.wide_unsigned = FC_MAP_bitwise_or}},
    {"round", FC_MAP_round,
     "Each element rounded to the nearest integer, halves to even, or to decimals.",
     Promote::Same, "bc", "", zero_grad, Autocast::None, "io", {.wide_unsigned = FC_MAP_bitwise_or}},
    {"frac", FC_MAP_frac,
     "The part of each element behind the point.",
     Promote::Same, "bic", "", [](Grad& g) { g.set(0, G); }},
    // --- exponentials and logarithms
    {"exp", FC_MAP_exp,
     "e to the power of each element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, conj(Y))); }, Autocast::Float32},
    {"exp2", FC_MAP_exp2,
     "2 to the power of each element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(mul(G, conj(Y)), ln2)); }, Autocast::Float32},
    {"expm1", FC_MAP_expm1,
     "exp(x) - 1, precise near zero.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, add(conj(Y), 1))); }, Autocast::Float32},
    {"log", FC_MAP_log,
     "Natural logarithm of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(X))); }, Autocast::Float32},
    {"log2", FC_MAP_log2,
     "Logarithm to base 2 of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(mul(X, ln2)))); }, Autocast::Float32},
    {"log10", FC_MAP_log10,
     "Logarithm to base 10 of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(mul(X, ln10)))); }, Autocast::Float32},
    {"log1p", FC_MAP_log1p,
     "log(1 + x), precise near zero.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(add(X, 1)))); }, Autocast::Float32},
    // --- trigonometry
    {"sin", FC_MAP_sin,
     "Sine of each element, in radians.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(cos(X)))); }},
    {"cos", FC_MAP_cos,
     "Cosine of each element, in radians.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, neg(mul(G, conj(sin(X))))); }},
    {"tan", FC_MAP_tan,
     "Tangent of each element, in radians.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, conj(add(mul(Y, Y), 1)))); }, Autocast::Float32},
    {"asin", FC_MAP_asin,
     "Arc sine of each element, in radians.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(rsub(mul(X, X), 1))))); }, Autocast::Float32},
    {"acos", FC_MAP_acos,
     "Arc cosine of each element, in radians.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, neg(mul(G, conj(rsqrt(rsub(mul(X, X), 1)))))); }, Autocast::Float32},
    {"atan", FC_MAP_atan,
     "Arc tangent of each element, in radians.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(add(mul(X, X), 1)))); }},
    {"sinh", FC_MAP_sinh,
     "Hyperbolic sine of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(cosh(X)))); }, Autocast::Float32},
    {"cosh", FC_MAP_cosh,
     "Hyperbolic cosine of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(sinh(X)))); }, Autocast::Float32},
    {"tanh", FC_MAP_tanh,
     "Hyperbolic tangent of each element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, call<"aten::tanh_backward", Tensor>(G, Y)); }},
    {"asinh", FC_MAP_asinh,
     "Inverse hyperbolic sine of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(add(mul(X, X), 1))))); }},
    {"acosh", FC_MAP_acosh,
     "Inverse hyperbolic cosine of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(sub(mul(X, X), 1))))); }},
    {"atanh", FC_MAP_atanh,
     "Inverse hyperbolic tangent of each element.",
     Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(rsub(mul(X, X), 1)))); }},
    {"deg2rad", FC_MAP_deg2rad,
     "Degrees to radians.",
     Promote::Float, "c", "", [](Grad& g) { g.set(0, mul(G, 0.017453292519943295)); }},
    {"rad2deg", FC_MAP_rad2deg,
     "Radians to degrees.",
     Promote::Float, "c", "", [](Grad& g) { g.set(0, mul(G, 57.29577951308232)); }},
    {"sinc", FC_MAP_sinc,
     "sin(pi x) / (pi x), and 1 at zero.",
     Promote::Float, "", "self result", [](Grad& g) {
       Tensor px = mul(X, 3.14159265358979323846), d = div(sub(cos(px), Y), X);
       g.set(0, mul(G, conj(where(eq(X, 0), 0, d))));
     }},
    // --- error function and gamma
    {"erf", FC_MAP_erf,
     "The error function.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), two_over_sqrt_pi))); }},
    {"erfc", FC_MAP_erfc,
     "One minus the error function, without cancellation.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), -two_over_sqrt_pi))); }},
    {"erfinv", FC_MAP_erfinv,
     "The inverse of the error function.",
     Promote::Float, "c", "result", [](Grad& g) { g.set(0, mul(G, mul(exp(mul(Y, Y)), 1 / two_over_sqrt_pi))); }, Autocast::Float32},
    {"lgamma", FC_MAP_lgamma,
     "The logarithm of the gamma function's magnitude.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, digamma(X))); }},
    {"digamma", FC_MAP_digamma,
     "The logarithmic derivative of the gamma function.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, polygamma(1, X))); }},
    {"i0", FC_MAP_i0,
     "The modified Bessel function of the first kind of order 0.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, call<"aten::special_i1", Tensor>(X))); }},
    {"special_i1", FC_MAP_i1,
     "The modified Bessel function of the first kind of order 1.",
     Promote::Float, "c", "self result", [](Grad& g) {
       Tensor x = X, ratio = where(eq(x, 0), 0.5, div(Y, x));
       g.set(0, mul(G, sub(call<"aten::i0", Tensor>(x), ratio)));
     }, Autocast::None, "o"},
    {"special_ndtr", FC_MAP_ndtr,
     "The normal distribution function: the probability that a standard normal number is below each element.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, mul(exp(mul(mul(X, X), -0.5)), 1 / sqrt_two_pi))); }, Autocast::None, "o"},
    {"special_log_ndtr", FC_MAP_log_ndtr,
     "The logarithm of the normal distribution function, exact far below zero.",
     Promote::Float, "c", "self result", [](Grad& g) { g.set(0, mul(G, mul(exp(sub(mul(mul(X, X), -0.5), Y)), 1 / sqrt_two_pi))); }, Autocast::None, "o"},
    {"special_entr", FC_MAP_entr,
     "The entropy -x * log(x) of each element: 0 at 0, -inf below.",
     Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, neg(add(log(X), 1)))); }, Autocast::None, "o"},
    // --- tests and bits
    {"logical_not", FC_MAP_logical_not,
     "Whether each element is false.",
     Promote::Predicate, "", "", nullptr, Autocast::None, "ioc", {.compute = as_bool}},
    {"isnan", FC_MAP_isnan,
     "Whether each element is NaN.",
     Promote::Predicate, "", "", nullptr, Autocast::None, "", {.wide_unsigned = FC_MAP_ne}},
    {"isinf", FC_MAP_isinf,
     "Whether each element is infinite.",
     Promote::Predicate, "", "", nullptr, Autocast::None, "", {.wide_unsigned = FC_MAP_ne}},
    {"isfinite", FC_MAP_isfinite,
     "Whether each element is neither infinite nor NaN.",
     Promote::Predicate, "", "", nullptr, Autocast::None, "", {.wide_unsigned = FC_MAP_eq}},
    {"isposinf", FC_MAP_isposinf,
     "Whether each element is plus infinity.",
     Promote::Predicate, "c", "", nullptr, Autocast::None, "o", {.check = refuse_complex}},
    {"isneginf", FC_MAP_isneginf,
     "Whether each element is minus infinity.",
     Promote::Predicate, "c", "", nullptr, Autocast::None, "o", {.check = refuse_complex}},
    {"signbit", FC_MAP_signbit,
     "Whether the sign bit of each element is set.",
     Promote::Predicate, "c", "", nullptr, Autocast::None, "o", {.wide_unsigned = FC_MAP_ne}},
    {"bitwise_not", FC_MAP_bitwise_not,
     "Bitwise complement of integers, logical NOT of bools.",
     Promote::Same, "fc"},
    // --- complex
    {"_conj_physical", FC_MAP_conj_physical,
     nullptr,
     Promote::Same, "", "", [](Grad& g) { g.set(0, conj(G)); }, Autocast::None, ""},
    {"angle", FC_MAP_angle,
     "The angle of each complex number in radians; 0 or pi for real ones.",
     Promote::RealFloat, "", "self", angle_grad, Autocast::None, "o"},
    // --- activations
    {"relu", FC_MAP_relu,
     "x where it is positive, zero elsewhere.",
     Promote::Same, "bc", "result", [](Grad& g) { g.set(0, call<"aten::threshold_backward", Tensor>(G, Y, Scalar(0))); }, Autocast::None, "i", {.wide_unsigned = FC_MAP_bitwise_or}},
    {"sigmoid", FC_MAP_sigmoid,
     "1 / (1 + exp(-x)), element by element.",
     Promote::Float, "", "result", [](Grad& g) { g.set(0, call<"aten::sigmoid_backward", Tensor>(G, Y)); }},
    {"silu", FC_MAP_silu,
     "x * sigmoid(x), element by element.",
     Promote::Same, "bi", "self", [](Grad& g) { g.set(0, call<"aten::silu_backward", Tensor>(G, X)); }},
    {"mish", FC_MAP_mish,
     "x * tanh(softplus(x)), element by element.",
     Promote::Same, "bi", "self", [](Grad& g) { g.set(0, call<"aten::mish_backward", Tensor>(G, X)); }},
    {"hardswish", FC_MAP_hardswish,
     "x times a sigmoid of straight lines.",
     Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::hardswish_backward", Tensor>(G, X)); }},
    {"hardsigmoid", FC_MAP_hardsigmoid,
     "A sigmoid of straight lines.",
     Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::hardsigmoid_backward", Tensor>(G, X)); }},
    {"log_sigmoid", FC_MAP_log_sigmoid,
     "The logarithm of the sigmoid, without overflow.",
     Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::log_sigmoid_backward", Tensor>(G, X, X)); }, Autocast::None, "o", {.dense = true}},
};
// clang-format on

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const UnaryRow*>(context);
  MapInput input{&args[0].tensor(), {}};
  Tensor dense;
  if (row.special.dense && !input.tensor->is_contiguous()) {
    dense = contiguous(*input.tensor);
    input.tensor = &dense;
  }
  const DType type = input.tensor->dtype();
  if (row.special.check) row.special.check(row.name, op, type);
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = {&input, 1}};
  const MapInput twice[] = {input, input};
  if (row.special.wide_unsigned >= 0 && is_barebones(type) && is_integral(type, false)) {
    r.opcode = row.special.wide_unsigned;
    r.inputs = twice;
  } else {
    check_kind(row.name, row.refuses, seen_type(row.promote, type));
  }
  if (row.special.compute) r.compute = row.special.compute(type);
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
            .node = row.special.node,
            .all = {run, const_cast<UnaryRow*>(&row)},
            .saves = row.saves,
            .grad = row.grad,
            .differentiable = row.grad != nullptr,
            .in_place = has('i'),
            .out = has('o'),
            .own_forms = true,
            .out_type = floats || has('c') ? OutType::Castable : OutType::Exact,
            .autocast = row.autocast,
            .map = {static_cast<int16_t>(row.opcode), 1, 0, row.promote}});
  }
}

}  // namespace fc
