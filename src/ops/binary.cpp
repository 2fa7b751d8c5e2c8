// SPDX-License-Identifier: Apache-2.0
// Every fact about the binary pointwise operators: one row each. From a row follow x.Tensor and x.Scalar, their
// in-place forms and their out= forms.
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/binary.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

#define G (g.out())
#define A (g.in(0))
#define B (g.in(1))
#define Y (g.result())

// What few operators need.
struct BinarySpecial {
  void (*check)(const MapInput* in, DType common) = nullptr;  // throws, in PyTorch's words
  // By other operators: for the wide unsigned types, which have no arithmetic of their own, and for half types.
  Tensor (*wide_unsigned)(const MapInput* in, DType common) = nullptr;
  Tensor (*half)(const MapInput* in, DType common) = nullptr;
  bool any_integer = false;  // for the wide unsigned types too; comparisons are
  bool logical = false;      // computed in bool
  bool reversed = false;     // by `sub` of the swapped operands, whose layout the result follows, as in PyTorch
  // Autograd's names for calls of the overloads with two tensors, a scalar second, a scalar first; null:
  // <Name>Backward0.
  const char* nodes[3] = {};
};
struct BinaryRow {
  const char* name;
  int opcode;
  const char* doc;
  Promote promote = Promote::Same;
  const char* refuses = "";  // kinds of the promoted type: b, i, f, c
  const char* saves = "";
  GradFormula grad = nullptr;          // null: no derivative flows
  bool alpha = false;                  // has "*, Scalar alpha=1"
  const char* tensor = "Tensor";       // name of the overload with two tensors
  const char* scalar = "Scalar";       // of the one with a number second; null: none
  const char* number_first = nullptr;  // of the one with a number first
  const char* forms = "io";            // i in-place, o out=, e out= of the result's type only
  BinarySpecial special = {};
};

constexpr const char* both = "other:self self:other";
constexpr const char* all = "self other";

// d/da and d/db of max/min-like operators: ties share the gradient.
void split_extreme(Grad& g, const Tensor& a_loses, const Tensor& b_loses) {
  Tensor shared = where(eq(A, B), mul(G, 0.5), G);
  if (g.needs(0)) g.set(0, where(a_loses, 0, shared));
  if (g.needs(1)) g.set(1, where(b_loses, 0, shared));
}
// The same of fmax and fmin, where a number wins over NaN.
void split_number(Grad& g, const Tensor& a_wins_or_ties, const Tensor& a_wins) {
  Tensor b_is_nan = isnan(B);
  split_extreme(g, logical_not(logical_or(a_wins_or_ties, b_is_nan)), logical_or(a_wins, b_is_nan));
}

void check_no_bool(const MapInput* in, DType common) {
  FC_CHECK_AS(NotImplementedError, common != DType::Bool,
              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
              "operator instead.");
  for (int i = 0; i < 2; ++i)
    FC_CHECK_AS(NotImplementedError, in[i].tensor ? in[i].tensor->dtype() != DType::Bool : !in[i].scalar.is_bool(),
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or `logical_not()` operator instead.");
}

// The neighbour of a half number, which float32 is too fine to find: the next pattern of bits.
Tensor next_half(const MapInput* in, DType t) {
  Tensor a = to_dtype(*in[0].tensor, t), b = to_dtype(*in[1].tensor, t);
  Tensor outward = eq(gt(b, a), gt(a, 0)), bits = call<"aten::view.dtype", Tensor>(a, DType::Int16);
  Tensor next = where(outward, add(bits, 1), sub(bits, 1));
  Tensor smallest = where(gt(b, 0), full_like(next, 1), full_like(next, -32767));
  Tensor moved = call<"aten::view.dtype", Tensor>(where(eq(a, 0), smallest, next), t);
  return where(logical_or(isnan(a), isnan(b)), add(a, b), where(eq(a, b), b, moved));
}

// Of the wide unsigned types: a product is int64's, which has the same low bits, the lesser is found by comparing.
Tensor operand(const MapInput* in, int i, DType t) {
  return to_dtype(in[i].tensor ? *in[i].tensor : wrapped_number(in[i].scalar, in[1 - i].tensor->device()), t);
}
Tensor wide_product(const MapInput* in, DType t) {
  Tensor a = operand(in, 0, t), b = operand(in, 1, t);
  return to_dtype(mul(to_dtype(a, DType::Int64), to_dtype(b, DType::Int64)), t);
}
Tensor wide_lesser(const MapInput* in, DType t) {
  Tensor a = operand(in, 0, t), b = operand(in, 1, t);
  return where(lt(a, b), a, b);
}
Tensor wide_greater(const MapInput* in, DType t) {
  Tensor a = operand(in, 0, t), b = operand(in, 1, t);
  return where(gt(a, b), a, b);
}

// clang-format off
constexpr BinaryRow rows[] = {
    {"add", FC_MAP_add, "input + alpha * other, element by element.", Promote::Same, "", "alpha",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar()))));
     },
     true},
    {"sub",
     FC_MAP_sub,
     "input - alpha * other, element by element.",
     Promote::Same,
     "b",
     "alpha",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
     },
     true,
     "Tensor",
     "Scalar",
     nullptr,
     "io",
     {.check = check_no_bool}},
    {"rsub",
     FC_MAP_rsub,
     "other - alpha * input, element by element.",
     Promote::Same,
     "b",
     "alpha",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
       if (g.needs(1)) g.set(1, G);
     },
     true,
     "Tensor",
     "Scalar",
     nullptr,
     "",
     {.check = check_no_bool, .reversed = true, .nodes = {nullptr, "RsubBackward1"}}},
    {"mul",
     FC_MAP_mul,
     "input * other, element by element.",
     Promote::Same,
     "",
     both,
     [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, conj(B)));
       if (g.needs(1)) g.set(1, mul(G, conj(A)));
     },
     false,
     "Tensor",
     "Scalar",
     nullptr,
     "io",
     {.wide_unsigned = wide_product}},
    {"div", FC_MAP_div, "input / other, element by element; rounded if rounding_mode says how.", Promote::Float, "",
     "other self:other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, conj(B)));
       if (g.needs(1)) g.set(1, neg(mul(G, conj(div(div(A, B), B)))));
     }},
    {"floor_divide", FC_MAP_floor_divide, "input / other rounded down.", Promote::Same, "bc", "", nullptr, false, ""},
    {"remainder",
     FC_MAP_remainder,
     "The remainder of division with the sign of other.",
     Promote::Same,
     "bc",
     "self:other other:other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, div_mode(A, B, "floor"))));
     },
     false,
     "Tensor",
     "Scalar",
     "Scalar_Tensor",
     "io",
     {.nodes = {"RemainderBackward1"}}},
    {"fmod",
     FC_MAP_fmod,
     "The remainder of division with the sign of input.",
     Promote::Same,
     "bc",
     "self:other other:other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, div_mode(A, B, "trunc"))));
     },
     false,
     "Tensor",
     "Scalar",
     nullptr,
     "io",
     {.nodes = {"FmodBackward1"}}},
    {"maximum",
     FC_MAP_maximum,
     "The larger of both elements; NaN wins.",
     Promote::Same,
     "c",
     all,
     [](Grad& g) { split_extreme(g, lt(A, B), gt(A, B)); },
     false,
     "",
     nullptr,
     nullptr,
     "o",
     {.wide_unsigned = wide_greater}},
    {"minimum",
     FC_MAP_minimum,
     "The smaller of both elements; NaN wins.",
     Promote::Same,
     "c",
     all,
     [](Grad& g) { split_extreme(g, gt(A, B), lt(A, B)); },
     false,
     "",
     nullptr,
     nullptr,
     "o",
     {.wide_unsigned = wide_lesser}},
    {"fmax",
     FC_MAP_fmax,
     "The larger element; a NaN loses to a number.",
     Promote::Same,
     "c",
     all,
     [](Grad& g) { split_number(g, ge(A, B), gt(A, B)); },
     false,
     "",
     nullptr,
     nullptr,
     "o",
     {.wide_unsigned = wide_greater}},
    {"fmin",
     FC_MAP_fmin,
     "The smaller element; a NaN loses to a number.",
     Promote::Same,
     "c",
     all,
     [](Grad& g) { split_number(g, le(A, B), lt(A, B)); },
     false,
     "",
     nullptr,
     nullptr,
     "o",
     {.wide_unsigned = wide_lesser}},
    {"atan2", FC_MAP_atan2, "The angle of the point (other, input), between -pi and pi.", Promote::Float, "c", all,
     [](Grad& g) {
       Tensor r = reciprocal(add(mul(A, A), mul(B, B)));
       if (g.needs(0)) g.set(0, mul(G, mul(B, r)));
       if (g.needs(1)) g.set(1, mul(G, neg(mul(A, r))));
     },
     false, "", nullptr},
    {"hypot", FC_MAP_hypot, "The hypotenuse of a right triangle, without overflow.", Promote::Same, "bic",
     "self other result",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, div(A, Y)));
       if (g.needs(1)) g.set(1, mul(G, div(B, Y)));
     },
     false, "", nullptr},
    {"copysign",
     FC_MAP_copysign,
     "The magnitude of input with the sign of other.",
     Promote::Float,
     "c",
     "self result",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(eq(A, 0), 0, div(Y, A))));
       if (g.needs(1)) g.set(1, zeros_like(G));
     },
     false,
     "Tensor",
     "Scalar",
     nullptr,
     "io",
     {.nodes = {nullptr, "CopysignBackward1"}}},
    {"nextafter",
     FC_MAP_nextafter,
     "The next floating-point number from input towards other.",
     Promote::Same,
     "bic",
     all,
     [](Grad& g) {
       if (g.needs(0)) g.set(0, masked_fill(G, eq(A, B), 0));
       if (g.needs(1)) g.set(1, zeros_like(G));
     },
     false,
     "",
     nullptr,
     nullptr,
     "io",
     {.half = next_half}},
    {"logaddexp", FC_MAP_logaddexp, "log(exp(input) + exp(other)), without overflow.", Promote::Same, "bi",
     "self other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, conj(add(exp(sub(B, A)), 1))));
       if (g.needs(1)) g.set(1, div(G, conj(add(exp(sub(A, B)), 1))));
     },
     false, "", nullptr, nullptr, "o"},
    {"logaddexp2", FC_MAP_logaddexp2, "log2(2 ** input + 2 ** other), without overflow.", Promote::Same, "bic",
     "self other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, add(exp2(sub(B, A)), 1)));
       if (g.needs(1)) g.set(1, div(G, add(exp2(sub(A, B)), 1)));
     },
     false, "", nullptr, nullptr, "o"},
    {"xlogy",
     FC_MAP_xlogy,
     "input * log(other), zero where input is zero.",
     Promote::Float,
     "c",
     "self other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(logical_and(eq(A, 0), le(B, 0)), 0, log(B))));
       if (g.needs(1)) g.set(1, div(mul(G, A), B));
     },
     false,
     "Tensor",
     "Scalar_Other",
     "Scalar_Self",
     "io",
     {.nodes = {nullptr, "XlogyBackward2", "XlogyBackward1"}}},
    {"special_xlog1py", FC_MAP_xlog1py, "input * log1p(other), zero where input is zero.", Promote::Float, "c",
     "self other",
     [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(logical_and(eq(A, 0), le(B, -1)), 0, call<"aten::log1p", Tensor>(B))));
       if (g.needs(1)) g.set(1, div(mul(G, A), add(B, 1)));
     },
     false, "", "other_scalar", "self_scalar", "o"},
    {"ldexp", FC_MAP_ldexp, "input * 2 ** other.", Promote::Float, "", "self other",
     [](Grad& g) {
       Tensor p = exp2(B);
       if (g.needs(0)) g.set(0, mul(G, conj(p)));
       if (g.needs(1)) g.set(1, mul(G, conj(mul(mul(A, p), 0.69314718055994530942))));
     },
     false, "Tensor", nullptr},
    {"heaviside", FC_MAP_heaviside, "0 for negative, 1 for positive elements, the given value at zero.", Promote::Same,
     "c", "", nullptr, false, "", nullptr, nullptr, "ie"},
    {"gcd", FC_MAP_gcd, "The greatest common divisor.", Promote::Same, "bfc", "", nullptr, false, "", nullptr},
    {"lcm", FC_MAP_lcm, "The least common multiple.", Promote::Same, "bfc", "", nullptr, false, "", nullptr},
    // --- comparisons and logic
    {"eq", FC_MAP_eq, "Whether input == other, element by element.", Promote::Compare},
    {"ne", FC_MAP_ne, "Whether input != other, element by element.", Promote::Compare},
    {"lt", FC_MAP_lt, "Whether input < other, element by element.", Promote::Compare, "c"},
    {"le", FC_MAP_le, "Whether input <= other, element by element.", Promote::Compare, "c"},
    {"gt", FC_MAP_gt, "Whether input > other, element by element.", Promote::Compare, "c"},
    {"ge", FC_MAP_ge, "Whether input >= other, element by element.", Promote::Compare, "c"},
    {"logical_and", FC_MAP_logical_and, "Whether both elements are true.", Promote::Compare, "", "", nullptr, false,
     "", nullptr, nullptr, "io", {.logical = true}},
    {"logical_or", FC_MAP_logical_or, "Whether either element is true.", Promote::Compare, "", "", nullptr, false, "",
     nullptr, nullptr, "io", {.logical = true}},
    {"logical_xor", FC_MAP_logical_xor, "Whether exactly one of both elements is true.", Promote::Compare, "", "",
     nullptr, false, "", nullptr, nullptr, "io", {.logical = true}},
    // --- bits
    {"bitwise_and", FC_MAP_bitwise_and, "Bitwise AND of integers, logical AND of bools.", Promote::Same, "fc", "",
     nullptr, false, "Tensor", "Scalar", "Scalar_Tensor", "io", {.any_integer = true}},
    {"bitwise_or", FC_MAP_bitwise_or, "Bitwise OR of integers, logical OR of bools.", Promote::Same, "fc", "",
     nullptr, false, "Tensor", "Scalar", "Scalar_Tensor", "io", {.any_integer = true}},
    {"bitwise_xor", FC_MAP_bitwise_xor, "Bitwise exclusive OR of integers, logical exclusive OR of bools.",
     Promote::Same, "fc", "", nullptr, false, "Tensor", "Scalar", "Scalar_Tensor", "io", {.any_integer = true}},
    {"bitwise_left_shift", FC_MAP_bitwise_left_shift, "Integers shifted left by other bits.", Promote::Same, "bfc", "",
     nullptr, false, "Tensor", "Tensor_Scalar", "Scalar_Tensor"},
    {"bitwise_right_shift", FC_MAP_bitwise_right_shift, "Integers shifted right by other bits, keeping the sign.",
     Promote::Same, "bfc", "", nullptr, false, "Tensor", "Tensor_Scalar", "Scalar_Tensor"},
};
// clang-format on

void check_alpha(const char* name, const Scalar& alpha, DType common) {
  FC_CHECK(!alpha.is_bool() || common == DType::Bool, name, ": Boolean alpha only supported for Boolean results.");
  FC_CHECK(is_floating(common) || is_complex(common) || alpha.is_integral(true), name,
           ": For integral input tensors, argument alpha must not be a floating point number.");
  FC_CHECK(is_complex(common) || !alpha.is_complex(), name,
           ": For non-complex input tensors, argument alpha must not be a complex number.");
  check_fits(name, alpha, common);
}

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const BinaryRow*>(context);
  MapInput in[2] = {map_input(args[0]), map_input(args[1])};
  DType common = result_type(in);
  if (row.special.check) row.special.check(in, common);
  Tensor made;  // by other operators
  if (row.special.wide_unsigned && is_barebones(common) && is_integral(common, false))
    made = row.special.wide_unsigned(in, common);
  // Integers of every width are compared, have bits and become floats; the wide unsigned ones do little else.
  const bool any_integer = row.promote == Promote::Compare || row.special.any_integer;
  if (!made.defined() && (!any_integer || !is_integral(common, true)))
    check_kind(row.name, row.refuses, seen_type(row.promote, common));
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = in, .compute = common};
  if (row.special.reversed) {
    std::swap(in[0], in[1]);
    r.opcode = FC_MAP_sub;
  }
  if (row.special.logical) r.compute = DType::Bool;
  Scalar alpha;
  if (row.alpha) {
    alpha = args[2].scalar();
    if (!(alpha.kind() == Scalar::Kind::Int && alpha.to_int() == 1)) [[unlikely]]
      check_alpha(row.name, alpha, common);
    r.params = {&alpha, 1};
  }
  set_target(r, op, args);
  if (row.special.half && compute_type(common) != common) made = row.special.half(in, common);
  if (made.defined()) {
    FC_CHECK(!op.is_in_place || Dims::same(made.sizes(), r.out->sizes()), row.name, "_: output with shape ",
             r.out->sizes(), " doesn't match the broadcast shape ", made.sizes());
    if (r.out) {
      check_out_type(row.name, *r.out, made.dtype(), r.out_type);
      write_out(row.name, *r.out, made);
    }
    results[0] = Value(r.out ? *r.out : made);
    return;
  }
  results[0] = Value(run_pointwise(r));
}

// div with a rounding mode is division, or one of two other formulas that keep integers.
void run_div_mode(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[2] = {map_input(args[0]), map_input(args[1])};
  MapRequest r{.op = "div", .opcode = FC_MAP_div, .promote = Promote::Float, .inputs = in, .compute = result_type(in)};
  if (!args[2].is_none()) {
    std::string_view mode = args[2].text();
    FC_CHECK(mode == "trunc" || mode == "floor",
             "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode, "'");
    r.opcode = FC_MAP_div_floor;
    if (mode == "trunc") r.opcode = FC_MAP_div_trunc;
    r.promote = Promote::Same;
    check_kind(map_opcode(r.opcode).name, "bc", r.compute);
  }
  set_target(r, op, args);
  results[0] = Value(run_pointwise(r));
}

void div_mode_grad(Grad& g) {
  if (!g.arg(2).is_none()) {
    if (g.needs(0)) g.set(0, zeros_like(G));
    if (g.needs(1)) g.set(1, zeros_like(G));
    return;
  }
  if (g.needs(0)) g.set(0, div(G, conj(B)));
  if (g.needs(1)) g.set(1, neg(mul(G, conj(div(div(A, B), B)))));
}

constexpr OpDef div_modes[] = {
    {.schema = "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     .node = "DivBackward2",
     .all = {run_div_mode},
     .saves = "other self:other rounding_mode",
     .grad = div_mode_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers},
    {.schema = "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     .node = "DivBackward2",
     .all = {run_div_mode},
     .saves = "other rounding_mode",
     .grad = div_mode_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers},
};

#undef G
#undef A
#undef B
#undef Y

void define_form(const BinaryRow& row, const char* overload, const char* first, const char* second, const char* node) {
  auto has = [&](char form) { return std::string_view(row.forms).find(form) != std::string_view::npos; };
  std::string schema = str(row.name, *overload ? "." : "", overload, "(", first, " self, ", second, " other",
                           row.alpha ? ", *, Scalar alpha=1" : "", ") -> Tensor");
  define({.schema = schema.c_str(),
          .doc = row.doc,
          .node = node,
          .all = {run, const_cast<BinaryRow*>(&row)},
          .saves = row.saves,
          .grad = row.grad,
          .differentiable = row.grad != nullptr,
          .in_place = *first == 'T' && has('i'),
          .out = has('o') || has('e'),
          .own_forms = true,
          .out_type = has('e') ? OutType::Exact : OutType::Castable,
          .autocast = Autocast::Promote,
          .devices = Devices::Numbers,
          .map = {static_cast<int16_t>(row.opcode), 2, row.alpha, row.promote}});
}

}  // namespace

void define_binary() {
  for (const BinaryRow& row : rows) {
    define_form(row, row.tensor, "Tensor", "Tensor", row.special.nodes[0]);
    if (row.scalar) define_form(row, row.scalar, "Tensor", "Scalar", row.special.nodes[1]);
    if (row.number_first) define_form(row, row.number_first, "Scalar", "Tensor", row.special.nodes[2]);
  }
  define_all(div_modes);
}

}  // namespace fc
