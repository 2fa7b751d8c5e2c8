// SPDX-License-Identifier: Apache-2.0
// Unary operators with parameters that are no activations: nan_to_num, round to decimals, polygamma.
#include <cmath>

#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/derivative.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

using F = Promote;
#define G (g.out())

void run_nan_to_num(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  DType t = in.tensor->dtype();
  double largest = t == DType::Float16            ? 65504.0
                   : t == DType::BFloat16         ? 0x1.FEp127
                   : real_of(t) == DType::Float64 ? 0x1.FFFFFFFFFFFFFp1023
                                                  : 0x1.FFFFFEp127;
  if (is_integral(t, true)) largest = 0;  // integers have no such values; nothing may overflow on the way
  const Scalar params[] = {args[1].is_none() ? 0.0 : args[1].real(), args[2].is_none() ? largest : args[2].real(),
                           args[3].is_none() ? -largest : args[3].real()};
  if (is_integral(t, true)) {
    const Scalar none[] = {0, 0, 0};
    run_map("nan_to_num", FC_MAP_nan_to_num, {&in, 1}, none, F::Same, "", op, args, results);
  } else {
    run_map("nan_to_num", FC_MAP_nan_to_num, {&in, 1}, params, F::Same, "", op, args, results);
  }
}

void run_round_decimals(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[0]);
  const int64_t decimals = args[1].integer();
  double power = 1;
  for (int64_t i = std::abs(std::clamp<int64_t>(decimals, -400, 400)); i > 0; --i) power *= 10;
  const Scalar scale = decimals < 0 ? -power : power;
  if (decimals == 0) run_map("round", FC_MAP_round, {&in, 1}, {}, F::Same, "bc", op, args, results);
  else run_map("round", FC_MAP_round_decimals, {&in, 1}, {&scale, 1}, F::Same, "bic", op, args, results);
}

// Of large orders only odd or even matters: n! is infinite.
int64_t bounded_order(int64_t n) { return n > 1000 ? 1000 + n % 2 : n; }

// polygamma_ takes its tensor first, the others second.
void run_polygamma(void*, const Operator& op, const Arg* args, Value* results) {
  const MapInput in = map_input(args[op.is_in_place ? 0 : 1]);
  const Scalar n = args[op.is_in_place ? 1 : 0].integer();
  FC_CHECK(n.to_int() >= 0, "polygamma(n, x) does not support negative n: n is ", n.to_int());
  const Scalar order = bounded_order(n.to_int());
  run_map("polygamma", FC_MAP_polygamma, {&in, 1}, {&order, 1}, F::Float, "c", op, args, results);
}

constexpr OpDef defs[] = {
    {.schema = "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
     .doc = "The tensor with NaN and infinities replaced by numbers.",
     .all = {run_nan_to_num},
     .saves = "self",
     .grad = [](Grad& g) { g.set(0, where(isfinite(g.in(0)), G, 0)); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .keeps_zero = KeepsZero::Function},
    {.schema = "round.decimals(Tensor self, *, int decimals) -> Tensor",
     .node = "RoundBackward1",
     .all = {run_round_decimals},
     .grad = [](Grad& g) { g.set(0, zeros_like(G)); },
     .in_place = true,
     .out = true,
     .own_forms = true,
     .out_type = OutType::Exact,
     .keeps_zero = KeepsZero::Function},
    {.schema = "polygamma(int n, Tensor self) -> Tensor",
     .doc = "The n-th derivative of the digamma function.",
     .all = {run_polygamma},
     .saves = "n self",
     .grad = [](Grad& g) { g.set(1, mul(G, polygamma(bounded_order(g.arg(0).integer()) + 1, g.in(1)))); },
     .out = true,
     .own_forms = true},
    {.schema = "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
     .all = {run_polygamma},
     .saves = "n self",
     .grad = [](Grad& g) { g.set(0, mul(G, polygamma(bounded_order(g.arg(1).integer()) + 1, g.in(0)))); }},
};
#undef G

}  // namespace

void define_unary_parameters() { define_all(defs); }

}  // namespace fc
