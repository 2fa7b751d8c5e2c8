// SPDX-License-Identifier: Apache-2.0
// Every fact about the binary pointwise operators: one row each. From a row follow x.Tensor and x.Scalar, their
// in-place forms and their out= forms.
#include "ops/calls.h"
#include "ops/define.h"
#include "ops/families.h"
#include "ops/pointwise.h"

namespace facula {
namespace {

#define G (g.out())
#define A (g.in(0))
#define B (g.in(1))
#define Y (g.result())

struct BinaryRow {
  const char* name;
  int opcode;
  Promote promote = Promote::Same;
  const char* refuses = "";    // kinds of the promoted type: b, i, f, c
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows
  bool alpha = false;          // has "*, Scalar alpha=1"
  const char* tensor = "Tensor";   // name of the overload with two tensors
  const char* scalar = "Scalar";   // of the one with a number; null: none
};

constexpr const char* both = "other:self self:other";
constexpr const char* all = "self other";

// d/da and d/db of max/min-like operators: ties share the gradient.
void split_extreme(Grad& g, const Tensor& a_wins) {
  Tensor half = masked_fill(G, logical_not(eq(A, B)), 0);
  half = mul(half, 0.5);
  if (g.needs(0)) g.set(0, add(masked_fill(G, logical_not(a_wins), 0), half));
  if (g.needs(1)) g.set(1, add(masked_fill(G, call<"aten::logical_or", Tensor>(a_wins, eq(A, B)), 0), half));
}

constexpr BinaryRow rows[] = {
    {"add", FC_MAP_add, Promote::Same, "", "alpha", [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar()))));
     }, true},
    {"sub", FC_MAP_sub, Promote::Same, "b", "alpha", [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
     }, true},
    {"rsub", FC_MAP_rsub, Promote::Same, "b", "alpha", [](Grad& g) {
       if (g.needs(0)) g.set(0, neg(g.arg(2).scalar().equals(1) ? G : mul(G, conj(wrapped_number(g.arg(2).scalar())))));
       if (g.needs(1)) g.set(1, G);
     }, true},
    {"mul", FC_MAP_mul, Promote::Same, "", both, [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, conj(B)));
       if (g.needs(1)) g.set(1, mul(G, conj(A)));
     }},
    {"div", FC_MAP_div, Promote::Float, "", "other self:other", [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, conj(B)));
       if (g.needs(1)) g.set(1, neg(mul(G, conj(div(div(A, B), B)))));
     }},
    {"floor_divide", FC_MAP_floor_divide, Promote::Same, "c"},
    {"remainder", FC_MAP_remainder, Promote::Same, "bc", "self:other other:other", [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, call<"aten::div.Tensor_mode", Tensor>(A, B, std::string_view("floor")))));
     }},
    {"fmod", FC_MAP_fmod, Promote::Same, "bc", "self:other other:other", [](Grad& g) {
       if (g.needs(0)) g.set(0, G);
       if (g.needs(1)) g.set(1, neg(mul(G, call<"aten::div.Tensor_mode", Tensor>(A, B, std::string_view("trunc")))));
     }},
    {"maximum", FC_MAP_maximum, Promote::Same, "c", all, [](Grad& g) { split_extreme(g, gt(A, B)); }, false, "", nullptr},
    {"minimum", FC_MAP_minimum, Promote::Same, "c", all, [](Grad& g) { split_extreme(g, lt(A, B)); }, false, "", nullptr},
    {"fmax", FC_MAP_fmax, Promote::Same, "c", all, [](Grad& g) {
       Tensor first = call<"aten::logical_or", Tensor>(ge(A, B), call<"aten::isnan", Tensor>(B));
       if (g.needs(0)) g.set(0, masked_fill(G, logical_not(first), 0));
       if (g.needs(1)) g.set(1, masked_fill(G, first, 0));
     }, false, "", nullptr},
    {"fmin", FC_MAP_fmin, Promote::Same, "c", all, [](Grad& g) {
       Tensor first = call<"aten::logical_or", Tensor>(le(A, B), call<"aten::isnan", Tensor>(B));
       if (g.needs(0)) g.set(0, masked_fill(G, logical_not(first), 0));
       if (g.needs(1)) g.set(1, masked_fill(G, first, 0));
     }, false, "", nullptr},
    {"atan2", FC_MAP_atan2, Promote::Float, "c", all, [](Grad& g) {
       Tensor r = reciprocal(add(mul(A, A), mul(B, B)));
       if (g.needs(0)) g.set(0, mul(G, mul(B, r)));
       if (g.needs(1)) g.set(1, mul(G, neg(mul(A, r))));
     }, false, "", nullptr},
    {"hypot", FC_MAP_hypot, Promote::Same, "bic", "self other result", [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, div(A, Y)));
       if (g.needs(1)) g.set(1, mul(G, div(B, Y)));
     }, false, "", nullptr},
    {"copysign", FC_MAP_copysign, Promote::Float, "c", "self result", [](Grad& g) {
       Tensor ratio = masked_fill(div(Y, A), eq(A, 0), 0);
       if (g.needs(0)) g.set(0, mul(G, ratio));
       if (g.needs(1)) g.set(1, zeros_like(G));
     }},
    {"nextafter", FC_MAP_nextafter, Promote::Same, "bic", "", nullptr, false, "", nullptr},
    {"logaddexp", FC_MAP_logaddexp, Promote::Same, "bic", "self other", [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, add(exp(sub(B, A)), 1)));
       if (g.needs(1)) g.set(1, div(G, add(exp(sub(A, B)), 1)));
     }, false, "", nullptr},
    {"logaddexp2", FC_MAP_logaddexp2, Promote::Same, "bic", "self other", [](Grad& g) {
       if (g.needs(0)) g.set(0, div(G, add(call<"aten::exp2", Tensor>(sub(B, A)), 1)));
       if (g.needs(1)) g.set(1, div(G, add(call<"aten::exp2", Tensor>(sub(A, B)), 1)));
     }, false, "", nullptr},
    {"xlogy", FC_MAP_xlogy, Promote::Float, "c", "self other", [](Grad& g) {
       if (g.needs(0)) g.set(0, mul(G, masked_fill(log(B), call<"aten::logical_and", Tensor>(eq(A, 0), le(B, zeros_like(B))), 0)));
       if (g.needs(1)) g.set(1, div(mul(G, A), B));
     }, false, "Tensor", nullptr},
    {"ldexp", FC_MAP_ldexp, Promote::Float, "c", "self other", [](Grad& g) {
       Tensor p = call<"aten::exp2", Tensor>(B);
       if (g.needs(0)) g.set(0, mul(G, p));
       if (g.needs(1)) g.set(1, mul(G, mul(mul(A, p), 0.69314718055994530942)));
     }, false, "Tensor", nullptr},
    {"heaviside", FC_MAP_heaviside, Promote::Same, "c", "", nullptr, false, "", nullptr},
    {"gcd", FC_MAP_gcd, Promote::Same, "bfc", "", nullptr, false, "", nullptr},
    {"lcm", FC_MAP_lcm, Promote::Same, "bfc", "", nullptr, false, "", nullptr},
    // --- comparisons and logic
    {"eq", FC_MAP_eq, Promote::Compare},
    {"ne", FC_MAP_ne, Promote::Compare},
    {"lt", FC_MAP_lt, Promote::Compare, "c"},
    {"le", FC_MAP_le, Promote::Compare, "c"},
    {"gt", FC_MAP_gt, Promote::Compare, "c"},
    {"ge", FC_MAP_ge, Promote::Compare, "c"},
    {"logical_and", FC_MAP_logical_and, Promote::Compare, "", "", nullptr, false, "", nullptr},
    {"logical_or", FC_MAP_logical_or, Promote::Compare, "", "", nullptr, false, "", nullptr},
    {"logical_xor", FC_MAP_logical_xor, Promote::Compare, "", "", nullptr, false, "", nullptr},
    // --- bits
    {"bitwise_and", FC_MAP_bitwise_and, Promote::Same, "fc"},
    {"bitwise_or", FC_MAP_bitwise_or, Promote::Same, "fc"},
    {"bitwise_xor", FC_MAP_bitwise_xor, Promote::Same, "fc"},
    {"bitwise_left_shift", FC_MAP_bitwise_left_shift, Promote::Same, "bfc", "", nullptr, false, "Tensor", "Tensor_Scalar"},
    {"bitwise_right_shift", FC_MAP_bitwise_right_shift, Promote::Same, "bfc", "", nullptr, false, "Tensor", "Tensor_Scalar"},
};

void check_kind(const BinaryRow& row, DType t) {
  char kind = info(t).kind == 'u' ? 'i' : info(t).kind;
  if (std::string_view(row.refuses).find(kind) == std::string_view::npos && !is_barebones(t)) [[likely]]
    return;
  if (kind == 'b' && (row.opcode == FC_MAP_sub || row.opcode == FC_MAP_rsub))
    raise<Error>("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                 "`logical_xor()` operator instead.");
  raise<NotImplementedError>("\"", row.name, "\" not implemented for '", info(t).legacy, "'");
}

enum class Form { Functional, InPlace, Out };

template <Form form>
void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const BinaryRow*>(context);
  MapInput in[2] = {{&args[0].tensor(), {}}, {}};
  if (args[1].is_tensor()) in[1].tensor = &args[1].tensor();
  else in[1].number = args[1].scalar();
  DType common = result_type(in);
  check_kind(row, common);
  MapRequest r{.op = row.name, .opcode = row.opcode, .promote = row.promote, .inputs = in, .compute = common};
  Scalar alpha;
  if (row.alpha) {
    alpha = args[2].scalar();
    FC_CHECK(!alpha.is_bool() || common == DType::Bool, row.name, ": Boolean alpha only supported for Boolean results.");
    FC_CHECK(is_floating(common) || is_complex(common) || alpha.is_integral(true), row.name,
             ": For integral input tensors, argument alpha must not be a floating point number.");
    r.params = {&alpha, 1};
  }
  if constexpr (form == Form::InPlace) {
    r.out = in[0].tensor;
    r.in_place = true;
  }
  if constexpr (form == Form::Out) r.out = &args[op.num_args() - 1].tensor();
  map_or_fall_back(r, op, args, results);
}

#undef G
#undef A
#undef B
#undef Y

void define_forms(const BinaryRow& row, const char* overload, const char* type) {
  auto* context = const_cast<BinaryRow*>(&row);
  std::string name = *overload ? str(row.name, '.', overload) : row.name;
  Operator& f = define(str(name, "(Tensor self, ", type, " other", row.alpha ? ", *, Scalar alpha=1" : "", ") -> Tensor"));
  Operator& i = define(to_string(in_place_schema(f.schema())));
  Operator& o = define(to_string(out_schema(f.schema())));
  f.set_all_devices({run<Form::Functional>, context});
  i.set_all_devices({run<Form::InPlace>, context});
  o.set_all_devices({run<Form::Out>, context});
  i.functional = o.functional = &f;
  f.autocast = Autocast::Promote;
  f.differentiable = i.differentiable = o.differentiable = row.grad != nullptr;
  if (row.grad) {
    f.grad = make_rule(f.schema(), row.saves, row.grad).release();
    i.grad = make_rule(i.schema(), row.saves, row.grad).release();
  }
}

}  // namespace

void define_binary() {
  for (const BinaryRow& row : rows) {
    define_forms(row, row.tensor, "Tensor");
    if (row.scalar) define_forms(row, row.scalar, "Scalar");
  }
}

}  // namespace facula
