// SPDX-License-Identifier: Apache-2.0
// Functions that a device without their opcode puts together from the base set. tests/backends/test_decompose.py holds
// each to the accuracy that plan/decompose.cpp gives. erf and its relatives use W. J. Cody's rational approximations
// (Math. Comp. 23, 1969).
#include "plan/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "facula/opcodes/common.h"
#include "facula/opcodes/math.h"
#include "facula/opcodes/shared.h"

namespace fc {
namespace {

thread_local Program* program = nullptr;

}  // namespace

Program::Program(DType type) : compute(type), before_(program) { program = this; }
Program::~Program() { program = before_; }

namespace math {
namespace {

bool try_run(int opcode, std::initializer_list<const Operand*> args, Promote promote, Tensor& result) {
  MapInput inputs[FC_MAX_INPUTS];
  size_t n = 0;
  bool all_bool = true;
  for (const Operand* e : args) {
    if (e->tensor.defined()) inputs[n].tensor = &e->tensor;
    else inputs[n].scalar = e->number;
    all_bool &= e->is_bool();
    ++n;
  }
  // Conditions are combined as bool, all else is computed in the formula's type.
  MapRequest r{.op = "decomposition", .opcode = opcode, .promote = promote, .inputs = {inputs, n}};
  r.compute = all_bool ? DType::Bool : program->compute;
  const Scalar alpha = 1;
  if (opcode == FC_MAP_add || opcode == FC_MAP_sub) r.params = {&alpha, 1};
  return try_map(r, result);
}

// As an element of the type that is computed in.
int64_t wrapped(int64_t x) {
  switch (program->compute) {
    case DType::UInt8: return static_cast<uint8_t>(x);
    case DType::Int8: return static_cast<int8_t>(x);
    case DType::Int16: return static_cast<int16_t>(x);
    case DType::Int32: return static_cast<int32_t>(x);
    default: return x;
  }
}
bool single() { return program->compute == DType::Float32; }

}  // namespace

double rounded(double x) { return single() ? static_cast<double>(static_cast<float>(x)) : x; }
template <>
Number<Kind::Bool>::Number(const Scalar& s) : value(s.to_int() != 0) {}
template <>
Number<Kind::Int>::Number(const Scalar& s) : value(wrapped(s.to_int())) {}
template <>
Number<Kind::Real>::Number(const Scalar& s) : value(s.to_double()) {}
template <>
Number<Kind::Complex>::Number(const Scalar& s) : value(s.to_complex()) {}

Operand run(int opcode, std::initializer_list<const Operand*> args, Promote promote) {
  Operand result;
  if (!program->failed && !try_run(opcode, args, promote, result.tensor)) program->failed = true;
  return result;
}

bool attempt(int opcode, std::initializer_list<const Operand*> args, Operand& result) {
  return !program->failed && try_run(opcode, args, Promote::Same, result.tensor);
}

namespace {

// A function returns here if the device has the opcode.
#define FC_OR_ELSE(code, ...) \
  if (Operand whole; attempt(FC_MAP_##code, {__VA_ARGS__}, whole)) return Real(whole)

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double half_pi = pi / 2;

// With constants as they are written.
Real where(const Bool& c, const Real& a, const Real& b) { return where<Kind::Real>(c, a, b); }
Int where(const Bool& c, const Int& a, const Int& b) { return where<Kind::Int>(c, a, b); }
Real minimum(const Real& a, const Real& b) { return minimum<Kind::Real>(a, b); }
Real maximum(const Real& a, const Real& b) { return maximum<Kind::Real>(a, b); }
Real pow(const Real& a, const Real& b) { return pow<Kind::Real>(a, b); }
Real remainder(const Real& a, const Real& b) { return remainder<Kind::Real>(a, b); }
Real square(const Real& x) { return x * x; }

}  // namespace

template <size_t N>
static Real polynomial(const Real& x, const double (&c)[N]) {  // highest power first
  Real y = x * c[0] + c[1];
  for (size_t i = 2; i < N; ++i) y = y * x + c[i];
  return y;
}

// The errors of exp and of rounding 1 + x cancel: (u - 1) / log(u) is smooth.
Real expm1(const Real& x) {
  FC_OR_ELSE(expm1, &x);
  Real u = exp(x), v = u - 1;
  Real y = v * (x / log(u));
  return where(u == 1, x, where(v == -1, -1, where(u == inf, inf, y)));
}
Real log1p(const Real& x) {
  FC_OR_ELSE(log1p, &x);
  Real u = x + 1;
  Real y = log(u) * (x / (u - 1));
  return where(u == 1, x, where(u == inf, inf, y));
}
Real tanh(const Real& x) {
  FC_OR_ELSE(tanh, &x);
  Real t = expm1(abs(x) * -2);
  return with_sign(x < 0, -t / (t + 2));
}
Real sinh(const Real& x) {
  FC_OR_ELSE(sinh, &x);
  Real a = abs(x), e = expm1(a), h = exp(a * 0.5);
  return with_sign(x < 0, where(a < 20, (e + e / (e + 1)) * 0.5, h * 0.5 * h));
}
Real cosh(const Real& x) {
  FC_OR_ELSE(cosh, &x);
  Real h = exp(abs(x) * 0.5);
  return h * 0.5 * h + Real(0.5) / h / h;
}

// The angle is halved twice, so that the series starts below tan(pi/16).
Real atan(const Real& x) {
  FC_OR_ELSE(atan, &x);
  const Real a = abs(x);
  const Bool large = a > 1;
  Real z = where(large, reciprocal(a), a);
  for (int i = 0; i < 2; ++i) z = z / (sqrt(z * z + 1) + 1);
  double c[12];
  for (int k = 0; k < 12; ++k) c[11 - k] = (k % 2 ? -1.0 : 1.0) / (2 * k + 1);
  Real y = z * polynomial(z * z, c) * 4;
  return with_sign(x < 0, where(large, Real(half_pi) - y, y));
}
Real atan2(const Real& y, const Real& x) {
  FC_OR_ELSE(atan2, &y, &x);
  const Real ay = abs(y), ax = abs(x);
  const Bool both = (ay == inf) & (ax == inf);
  Real angle = atan(where(both, 1, where((ay == 0) & (ax == 0), 0, ay / ax)));
  Real result = with_sign(sign_bit(y), where(sign_bit(x), Real(pi) - angle, angle));
  return where(is_nan(x) | is_nan(y), nan, result);
}
Real asin(const Real& x) {
  FC_OR_ELSE(asin, &x);
  return atan(x / (sqrt((Real(1) - x) * (x + 1)) + 1)) * 2;
}
Real acos(const Real& x) {
  FC_OR_ELSE(acos, &x);
  return atan(sqrt((Real(1) - x) / (x + 1))) * 2;
}
Real asinh(const Real& x) {
  FC_OR_ELSE(asinh, &x);
  Real a = abs(x), y = log1p(a + a * a / (sqrt(a * a + 1) + 1));
  return with_sign(x < 0, where(a > 1e15, log(a) + ln2, y));
}
Real acosh(const Real& x) {
  FC_OR_ELSE(acosh, &x);
  Real t = x - 1;
  return where(x < 1, nan, where(x > 1e15, log(x) + ln2, log1p(t + sqrt(t * 2 + t * t))));
}
Real atanh(const Real& x) {
  FC_OR_ELSE(atanh, &x);
  Real a = abs(x);
  return with_sign(x < 0, log1p(a * 2 / (Real(1) - a)) * 0.5);
}
Real exp2(const Real& x) {
  FC_OR_ELSE(exp2, &x);
  return pow(2, x);
}
Real ceil(const Real& x) {
  FC_OR_ELSE(ceil, &x);
  return -floor(-x);
}
Real round(const Real& x) {  // halves go to the even neighbour
  FC_OR_ELSE(round, &x);
  const Real f = floor(x), d = x - f;
  const Bool odd = remainder(f, 2) != 0;
  return where((d > 0.5) | ((d == 0.5) & odd), f + 1, f);
}
Real logistic(const Real& x) {
  FC_OR_ELSE(sigmoid, &x);
  return Real(1) / (exp(-x) + 1);
}

// exp(-y * y) without the rounding error of y * y: y is cut to sixteenths, whose squares are exact.
static Real exp_minus_square(const Real& y) {
  Real cut = trunc(y * 16) / 16;
  return exp(-(cut * cut)) * exp((cut - y) * (y + cut));
}
static Real erf_small(const Real& x) {  // |x| <= 0.46875
  constexpr double p[] = {1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
                          3.20937758913846947e3};
  constexpr double q[] = {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                          2.84423683343917062e3};
  Real s = x * x;
  return x * polynomial(s, p) / polynomial(s, q);
}
static Real erfcx_large(const Real& y) {  // exp(y * y) * erfc(y), y > 0.46875
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
  Real z = minimum(y, 4);  // keeps the unused branch finite
  Real middle = polynomial(z, p) / polynomial(z, q);
  Real w = reciprocal(y * y);
  Real far = (Real(0.56418958354775628695) - w * polynomial(w, r) / polynomial(w, s)) / y;
  return where(y <= 4, middle, far);
}
Real erf(const Real& x) {
  FC_OR_ELSE(erf, &x);
  Real y = abs(x), tail = Real(1) - exp_minus_square(minimum(y, 10)) * erfcx_large(maximum(y, 0.46875));
  return where(y <= 0.46875, erf_small(x), with_sign(x < 0, tail));
}
Real erfc(const Real& x) {
  FC_OR_ELSE(erfc, &x);
  Real y = abs(x), tail = exp_minus_square(minimum(y, 40)) * erfcx_large(maximum(y, 0.46875));
  return where(y <= 0.46875, Real(1) - erf_small(x), where(x < 0, Real(2) - tail, tail));
}
Real erfcx(const Real& x) {
  Real y = abs(x), s = exp(x * x), big = erfcx_large(maximum(y, 0.46875));
  return where(y <= 0.46875, s * (Real(1) - erf_small(x)), where(x < 0, s * 2 - big, big));
}
Real erfinv(const Real& v) {
  FC_OR_ELSE(erfinv, &v);
  constexpr double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                             -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  Real w = -log((Real(1) - v) * (v + 1));  // M. Giles' start, then Newton's steps
  Real x = where(w < 5, polynomial(w - 2.5, near), polynomial(sqrt(w) - 3, far)) * v;
  for (int i = 0; i < 2; ++i) x = x - (erf(x) - v) / (exp_minus_square(minimum(abs(x), 10)) * 1.12837916709551257390);
  return where(abs(v) == 1, v * inf, x);
}

// sin(pi x), exact at integers.
static Real sin_pi(const Real& x) {
  Real r = x - floor(x);
  return sin(where(r > 0.5, Real(1) - r, r) * pi) * where(remainder(floor(x), 2) == 0, Real(1), -1);
}
static Real stirling(const Real& x) {  // log gamma for x >= 8
  constexpr double c[] = {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + polynomial(reciprocal(x * x), c) / x;
}
Real lgamma(const Real& x) {
  FC_OR_ELSE(lgamma, &x);
  const Bool reflected = x < 0.5;
  const Real y = where(reflected, Real(1) - x, x);
  const Bool small = y < 8;
  Real product = 1, z = y;
  for (int i = 0; i < 8; ++i) {
    product = i == 0 ? z : product * z;
    z = z + 1;
  }
  Real g = where(small, stirling(where(small, z, 10)) - log(product), stirling(maximum(y, 8)));
  g = where(y == inf, inf, g);
  Real below = where((x <= 0) & (floor(x) == x), inf, Real(std::log(pi)) - log(abs(sin_pi(x))) - g);
  return where(abs(x) < (single() ? 1e-9 : 1e-17), -log(abs(x)), where(reflected, below, g));
}
Real digamma(const Real& x) {
  FC_OR_ELSE(digamma, &x);
  constexpr double c[] = {-1.0 / 12, 691.0 / 32760, -1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12};
  const Bool below_zero = x < 0;
  const Real part = x - trunc(x), angle = part * pi;
  Real y = where(below_zero, Real(1) - x, x), sum = y * 0;
  for (int i = 0; i < 10; ++i) {
    const Bool low = y < 10;
    sum = where(low, sum - reciprocal(y), sum);
    y = where(low, y + 1, y);
  }
  Real z = reciprocal(y * y);
  Real value = sum + log(y) - Real(0.5) / y + z * polynomial(z, c);
  value = where(below_zero, value - Real(pi) * cos(angle) / sin(angle), value);
  return where(x == 0, -reciprocal(x), where(below_zero & (part == 0), nan, where(x == inf, inf, value)));
}
Real polygamma(int n, const Real& x) {  // x > -20
  if (n == 0) return digamma(x);
  constexpr double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
  double s = n + 1;
  Real sum = x * 0, q = x;
  for (int i = 0; i < 32; ++i) {
    sum = sum + pow(q, -s);
    q = q + 1;
  }
  sum = sum + pow(q, 1 - s) / (s - 1) + pow(q, -s) * 0.5;
  Real term = pow(q, -s - 1) * s;
  for (int i = 0; i < 5; ++i) {
    sum = sum + term * b[i];
    term = term * ((s + 2 * i + 1) * (s + 2 * i + 2)) / (q * q);
  }
  sum = where(x == inf, 0, where((x <= 0) & (floor(x) == x), inf, sum));
  return sum * ((n % 2 ? 1 : -1) * std::tgamma(n + 1.0));
}
static Real bessel(int order, const Real& x) {  // of order 0 or 1
  Real a = abs(x), q = square(minimum(a, 15)) * 0.25, sum = 1, term = 1;
  for (int k = 1; k < (single() ? 40 : 60); ++k) {
    term = (k == 1 ? q : term * q) / (static_cast<double>(k) * (k + order));
    sum = k == 1 ? term + 1 : sum + term;
  }
  if (order == 1) sum = sum * a * 0.5;
  Real large = maximum(a, 15), r = reciprocal(large), far = 1, part = 1;
  for (int k = 1; k < 20; ++k) {
    double odd = 2 * k - 1;
    double factor = (odd * odd - 4 * order) / (8 * k);
    part = k == 1 ? r * factor : part * r * factor;
    far = k == 1 ? part + 1 : far + part;
  }
  Real h = exp(large * 0.5);
  Real y = where(a < 15, sum, h / (sqrt(large) * std::sqrt(2 * pi)) * far * h);
  return where(is_nan(x), x, order == 1 ? with_sign(x < 0, y) : y);
}

Real trunc_quotient(const Real& a, const Real& b) { return trunc(a / b); }
Int trunc_quotient(const Int& a, const Int& b) {
  const Bool inexact = (remainder(a, b) != 0) & ((a < 0) != (b < 0));
  const Int q = floor_quotient(a, b);
  return where(inexact, q + 1, q);
}
Real hypot(const Real& a, const Real& b) {
  FC_OR_ELSE(hypot, &a, &b);
  Real x = abs(a), y = abs(b), big = maximum(x, y), ratio = minimum(x, y) / big;
  return where((x == inf) | (y == inf), inf, where(big == 0, 0, big * sqrt(ratio * ratio + 1)));
}
// Rump, Zimmermann, Boldo, Melquiond (BIT 49, 2009): neighbours by rounding to nearest.
Real nextafter(const Real& a, const Real& b) {
  FC_OR_ELSE(nextafter, &a, &b);
  double u = single() ? 0x1p-24 : 0x1p-53, tiny = single() ? 0x1p-149 : 0x1p-1074, phi = u * (1 + 2 * u);
  Real size = abs(a), scaled = size / u;
  auto step = [&](const Bool& up) {  // away from zero if up, else towards it; for positive numbers
    Real s = where(up, Real(1), -1);
    Real normal = size + s * (size * phi), low = size + s * tiny, between = (scaled + s * (scaled * phi)) * u;
    return where(size >= 0.5 / u / u * tiny, normal, where(size < tiny / u, low, between));
  };
  const Bool below_zero = a < 0, grow = math::where(below_zero, b<a, b> a);
  Real moved = with_sign(below_zero | ((a == 0) & (b < 0)), step(grow | (a == 0)));
  double top = single() ? static_cast<double>(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
  moved = where(size == inf, where(below_zero, Real(-top), top), moved);
  return where(is_nan(a) | is_nan(b), nan, where(a == b, b, moved));
}
Int gcd(const Int& a, const Int& b) {
  Int x = abs(a), y = abs(b);
  // Euclid's algorithm takes the most steps for neighbours in Fibonacci's sequence.
  int steps = static_cast<int>(1.45 * 8 * static_cast<double>(item_size(program->compute))) + 2;
  for (int i = 0; i < steps; ++i) {
    const Bool done = y == 0;
    const Int r = remainder(x, where(done, 1, y));
    x = where(done, x, y);
    y = where(done, 0, r);
  }
  return x;
}
Int lcm(const Int& a, const Int& b) {
  const Int d = gcd(a, b);
  const Bool none = d == 0;
  return where(none, 0, abs(floor_quotient(a, where(none, 1, d)) * b));
}
Real i0(const Real& x) {
  FC_OR_ELSE(i0, &x);
  return bessel(0, x);
}
Real i1(const Real& x) {
  FC_OR_ELSE(i1, &x);
  return bessel(1, x);
}
Real copysign(const Real& magnitude, const Real& sign) {
  FC_OR_ELSE(copysign, &magnitude, &sign);
  return with_sign(sign_bit(sign), abs(magnitude));
}
Real tan(const Real& x) {
  FC_OR_ELSE(tan, &x);
  return sin(x) / cos(x);
}
Real log2(const Real& x) {
  FC_OR_ELSE(log2, &x);
  return log(x) * (1 / ln2);
}
Real log10(const Real& x) {
  FC_OR_ELSE(log10, &x);
  return log(x) * (1 / ln10);
}

#undef FC_OR_ELSE

}  // namespace math
}  // namespace fc
