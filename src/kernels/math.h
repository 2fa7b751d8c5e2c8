// SPDX-License-Identifier: Apache-2.0
// Elementary functions for the formulas: our own where they vectorise (elementary.h), the C library's for complex
// numbers and the rest, and some that it has not (erfinv, digamma, polygamma, Bessel i0).
#pragma once
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "kernels/elementary.h"

namespace fc::math {

template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T>;

// Without fused multiply-add our own functions would be slow and less exact: the C library's do.
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
constexpr bool has_fma = true;
#else
constexpr bool has_fma = false;
#endif

#define FC_FUNCTION(name)                                     \
  template <class T>                                          \
  FC_INLINE T name(T x) {                                     \
    if constexpr (is_real<T> && has_fma) return own::name(x); \
    else return std::name(x);                                 \
  }
FC_FUNCTION(exp)
FC_FUNCTION(log)
FC_FUNCTION(asin)
FC_FUNCTION(acos)
FC_FUNCTION(atan)
FC_FUNCTION(sinh)
FC_FUNCTION(cosh)
FC_FUNCTION(tanh)
FC_FUNCTION(asinh)
FC_FUNCTION(acosh)
FC_FUNCTION(atanh)
FC_FUNCTION(log10)
FC_FUNCTION(erf)
FC_FUNCTION(erfc)
#undef FC_FUNCTION

// Periodic functions of huge arguments need more digits of pi than a loop should carry: `exact` says whether our own
// function will do for x; a kernel asks for a whole row first.
template <class T>
FC_INLINE bool exact(T x) {
  return !(std::fabs(x) > own::trig_limit<T>);
}
#define FC_PERIODIC(name)                                                               \
  template <class T>                                                                    \
  FC_INLINE T name(T x) {                                                               \
    if constexpr (is_real<T> && has_fma) return exact(x) ? own::name(x) : std::name(x); \
    else return std::name(x);                                                           \
  }
FC_PERIODIC(sin)
FC_PERIODIC(cos)
FC_PERIODIC(tan)
#undef FC_PERIODIC

template <class T>
FC_INLINE T erf_within_one(T x) {
  if constexpr (has_fma) return own::erf_within_one(x);
  else return std::erf(x);
}
template <class T>
FC_INLINE T exp2(T x) {
  if constexpr (is_real<T> && has_fma) return own::exp2(x);
  else if constexpr (is_real<T>) return std::exp2(x);
  else return std::exp(x * typename T::value_type(0.69314718055994530942));
}
template <class T>
FC_INLINE T expm1(T x) {
  if constexpr (is_real<T> && has_fma) return own::expm1(x);
  else if constexpr (is_real<T>) return std::expm1(x);
  else {
    using R = typename T::value_type;
    R a = x.real(), b = x.imag(), s = std::sin(b / 2);
    return {std::expm1(a) * std::cos(b) - 2 * s * s, std::exp(a) * std::sin(b)};
  }
}
template <class T>
FC_INLINE T log2(T x) {
  if constexpr (is_real<T> && has_fma) return own::log2(x);
  else if constexpr (is_real<T>) return std::log2(x);
  else return std::log(x) * typename T::value_type(1.44269504088896340736);
}
template <class T>
FC_INLINE T log1p(T x) {
  if constexpr (is_real<T> && has_fma) return own::log1p(x);
  else if constexpr (is_real<T>) return std::log1p(x);
  else {
    using R = typename T::value_type;
    R a = x.real(), b = x.imag();
    if (std::abs(x) < R(0.5)) return {std::log1p(a * (a + 2) + b * b) / 2, std::atan2(b, a + 1)};
    return std::log(T(1) + x);
  }
}
template <class T>
FC_INLINE T pow(T a, T b) {
  if constexpr (std::is_same_v<T, float> && has_fma) return own::pow(a, b);
  else return std::pow(a, b);
}
template <class T>
FC_INLINE T hypot(T a, T b) {
  if constexpr (has_fma) return own::hypot(a, b);
  else return std::hypot(a, b);
}
template <class T>
FC_INLINE T atan2(T a, T b) {
  if constexpr (has_fma) return own::atan2(a, b);
  else return std::atan2(a, b);
}

// lgamma without the C library's global sign, which is a data race.
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
inline float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

// Inverse error function of 0 <= y < 1: an approximation by Giles, by our own polynomial in the last 2^-24, then Newton
// steps, each of which doubles the digits: one makes a float, two a double. Near 1 they look at erfc, which does not
// round to 1. No branches, for vector code.
FC_INLINE double erfinv_step(double x, double y) {
  const double miss = y > 0.5 ? (1 - y) - math::erfc(x) : math::erf_within_one(x) - y;
  return x - miss / (1.12837916709551257390 * math::exp(-x * x));
}
template <size_t n>
FC_INLINE double polynomial(const double (&c)[n], double x) {  // highest power first
  double y = c[0];
  for (size_t i = 1; i < n; ++i) y = c[i] + y * x;
  return y;
}
template <class T>
FC_INLINE T erfinv(T value) {
  constexpr double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                             -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  constexpr double end[] = {4.34526889e-6,   -2.17225273e-5, 7.67182291e-5, -0.000213894193,
                            -0.000139038101, 1.01030031,     4.84990642};
  const double y = std::fabs(static_cast<double>(value)), w = -math::log((1 - y) * (1 + y)), root = std::sqrt(w);
  double start = w < 5 ? polynomial(near, w - 2.5) : polynomial(far, root - 3);
  if constexpr (sizeof(T) == 8) start = w > 16 ? polynomial(end, root - 5) : start;
  double x = erfinv_step(start * y, y);
  if constexpr (sizeof(T) == 8) x = erfinv_step(x, y);
  using Limits = std::numeric_limits<T>;
  const T inside = static_cast<T>(x), outside = y == 1 ? Limits::infinity() : Limits::quiet_NaN();
  return std::copysign(y < 1 ? inside : outside, value);
}

// Reflection for negative x, upward recurrence to x >= 10, then the asymptotic series.
template <class T>
inline T digamma(T value) {
  double x = static_cast<double>(value), result = 0;
  if (x == 0) return static_cast<T>(std::copysign(std::numeric_limits<double>::infinity(), -x));
  if (x < 0) {
    if (x == std::trunc(x)) return std::numeric_limits<T>::quiet_NaN();
    double whole, part = std::modf(x, &whole);
    result = -3.14159265358979323846 / std::tan(3.14159265358979323846 * part);
    x = 1 - x;
  }
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  double z = 1 / (x * x);
  double series =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return static_cast<T>(result + std::log(x) - 0.5 / x - series);
}

// Hurwitz zeta by Euler-Maclaurin; polygamma(n, x) = (-1)^(n+1) n! zeta(n+1, x).
inline double hurwitz(double s, double q) {
  if (q <= 0) {
    if (q == std::floor(q)) return std::numeric_limits<double>::infinity();
    if (s != std::floor(s)) return std::numeric_limits<double>::quiet_NaN();
    // The terms below zero are those of another sum, however many they are.
    const double part = -q - std::floor(-q), below = hurwitz(s, part) - hurwitz(s, 1 - q);
    return hurwitz(s, 1 - part) + (std::fmod(s, 2) == 0 ? below : -below);
  }
  double sum = 0;
  for (int i = 0; i < 12 || q < 10; ++i, q += 1) sum += std::pow(q, -s);
  sum += std::pow(q, 1 - s) / (s - 1) + 0.5 * std::pow(q, -s);
  const double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
  double term = s * std::pow(q, -s - 1);
  for (int i = 0; i < 5; ++i) {
    sum += b[i] * term;
    term *= (s + 2 * i + 1) * (s + 2 * i + 2) / (q * q);
  }
  return sum;
}
template <class T>
inline T polygamma(int n, T x) {
  if (n == 0) return digamma(x);
  double sign = n % 2 ? 1 : -1;
  return static_cast<T>(sign * std::tgamma(n + 1.0) * hurwitz(n + 1.0, static_cast<double>(x)));
}

// Modified Bessel functions of order 0 and 1 of x >= 0: power series below 15, asymptotic series above.
inline double bessel(int order, double x) {
  double sum = 1, term = 1;
  if (x < 15) {
    const double q = x * x / 4;
    for (int k = 1; k < 60 && term > sum * 1e-17; ++k) sum += term *= q / (static_cast<double>(k) * (k + order));
    return order == 1 ? x / 2 * sum : sum;
  }
  for (int k = 1; k < 25; ++k) {
    const double odd = 2 * k - 1, next = term * (odd * odd - 4 * order) / (8 * k * x);
    if (std::fabs(next) > std::fabs(term)) break;
    sum += term = next;
  }
  return std::exp(x) / (2.50662827463100050242 * std::sqrt(x)) * sum;  // sqrt(2 pi)
}
template <class T>
inline T i0(T x) {
  return x != x ? x : static_cast<T>(bessel(0, std::fabs(static_cast<double>(x))));
}
template <class T>
inline T i1(T x) {
  return x != x ? x : std::copysign(static_cast<T>(bessel(1, std::fabs(static_cast<double>(x)))), x);
}

}  // namespace fc::math
