// SPDX-License-Identifier: Apache-2.0
// pow in its three forms, and float_power. Exponents with a formula of their own (0.5, 2, 3, -1, …) are computed with
// it, as PyTorch does, so that squares are exact and fast.
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

#define G (g.out())

// The unary formula that x ** exponent is, or -1.
int short_form(const Scalar& exponent, DType common) {
  if (exponent.is_complex()) return -1;
  const double e = exponent.to_double();
  if (e == 1) return FC_MAP_positive;
  if (e == 2) return FC_MAP_square;
  if (e == 3) return FC_MAP_cube;
  if (is_integral(common, true)) return -1;
  if (e == 0.5) return FC_MAP_sqrt;
  if (e == -0.5) return FC_MAP_rsqrt;
  if (e == -1) return FC_MAP_reciprocal;
  if (e == -2) return FC_MAP_inverse_square;
  return -1;
}

void run_pow(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in[2] = {map_input(args[0]), map_input(args[1])};
  DType common = result_type(in);
  check_kind("pow", in[0].tensor && in[1].tensor ? "b" : "", common);
  MapRequest r{.op = "pow", .opcode = FC_MAP_pow, .inputs = in, .compute = common};
  if (!in[1].tensor) {
    const Scalar& e = in[1].scalar;
    FC_CHECK(!is_integral(common, true) || e.to_int() >= 0,
             "Integers to negative integer powers are not allowed: pow: exponent is ", to_string(e));
    if (int opcode = common == DType::Bool ? -1 : short_form(e, common); opcode >= 0) {
      r.opcode = opcode;
      r.inputs = {in, 1};
    }
  }
  set_target(r, op, args);
  results[0] = Value(run_pointwise(r));
}

void grad_base_tensor(Grad& g, int base, const Tensor& exponent) {  // exponent * base ^ (exponent - 1), 0 at exponent 0
  Tensor slope = conj(mul(exponent, pow(g.in(base), sub(exponent, 1))));
  g.set(base, where(eq(exponent, 0), 0, mul(G, slope)));
}
void grad_exponent(Grad& g, int at, const Tensor& base, const Tensor& exponent) {  // result * log(base), 0 at 0 ^ >=0
  Tensor real = is_complex(exponent.dtype()) ? call<"aten::real", Tensor>(exponent) : exponent;
  Tensor slope = where(logical_and(eq(base, 0), ge(real, 0)), 0, mul(g.result(), log(base)));
  g.set(at, mul(G, conj(slope)));
}

constexpr OpDef defs[] = {
    {.schema = "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .doc = "input to the power of exponent, element by element.",
     .node = "PowBackward1",
     .all = {run_pow},
     .saves = "self exponent result:exponent",
     .grad =
         [](Grad& g) {
           Tensor exponent = g.in(1);
           if (g.needs(0)) grad_base_tensor(g, 0, exponent);
           if (g.needs(1)) grad_exponent(g, 1, g.in(0), exponent);
         },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .autocast = Autocast::Float32,
     .devices = Devices::Numbers},
    {.schema = "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .all = {run_pow},
     .saves = "self exponent",
     .grad =
         [](Grad& g) {
           const Scalar e = g.arg(1).scalar();
           if (e.is_zero()) {
             g.set(0, zeros_like(G));
             return;
           }
           ComplexDouble c = e.to_complex();
           Scalar less = e.is_complex()                                  ? Scalar(ComplexDouble{c.re - 1, c.im})
                         : e.is_integral(true) && e.to_int() > INT64_MIN ? Scalar(e.to_int() - 1)
                                                                         : Scalar(e.to_double() - 1);
           const bool square = !e.is_complex() && e.to_double() == 2;  // the first power is a copy
           g.set(0, mul(G, conj(mul(square ? g.in(0) : pow(g.in(0), less), e))));
         },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .autocast = Autocast::Float32},
    {.schema = "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .node = "PowBackward2",
     .all = {run_pow},
     .saves = "self exponent result",
     .grad = [](Grad& g) { grad_exponent(g, 1, g.in(0), g.in(1)); },
     .out = true,
     .own_forms = true,
     .autocast = Autocast::Float32},
};

#undef G

// --- float_power: the same in double precision
DType double_of(std::span<const MapInput> in) {
  for (const MapInput& i : in)
    if (i.tensor ? is_complex(i.tensor->dtype()) : i.scalar.is_complex()) return DType::Complex128;
  return DType::Float64;
}
Tensor float_power_tensors(const Tensor& self, const Tensor& exponent) {
  const MapInput in[2] = {{&self, {}}, {&exponent, {}}};
  DType t = double_of(in);
  return pow(to_dtype(self, t), to_dtype(exponent, t));
}
Tensor float_power_number(const Tensor& self, const Scalar& exponent) {
  const MapInput in[2] = {{&self, {}}, {nullptr, exponent}};
  return pow(to_dtype(self, double_of(in)), exponent);
}
Tensor float_power_base(const Scalar& self, const Tensor& exponent) {
  const MapInput in[2] = {{nullptr, self}, {&exponent, {}}};
  return call<"aten::pow.Scalar", Tensor>(self, to_dtype(exponent, double_of(in)));
}

// In place only in what is in double precision already.
void check_double(const Tensor& self, DType t) {
  FC_CHECK(self.dtype() == t, "the base given to float_power_ has dtype ", info(self.dtype()).legacy,
           " but the operation's result requires dtype ", info(t).legacy);
}
Tensor float_power_in_place(const Tensor& self, const Tensor& exponent) {
  const MapInput in[2] = {{&self, {}}, {&exponent, {}}};
  check_double(self, double_of(in));
  return call<"aten::pow_.Tensor_Tensor", Tensor>(self, to_dtype(exponent, self.dtype()));
}
Tensor float_power_number_in_place(const Tensor& self, const Scalar& exponent) {
  const MapInput in[2] = {{&self, {}}, {nullptr, exponent}};
  check_double(self, double_of(in));
  return call<"aten::pow_.Tensor_Scalar", Tensor>(self, exponent);
}

constexpr OpDef float_powers[] = {
    {.schema = "float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
     .composite = kernel<&float_power_in_place>()},
    {.schema = "float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
     .composite = kernel<&float_power_number_in_place>()},
    {.schema = "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .doc = "input to the power of exponent, computed in double precision.",
     .composite = kernel<&float_power_tensors>(),
     .out = true},
    {.schema = "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .composite = kernel<&float_power_number>(),
     .out = true},
    {.schema = "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .composite = kernel<&float_power_base>(),
     .out = true},
};

}  // namespace

void define_power() {
  define_all(defs);
  define_all(float_powers);
}

}  // namespace fc
