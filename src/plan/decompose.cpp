// SPDX-License-Identifier: Apache-2.0
// Every pointwise formula beyond the base set (opcodes up to `where`), written in the base set, and every reduction
// beyond FC_REDUCE_ALL: what runs on a device that lacks the opcode, before the CPU is asked. One row per formula;
// tests/backends/test_decompose.py holds each to the accuracy given here against the CPU's own formula:
//
//   exact or the CPU's own expression   comparisons, rounding, signs, logic, bits, fmod, clamp, piecewise activations
//   8 ulp   expm1 log1p tanh sinh cosh asinh acosh atanh tan asin acos atan atan2 hypot erf erfc special_erfcx, and
//           the activations made of them (gelu, mish, softplus, elu …); 32 ulp gelu_tanh_backward, mish_backward
//   1e-12 (float64) or 1e-5 (float32) of 1 + |result|   lgamma digamma polygamma erfinv i0
//
// erf and its relatives use W. J. Cody's rational approximations (Math. Comp. 23, 1969). Complex numbers are decomposed
// where the formula is plain arithmetic; what takes them apart (real, imag, angle …) is left to the CPU.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "facula/opcodes.h"
#include "define/calls.h"
#include "define/row.h"
#include "plan/pointwise.h"
#include "plan/reduce.h"

namespace fc {
namespace {

// A tensor on the device, or a number. Operators on it call the device at once; when the device does not do one of
// them, `failed` is set and everything after it does nothing.
struct E {
  Tensor tensor;
  Scalar number;
  E(Tensor t) : tensor(std::move(t)) {}
  E(double v) : number(v) {}
  E(int v) : number(v) {}
  E(const Scalar& v) : number(v) {}
  bool is_bool() const { return tensor.defined() && tensor.dtype() == DType::Bool; }
};

struct Program {
  DType compute;
  bool failed = false;
};
thread_local Program* program = nullptr;

E run(int opcode, std::initializer_list<const E*> args, Promote promote = Promote::Same, Scalar alpha = 1) {
  if (program->failed) return 0;
  MapInput inputs[FC_MAX_INPUTS];
  size_t n = 0;
  bool all_bool = true;
  for (const E* e : args) {
    if (e->tensor.defined()) inputs[n].tensor = &e->tensor;
    else inputs[n].number = e->number;
    all_bool &= e->is_bool();
    ++n;
  }
  // Conditions are combined as bool, all else is computed in the formula's type.
  MapRequest r{.op = "decomposition", .opcode = opcode, .promote = promote, .inputs = {inputs, n}};
  r.compute = all_bool ? DType::Bool : program->compute;
  if (opcode == FC_MAP_add || opcode == FC_MAP_sub) r.params = {&alpha, 1};
  Tensor result;
  if (!try_map(r, result)) program->failed = true;
  return program->failed ? E(0) : E(result);
}

// --- the base set
#define UNARY(name, code) \
  E name(const E& x) { return run(FC_MAP_##code, {&x}); }
#define BINARY(name, code) \
  E name(const E& a, const E& b) { return run(FC_MAP_##code, {&a, &b}); }
#define TEST(name, code) \
  E name(const E& a, const E& b) { return run(FC_MAP_##code, {&a, &b}, Promote::Compare); }
UNARY(abs, abs)
UNARY(exp, exp)
UNARY(log, log)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(sqrt, sqrt)
UNARY(reciprocal, reciprocal)
UNARY(floor, floor)
UNARY(trunc, trunc)
UNARY(operator-, neg)
BINARY(operator+, add)
BINARY(operator-, sub)
BINARY(operator*, mul)
BINARY(operator/, div)
BINARY(div_floor, div_floor)
BINARY(modulo, remainder)
BINARY(power, pow)
BINARY(max, maximum)
BINARY(min, minimum)
BINARY(operator&, bitwise_and)
BINARY(operator|, bitwise_or)
BINARY(operator^, bitwise_xor)
TEST(operator<, lt)
TEST(operator<=, le)
TEST(operator==, eq)
TEST(operator!=, ne)
#undef UNARY
#undef BINARY
#undef TEST
E operator>(const E& a, const E& b) { return b < a; }
E operator>=(const E& a, const E& b) { return b <= a; }
E operator!(const E& x) { return run(FC_MAP_logical_not, {&x}, Promote::Predicate); }
E is_nan(const E& x) { return run(FC_MAP_isnan, {&x}, Promote::Predicate); }
E where(const E& c, const E& a, const E& b) { return run(FC_MAP_where, {&c, &a, &b}); }

// --- building blocks
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = std::numbers::pi, ln2 = std::numbers::ln2, half_pi = pi / 2;
bool single() { return program->compute == DType::Float32; }
bool floating() { return is_floating(program->compute); }

E with_sign(const E& negative, const E& magnitude) { return where(negative, -magnitude, magnitude); }
E sign_bit(const E& x) { return (x < 0) | ((x == 0) & (reciprocal(x) < 0)); }
E square(const E& x) { return x * x; }

template <size_t N>
E polynomial(const E& x, const double (&c)[N]) {  // highest power first
  E y = x * c[0] + c[1];
  for (size_t i = 2; i < N; ++i) y = y * x + c[i];
  return y;
}

// The errors of exp and of rounding 1 + x cancel: (u - 1) / log(u) is smooth.
E expm1(const E& x) {
  E u = exp(x), v = u - 1;
  E y = v * (x / log(u));
  return where(u == 1, x, where(v == -1, -1, where(u == inf, inf, y)));
}
E log1p(const E& x) {
  E u = x + 1;
  E y = log(u) * (x / (u - 1));
  return where(u == 1, x, where(u == inf, inf, y));
}
E tanh(const E& x) {
  E t = expm1(abs(x) * -2);
  return with_sign(x < 0, -t / (t + 2));
}
E sinh(const E& x) {
  E a = abs(x), e = expm1(a), h = exp(a * 0.5);
  return with_sign(x < 0, where(a < 20, (e + e / (e + 1)) * 0.5, h * 0.5 * h));
}
E cosh(const E& x) {
  E h = exp(abs(x) * 0.5);
  return h * 0.5 * h + E(0.5) / h / h;
}

// The angle is halved twice, so that the series starts below tan(pi/16).
E atan(const E& x) {
  E a = abs(x), large = a > 1;
  E z = where(large, reciprocal(a), a);
  for (int i = 0; i < 2; ++i) z = z / (sqrt(z * z + 1) + 1);
  double c[12];
  for (int k = 0; k < 12; ++k) c[11 - k] = (k % 2 ? -1.0 : 1.0) / (2 * k + 1);
  E y = z * polynomial(z * z, c) * 4;
  return with_sign(x < 0, where(large, E(half_pi) - y, y));
}
E atan2(const E& y, const E& x) {
  E ay = abs(y), ax = abs(x), both = (ay == inf) & (ax == inf);
  E angle = atan(where(both, 1, where((ay == 0) & (ax == 0), 0, ay / ax)));
  E result = with_sign(sign_bit(y), where(sign_bit(x), E(pi) - angle, angle));
  return where(is_nan(x) | is_nan(y), nan, result);
}
E asin(const E& x) { return atan(x / (sqrt((E(1) - x) * (x + 1)) + 1)) * 2; }
E acos(const E& x) { return atan(sqrt((E(1) - x) / (x + 1))) * 2; }
E asinh(const E& x) {
  E a = abs(x), y = log1p(a + a * a / (sqrt(a * a + 1) + 1));
  return with_sign(x < 0, where(a > 1e15, log(a) + ln2, y));
}
E acosh(const E& x) {
  E t = x - 1;
  return where(x < 1, nan, where(x > 1e15, log(x) + ln2, log1p(t + sqrt(t * 2 + t * t))));
}
E atanh(const E& x) {
  E a = abs(x);
  return with_sign(x < 0, log1p(a * 2 / (E(1) - a)) * 0.5);
}
E exp2(const E& x) { return power(2, x); }
E ceil(const E& x) { return floating() ? -floor(-x) : x; }
E round(const E& x) {  // halves go to the even neighbour
  if (!floating()) return x;
  E f = floor(x), d = x - f, odd = modulo(f, 2) != 0;
  return where((d > 0.5) | ((d == 0.5) & odd), f + 1, f);
}
E sign(const E& x) { return where(x > 0, 1, where(x < 0, -1, 0)); }
E sigmoid(const E& x) { return E(1) / (exp(-x) + 1); }

// exp(-y * y) without the rounding error of y * y: y is cut to sixteenths, whose squares are exact.
E exp_minus_square(const E& y) {
  E cut = trunc(y * 16) / 16;
  return exp(-(cut * cut)) * exp((cut - y) * (y + cut));
}
E erf_small(const E& x) {  // |x| <= 0.46875
  constexpr double p[] = {1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
                          3.20937758913846947e3};
  constexpr double q[] = {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                          2.84423683343917062e3};
  E s = x * x;
  return x * polynomial(s, p) / polynomial(s, q);
}
E erfcx_large(const E& y) {  // exp(y * y) * erfc(y), y > 0.46875
  constexpr double p[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594,
                          6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
                          1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
  constexpr double q[] = {1,
                          1.57449261107098347e1,
                          1.17693950891312499e2,
                          5.37181101862009858e2,
                          1.62138957456669019e3,
                          3.29079923573345963e3,
                          4.36261909014324716e3,
                          3.43936767414372164e3,
                          1.23033935480374942e3};
  constexpr double r[] = {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                          1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4};
  constexpr double s[] = {1,
                          2.56852019228982242,
                          1.87295284992346725,
                          5.27905102951428412e-1,
                          6.05183413124413191e-2,
                          2.33520497626869185e-3};
  E z = min(y, 4);  // keeps the unused branch finite
  E middle = polynomial(z, p) / polynomial(z, q);
  E w = reciprocal(y * y);
  E far = (E(0.56418958354775628695) - w * polynomial(w, r) / polynomial(w, s)) / y;
  return where(y <= 4, middle, far);
}
E erf(const E& x) {
  E y = abs(x), tail = E(1) - exp_minus_square(min(y, 10)) * erfcx_large(max(y, 0.46875));
  return where(y <= 0.46875, erf_small(x), with_sign(x < 0, tail));
}
E erfc(const E& x) {
  E y = abs(x), tail = exp_minus_square(min(y, 40)) * erfcx_large(max(y, 0.46875));
  return where(y <= 0.46875, E(1) - erf_small(x), where(x < 0, E(2) - tail, tail));
}
E erfcx(const E& x) {
  E y = abs(x), s = exp(x * x), big = erfcx_large(max(y, 0.46875));
  return where(y <= 0.46875, s * (E(1) - erf_small(x)), where(x < 0, s * 2 - big, big));
}
E erfinv(const E& v) {
  constexpr double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                             -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  E w = -log((E(1) - v) * (v + 1));  // M. Giles' start, then Newton's steps
  E x = where(w < 5, polynomial(w - 2.5, near), polynomial(sqrt(w) - 3, far)) * v;
  for (int i = 0; i < 2; ++i) x = x - (erf(x) - v) / (exp_minus_square(min(abs(x), 10)) * 1.12837916709551257390);
  return where(abs(v) == 1, v * inf, x);
}

// sin(pi x), exact at integers.
E sin_pi(const E& x) {
  E r = x - floor(x);
  return sin(where(r > 0.5, E(1) - r, r) * pi) * where(modulo(floor(x), 2) == 0, 1, -1);
}
E stirling(const E& x) {  // log gamma for x >= 8
  constexpr double c[] = {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + polynomial(reciprocal(x * x), c) / x;
}
E lgamma(const E& x) {
  E reflected = x < 0.5, y = where(reflected, E(1) - x, x);
  E product = 1, z = y, small = y < 8;
  for (int i = 0; i < 8; ++i) {
    product = i == 0 ? z : product * z;
    z = z + 1;
  }
  E g = where(small, stirling(where(small, z, 10)) - log(product), stirling(max(y, 8)));
  g = where(y == inf, inf, g);
  E below = where((x <= 0) & (floor(x) == x), inf, E(std::log(pi)) - log(abs(sin_pi(x))) - g);
  return where(abs(x) < (single() ? 1e-9 : 1e-17), -log(abs(x)), where(reflected, below, g));
}
E digamma(const E& x) {
  constexpr double c[] = {-1.0 / 12, 691.0 / 32760, -1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12};
  E negative = x < 0, part = x - trunc(x), angle = part * pi;
  E y = where(negative, E(1) - x, x), sum = y * 0;
  for (int i = 0; i < 10; ++i) {
    E low = y < 10;
    sum = where(low, sum - reciprocal(y), sum);
    y = where(low, y + 1, y);
  }
  E z = reciprocal(y * y);
  E value = sum + log(y) - E(0.5) / y + z * polynomial(z, c);
  value = where(negative, value - E(pi) * cos(angle) / sin(angle), value);
  return where(x == 0, -reciprocal(x), where(negative & (part == 0), nan, where(x == inf, inf, value)));
}
E polygamma(int n, const E& x) {  // x > -20
  if (n == 0) return digamma(x);
  constexpr double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
  double s = n + 1;
  E sum = x * 0, q = x;
  for (int i = 0; i < 32; ++i) {
    sum = sum + power(q, -s);
    q = q + 1;
  }
  sum = sum + power(q, 1 - s) / (s - 1) + power(q, -s) * 0.5;
  E term = power(q, -s - 1) * s;
  for (int i = 0; i < 5; ++i) {
    sum = sum + term * b[i];
    term = term * ((s + 2 * i + 1) * (s + 2 * i + 2)) / (q * q);
  }
  sum = where(x == inf, 0, where((x <= 0) & (floor(x) == x), inf, sum));
  return sum * ((n % 2 ? 1 : -1) * std::tgamma(n + 1.0));
}
E bessel(int order, const E& x) {  // of order 0 or 1
  E a = abs(x), q = square(min(a, 15)) * 0.25, sum = 1, term = 1;
  for (int k = 1; k < (single() ? 40 : 60); ++k) {
    term = (k == 1 ? q : term * q) / (static_cast<double>(k) * (k + order));
    sum = k == 1 ? term + 1 : sum + term;
  }
  if (order == 1) sum = sum * a * 0.5;
  E large = max(a, 15), r = reciprocal(large), far = 1, part = 1;
  for (int k = 1; k < 20; ++k) {
    double odd = 2 * k - 1;
    double factor = (odd * odd - 4 * order) / (8 * k);
    part = k == 1 ? r * factor : part * r * factor;
    far = k == 1 ? part + 1 : far + part;
  }
  E h = exp(large * 0.5);
  E y = where(a < 15, sum, h / (sqrt(large) * std::sqrt(2 * pi)) * far * h);
  return where(is_nan(x), x, order == 1 ? with_sign(x < 0, y) : y);
}

E fmod(const E& a, const E& b) { return with_sign(a < 0, modulo(abs(a), abs(b))); }
E div_trunc(const E& a, const E& b) {
  if (floating()) return trunc(a / b);
  E inexact = (modulo(a, b) != 0) & ((a < 0) != (b < 0));
  return where(inexact, div_floor(a, b) + 1, div_floor(a, b));
}
E hypot(const E& a, const E& b) {
  E x = abs(a), y = abs(b), big = max(x, y), ratio = min(x, y) / big;
  return where((x == inf) | (y == inf), inf, where(big == 0, 0, big * sqrt(ratio * ratio + 1)));
}
// Rump, Zimmermann, Boldo, Melquiond (BIT 49, 2009): neighbours by rounding to nearest.
E next_after(const E& a, const E& b) {
  double u = single() ? 0x1p-24 : 0x1p-53, tiny = single() ? 0x1p-149 : 0x1p-1074, phi = u * (1 + 2 * u);
  E size = abs(a), scaled = size / u;
  auto step = [&](const E& up) {  // away from zero if up, else towards it; for positive numbers
    E s = where(up, 1, -1);
    E normal = size + s * (size * phi), low = size + s * tiny, between = (scaled + s * (scaled * phi)) * u;
    return where(size >= 0.5 / u / u * tiny, normal, where(size < tiny / u, low, between));
  };
  E negative = a < 0, grow = where(negative, b<a, b> a);
  E moved = with_sign(negative | ((a == 0) & (b < 0)), step(grow | (a == 0)));
  double top = single() ? static_cast<double>(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
  moved = where(size == inf, where(negative, -top, top), moved);
  return where(is_nan(a) | is_nan(b), nan, where(a == b, b, moved));
}
E gcd(const E& a, const E& b) {
  E x = abs(a), y = abs(b);
  // Euclid's algorithm takes the most steps for neighbours in Fibonacci's sequence.
  int steps = static_cast<int>(1.45 * 8 * static_cast<double>(item_size(program->compute))) + 2;
  for (int i = 0; i < steps; ++i) {
    E done = y == 0, r = modulo(x, where(done, 1, y));
    x = where(done, x, y);
    y = where(done, 0, r);
  }
  return x;
}
E lcm(const E& a, const E& b) {
  E d = gcd(a, b), none = d == 0;
  return where(none, 0, abs(div_floor(a, where(none, 1, d)) * b));
}
E log_add_exp(const E& a, const E& b, double base_log) {
  E m = max(a, b), d = -abs(a - b);
  return where((abs(a) == inf) & (a == b), a, m + log1p(exp(d * base_log)) * (1 / base_log));
}
E gelu_inner(const E& x) { return (x + x * x * x * 0.044715) * 0.79788456080286535588; }
E no(const E& x) { return x != x; }  // for integers: false everywhere

// --- the rows: opcode, accepted kinds (b, i, f, c), formula of inputs and parameters
using Inputs = const E*;
using Params = const Scalar*;
struct Row {
  int opcode;
  const char* accepts;
  E (*formula)(Inputs in, Params p);
};
double d(Params p, int i = 0) { return p[i].to_double(); }

#define X in[0]
#define Y in[1]
#define Z in[2]
#define ROW(name, kinds, ...)                                                                                    \
  {                                                                                                              \
    FC_MAP_##name, kinds, []([[maybe_unused]] Inputs in, [[maybe_unused]] Params p) -> E { return __VA_ARGS__; } \
  }
// clang-format off
constexpr Row rows[] = {
    ROW(gt, "bif", X > Y), ROW(ge, "bif", X >= Y),
    ROW(tanh, "f", tanh(X)), ROW(erf, "f", erf(X)), ROW(log1p, "f", log1p(X)), ROW(expm1, "f", expm1(X)),
    ROW(rsqrt, "fc", reciprocal(sqrt(X))), ROW(tan, "fc", sin(X) / cos(X)),
    ROW(asin, "f", asin(X)), ROW(acos, "f", acos(X)), ROW(atan, "f", atan(X)), ROW(sinh, "f", sinh(X)),
    ROW(cosh, "f", cosh(X)), ROW(asinh, "f", asinh(X)), ROW(acosh, "f", acosh(X)), ROW(atanh, "f", atanh(X)),
    ROW(exp2, "fc", exp2(X)), ROW(log2, "fc", log(X) * (1 / ln2)), ROW(log10, "fc", log(X) * (1 / std::numbers::ln10)),
    ROW(ceil, "if", ceil(X)), ROW(round, "if", round(X)), ROW(frac, "f", X - trunc(X)),
    ROW(sign, "bif", sign(X)), ROW(sgn, "bif", sign(X)),
    ROW(signbit, "bif", floating() ? sign_bit(X) : X < 0), ROW(square, "bifc", X * X), ROW(cube, "ifc", X * X * X), ROW(inverse_square, "fc", reciprocal(X * X)), ROW(sigmoid, "fc", sigmoid(X)),
    ROW(erfc, "f", erfc(X)), ROW(erfinv, "f", erfinv(X)), ROW(lgamma, "f", lgamma(X)), ROW(digamma, "f", digamma(X)),
    ROW(isinf, "bif", floating() ? abs(X) == inf : no(X)), ROW(isfinite, "bif", floating() ? abs(X) < inf : X == X),
    ROW(isposinf, "bif", floating() ? X == inf : no(X)), ROW(isneginf, "bif", floating() ? X == -inf : no(X)),
    ROW(bitwise_not, "bi", X.is_bool() ? !X : X ^ -1), ROW(conj_physical, "bif", X), ROW(positive, "bifc", X), ROW(real, "bif", X),
    ROW(angle, "f", where(is_nan(X), X, where(X < 0, pi, 0))),
    ROW(relu, "if", where(X < 0, 0, X)), ROW(gelu, "f", X * 0.5 * (erf(X * 0.70710678118654752440) + 1)),
    ROW(gelu_tanh, "f", X * 0.5 * (tanh(gelu_inner(X)) + 1)), ROW(silu, "fc", X / (exp(-X) + 1)),
    ROW(mish, "f", X * tanh(log1p(exp(X)))),
    ROW(softplus, "f", where(X * d(p) > d(p, 1), X, log1p(exp(X * d(p))) * (1 / d(p)))),
    ROW(leaky_relu, "f", where(X > 0, X, X * d(p))),
    ROW(elu, "f", where(X < 0, expm1(X * d(p, 2)) * (d(p) * d(p, 1)), X * d(p, 1))),
    ROW(hardtanh, "if", where(X < p[0], p[0], where(X > p[1], p[1], X))),
    ROW(hardswish, "f", X * min(max(X + 3, 0), 6) / 6), ROW(hardsigmoid, "f", min(max(X + 3, 0), 6) / 6),
    ROW(log_sigmoid, "f", min(X, 0) - log1p(exp(-abs(X)))), ROW(threshold, "if", where(X <= p[0], p[1], X)),
    ROW(nan_to_num, "bif", floating() ? where(is_nan(X), p[0], where(X == inf, p[1], where(X == -inf, p[2], X))) : X),
    ROW(hardshrink, "f", where((X >= -d(p)) & (X <= d(p)), 0, X)),
    ROW(softshrink, "f", where(X > d(p), X - d(p), where(X < -d(p), X + d(p), X * 0))), ROW(prelu, "f", where(X > 0, X, X * Y)),
    ROW(deg2rad, "f", X * (pi / 180)), ROW(rad2deg, "f", X * (180 / pi)),
    ROW(sinc, "fc", where(X == 0, 1, sin(X * pi) / (X * pi))), ROW(i0, "f", bessel(0, X)), ROW(i1, "f", bessel(1, X)),
    ROW(logit, "f", [](const E& z) { return log(z / (E(1) - z)); }(d(p) < 0 ? X : where(X < d(p), d(p), min(X, 1 - d(p))))),
    ROW(round_decimals, "f", d(p) < 0 ? round(X / -d(p)) * -d(p) : round(X * d(p)) / d(p)),
    ROW(div_trunc, "if", div_trunc(X, Y)), ROW(fmod, "if", fmod(X, Y)), ROW(atan2, "f", atan2(X, Y)),
    ROW(fmax, "bif", floating() ? where(is_nan(X), Y, where(is_nan(Y), X, max(X, Y))) : max(X, Y)),
    ROW(fmin, "bif", floating() ? where(is_nan(X), Y, where(is_nan(Y), X, min(X, Y))) : min(X, Y)),
    ROW(hypot, "f", hypot(X, Y)), ROW(copysign, "f", with_sign(sign_bit(Y), abs(X))), ROW(nextafter, "f", next_after(X, Y)),
    ROW(logaddexp, "f", log_add_exp(X, Y, 1)), ROW(logaddexp2, "f", log_add_exp(X, Y, ln2)),
    ROW(xlogy, "f", where(is_nan(Y), Y, where(X == 0, 0, X * log(Y)))),
    ROW(xlog1py, "f", where(is_nan(Y), Y, where(X == 0, 0, X * log1p(Y)))),
    ROW(logical_and, "bifc", (X != 0) & (Y != 0)), ROW(logical_or, "bifc", (X != 0) | (Y != 0)),
    ROW(logical_xor, "bifc", (X != 0) ^ (Y != 0)),
    ROW(gcd, "i", gcd(X, Y)), ROW(lcm, "i", lcm(X, Y)),
    ROW(heaviside, "bif", where(X == 0, Y, where(X > 0, 1, 0))),
    ROW(clamp, "bif", min(max(X, Y), Z)), ROW(clamp_min, "bif", max(X, Y)), ROW(clamp_max, "bif", min(X, Y)),
    ROW(lerp, "f", where(abs(Z) < 0.5, X + Z * (Y - X), Y - (Y - X) * (E(1) - Z))),
    ROW(addcmul, "ifc", X + Y * p[0] * Z), ROW(addcdiv, "fc", X + Y * p[0] / Z),
    ROW(ldexp, "f", X * exp2(Y)), ROW(floor_divide, "if", div_floor(X, Y)),
    ROW(rsub, "ifc", Y - X * p[0]), ROW(masked_fill, "bifc", where(Y, Z, X)),
    ROW(smooth_l1, "f", [](const E& a, double beta) { return where(a < beta, a * a * (0.5 / beta), a - 0.5 * beta); }(abs(X - Y), d(p))),
    ROW(huber, "f", [](const E& a, double delta) { return where(a <= delta, a * a * 0.5, (a - 0.5 * delta) * delta); }(abs(X - Y), d(p))),
    ROW(polygamma, "f", polygamma(static_cast<int>(d(p)), X)), ROW(special_erfcx, "f", erfcx(X)),
    // derivatives: X is the incoming gradient, Y the input or the result
    ROW(sigmoid_backward, "f", X * (E(1) - Y) * Y), ROW(tanh_backward, "f", X * (E(1) - Y * Y)),
    ROW(gelu_backward, "f", X * ((erf(Y * 0.70710678118654752440) + 1) * 0.5 + Y * exp(Y * Y * -0.5) * 0.39894228040143267794)),
    ROW(gelu_tanh_backward, "f", [](const E& g, const E& x, const E& t) {
          return g * ((t + 1) * 0.5 + x * 0.5 * (E(1) - t * t) * (x * x * (3 * 0.044715) + 1) * 0.79788456080286535588);
        }(X, Y, tanh(gelu_inner(Y)))),
    ROW(silu_backward, "f", [](const E& g, const E& x, const E& s) { return g * s * (x * (E(1) - s) + 1); }(X, Y, sigmoid(Y))),
    ROW(threshold_backward, "if", where(Y <= p[0], 0, X)), ROW(leaky_relu_backward, "f", where(Y > 0, X, X * d(p))),
    ROW(elu_backward, "f", where(Y <= 0, X * (d(p) * d(p, 1) * d(p, 2)) * exp(Y * d(p, 2)), X * d(p, 1))),
    ROW(hardtanh_backward, "f", where((Y <= p[0]) | (Y >= p[1]), 0, X)),
    ROW(hardswish_backward, "f", where(Y <= -3, 0, where(Y < 3, X * (Y / 3 + 0.5), X))),
    ROW(shrink_backward, "f", where((Y >= -d(p)) & (Y <= d(p)), 0, X)),
    ROW(hardsigmoid_backward, "f", where((Y > -3) & (Y < 3), X / 6, 0)),
    ROW(softplus_backward, "f", where(Y * d(p) > d(p, 1), X, X / (exp(Y * -d(p)) + 1))),
    ROW(mish_backward, "f", [](const E& g, const E& x, const E& t) {
          return g * (t + x * sigmoid(x) * (E(1) - t * t));
        }(X, Y, tanh(log1p(exp(Y))))),
    ROW(log_sigmoid_backward, "f", X / (exp(Y) + 1)),
    ROW(logit_backward, "f", [](const E& g, const E& x, double eps) {
          E inside = (x >= std::max(eps, 0.0)) & (x <= 1 - std::max(eps, 0.0));
          return where(inside, g / (x * (E(1) - x)), eps < 0 ? nan : 0.0);
        }(X, Y, d(p))),
};
// clang-format on
#undef X
#undef Y
#undef Z
#undef ROW

const Row* find_row(int opcode, DType compute) {
  char kind = info(compute).kind == 'u' ? 'i' : info(compute).kind;
  for (const Row& row : rows)
    if (row.opcode == opcode)
      return std::string_view(row.accepts).find(kind) != std::string_view::npos ? &row : nullptr;
  return nullptr;
}

struct ProgramScope {
  explicit ProgramScope(Program& p) : before(program) { program = &p; }
  ~ProgramScope() { program = before; }
  Program* before;
};

Tensor cast(const Tensor& t, DType dtype) {
  Tensor out = t.impl().is_dense() ? empty_strided_tensor(t.sizes(), t.strides(), dtype, t.device())
                                   : empty_tensor(t.sizes(), dtype, t.device());
  copy_(out, t);
  return out;
}

}  // namespace

bool decompose_map(const MapRequest& r, Tensor& result) {
  MapTypes types = map_types(r);
  const Row* row = find_row(r.opcode, compute_type(types.compute));
  if (!row) return false;
  Program here{compute_type(types.compute)};
  ProgramScope scope(here);
  std::vector<E> inputs;
  Device device;
  for (const MapInput& in : r.inputs)
    if (in.tensor && (device.is_cpu() || !in.tensor->device().is_cpu())) device = in.tensor->device();
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const MapInput& in = r.inputs[i];
    DType wanted = r.opcode == FC_MAP_masked_fill && i == 1 ? DType::Bool : here.compute;
    Tensor t = in.tensor ? *in.tensor : full({}, in.number, wanted, Device{});
    if (!(t.device() == device) || t.dtype() != wanted) {
      Tensor there = empty_tensor(t.sizes(), wanted, device);
      copy_(there, t);
      t = there;
    }
    inputs.emplace_back(t);
  }
  E value = row->formula(inputs.data(), r.params.data());
  if (here.failed) return false;
  if (r.out) {
    FC_CHECK(!r.in_place || Dims::same(r.out->sizes(), value.tensor.sizes()), r.op, "_: output with shape ",
             r.out->sizes(), " doesn't match the broadcast shape ", value.tensor.sizes());
    write_out(r.op, *r.out, value.tensor);
    result = *r.out;
    return true;
  }
  bool is_input = false;
  for (const MapInput& in : r.inputs) is_input |= in.tensor && in.tensor->same(value.tensor);
  // Parts of the formula may have seen the inputs in another order: the result lies as if made from them at once.
  Dims strides = result_strides(value.tensor.sizes(), r.inputs);
  if (value.tensor.dtype() == types.natural && !is_input && Dims::same(strides, value.tensor.strides())) {
    result = value.tensor;
  } else {
    result = empty_strided_tensor(value.tensor.sizes(), strides, types.natural, device);
    copy_(result, value.tensor);
  }
  return true;
}

bool decompose_reduce(const ReduceRequest& r, Tensor& result) {
  if (r.opcode <= FC_REDUCE_ALL || r.in.device().is_cpu() || is_complex(r.compute)) return false;
  Tensor x = r.in.dtype() == r.compute ? r.in : cast(r.in, r.compute);
  switch (r.opcode) {
    case FC_REDUCE_MEAN: break;
    case FC_REDUCE_NANSUM: x = masked_fill(x, call<"aten::isnan", Tensor>(x), 0); break;
    case FC_REDUCE_SUM_ABS: x = abs(x); break;
    case FC_REDUCE_SUM_SQUARES: x = mul(x, x); break;
    case FC_REDUCE_SUM_DEVIATIONS: {
      Tensor apart = sub(x, *r.shift);
      x = mul(apart, apart);
      break;
    }
    default: return false;
  }
  ReduceRequest plain{.op = r.op,
                      .opcode = FC_REDUCE_SUM,
                      .in = x,
                      .dims = r.dims,
                      .keepdim = r.keepdim,
                      .compute = r.compute,
                      .result = r.compute};
  if (!try_reduce(plain, result)) return false;
  if (r.opcode == FC_REDUCE_MEAN)
    result = div(result, Scalar(static_cast<double>(reduced_numel(r.in.sizes(), r.dims))));
  if (result.dtype() != r.result) result = cast(result, r.result);
  return true;
}

}  // namespace fc
