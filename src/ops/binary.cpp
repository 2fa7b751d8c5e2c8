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

struct BinaryRow {
  const char* name;
  int opcode;
  Promote promote = Promote::Same;
  const char* doc = nullptr;
  const char* refuses = "";  // kinds of the promoted type: b, i, f, c
  const char* saves = "";
  GradFormula grad = nullptr;          // null: no derivative flows
  const char* other = "other";         // the second operand's name
  bool alpha = false;                  // has "*, Scalar alpha=1"
  const char* tensor = "Tensor";       // name of the overload with two tensors
  const char* scalar = "Scalar";       // of the one with a number second; null: none
  const char* number_first = nullptr;  // of the one with a number first
  const char* forms = "io";            // i in-place, o out=, e out= of the result's type only
  // What few operators need.
  void (*check)(const MapInput* in, DType common) = nullptr;  // throws, in PyTorch's words
  // By other operators: for the wide unsigned types, which have no arithmetic of their own, and for half types.
  Tensor (*wide_unsigned)(const MapInput* in, DType common) = nullptr;
  Tensor (*half)(const MapInput* in, DType common) = nullptr;
  bool any_integer = false;  // for the wide unsigned types too; comparisons are
  bool logical = false;      // computed in bool
  bool exact = false;        // a number second is not rounded to a half type (MapRequest::exact_input)
  bool reversed = false;     // by `sub` of the swapped operands, whose layout the result follows, as in PyTorch
  KeepsZero keeps_zero = KeepsZero::No;  // in the first operand
  bool takes_numbers = false;
  // Autograd's names for calls of the overloads with two tensors, a scalar second, a scalar first; null:
  // <Name>Backward0.
  const char* nodes[3] = {};
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

void check_one_type(const MapInput* in, DType) {
  for (const MapInput* i : {in, in + 1})
    FC_CHECK_AS(NotImplementedError, !is_complex(i->tensor->dtype()),
                "heaviside is not yet implemented for complex tensors.");
  FC_CHECK(in[0].tensor->dtype() == in[1].tensor->dtype(),
           "heaviside is not yet implemented for tensors with different dtypes.");
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
    {.name = "add", .opcode = FC_MAP_add,
     .doc = "input + alpha * other, element by element.",
     .saves = "alpha", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar()))));
     }, .alpha = true, .takes_numbers = true},
    {.name = "sub", .opcode = FC_MAP_sub,
     .doc = "input - alpha * other, element by element.",
     .refuses = "b", .saves = "alpha", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
     }, .alpha = true, .check = check_no_bool, .takes_numbers = true},
    {.name = "rsub", .opcode = FC_MAP_rsub,
     .doc = "other - alpha * input, element by element.",
     .refuses = "b", .saves = "alpha", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
       if (g.needs(1)) g.set(1, G);
     }, .alpha = true, .forms = "", .check = check_no_bool, .reversed = true, .nodes = {nullptr, "RsubBackward1"}},
    {.name = "mul", .opcode = FC_MAP_mul,
     .doc = "input * other, element by element.",
     .saves = both, .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, conj(B)));
       if (g.needs(1)) g.set(1, mul(G, conj(A)));
     }, .wide_unsigned = wide_product, .exact = true, .keeps_zero = KeepsZero::Linear, .takes_numbers = true},
    {.name = "div", .opcode = FC_MAP_div, .promote = Promote::Float,
     .doc = "input / other, element by element; rounded if rounding_mode says how.",
     .saves = "other self:other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, conj(B)));
       if (g.needs(1)) g.set(1, neg(mul(G, conj(div(div(A, B), B)))));
     }, .exact = true, .keeps_zero = KeepsZero::Linear, .takes_numbers = true},
    {.name = "floor_divide", .opcode = FC_MAP_floor_divide,
     .doc = "input / other rounded down.",
     .refuses = "bc", .tensor = "", .exact = true, .keeps_zero = KeepsZero::Function, .takes_numbers = true},
    {.name = "remainder", .opcode = FC_MAP_remainder,
     .doc = "The remainder of division with the sign of other.",
     .refuses = "bc", .saves = "self:other other:other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, div_mode(A, B, "floor"))));
     }, .number_first = "Scalar_Tensor", .nodes = {"RemainderBackward1"}},
    {.name = "fmod", .opcode = FC_MAP_fmod,
     .doc = "The remainder of division with the sign of input.",
     .refuses = "bc", .saves = "self:other other:other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, div_mode(A, B, "trunc"))));
     }, .nodes = {"FmodBackward1"}},
    {.name = "maximum", .opcode = FC_MAP_maximum,
     .doc = "The larger of both elements; NaN wins.",
     .refuses = "c", .saves = all, .grad = [](Grad& g) { split_extreme(g, lt(A, B), gt(A, B)); }, .tensor = "",
     .scalar = nullptr, .forms = "o", .wide_unsigned = wide_greater},
    {.name = "minimum", .opcode = FC_MAP_minimum,
     .doc = "The smaller of both elements; NaN wins.",
     .refuses = "c", .saves = all, .grad = [](Grad& g) { split_extreme(g, gt(A, B), lt(A, B)); }, .tensor = "",
     .scalar = nullptr, .forms = "o", .wide_unsigned = wide_lesser},
    {.name = "fmax", .opcode = FC_MAP_fmax,
     .doc = "The larger element; a NaN loses to a number.",
     .refuses = "c", .saves = all, .grad = [](Grad& g) { split_number(g, ge(A, B), gt(A, B)); }, .tensor = "",
     .scalar = nullptr, .forms = "o", .wide_unsigned = wide_greater},
    {.name = "fmin", .opcode = FC_MAP_fmin,
     .doc = "The smaller element; a NaN loses to a number.",
     .refuses = "c", .saves = all, .grad = [](Grad& g) { split_number(g, le(A, B), lt(A, B)); }, .tensor = "",
     .scalar = nullptr, .forms = "o", .wide_unsigned = wide_lesser},
    {.name = "atan2", .opcode = FC_MAP_atan2, .promote = Promote::Float,
     .doc = "The angle of the point (other, input), between -pi and pi.",
     .refuses = "c", .saves = all, .grad = [](Grad& g) {
       Tensor r = reciprocal(add(mul(A, A), mul(B, B)));
       if (g.needs(0)) g.set(0, mul(G, mul(B, r)));
       if (g.needs(1)) g.set(1, mul(G, neg(mul(A, r))));
     }, .tensor = "", .scalar = nullptr},
    {.name = "hypot", .opcode = FC_MAP_hypot,
     .doc = "The hypotenuse of a right triangle, without overflow.",
     .refuses = "bic", .saves = "self other result", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, div(A, Y)));
       if (g.needs(1)) g.set(1, mul(G, div(B, Y)));
     }, .tensor = "", .scalar = nullptr},
    {.name = "copysign", .opcode = FC_MAP_copysign, .promote = Promote::Float,
     .doc = "The magnitude of input with the sign of other.",
     .refuses = "c", .saves = "self result", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(eq(A, 0), 0, div(Y, A))));
       if (g.needs(1)) g.set(1, zeros_like(G));
     }, .nodes = {nullptr, "CopysignBackward1"}},
    {.name = "nextafter", .opcode = FC_MAP_nextafter,
     .doc = "The next floating-point number from input towards other.",
     .refuses = "bic", .saves = all, .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, masked_fill(G, eq(A, B), 0));
       if (g.needs(1)) g.set(1, zeros_like(G));
     }, .tensor = "", .scalar = nullptr, .half = next_half},
    {.name = "logaddexp", .opcode = FC_MAP_logaddexp,
     .doc = "log(exp(input) + exp(other)), without overflow.",
     .refuses = "bi", .saves = "self other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, conj(add(exp(sub(B, A)), 1))));
       if (g.needs(1)) g.set(1, div(G, conj(add(exp(sub(A, B)), 1))));
     }, .tensor = "", .scalar = nullptr, .forms = "o"},
    {.name = "logaddexp2", .opcode = FC_MAP_logaddexp2,
     .doc = "log2(2 ** input + 2 ** other), without overflow.",
     .refuses = "bic", .saves = "self other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, add(exp2(sub(B, A)), 1)));
       if (g.needs(1)) g.set(1, div(G, add(exp2(sub(A, B)), 1)));
     }, .tensor = "", .scalar = nullptr, .forms = "o"},
    {.name = "xlogy", .opcode = FC_MAP_xlogy, .promote = Promote::Float,
     .doc = "input * log(other), zero where input is zero.",
     .refuses = "c", .saves = "self other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(logical_and(eq(A, 0), le(B, 0)), 0, log(B))));
       if (g.needs(1)) g.set(1, div(mul(G, A), B));
     }, .scalar = "Scalar_Other", .number_first = "Scalar_Self",
     .nodes = {nullptr, "XlogyBackward2", "XlogyBackward1"}},
    {.name = "special_xlog1py", .opcode = FC_MAP_xlog1py, .promote = Promote::Float,
     .doc = "input * log1p(other), zero where input is zero.",
     .refuses = "c", .saves = "self other", .grad = [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, where(logical_and(eq(A, 0), le(B, -1)), 0, call<"aten::log1p", Tensor>(B))));
       if (g.needs(1)) g.set(1, div(mul(G, A), add(B, 1)));
     }, .tensor = "", .scalar = "other_scalar", .number_first = "self_scalar", .forms = "o"},
    {.name = "ldexp", .opcode = FC_MAP_ldexp, .promote = Promote::Float,
     .doc = "input * 2 ** other.",
     .saves = "self other", .grad = [](Grad& g) {
       Tensor p = exp2(B);
       if (g.needs(0)) g.set(0, mul(G, conj(p)));
       if (g.needs(1)) g.set(1, mul(G, conj(mul(mul(A, p), 0.69314718055994530942))));
     }, .scalar = nullptr, .exact = true},
    {.name = "heaviside", .opcode = FC_MAP_heaviside,
     .doc = "0 for negative, 1 for positive elements, the given value at zero.",
     .refuses = "c", .other = "values", .tensor = "", .scalar = nullptr, .forms = "ie", .check = check_one_type},
    {.name = "gcd", .opcode = FC_MAP_gcd,
     .doc = "The greatest common divisor.",
     .refuses = "bfc", .tensor = "", .scalar = nullptr},
    {.name = "lcm", .opcode = FC_MAP_lcm,
     .doc = "The least common multiple.",
     .refuses = "bfc", .tensor = "", .scalar = nullptr},
    // --- comparisons and logic
    {.name = "eq", .opcode = FC_MAP_eq, .promote = Promote::Compare,
     .doc = "Whether input == other, element by element."},
    {.name = "ne", .opcode = FC_MAP_ne, .promote = Promote::Compare,
     .doc = "Whether input != other, element by element."},
    {.name = "lt", .opcode = FC_MAP_lt, .promote = Promote::Compare,
     .doc = "Whether input < other, element by element.",
     .refuses = "c"},
    {.name = "le", .opcode = FC_MAP_le, .promote = Promote::Compare,
     .doc = "Whether input <= other, element by element.",
     .refuses = "c"},
    {.name = "gt", .opcode = FC_MAP_gt, .promote = Promote::Compare,
     .doc = "Whether input > other, element by element.",
     .refuses = "c"},
    {.name = "ge", .opcode = FC_MAP_ge, .promote = Promote::Compare,
     .doc = "Whether input >= other, element by element.",
     .refuses = "c"},
    {.name = "logical_and", .opcode = FC_MAP_logical_and, .promote = Promote::Compare,
     .doc = "Whether both elements are true.",
     .tensor = "", .scalar = nullptr, .logical = true},
    {.name = "logical_or", .opcode = FC_MAP_logical_or, .promote = Promote::Compare,
     .doc = "Whether either element is true.",
     .tensor = "", .scalar = nullptr, .logical = true},
    {.name = "logical_xor", .opcode = FC_MAP_logical_xor, .promote = Promote::Compare,
     .doc = "Whether exactly one of both elements is true.",
     .tensor = "", .scalar = nullptr, .logical = true},
    // --- bits
    {.name = "bitwise_and", .opcode = FC_MAP_bitwise_and,
     .doc = "Bitwise AND of integers, logical AND of bools.",
     .refuses = "fc", .number_first = "Scalar_Tensor", .any_integer = true},
    {.name = "bitwise_or", .opcode = FC_MAP_bitwise_or,
     .doc = "Bitwise OR of integers, logical OR of bools.",
     .refuses = "fc", .number_first = "Scalar_Tensor", .any_integer = true},
    {.name = "bitwise_xor", .opcode = FC_MAP_bitwise_xor,
     .doc = "Bitwise exclusive OR of integers, logical exclusive OR of bools.",
     .refuses = "fc", .number_first = "Scalar_Tensor", .any_integer = true},
    {.name = "bitwise_left_shift", .opcode = FC_MAP_bitwise_left_shift,
     .doc = "Integers shifted left by other bits.",
     .refuses = "bfc", .scalar = "Tensor_Scalar", .number_first = "Scalar_Tensor"},
    {.name = "bitwise_right_shift", .opcode = FC_MAP_bitwise_right_shift,
     .doc = "Integers shifted right by other bits, keeping the sign.",
     .refuses = "bfc", .scalar = "Tensor_Scalar", .number_first = "Scalar_Tensor"},
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
  if (row.check) row.check(in, common);
  Tensor made;  // by other operators
  if (row.wide_unsigned && is_barebones(common) && is_integral(common, false)) made = row.wide_unsigned(in, common);
  // Integers of every width are compared, have bits and become floats; the wide unsigned ones do little else.
  const bool any_integer = row.promote == Promote::Compare || row.any_integer;
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = in, .compute = common};
  set_target(r, op, args);
  if (!made.defined() && (!any_integer || !is_integral(common, true)))
    check_kind(r, row.refuses, seen_type(row.promote, common));
  if (row.reversed) {
    std::swap(in[0], in[1]);
    r.opcode = FC_MAP_sub;
  }
  if (row.logical) r.compute = DType::Bool;
  if (row.exact) r.exact_input = 1;
  Scalar alpha;
  if (row.alpha) {
    alpha = args[2].scalar();
    if (!(alpha.kind() == Scalar::Kind::Int && alpha.to_int() == 1)) [[unlikely]]
      check_alpha(row.name, alpha, common), alpha = rounded_to(common, alpha);
    r.params = {&alpha, 1};
  }
  if (row.half && compute_type(common) != common) made = row.half(in, common);
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
  MapRequest r{.op = "div",
               .opcode = FC_MAP_div,
               .promote = Promote::Float,
               .inputs = in,
               .compute = result_type(in),
               .exact_input = 1};
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
     .keeps_zero = KeepsZero::Function,
     .takes_numbers = true,
     .devices = Devices::Numbers},
    {.schema = "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     .node = "DivBackward2",
     .all = {run_div_mode},
     .saves = "other rounding_mode",
     .grad = div_mode_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .keeps_zero = KeepsZero::Function,
     .takes_numbers = true,
     .devices = Devices::Numbers},
};

#undef G
#undef A
#undef B
#undef Y

void define_form(const BinaryRow& row, const char* overload, const char* first, const char* second, const char* node) {
  auto has = [&](char form) { return std::string_view(row.forms).find(form) != std::string_view::npos; };
  std::string schema = str(row.name, *overload ? "." : "", overload, "(", first, " self, ", second, ' ', row.other,
                           !row.alpha       ? ""
                           : *second == 'S' ? ", Scalar alpha=1"
                                            : ", *, Scalar alpha=1",
                           ") -> Tensor");
  define({.schema = schema.c_str(),
          .doc = row.doc,
          .node = node,
          .all = {run, const_cast<BinaryRow*>(&row)},
          .saves = row.saves,
          .grad = row.grad,
          .differentiable = row.promote != Promote::Compare,
          .in_place = *first == 'T' && has('i'),
          .out = has('o') || has('e'),
          .own_forms = true,
          .out_type = has('e') ? OutType::Exact : OutType::Castable,
          .autocast = Autocast::Promote,
          .keeps_zero = *first == 'T' ? row.keeps_zero : KeepsZero::No,
          .takes_numbers = row.takes_numbers,
          .devices = Devices::Numbers,
          .map = {static_cast<int16_t>(row.opcode), 2, row.alpha, row.promote}});
}

}  // namespace

void define_binary() {
  for (const BinaryRow& row : rows) {
    define_form(row, row.tensor, "Tensor", "Tensor", row.nodes[0]);
    if (row.scalar) define_form(row, row.scalar, "Tensor", "Scalar", row.nodes[1]);
    if (row.number_first) define_form(row, row.number_first, "Scalar", "Tensor", row.nodes[2]);
  }
  define_all(div_modes);
}

}  // namespace fc
