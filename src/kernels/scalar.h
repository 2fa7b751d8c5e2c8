// SPDX-License-Identifier: Apache-2.0
// The pointwise formulas, each written once, for every device and for generated code. A formula is a struct with the
// opcode it implements, the element types it is made for, and `apply` on one element. Half types never appear here:
// they are computed in float. Nothing but <cmath>, <complex> and kernels/math.h is needed.
//
// The last parameter of `apply` is the array of parameters (alpha, slope …) in the element type.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "facula/families.h"
#include "facula/opcodes.h"
#include "kernels/math.h"

namespace fc::scalar {

// Sets of element types. kVectors: made for kernels/lanes.h's vectors of real numbers too, where x is a vector V, while
// parameters and constants are of the element type T; and conditions are vectors, so `?:` chooses but nothing branches.
enum : unsigned { kBool = 1, kInt = 2, kReal = 4, kComplex = 8, kVectors = 16 };

template <class T>
inline constexpr bool is_complex_v = false;
template <class U>
inline constexpr bool is_complex_v<std::complex<U>> = true;
template <class T>
inline constexpr bool is_real_v = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_int_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
struct RealOf {
  using type = T;
};
template <class U>
struct RealOf<std::complex<U>> {
  using type = U;
};
template <class T>
using real_t = typename RealOf<T>::type;
// Integers wrap around as in two's complement; signed overflow must not be undefined.
template <class T>
using wrap_t = typename std::conditional_t<is_int_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
FC_INLINE T wrap_mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) return a & b;
  // Narrow types promote to int, whose overflow would be undefined: multiply in 64 bits.
  else if constexpr (is_int_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  // Without C's search for infinities among NaNs, which would be a call per element.
  else if constexpr (is_complex_v<T>) return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}

// a / b and 1 / b. Complex: Smith's way, by the larger part of b; b = 0 divides each part, like PyTorch's.
template <class T>
FC_INLINE T quotient(T a, T b) {
  if constexpr (is_complex_v<T>) {
    const auto x = a.real(), y = a.imag(), c = b.real(), d = b.imag();
    const bool real = std::fabs(c) >= std::fabs(d);
    const auto large = real ? c : d, small = real ? d : c, ratio = small / large, inverse = 1 / (large + small * ratio);
    const auto re = (real ? x + y * ratio : x * ratio + y) * inverse, im = (real ? y - x * ratio : y * ratio - x) * inverse;
    const bool zero = large == 0;
    return {zero ? x / std::fabs(c) : re, zero ? y / std::fabs(d) : im};
  } else {
    return a / b;
  }
}
template <class T>
FC_INLINE real_t<T> modulus(T x) {
  if constexpr (is_complex_v<T>) return math::hypot(x.real(), x.imag());
  else return std::fabs(x);
}

// How many parameters each opcode has.
#define FC_PARAMS(number, name, inputs, params) params,
inline constexpr int param_count[] = {FC_MAP_OPCODES(FC_PARAMS)};
#undef FC_PARAMS

#define FC_UNARY(name, types, ...)                                \
  struct name {                                                   \
    static constexpr int code = FC_MAP_##name, arity = 1;         \
    static constexpr unsigned accepts = types;                    \
    template <class V, class T = math::Element<V>>                \
    FC_INLINE static auto apply(V x, [[maybe_unused]] const T* p) {  \
      using namespace math;                                       \
      __VA_ARGS__                                                 \
    }                                                             \
  };
#define FC_BINARY(name, types, ...)                                    \
  struct name {                                                        \
    static constexpr int code = FC_MAP_##name, arity = 2;              \
    static constexpr unsigned accepts = types;                         \
    template <class V, class T = math::Element<V>>                     \
    FC_INLINE static auto apply(V a, V b, [[maybe_unused]] const T* p) {  \
      using namespace math;                                            \
      __VA_ARGS__                                                      \
    }                                                                  \
  };

constexpr unsigned kNumbers = kInt | kReal | kComplex, kAll = kBool | kNumbers, kOrdered = kBool | kInt | kReal;
constexpr unsigned kFloating = kReal | kComplex;

// --- arithmetic
FC_UNARY(neg, kNumbers, return static_cast<T>(-static_cast<wrap_t<T>>(x));)
FC_UNARY(positive, kNumbers, return x;)
FC_UNARY(abs, kNumbers,
  if constexpr (is_complex_v<T>) return modulus(x);
  else if constexpr (is_int_v<T>) return static_cast<T>(x < 0 ? -static_cast<wrap_t<T>>(x) : static_cast<wrap_t<T>>(x));
  else return std::fabs(x);)
FC_UNARY(square, kAll, return wrap_mul(x, x);)
FC_UNARY(cube, kNumbers, return wrap_mul(wrap_mul(x, x), x);)
FC_UNARY(inverse_square, kFloating, return quotient(T(1), wrap_mul(x, x));)
FC_UNARY(reciprocal, kFloating, return quotient(T(1), x);)
FC_UNARY(sqrt, kFloating, return std::sqrt(x);)
FC_UNARY(rsqrt, kFloating, return quotient(T(1), std::sqrt(x));)
FC_UNARY(sign, kOrdered,
  if constexpr (std::is_same_v<T, bool>) return x;
  else return static_cast<T>((T(0) < x) - (x < T(0)));)  // of NaN: 0
FC_UNARY(sgn, kAll,
  if constexpr (is_complex_v<T>) {
    const auto size = modulus(x), zero = real_t<T>(0);
    const bool none = (x.real() == zero) & (x.imag() == zero);
    return T(none ? zero : x.real() / size, none ? zero : x.imag() / size);
  }
  else return sign::apply(x, p);)
// --- rounding
FC_UNARY(floor, kInt | kReal, if constexpr (is_int_v<T>) return x; else return std::floor(x);)
FC_UNARY(ceil, kInt | kReal, if constexpr (is_int_v<T>) return x; else return std::ceil(x);)
FC_UNARY(trunc, kInt | kReal, if constexpr (is_int_v<T>) return x; else return std::trunc(x);)
FC_UNARY(round, kInt | kReal, if constexpr (is_int_v<T>) return x; else return std::nearbyint(x);)
FC_UNARY(frac, kReal, return x - std::trunc(x);)
FC_UNARY(round_decimals, kReal,  // p[0]: ten to the power of |decimals|, negative for negative decimals
  return p[0] < 0 ? std::nearbyint(x / -p[0]) * -p[0] : std::nearbyint(x * p[0]) / p[0];)
// --- exponentials, logarithms, trigonometry
FC_UNARY(exp, kFloating | kVectors, return math::exp(x);)
FC_UNARY(exp2, kFloating | kVectors, return math::exp2(x);)
FC_UNARY(expm1, kFloating | kVectors, return math::expm1(x);)
FC_UNARY(log, kFloating | kVectors, return math::log(x);)
FC_UNARY(log2, kFloating | kVectors, return math::log2(x);)
FC_UNARY(log10, kFloating | kVectors, return math::log10(x);)
FC_UNARY(log1p, kFloating | kVectors, return math::log1p(x);)
FC_UNARY(sin, kFloating, return math::sin(x);)
FC_UNARY(cos, kFloating, return math::cos(x);)
FC_UNARY(tan, kFloating, return math::tan(x);)
FC_UNARY(asin, kFloating | kVectors, return math::asin(x);)
FC_UNARY(acos, kFloating | kVectors, return math::acos(x);)
FC_UNARY(atan, kFloating | kVectors, return math::atan(x);)
FC_UNARY(sinh, kFloating | kVectors, return math::sinh(x);)
FC_UNARY(cosh, kFloating | kVectors, return math::cosh(x);)
FC_UNARY(tanh, kFloating | kVectors, return math::tanh(x);)
FC_UNARY(asinh, kFloating | kVectors, return math::asinh(x);)
FC_UNARY(acosh, kFloating | kVectors, return math::acosh(x);)
FC_UNARY(atanh, kFloating | kVectors, return math::atanh(x);)
FC_UNARY(deg2rad, kReal, return x * T(0.017453292519943295);)
FC_UNARY(rad2deg, kReal, return x * T(57.29577951308232);)
FC_UNARY(sinc, kFloating, const T y = x * T(3.14159265358979323846), r = math::sin(y) / y; return x == T(0) ? T(1) : r;)
// --- error function, gamma, Bessel
FC_UNARY(erf, kReal | kVectors, return math::erf(x);)
FC_UNARY(erfc, kReal | kVectors, return math::erfc(x);)
FC_UNARY(erfinv, kReal | kVectors, return math::erfinv(x);)
FC_UNARY(lgamma, kReal, return math::lgamma(x);)
FC_UNARY(digamma, kReal, return math::digamma(x);)
FC_UNARY(polygamma, kReal, return math::polygamma(static_cast<int>(p[0]), x);)
FC_UNARY(i0, kReal, return math::i0(x);)
FC_UNARY(i1, kReal, return math::i1(x);)
FC_UNARY(logit, kReal | kVectors,  // p[0]: eps; negative: none
  V z = p[0] < 0 ? x : (x < p[0] ? p[0] : (x > 1 - p[0] ? 1 - p[0] : x));
  return math::log(z / (T(1) - z));)
FC_BINARY(logit_backward, kReal,
  bool inside = p[0] < 0 ? b >= 0 && b <= 1 : b >= p[0] && b <= 1 - p[0];
  return inside ? a / (b * (1 - b)) : (p[0] < 0 ? std::numeric_limits<T>::quiet_NaN() : T(0));)
// --- tests and bits
FC_UNARY(logical_not, kBool, return !x;)
FC_UNARY(isnan, kAll, return x != x;)
template <class T>
FC_INLINE bool is_infinite(T x) {
  return std::fabs(x) == std::numeric_limits<T>::infinity();
}
template <class T>
FC_INLINE bool is_finite(T x) {
  return std::fabs(x) < std::numeric_limits<T>::infinity();
}
FC_UNARY(isinf, kAll,
  if constexpr (is_complex_v<T>) return static_cast<bool>(is_infinite(x.real()) | is_infinite(x.imag()));
  else if constexpr (is_real_v<T>) return is_infinite(x);
  else return false;)
FC_UNARY(isfinite, kAll,
  if constexpr (is_complex_v<T>) return static_cast<bool>(is_finite(x.real()) & is_finite(x.imag()));
  else if constexpr (is_real_v<T>) return is_finite(x);
  else return true;)
FC_UNARY(isposinf, kOrdered, if constexpr (is_real_v<T>) return x == std::numeric_limits<T>::infinity(); else return false;)
FC_UNARY(isneginf, kOrdered, if constexpr (is_real_v<T>) return x == -std::numeric_limits<T>::infinity(); else return false;)
FC_UNARY(signbit, kOrdered, if constexpr (is_real_v<T>) return std::signbit(x); else return x < T(0);)
FC_UNARY(bitwise_not, kBool | kInt, if constexpr (std::is_same_v<T, bool>) return !x; else return static_cast<T>(~x);)
// --- complex
FC_UNARY(conj_physical, kAll, if constexpr (is_complex_v<T>) return std::conj(x); else return x;)
FC_UNARY(angle, kFloating,
  if constexpr (is_complex_v<T>) return math::atan2(x.imag(), x.real());
  else return x != x ? x : (x < 0 ? T(3.14159265358979323846) : T(0));)
FC_UNARY(real, kAll, if constexpr (is_complex_v<T>) return x.real(); else return x;)
FC_UNARY(imag, kComplex, return x.imag();)
// --- activations
FC_UNARY(relu, kInt | kReal, return x < T(0) ? T(0) : x;)
FC_UNARY(sigmoid, kFloating | kVectors, return T(1) / (T(1) + math::exp(-x));)
FC_UNARY(silu, kFloating | kVectors, return x / (T(1) + math::exp(-x));)
// tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); 1 where e^x would overflow
template <class V, class T = math::Element<V>>
FC_INLINE V tanh_softplus(V x) {
  V e = math::exp(x > T(20) ? T(20) : x), n = e * (e + T(2));
  return n / (n + T(2));
}
FC_UNARY(mish, kReal | kVectors, return x * tanh_softplus(x);)
FC_UNARY(gelu, kReal | kVectors,
  if constexpr (std::is_same_v<T, float> && math::has_fma) {
    const V a = math::fabs(x), near = math::own::at_most(T(6), a), tail = T(6) < a ? T(0) : math::own::normal_tail(near);
    return x < T(0) ? x * tail : x - near * tail;
  } else return T(0.5) * x * (T(1) + math::erf(x * T(0.70710678118654752440)));)
FC_UNARY(gelu_tanh, kReal | kVectors,
  V inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + math::tanh(inner));)
FC_UNARY(softplus, kReal | kVectors, return x * p[0] > p[1] ? x : math::log1p(math::exp(x * p[0])) / p[0];)
FC_UNARY(leaky_relu, kReal, return x > T(0) ? x : x * p[0];)
FC_UNARY(elu, kReal | kVectors,  // p: alpha, scale, input_scale
  return x < T(0) ? math::expm1(x * p[2]) * (p[0] * p[1]) : x * p[1];)
FC_UNARY(hardtanh, kInt | kReal, return x < p[0] ? p[0] : (x > p[1] ? p[1] : x);)
FC_UNARY(hardswish, kReal, T c = x + T(3); c = c < 0 ? T(0) : (c > 6 ? T(6) : c); return x * c / T(6);)
FC_UNARY(hardsigmoid, kReal, T c = x + T(3); c = c < 0 ? T(0) : (c > 6 ? T(6) : c); return c / T(6);)
FC_UNARY(log_sigmoid, kReal | kVectors, return (x < T(0) ? x : T(0)) - math::log1p(math::exp(-math::fabs(x)));)
FC_UNARY(threshold, kInt | kReal, return x <= p[0] ? p[1] : x;)
FC_UNARY(hardshrink, kReal, return x >= -p[0] && x <= p[0] ? T(0) : x;)
FC_UNARY(softshrink, kReal, return x > p[0] ? x - p[0] : (x < -p[0] ? x + p[0] : x * T(0));)
template <class T>
FC_INLINE T replace_non_finite(T x, T nan, T high, T low) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  return x != x ? nan : (x == inf ? high : (x == -inf ? low : x));
}
FC_UNARY(nan_to_num, kAll,
  if constexpr (is_real_v<T>) return replace_non_finite(x, p[0], p[1], p[2]);
  else if constexpr (is_complex_v<T>)
    return T(replace_non_finite(x.real(), p[0].real(), p[1].real(), p[2].real()),
             replace_non_finite(x.imag(), p[0].real(), p[1].real(), p[2].real()));
  else return x;)
// --- binary arithmetic
// A complex alpha is nearly always real: no reason to multiply as complex numbers.
template <class T>
FC_INLINE T times_alpha(T x, T alpha) {
  if constexpr (is_complex_v<T>) return alpha.imag() == 0 ? x * alpha.real() : wrap_mul(x, alpha);
  else return alpha * x;
}
FC_BINARY(add, kAll,
  if constexpr (std::is_same_v<T, bool>) return static_cast<T>(a | (b & p[0]));
  else if constexpr (is_int_v<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) + static_cast<wrap_t<T>>(wrap_mul(b, p[0])));
  else return a + times_alpha(b, p[0]);)
FC_BINARY(sub, kAll,
  if constexpr (std::is_same_v<T, bool>) return static_cast<T>(a ^ (b & p[0]));
  else if constexpr (is_int_v<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) - static_cast<wrap_t<T>>(wrap_mul(b, p[0])));
  else return a - times_alpha(b, p[0]);)
FC_BINARY(rsub, kAll, return sub::apply(b, a, p);)
FC_BINARY(mul, kAll, return wrap_mul(a, b);)
FC_BINARY(div, kFloating, return quotient(a, b);)
// Integer division by zero is reported by the kernel; here it must only not trap. INT_MIN / -1 wraps.
template <class T>
FC_INLINE T safe_quotient(T a, T b) {
  const bool minus = std::is_signed_v<T> && b == static_cast<T>(-1);
  if constexpr (sizeof(T) < 8) {  // vector code, and exact: a quotient that is not whole differs from it by 1 / b at least
    using F = std::conditional_t<sizeof(T) < 4, float, double>;
    const T q = static_cast<T>(static_cast<F>(a) / static_cast<F>((b == 0) | minus ? T(1) : b));
    return b == 0 ? T(0) : (minus ? static_cast<T>(-static_cast<wrap_t<T>>(a)) : q);
  } else {
    if (b == 0) return 0;
    return minus ? static_cast<T>(-static_cast<wrap_t<T>>(a)) : a / b;
  }
}
template <class T>
FC_INLINE T safe_remainder(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(safe_quotient(a, b)) * static_cast<uint64_t>(b));
}
// fmod in one step, where a / b is small enough for a quotient within one of the true one and an exact remainder.
template <class T>
FC_INLINE bool has_small_ratio(T a, T b) {
  return std::fabs(a / b) < T(0.25) / std::numeric_limits<T>::epsilon() && std::fabs(b) <= std::numeric_limits<T>::max();
}
template <class T>
FC_INLINE T fmod_of_small_ratio(T a, T b) {
  const T step = std::copysign(b, a);
  T r = std::fma(-std::trunc(a / b), b, a);
  r = (r < 0) != (a < 0) && r != 0 ? r + step : r;
  r = std::fabs(r) >= std::fabs(b) ? r - step : r;
  return std::copysign(r, a);
}
// From r, fmod(a, b):
template <class T>
FC_INLINE T remainder_from(T b, T r) {
  return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
template <class T>
FC_INLINE T floor_division_from(T a, T b, T r) {
  T q = (a - r) / b;
  q = r != 0 && (b < 0) != (r < 0) ? q - T(1) : q;
  const T f = std::floor(q);
  return q == 0 ? std::copysign(T(0), a / b) : (q - f > T(0.5) ? f + T(1) : f);
}
FC_BINARY(div_trunc, kInt | kReal, if constexpr (is_int_v<T>) return safe_quotient(a, b); else return std::trunc(a / b);)
FC_BINARY(div_floor, kInt | kReal,
  if constexpr (is_int_v<T>) {
    T q = safe_quotient(a, b);
    return static_cast<T>(q - (safe_remainder(a, b) != 0 && ((a < 0) != (b < 0)) ? 1 : 0));
  } else {
    if (b == 0) return a / b;
    return floor_division_from(a, b, std::fmod(a, b));
  })
FC_BINARY(floor_divide, kInt | kReal, return div_floor::apply(a, b, p);)
FC_BINARY(remainder, kInt | kReal,
  if constexpr (is_int_v<T>) {
    T r = safe_remainder(a, b);
    return static_cast<T>(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
  } else {
    return remainder_from(b, std::fmod(a, b));
  })
FC_BINARY(fmod, kInt | kReal, if constexpr (is_int_v<T>) return safe_remainder(a, b); else return std::fmod(a, b);)
FC_BINARY(pow, kAll,
  if constexpr (std::is_same_v<T, bool>) return a >= b;
  else if constexpr (is_int_v<T>) {
    if (b < 0) return a == 1 ? T(1) : (std::is_signed_v<T> && a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0));
    T result = 1;
    for (T base = a, e = b; e > 0; e = static_cast<T>(e >> 1), base = wrap_mul(base, base))
      if (e & 1) result = wrap_mul(result, base);
    return result;
  } else return math::pow(a, b);)
FC_BINARY(maximum, kOrdered,
  if constexpr (is_real_v<T>) return a < b || b != b ? b : a;
  else return a < b ? b : a;)
FC_BINARY(minimum, kOrdered,
  if constexpr (is_real_v<T>) return b < a || b != b ? b : a;
  else return b < a ? b : a;)
FC_BINARY(fmax, kOrdered, if constexpr (is_real_v<T>) return a != a ? b : (b != b ? a : (a < b ? b : a)); else return a < b ? b : a;)
FC_BINARY(fmin, kOrdered, if constexpr (is_real_v<T>) return a != a ? b : (b != b ? a : (b < a ? b : a)); else return b < a ? b : a;)
FC_BINARY(clamp_min, kOrdered, return maximum::apply(a, b, p);)
FC_BINARY(clamp_max, kOrdered, return minimum::apply(a, b, p);)
FC_BINARY(atan2, kReal | kVectors, return math::atan2(a, b);)
FC_BINARY(hypot, kReal, return math::hypot(a, b);)
FC_BINARY(copysign, kReal, return std::copysign(a, b);)
FC_BINARY(nextafter, kReal, return math::own::nextafter(a, b);)
FC_BINARY(logaddexp, kFloating | kVectors,
  if constexpr (is_complex_v<T>) {
    if (a != a || b != b) return T(std::numeric_limits<real_t<T>>::quiet_NaN(), std::numeric_limits<real_t<T>>::quiet_NaN());
    if (a.real() == b.real() && std::isinf(a.real())) return a.real() < 0 ? a : math::log(math::exp(a) + math::exp(b));
    bool first = a.real() >= b.real();
    return (first ? a : b) + math::log1p(math::exp(first ? b - a : a - b));
  } else {
    const V m = a < b ? b : a, sum = m + math::log1p(math::exp(-math::fabs(a - b)));
    const auto same = (math::fabs(a) == std::numeric_limits<T>::infinity()) & (a == b);
    return same ? a : sum;
  })
FC_BINARY(logaddexp2, kReal | kVectors,
  const V m = a < b ? b : a, sum = m + math::log1p(math::exp2(-math::fabs(a - b))) * T(1.44269504088896340736);
  const auto same = (math::fabs(a) == std::numeric_limits<T>::infinity()) & (a == b);
  return same ? a : sum;)
FC_BINARY(xlogy, kReal | kVectors, const V y = a == T(0) ? T(0) : a * math::log(b); return b != b ? b : y;)
FC_BINARY(xlog1py, kReal | kVectors, const V y = a == T(0) ? T(0) : a * math::log1p(b); return b != b ? b : y;)
FC_BINARY(ldexp, kFloating | kVectors, return a * math::exp2(b);)
FC_BINARY(heaviside, kOrdered,
  if constexpr (std::is_same_v<T, bool>) return static_cast<T>(a | b);
  else return a == 0 ? b : static_cast<T>(a > 0);)
FC_BINARY(gcd, kInt,
  wrap_t<T> x = static_cast<wrap_t<T>>(a < 0 ? -static_cast<wrap_t<T>>(a) : a);
  wrap_t<T> y = static_cast<wrap_t<T>>(b < 0 ? -static_cast<wrap_t<T>>(b) : b);
  while (y != 0) { wrap_t<T> r = static_cast<wrap_t<T>>(x % y); x = y; y = r; }
  return static_cast<T>(x);)
FC_BINARY(lcm, kInt, T d = gcd::apply(a, b, p); return d == 0 ? T(0) : abs::apply(wrap_mul(static_cast<T>(safe_quotient(a, d)), b), p);)
// --- comparisons, logic, bits
FC_BINARY(eq, kAll, return a == b;)
FC_BINARY(ne, kAll, return a != b;)
FC_BINARY(lt, kOrdered, return a < b;)
FC_BINARY(le, kOrdered, return a <= b;)
FC_BINARY(gt, kOrdered, return a > b;)
FC_BINARY(ge, kOrdered, return a >= b;)
FC_BINARY(logical_and, kBool, return static_cast<T>(a & b);)
FC_BINARY(logical_or, kBool, return static_cast<T>(a | b);)
FC_BINARY(logical_xor, kBool, return a != b;)
FC_BINARY(bitwise_and, kBool | kInt, return static_cast<T>(a & b);)
FC_BINARY(bitwise_or, kBool | kInt, return static_cast<T>(a | b);)
FC_BINARY(bitwise_xor, kBool | kInt, return static_cast<T>(a ^ b);)
// Bytes by 4, 2 and 1, because vectors of bytes have no shifts by different amounts.
FC_BINARY(bitwise_left_shift, kInt,
  constexpr int bits = 8 * sizeof(T);
  if constexpr (bits == 8) {
    wrap_t<T> r = static_cast<wrap_t<T>>(a);
    r = b & 4 ? static_cast<wrap_t<T>>(r << 4) : r;
    r = b & 2 ? static_cast<wrap_t<T>>(r << 2) : r;
    r = b & 1 ? static_cast<wrap_t<T>>(r << 1) : r;
    return static_cast<T>(b & ~7 ? 0 : r);
  } else return b < 0 || b >= bits ? T(0) : static_cast<T>(static_cast<wrap_t<T>>(a) << b);)
// A byte keeps its sign by hand: vectors of bytes have no shift that does.
template <int n, class T>
FC_INLINE T byte_right_shift(T x) {
  const uint8_t r = static_cast<uint8_t>(static_cast<uint8_t>(x) >> n), sign = std::is_signed_v<T> ? 0x80 >> n : 0;
  return static_cast<T>(static_cast<uint8_t>((r ^ sign) - sign));
}
FC_BINARY(bitwise_right_shift, kInt,
  constexpr int bits = 8 * sizeof(T);
  if constexpr (bits == 8) {
    const uint8_t n = static_cast<uint8_t>(b) > 7 ? 7 : static_cast<uint8_t>(b);
    T r = a;
    r = n & 4 ? byte_right_shift<4>(r) : r;
    r = n & 2 ? byte_right_shift<2>(r) : r;
    r = n & 1 ? byte_right_shift<1>(r) : r;
    if constexpr (std::is_signed_v<T>) return r;  // 7 leaves the sign, as more would
    else return static_cast<T>(b > 7 ? 0 : r);
  } else return b < 0 || b >= bits ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);)
FC_BINARY(prelu, kReal, return a > T(0) ? a : a * b;)
FC_BINARY(complex, kReal, return std::complex<T>(a, b);)
// --- derivatives; a: incoming gradient, b: input or result
FC_BINARY(sigmoid_backward, kFloating, if constexpr (is_complex_v<T>) return wrap_mul(a, std::conj(wrap_mul(T(1) - b, b))); else return a * (T(1) - b) * b;)
FC_BINARY(tanh_backward, kFloating, if constexpr (is_complex_v<T>) return wrap_mul(a, std::conj(T(1) - wrap_mul(b, b))); else return a * (T(1) - b * b);)
FC_BINARY(silu_backward, kReal | kVectors, V s = T(1) / (T(1) + math::exp(-b)); return a * s * (T(1) + b * (T(1) - s));)
FC_BINARY(mish_backward, kReal | kVectors,
  V s = T(1) / (T(1) + math::exp(-b)), t = tanh_softplus(b);
  return a * (t + b * s * (T(1) - t * t));)
FC_BINARY(gelu_backward, kReal | kVectors,
  if constexpr (std::is_same_v<T, float> && math::has_fma) {
    const V size = math::fabs(b), near = math::own::at_most(T(6), size);
    const V tail = T(6) < size ? T(0) : math::own::normal_tail(near);
    const V pdf = tail * math::own::normal_density_over_tail(near);
    return a * ((b < T(0) ? tail : T(1) - tail) + b * pdf);
  } else {
    V cdf = T(0.5) * (T(1) + math::erf(b * T(0.70710678118654752440)));
    V pdf = math::exp(T(-0.5) * b * b) * T(0.39894228040143267794);
    return a * (cdf + b * pdf);
  })
FC_BINARY(gelu_tanh_backward, kReal | kVectors,
  constexpr T k = T(0.79788456080286535588); constexpr T c = T(0.044715);
  V t = math::tanh(k * (b + c * b * b * b));
  return a * (T(0.5) * (T(1) + t) + T(0.5) * b * (T(1) - t * t) * k * (T(1) + T(3) * c * b * b));)
FC_BINARY(threshold_backward, kInt | kReal, return b <= p[0] ? T(0) : a;)
FC_BINARY(shrink_backward, kReal, return b >= -p[0] && b <= p[0] ? T(0) : a;)
FC_BINARY(leaky_relu_backward, kReal, return b > T(0) ? a : a * p[0];)
FC_BINARY(elu_backward, kReal | kVectors, return b <= T(0) ? a * p[2] * p[0] * p[1] * math::exp(b * p[2]) : a * p[1];)
FC_BINARY(hardtanh_backward, kReal, return b <= p[0] || b >= p[1] ? T(0) : a;)
FC_BINARY(hardswish_backward, kReal, return b <= T(-3) ? T(0) : (b < T(3) ? a * (b / T(3) + T(0.5)) : a);)
FC_BINARY(hardsigmoid_backward, kReal, return b > T(-3) && b < T(3) ? a / T(6) : T(0);)
FC_BINARY(softplus_backward, kReal | kVectors, V z = b * p[0]; return z > p[1] ? a : a / (T(1) + math::exp(-z));)
FC_BINARY(log_sigmoid_backward, kReal | kVectors, return a / (T(1) + math::exp(b));)
FC_BINARY(smooth_l1, kReal, T d = std::fabs(a - b); return d < p[0] ? T(0.5) * d * d / p[0] : d - T(0.5) * p[0];)
FC_BINARY(huber, kReal, T d = std::fabs(a - b); return d <= p[0] ? T(0.5) * d * d : p[0] * (d - T(0.5) * p[0]);)

// --- three inputs
struct clamp {
  static constexpr int code = FC_MAP_clamp, arity = 3;
  static constexpr unsigned accepts = kOrdered;
  template <class T>
  FC_INLINE static T apply(T x, T lo, T hi, const T* p) {
    return minimum::apply(static_cast<T>(maximum::apply(x, lo, p)), hi, p);
  }
};
struct lerp {  // exact at both ends
  static constexpr int code = FC_MAP_lerp, arity = 3;
  static constexpr unsigned accepts = kFloating;
  template <class T>
  FC_INLINE static T apply(T a, T b, T w, const T*) {
    if constexpr (is_complex_v<T>) {
      const bool small = w.real() * w.real() + w.imag() * w.imag() < real_t<T>(0.25);
      return small ? a + wrap_mul(w, b - a) : b - wrap_mul(b - a, T(1) - w);
    } else {
      return std::abs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
    }
  }
};
struct addcmul {
  static constexpr int code = FC_MAP_addcmul, arity = 3;
  static constexpr unsigned accepts = kNumbers;
  template <class T>
  FC_INLINE static T apply(T a, T b, T c, const T* p) {
    if constexpr (is_int_v<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) + static_cast<wrap_t<T>>(wrap_mul(wrap_mul(p[0], b), c)));
    else return a + wrap_mul(times_alpha(b, p[0]), c);
  }
};
struct addcdiv {
  static constexpr int code = FC_MAP_addcdiv, arity = 3;
  static constexpr unsigned accepts = kFloating;
  template <class T>
  FC_INLINE static T apply(T a, T b, T c, const T* p) {
    return a + quotient(times_alpha(b, p[0]), c);
  }
};

template <class... Op>
struct op_list {};
// The only enumeration of formulas, but for comparisons and bits, which share kernels between types (cpu/isa/compare),
// and `where`, which has a condition of another type.
using unary_ops = op_list<neg, positive, abs, square, cube, inverse_square, reciprocal, sqrt, rsqrt, sign, sgn, floor, ceil, trunc, round, frac,
                          round_decimals, deg2rad, rad2deg, logical_not, isnan, isinf, isfinite, isposinf, isneginf,
                          signbit, bitwise_not, conj_physical, angle, real, imag, relu, leaky_relu, hardtanh, hardswish,
                          hardsigmoid, threshold, hardshrink, softshrink, nan_to_num>;
using math_ops = op_list<exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
                         asinh, acosh, atanh, sinc, erf, erfc, erfinv, lgamma, digamma, polygamma, i0, i1, logit, sigmoid,
                         silu, mish, gelu, gelu_tanh, softplus, elu, log_sigmoid>;
using binary_ops = op_list<add, sub, rsub, mul, div, div_trunc, div_floor, floor_divide, remainder, fmod, pow, maximum,
                           minimum, fmax, fmin, clamp_min, clamp_max, atan2, hypot, copysign, nextafter, logaddexp,
                           logaddexp2, xlogy, xlog1py, ldexp, heaviside, gcd, lcm, complex, prelu, smooth_l1, huber>;
using derivative_ops = op_list<sigmoid_backward, tanh_backward, silu_backward, mish_backward, gelu_backward,
                               gelu_tanh_backward, threshold_backward, leaky_relu_backward, elu_backward,
                               hardtanh_backward, hardswish_backward, hardsigmoid_backward, softplus_backward,
                               log_sigmoid_backward, logit_backward, shrink_backward>;
using ternary_ops = op_list<clamp, lerp, addcmul, addcdiv>;

#undef FC_UNARY
#undef FC_BINARY

}  // namespace fc::scalar
