// SPDX-License-Identifier: Apache-2.0
// Every fact about the unary pointwise operators: one row each. The formula itself is in facula/formulas under the
// same name. From a row follow `x(self)`, `x_(self)` and `x.out(self, *, out)`.
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/math.h"
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
  const char* refuses = "";  // kinds of element type: b bool, i integers, f floating, c complex
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows (steps, tests)
  Autocast autocast = Autocast::None;
  // Besides x(self): i in-place, o out=. What becomes float takes an out= that the result can be cast to, what does not
  // one of the result's type, unless c says that it is cast as well.
  const char* forms = "io";
};

constexpr auto zero_grad = [](Grad& g) { g.set(0, zeros_like(G)); };
constexpr double two_over_sqrt_pi = 1.12837916709551257390, ln2 = 0.69314718055994530942, ln10 = 2.30258509299404568402;

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
constexpr UnaryRow rows[] = {
    // --- arithmetic
    {"neg", FC_MAP_neg, Promote::Same, "b", "", [](Grad& g) { g.set(0, neg(G)); }},
    {"abs", FC_MAP_abs, Promote::Real, "b", "self", [](Grad& g) { g.set(0, mul(G, sgn(X))); }},
    {"square", FC_MAP_square, Promote::Same, "", "self", [](Grad& g) { g.set(0, mul(G, mul(conj(X), 2.0))); }, Autocast::None, "ioc"},
    {"reciprocal", FC_MAP_reciprocal, Promote::Float, "", "result", [](Grad& g) { g.set(0, neg(mul(G, conj(mul(Y, Y))))); }, Autocast::Float32},
    {"sqrt", FC_MAP_sqrt, Promote::Float, "", "result", [](Grad& g) { g.set(0, div(G, conj(mul(Y, 2)))); }},
    {"rsqrt", FC_MAP_rsqrt, Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(mul(G, -0.5), conj(mul(Y, mul(Y, Y))))); }, Autocast::Float32},
    {"sign", FC_MAP_sign, Promote::Same, "c", "", zero_grad},
    {"sgn", FC_MAP_sgn, Promote::Same, "", "self result", sgn_grad},
    // --- rounding
    {"floor", FC_MAP_floor, Promote::Same, "bc", "", zero_grad},
    {"ceil", FC_MAP_ceil, Promote::Same, "bc", "", zero_grad},
    {"trunc", FC_MAP_trunc, Promote::Same, "bc", "", zero_grad},
    {"round", FC_MAP_round, Promote::Same, "bc", "", zero_grad},
    {"frac", FC_MAP_frac, Promote::Same, "bic", "", [](Grad& g) { g.set(0, G); }},
    // --- exponentials and logarithms
    {"exp", FC_MAP_exp, Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, conj(Y))); }, Autocast::Float32},
    {"exp2", FC_MAP_exp2, Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(mul(G, conj(Y)), ln2)); }, Autocast::Float32},
    {"expm1", FC_MAP_expm1, Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, add(conj(Y), 1))); }, Autocast::Float32},
    {"log", FC_MAP_log, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(X))); }, Autocast::Float32},
    {"log2", FC_MAP_log2, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(mul(X, ln2)))); }, Autocast::Float32},
    {"log10", FC_MAP_log10, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(mul(X, ln10)))); }, Autocast::Float32},
    {"log1p", FC_MAP_log1p, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(add(X, 1)))); }, Autocast::Float32},
    // --- trigonometry
    {"sin", FC_MAP_sin, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(cos(X)))); }},
    {"cos", FC_MAP_cos, Promote::Float, "", "self", [](Grad& g) { g.set(0, neg(mul(G, conj(sin(X))))); }},
    {"tan", FC_MAP_tan, Promote::Float, "", "result", [](Grad& g) { g.set(0, mul(G, conj(add(mul(Y, Y), 1)))); }, Autocast::Float32},
    {"asin", FC_MAP_asin, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(rsub(mul(X, X), 1))))); }, Autocast::Float32},
    {"acos", FC_MAP_acos, Promote::Float, "", "self", [](Grad& g) { g.set(0, neg(mul(G, conj(rsqrt(rsub(mul(X, X), 1)))))); }, Autocast::Float32},
    {"atan", FC_MAP_atan, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(add(mul(X, X), 1)))); }},
    {"sinh", FC_MAP_sinh, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(cosh(X)))); }, Autocast::Float32},
    {"cosh", FC_MAP_cosh, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(sinh(X)))); }, Autocast::Float32},
    {"tanh", FC_MAP_tanh, Promote::Float, "", "result", [](Grad& g) { g.set(0, call<"aten::tanh_backward", Tensor>(G, Y)); }},
    {"asinh", FC_MAP_asinh, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(add(mul(X, X), 1))))); }},
    {"acosh", FC_MAP_acosh, Promote::Float, "", "self", [](Grad& g) { g.set(0, mul(G, conj(rsqrt(sub(mul(X, X), 1))))); }},
    {"atanh", FC_MAP_atanh, Promote::Float, "", "self", [](Grad& g) { g.set(0, div(G, conj(rsub(mul(X, X), 1)))); }},
    {"deg2rad", FC_MAP_deg2rad, Promote::Float, "c", "", [](Grad& g) { g.set(0, mul(G, 0.017453292519943295)); }},
    {"rad2deg", FC_MAP_rad2deg, Promote::Float, "c", "", [](Grad& g) { g.set(0, mul(G, 57.29577951308232)); }},
    {"sinc", FC_MAP_sinc, Promote::Float, "", "self result", [](Grad& g) {
       Tensor px = mul(X, 3.14159265358979323846), d = div(sub(cos(px), Y), X);
       g.set(0, mul(G, conj(where(eq(X, 0), 0, d))));
     }},
    // --- error function and gamma
    {"erf", FC_MAP_erf, Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), two_over_sqrt_pi))); }},
    {"erfc", FC_MAP_erfc, Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, mul(exp(neg(mul(X, X))), -two_over_sqrt_pi))); }},
    {"erfinv", FC_MAP_erfinv, Promote::Float, "c", "result", [](Grad& g) { g.set(0, mul(G, mul(exp(mul(Y, Y)), 1 / two_over_sqrt_pi))); }, Autocast::Float32},
    {"lgamma", FC_MAP_lgamma, Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, digamma(X))); }},
    {"digamma", FC_MAP_digamma, Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, polygamma(1, X))); }},
    {"i0", FC_MAP_i0, Promote::Float, "c", "self", [](Grad& g) { g.set(0, mul(G, call<"aten::special_i1", Tensor>(X))); }},
    {"special_i1", FC_MAP_i1, Promote::Float, "c", "self result", [](Grad& g) {
       Tensor x = X, ratio = where(eq(x, 0), 0.5, div(Y, x));
       g.set(0, mul(G, sub(call<"aten::i0", Tensor>(x), ratio)));
     }, Autocast::None, "o"},
    // --- tests and bits
    {"logical_not", FC_MAP_logical_not, Promote::Predicate, "", "", nullptr, Autocast::None, "ioc"},
    {"isnan", FC_MAP_isnan, Promote::Predicate, "", "", nullptr, Autocast::None, ""},
    {"isinf", FC_MAP_isinf, Promote::Predicate, "", "", nullptr, Autocast::None, ""},
    {"isfinite", FC_MAP_isfinite, Promote::Predicate, "", "", nullptr, Autocast::None, ""},
    {"isposinf", FC_MAP_isposinf, Promote::Predicate, "c", "", nullptr, Autocast::None, "o"},
    {"isneginf", FC_MAP_isneginf, Promote::Predicate, "c", "", nullptr, Autocast::None, "o"},
    {"signbit", FC_MAP_signbit, Promote::Predicate, "c", "", nullptr, Autocast::None, "o"},
    {"bitwise_not", FC_MAP_bitwise_not, Promote::Same, "fc"},
    // --- complex
    {"_conj_physical", FC_MAP_conj_physical, Promote::Same, "", "", [](Grad& g) { g.set(0, conj(G)); }, Autocast::None, ""},
    {"angle", FC_MAP_angle, Promote::RealFloat, "", "self", angle_grad, Autocast::None, "o"},
    // --- activations
    {"relu", FC_MAP_relu, Promote::Same, "bc", "result", [](Grad& g) { g.set(0, call<"aten::threshold_backward", Tensor>(G, Y, Scalar(0))); }, Autocast::None, "i"},
    {"sigmoid", FC_MAP_sigmoid, Promote::Float, "", "result", [](Grad& g) { g.set(0, call<"aten::sigmoid_backward", Tensor>(G, Y)); }},
    {"silu", FC_MAP_silu, Promote::Same, "bi", "self", [](Grad& g) { g.set(0, call<"aten::silu_backward", Tensor>(G, X)); }},
    {"mish", FC_MAP_mish, Promote::Same, "bi", "self", [](Grad& g) { g.set(0, call<"aten::mish_backward", Tensor>(G, X)); }},
    {"hardswish", FC_MAP_hardswish, Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::hardswish_backward", Tensor>(G, X)); }},
    {"hardsigmoid", FC_MAP_hardsigmoid, Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::hardsigmoid_backward", Tensor>(G, X)); }},
    {"log_sigmoid", FC_MAP_log_sigmoid, Promote::Same, "bic", "self", [](Grad& g) { g.set(0, call<"aten::log_sigmoid_backward", Tensor>(G, X, X)); }, Autocast::None, "o"},
};
// clang-format on

// The wide unsigned types have no kernels of their own: of two equal operands this formula gives what the unary one
// does. They are whole, finite and never negative. -1: none.
int for_wide_unsigned(int opcode) {
  switch (opcode) {
    case FC_MAP_floor:
    case FC_MAP_ceil:
    case FC_MAP_round:
    case FC_MAP_trunc:
    case FC_MAP_relu: return FC_MAP_bitwise_or;
    case FC_MAP_isnan:
    case FC_MAP_isinf:
    case FC_MAP_signbit: return FC_MAP_ne;
    case FC_MAP_isfinite: return FC_MAP_eq;
    default: return -1;
  }
}

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const UnaryRow*>(context);
  MapInput input{&args[0].tensor(), {}};
  Tensor dense;
  if (row.opcode == FC_MAP_log_sigmoid && !input.tensor->is_contiguous()) {  // its result is always contiguous
    dense = contiguous(*input.tensor);
    input.tensor = &dense;
  }
  const DType type = input.tensor->dtype();
  FC_CHECK_AS(TypeError, !is_complex(type) || (row.opcode != FC_MAP_isposinf && row.opcode != FC_MAP_isneginf),
              row.name, " does not support complex inputs.");
  FC_CHECK(!(op.is_in_place && row.opcode == FC_MAP_abs && is_complex(type)),
           "In-place abs is not supported for complex tensors.");
  FC_CHECK_AS(NotImplementedError, row.opcode != FC_MAP_neg || type != DType::Bool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
              "the `~` or `logical_not()` operator instead.");
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = {&input, 1}};
  const MapInput twice[] = {input, input};
  int other = is_barebones(type) && is_integral(type, false) ? for_wide_unsigned(row.opcode) : -1;
  if (other >= 0) {
    r.opcode = other;
    r.inputs = twice;
  } else {
    check_kind(row.name, row.refuses, seen_type(row.promote, type));
  }
  if (row.opcode == FC_MAP_logical_not) r.compute = DType::Bool;
  if (row.opcode == FC_MAP_square && type == DType::Bool) r.compute = DType::Int64;  // it is pow(self, 2)
  set_target(r, op, args);
  if (row.promote == Promote::Real && is_complex(type)) r.out_type = OutType::Castable;  // it is cast anyway
  map_or_fall_back(r, op, args, results);
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
            .all = {run, const_cast<UnaryRow*>(&row)},
            .saves = row.saves,
            .grad = row.grad,
            .differentiable = row.grad != nullptr,
            .in_place = has('i'),
            .out = has('o'),
            .own_forms = true,
            .out_type = floats || has('c') ? OutType::Castable : OutType::Exact,
            .autocast = row.autocast});
  }
}

}  // namespace fc
