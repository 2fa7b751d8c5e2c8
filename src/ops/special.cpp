// SPDX-License-Identifier: Apache-2.0
// Special functions of statistics and physics: one row each; the formulas are in facula/formulas/special.def.
#include "define/calls.h"
#include "facula/opcodes/math.h"
#include "facula/opcodes/special.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

#define G (g.out())
#define A (g.in(0))
#define B (g.in(1))
#define Y (g.result())

constexpr double two_over_sqrt_pi = 1.12837916709551257390, sqrt_two_pi = 2.50662827463100050242;

// f(x) / x where x is not 0, and its limit there.
Tensor over_x(const Tensor& f, const Tensor& x, double limit) { return where(eq(x, 0), limit, div(f, x)); }
// Those of order 1 have the derivative f0(x) - f1(x) / x, up to signs.
template <FixedString zero>
void order_one_grad(Grad& g) {
  Tensor x = A;
  g.set(0, mul(G, sub(call<zero, Tensor>(x), over_x(Y, x, 0.5))));
}
template <FixedString one>
void minus_order_one_grad(Grad& g) {
  g.set(0, neg(mul(G, call<one, Tensor>(A))));
}

// With f(x) = x^(a-1) e^-x / gamma(a): the derivative of P by x is f, and by a what moves the quantile, times -f.
void igamma_grads(Grad& g, double sign) {
  const Tensor a = expand(A, G.sizes()), x = expand(B, G.sizes());
  Tensor flow = mul(mul(G, sign), exp(sub(sub(mul(sub(a, 1), log(x)), x), call<"aten::lgamma", Tensor>(a))));
  if (g.needs(0)) g.set(0, neg(mul(flow, call<"aten::_standard_gamma_grad", Tensor>(a, x))));
  if (g.needs(1)) g.set(1, flow);
}

void zeta_grad(Grad& g) {
  FC_CHECK_AS(NotImplementedError, !g.needs(0), "the derivative for 'zeta' is not implemented.");
  if (g.needs(1)) g.set(1, neg(mul(G, mul(A, call<"aten::special_zeta", Tensor>(add(A, 1), B)))));
}

#define UNARY(NAME, X, OPCODE, DOC, ...)                                                                      \
  {                                                                                                           \
    .schema = "special_" NAME "(Tensor " X ") -> Tensor", .doc = DOC, .opcode = FC_MAP_##OPCODE, .inputs = 1, \
    .promote = Promote::Float, .refuses = "c", __VA_ARGS__ __VA_OPT__(, ).out = true                          \
  }
#define TWO_FORMS(NAME, SIGNATURE, OPCODE, DOC, ...)                                           \
  {                                                                                            \
    .schema = NAME SIGNATURE " -> Tensor", .doc = DOC, .opcode = FC_MAP_##OPCODE, .inputs = 2, \
    .promote = Promote::Float, .refuses = "c", __VA_ARGS__ __VA_OPT__(, ).out = true           \
  }
#define POLYNOMIAL(OPCODE, DOC)                                                    \
  TWO_FORMS("special_" #OPCODE, "(Tensor x, Tensor n)", OPCODE, DOC),              \
      TWO_FORMS("special_" #OPCODE, ".x_scalar(Scalar x, Tensor n)", OPCODE, DOC), \
      TWO_FORMS("special_" #OPCODE, ".n_scalar(Tensor x, Scalar n)", OPCODE, DOC)

// clang-format off
constexpr MapRow rows[] = {
    {.schema = "igamma(Tensor self, Tensor other) -> Tensor",
     .doc = "The regularised lower incomplete gamma function P(input, other).",
     .opcode = FC_MAP_igamma, .inputs = 2, .refuses = "bic", .saves = "self other",
     .grad = [](Grad& g) { igamma_grads(g, 1); }, .in_place = true, .out = true},
    {.schema = "igammac(Tensor self, Tensor other) -> Tensor",
     .doc = "The regularised upper incomplete gamma function Q(input, other) = 1 - P(input, other).",
     .opcode = FC_MAP_igammac, .inputs = 2, .refuses = "bic", .saves = "self other",
     .grad = [](Grad& g) { igamma_grads(g, -1); }, .in_place = true, .out = true},
#define ZETA(SIGNATURE) TWO_FORMS("special_zeta", SIGNATURE, zeta, "The Hurwitz zeta function: the sum of (other + k) ** -input over k = 0, 1, ...", .saves = "self other", .grad = zeta_grad)
    ZETA("(Tensor self, Tensor other)"),
    ZETA(".self_scalar(Scalar self, Tensor other)"),
    ZETA(".other_scalar(Tensor self, Scalar other)"),
#undef ZETA
    UNARY("erfcx", "self", special_erfcx, "exp(x ** 2) * erfc(x), without overflow or cancellation.", .saves = "self result",
          .grad = [](Grad& g) { g.set(0, mul(G, sub(mul(mul(A, Y), 2), two_over_sqrt_pi))); }),
    UNARY("ndtri", "self", ndtri, "The inverse of the normal distribution function.", .saves = "result",
          .grad = [](Grad& g) { g.set(0, mul(G, mul(exp(mul(mul(Y, Y), 0.5)), sqrt_two_pi))); }),
    UNARY("i0e", "self", i0e, "exp(-|x|) * i0(x), without overflow.", .saves = "self result",
          .grad = [](Grad& g) { g.set(0, mul(G, sub(call<"aten::special_i1e", Tensor>(A), mul(sgn(A), Y)))); }),
    UNARY("i1e", "self", i1e, "exp(-|x|) * i1(x), without overflow.", .saves = "self result", .grad = [](Grad& g) {
            Tensor x = A;
            g.set(0, mul(G, sub(call<"aten::special_i0e", Tensor>(x), add(mul(sgn(x), Y), over_x(Y, x, 0.5)))));
          }),
    UNARY("bessel_j0", "self", bessel_j0, "The Bessel function of the first kind of order 0.", .saves = "self",
          .grad = minus_order_one_grad<"aten::special_bessel_j1">),
    UNARY("bessel_j1", "self", bessel_j1, "The Bessel function of the first kind of order 1.", .saves = "self result",
          .grad = order_one_grad<"aten::special_bessel_j0">),
    UNARY("bessel_y0", "self", bessel_y0, "The Bessel function of the second kind of order 0.", .saves = "self",
          .grad = minus_order_one_grad<"aten::special_bessel_y1">),
    UNARY("bessel_y1", "self", bessel_y1, "The Bessel function of the second kind of order 1.", .saves = "self result",
          .grad = order_one_grad<"aten::special_bessel_y0">),
    UNARY("modified_bessel_i0", "self", i0, "The modified Bessel function of the first kind of order 0.", .saves = "self",
          .grad = [](Grad& g) { g.set(0, mul(G, call<"aten::special_modified_bessel_i1", Tensor>(A))); }),
    UNARY("modified_bessel_i1", "self", i1, "The modified Bessel function of the first kind of order 1.",
          .saves = "self result", .grad = order_one_grad<"aten::special_modified_bessel_i0">),
    UNARY("modified_bessel_k0", "self", modified_bessel_k0, "The modified Bessel function of the second kind of order 0.",
          .saves = "self", .grad = minus_order_one_grad<"aten::special_modified_bessel_k1">),
    UNARY("modified_bessel_k1", "self", modified_bessel_k1, "The modified Bessel function of the second kind of order 1.",
          .saves = "self result", .grad = [](Grad& g) {
            g.set(0, neg(mul(G, add(call<"aten::special_modified_bessel_k0", Tensor>(A), div(Y, A)))));
          }),
    UNARY("scaled_modified_bessel_k0", "x", scaled_modified_bessel_k0, "exp(x) * modified_bessel_k0(x), without underflow."),
    UNARY("scaled_modified_bessel_k1", "x", scaled_modified_bessel_k1, "exp(x) * modified_bessel_k1(x), without underflow."),
    UNARY("spherical_bessel_j0", "x", spherical_bessel_j0, "The spherical Bessel function of the first kind of order 0: sin(x) / x."),
    UNARY("airy_ai", "x", airy_ai, "The Airy function Ai."),
    POLYNOMIAL(chebyshev_polynomial_t, "The Chebyshev polynomial of the first kind of degree n."),
    POLYNOMIAL(chebyshev_polynomial_u, "The Chebyshev polynomial of the second kind of degree n."),
    POLYNOMIAL(chebyshev_polynomial_v, "The Chebyshev polynomial of the third kind of degree n."),
    POLYNOMIAL(chebyshev_polynomial_w, "The Chebyshev polynomial of the fourth kind of degree n."),
    POLYNOMIAL(shifted_chebyshev_polynomial_t, "The Chebyshev polynomial of the first kind of 2 * x - 1, of degree n."),
    POLYNOMIAL(shifted_chebyshev_polynomial_u, "The Chebyshev polynomial of the second kind of 2 * x - 1, of degree n."),
    POLYNOMIAL(shifted_chebyshev_polynomial_v, "The Chebyshev polynomial of the third kind of 2 * x - 1, of degree n."),
    POLYNOMIAL(shifted_chebyshev_polynomial_w, "The Chebyshev polynomial of the fourth kind of 2 * x - 1, of degree n."),
    POLYNOMIAL(hermite_polynomial_h, "The Hermite polynomial of degree n, of physics."),
    POLYNOMIAL(hermite_polynomial_he, "The Hermite polynomial of degree n, of statistics."),
    POLYNOMIAL(laguerre_polynomial_l, "The Laguerre polynomial of degree n; NaN for n beyond 2 ** 20."),
    POLYNOMIAL(legendre_polynomial_p, "The Legendre polynomial of degree n; NaN for n beyond 2 ** 20."),
};
// clang-format on

}  // namespace

void define_special() { define_map_rows(rows); }

}  // namespace fc
