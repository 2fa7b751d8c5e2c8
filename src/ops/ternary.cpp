// SPDX-License-Identifier: Apache-2.0
// Pointwise operators of three operands: where, clamp and its halves, lerp, addcmul, addcdiv.
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/warn_once.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/common.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {

Scalar clamp_bound(const char* op, const Scalar& v, bool is_min, DType t) {
  if (!is_integral(t, false) || t == DType::UInt64) return v;
  const int bits = static_cast<int>(8 * item_size(t)) - (is_signed(t) ? 1 : 0);
  const int64_t most = static_cast<int64_t>((uint64_t{1} << bits) - 1), least = is_signed(t) ? -most - 1 : 0;
  const bool above = v.is_unsigned() || v.to_int() > most, below = !above && v.to_int() < least;
  FC_CHECK(!(is_min ? above : below), op, ": ", is_min ? "min" : "max", " value ", v,
           " is outside the representable range of ", info(t).legacy);
  return below ? least : above ? most : v;
}

namespace {

#define G (g.out())

// --- where: the condition is no part of type promotion
void run_where(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[3] = {map_input(args[0]), map_input(args[1]), map_input(args[2])};
  DType condition = in[0].tensor->dtype();
  FC_CHECK(condition == DType::Bool || condition == DType::UInt8,
           "where expected condition to be a boolean tensor, but got a tensor with dtype ", info(condition).legacy,
           " (", condition, " is not bool)");
  static std::atomic<bool> said;
  if (condition == DType::UInt8)
    warn_once(said,
              "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
              "version of PyTorch. Use a boolean condition instead.");
  const DType common = result_type({in + 1, 2});
  for (const MapInput& value : {in[1], in[2]})
    if (!value.tensor && !is_reduced(common)) check_fits("where", value.scalar, common);
  MapRequest r{.op = "where", .opcode = FC_MAP_where, .inputs = in, .compute = common};
  set_target(r, op, args);
  results[0] = Value(run_pointwise(r));
}

void where_grad(Grad& g) {
  if (g.needs(1)) g.set(1, where(g.in(0), G, 0));
  if (g.needs(2)) g.set(2, where(g.in(0), 0, G));
}

// --- clamp: either bound may be missing
bool is_wide_unsigned(DType t) { return is_barebones(t) && is_integral(t, false); }
// The wide unsigned types have no arithmetic of their own: what is larger is found by comparing.
void run_wide_clamp(const MapRequest& r, const Operator& op, const MapInput* low, const MapInput* high,
                    Value* results) {
  const Tensor& self = *r.inputs[0].tensor;
  const auto operand = [&](const MapInput& in) {
    return to_dtype(in.tensor ? *in.tensor : wrapped_number(in.scalar, self.device()), r.compute);
  };
  Tensor made = operand(r.inputs[0]);
  if (low) made = where(lt(made, operand(*low)), operand(*low), made);
  if (high) made = where(gt(made, operand(*high)), operand(*high), made);
  FC_CHECK(!op.is_in_place || Dims::same(made.sizes(), r.out->sizes()), r.op, "_: output with shape ", r.out->sizes(),
           " doesn't match the broadcast shape ", made.sizes());
  if (r.out) {
    check_out_type(r.op, *r.out, made.dtype(), r.out_type);
    write_out(r.op, *r.out, made);
  }
  results[0] = Value(r.out ? *r.out : made);
}
template <int opcode>
void run_bound(void*, const Operator& op, const Arg* args, Value* results) {  // clamp_min, clamp_max
  const char* name = map_opcode(opcode).name;
  MapInput in[2] = {map_input(args[0]), map_input(args[1])};
  FC_CHECK_AS(NotImplementedError, in[1].tensor || !in[1].scalar.is_complex(),
              "clamp is not supported for complex types");
  DType common = result_type(in);
  MapRequest r{.op = name, .opcode = opcode, .inputs = in, .compute = common};
  set_target(r, op, args);
  if (!is_wide_unsigned(common)) check_kind(r, in[1].tensor ? "c" : "bc", common);
  if (!in[1].tensor) in[1].scalar = clamp_bound(name, in[1].scalar, opcode == FC_MAP_clamp_min, common);
  if (is_wide_unsigned(common)) {
    const bool low = opcode == FC_MAP_clamp_min;
    return run_wide_clamp(r, op, low ? &in[1] : nullptr, low ? nullptr : &in[1], results);
  }
  results[0] = Value(run_pointwise(r));
}
void run_clamp(void*, const Operator& op, const Arg* args, Value* results) {
  FC_CHECK(!args[1].is_none() || !args[2].is_none(), "torch.clamp: At least one of 'min' or 'max' must not be None");
  MapInput in[3] = {map_input(args[0])};
  size_t n = 1;
  for (int i = 1; i < 3; ++i)
    if (!args[i].is_none()) in[n++] = map_input(args[i]);
  DType common = result_type({in, n});
  int opcode = n == 3 ? FC_MAP_clamp : args[2].is_none() ? FC_MAP_clamp_min : FC_MAP_clamp_max;
  MapRequest r{.op = "clamp", .opcode = opcode, .inputs = {in, n}, .compute = common};
  set_target(r, op, args);
  if (is_complex(common)) {
    if (r.out) check_out_type(r.op, *r.out, common, r.out_type);
    raise<NotImplementedError>("clamp is not supported for complex types");
  }
  if (!is_wide_unsigned(common) && (n == 3 || !in[1].tensor)) check_kind(r, "b", common);
  for (size_t i = 1; i < n; ++i)
    if (!in[i].tensor) in[i].scalar = clamp_bound("clamp", in[i].scalar, i == 1 && !args[1].is_none(), common);
  if (is_wide_unsigned(common))
    return run_wide_clamp(r, op, args[1].is_none() ? nullptr : &in[1], args[2].is_none() ? nullptr : &in[n - 1],
                          results);
  results[0] = Value(run_pointwise(r));
}

// On a bound that is a number no gradient flows; with a bound that is a tensor, x shares it. A bound that was None is
// saved as an undefined tensor.
void clamp_grad(Grad& g) {
  Tensor x = g.in(0), lo = g.in(1), hi = g.in(2), inside = lo.defined() ? gt(x, lo) : lt(x, hi);
  if (lo.defined() && hi.defined()) inside = logical_and(inside, lt(x, hi));
  g.set(0, where(inside, G, 0));
}
void clamp_by_one(Grad& g, int bound, const Tensor& x_loses, const Tensor& bound_loses) {
  Tensor shared = where(eq(g.in(0), g.in(bound)), mul(G, 0.5), G);
  if (g.needs(0)) g.set(0, where(x_loses, 0, shared));
  if (g.needs(bound)) g.set(bound, where(bound_loses, 0, shared));
}
void clamp_min_grad(Grad& g, int bound) { clamp_by_one(g, bound, lt(g.in(0), g.in(bound)), gt(g.in(0), g.in(bound))); }
void clamp_max_grad(Grad& g, int bound) { clamp_by_one(g, bound, gt(g.in(0), g.in(bound)), lt(g.in(0), g.in(bound))); }
void clamp_tensor_grad(Grad& g) {
  Tensor x = g.in(0), lo = g.in(1), hi = g.in(2);
  if (!hi.defined()) return clamp_min_grad(g, 1);
  if (!lo.defined()) return clamp_max_grad(g, 2);
  Tensor apart = lt(lo, hi), ordered = le(lo, hi), half = mul(G, 0.5);
  Tensor on_lo = logical_and(eq(x, lo), apart), on_hi = logical_and(eq(x, hi), apart);
  Tensor below = lt(x, lo), above = gt(x, hi);
  if (g.needs(0)) g.set(0, where(logical_or(below, above), 0, where(logical_or(on_lo, on_hi), half, G)));
  if (g.needs(1)) g.set(1, where(logical_and(below, ordered), G, where(on_lo, half, 0)));
  if (g.needs(2)) g.set(2, where(logical_or(logical_and(above, ordered), gt(lo, hi)), G, where(on_hi, half, 0)));
}

// --- lerp: no promotion between its tensors
void run_lerp(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[3] = {map_input(args[0]), map_input(args[1]), map_input(args[2])};
  DType t = in[0].tensor->dtype();
  auto same = [&](const Tensor& other, const char* what) {
    FC_CHECK(other.dtype() == t, "lerp: expected dtype ", t, " for `", what, "` but got dtype ", other.dtype(), " (",
             info(t).legacy, " and ", info(other.dtype()).legacy, ")");
  };
  same(*in[1].tensor, "end");
  if (in[2].tensor) same(*in[2].tensor, "weight");
  check_kind("lerp", "bi", t);
  MapRequest r{.op = "lerp", .opcode = FC_MAP_lerp, .inputs = in, .compute = t, .exact_input = 2};
  set_target(r, op, args);
  results[0] = Value(run_pointwise(r));
}

void lerp_grad(Grad& g) {
  if (g.needs(0)) g.set(0, mul(G, rsub(conj(g.in(2)), 1)));
  if (g.needs(1)) g.set(1, mul(G, conj(g.in(2))));
  if (g.needs(2)) g.set(2, mul(G, conj(sub(g.in(1), g.in(0)))));
}

// --- self + value * tensor1 (*|/) tensor2
template <int opcode>
void run_addc(void*, const Operator& op, const Arg* args, Value* results) {
  const char* name = map_opcode(opcode).name;
  const MapInput in[3] = {map_input(args[0]), map_input(args[1]), map_input(args[2])};
  DType common = result_type(in);
  FC_CHECK(opcode != FC_MAP_addcdiv || !is_integral(result_type({in + 1, 2}), true),
           "Integer division with addcdiv is no longer supported: divide in floating point, (self + value * tensor1 / "
           "tensor2), or use torch.div with a rounding_mode; tensor1 is ",
           in[1].tensor->dtype(), ", tensor2 ", in[2].tensor->dtype());
  check_kind(name, "b", common);
  const Scalar value = args[3].scalar();
  FC_CHECK(is_floating(common) || is_complex(common) || value.is_integral(true), name,
           ": For integral input tensors, argument value must not be a floating point number.");
  check_fits(name, value, common);
  MapRequest r{.op = name, .opcode = opcode, .inputs = in, .params = {&value, 1}, .compute = common};
  set_target(r, op, args);
  results[0] = Value(run_pointwise(r));
}

void addcmul_grad(Grad& g) {
  const Scalar value = g.arg(3).scalar();
  if (g.needs(0)) g.set(0, G);
  if (g.needs(1)) g.set(1, mul(G, conj(mul(g.in(2), value))));
  if (g.needs(2)) g.set(2, mul(G, conj(mul(g.in(1), value))));
}
void addcdiv_grad(Grad& g) {
  const Scalar value = g.arg(3).scalar();
  if (g.needs(0)) g.set(0, G);
  if (g.needs(1)) g.set(1, mul(G, conj(mul(reciprocal(g.in(2)), value))));
  if (g.needs(2)) g.set(2, neg(mul(G, conj(mul(div(g.in(1), mul(g.in(2), g.in(2))), value)))));
}

constexpr OpDef defs[] = {
    {.schema = "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     .all = {run_where},
     .saves = "condition",
     .grad = where_grad,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .devices = Devices::Numbers},
    {.schema = "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
     .all = {run_where},
     .saves = "condition",
     .grad = where_grad,
     .devices = Devices::Numbers},
    {.schema = "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
     .all = {run_where},
     .saves = "condition",
     .grad = where_grad,
     .devices = Devices::Numbers},
    {.schema = "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
     .all = {run_where},
     .differentiable = false},
    {.schema = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .doc = "Each element limited to the range from min to max.",
     .node = "ClampBackward1",
     .all = {run_clamp},
     .saves = "self min max",
     .grad = clamp_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .devices = Devices::Numbers},
    {.schema = "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     .all = {run_clamp},
     .saves = "self min max",
     .grad = clamp_tensor_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers},
    {.schema = "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
     .doc = "start + weight * (end - start), element by element.",
     .all = {run_lerp},
     .saves = "weight",
     .grad = lerp_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers,
     .map = {FC_MAP_lerp, 3, 0}},
    {.schema = "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
     .node = "LerpBackward1",
     .all = {run_lerp},
     .saves = "weight self:weight end:weight",
     .grad = lerp_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .devices = Devices::Numbers,
     .map = {FC_MAP_lerp, 3, 0}},
    {.schema = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     .doc = "input + value * tensor1 * tensor2, element by element.",
     .all = {run_addc<FC_MAP_addcmul>},
     .saves = "tensor1:tensor2 tensor2:tensor1 value",
     .grad = addcmul_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers,
     .map = {FC_MAP_addcmul, 3, 1}},
    {.schema = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     .doc = "input + value * tensor1 / tensor2, element by element.",
     .all = {run_addc<FC_MAP_addcdiv>},
     .saves = "tensor1:tensor2 tensor2 value",
     .grad = addcdiv_grad,
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers,
     .map = {FC_MAP_addcdiv, 3, 1}},
    {.schema = "clamp_min(Tensor self, Scalar min) -> Tensor",
     .doc = "Each element limited from below.",
     .all = {run_bound<FC_MAP_clamp_min>},
     .saves = "self min",
     .grad = [](Grad& g) { g.set(0, where(gt(g.in(0), g.in(1)), G, 0)); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .devices = Devices::Numbers,
     .map = {FC_MAP_clamp_min, 2, 0}},
    {.schema = "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
     .node = "ClampMinBackward1",
     .all = {run_bound<FC_MAP_clamp_min>},
     .saves = "self min",
     .grad = [](Grad& g) { clamp_min_grad(g, 1); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers,
     .map = {FC_MAP_clamp_min, 2, 0}},
    {.schema = "clamp_max(Tensor self, Scalar max) -> Tensor",
     .doc = "Each element limited from above.",
     .all = {run_bound<FC_MAP_clamp_max>},
     .saves = "self max",
     .grad = [](Grad& g) { g.set(0, where(lt(g.in(0), g.in(1)), G, 0)); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .devices = Devices::Numbers,
     .map = {FC_MAP_clamp_max, 2, 0}},
    {.schema = "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
     .node = "ClampMaxBackward1",
     .all = {run_bound<FC_MAP_clamp_max>},
     .saves = "self max",
     .grad = [](Grad& g) { clamp_max_grad(g, 1); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .devices = Devices::Numbers,
     .map = {FC_MAP_clamp_max, 2, 0}},
};

#undef G

}  // namespace

void define_ternary() { define_all(defs); }

}  // namespace fc
