// SPDX-License-Identifier: Apache-2.0
// Elementary functions for the formulas: our own where they vectorise (elementary.h), the C library's for complex
// numbers and the rest, and some that it has not (erfinv, digamma, polygamma, Bessel i0).
#pragma once
#include "kernels/elementary.h"
#if !defined(FC_BARE)
#include <cmath>
#include <complex>
#endif

namespace fc::math {

using own::Element;
using own::fabs;
template <class V>
inline constexpr bool is_real = is_same_v<Element<V>, float> || is_same_v<Element<V>, double>;  // or a vector of them
inline constexpr double pi = 3.14159265358979323846;

// Without fused multiply-add our own functions would be slow and less exact: the C library's do.
#if defined(FC_BARE)
#define FC_COMPLEX_FUNCTION(name)
#else
#define FC_COMPLEX_FUNCTION(name) else return std::name(x);
#endif
#define FC_FUNCTION(name)                                     \
  template <class T>                                          \
  FC_INLINE T name(T x) {                                     \
    if constexpr (is_real<T> && has_fma) return own::name(x); \
    else if constexpr (is_real<T>) return target::name(x);    \
    FC_COMPLEX_FUNCTION(name)                                 \
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
#undef FC_FUNCTION
template <class T>
FC_INLINE T erf(T x) {
  if constexpr (has_fma) return own::erf(x);
  else return target::erf(x);
}
template <class T>
FC_INLINE T erfc(T x) {
  if constexpr (has_fma) return own::erfc(x);
  else return target::erfc(x);
}
using own::erfcx_beyond_half;
template <class T>
FC_INLINE T sqrt(T x) {
  if constexpr (is_real<T>) return own::sqrt(x);
  FC_COMPLEX_FUNCTION(sqrt)
}

// Periodic functions of huge arguments need more digits of pi than a loop should carry: `exact` says whether our own
// function will do for x; a kernel asks for a whole row first.
template <class T>
FC_INLINE bool exact(T x) {
  return !(target::fabs(x) > own::trig_limit<T>);
}
template <class T>
FC_INLINE bool exact_times_pi(T x) {
  return exact(x * T(pi));
}
template <class V, class T = Element<V>>
FC_INLINE V sinc_of_exact(V x) {
  const V y = x * T(pi), r = own::sin(y) / y;
  return x == T(0) ? T(1) : r;
}
#define FC_PERIODIC(name)                                                                  \
  template <class T>                                                                       \
  FC_INLINE T name(T x) {                                                                  \
    if constexpr (is_real<T> && has_fma) return exact(x) ? own::name(x) : target::name(x); \
    else if constexpr (is_real<T>) return target::name(x);                                 \
    FC_COMPLEX_FUNCTION(name)                                                              \
  }
FC_PERIODIC(sin)
FC_PERIODIC(cos)
FC_PERIODIC(tan)
#undef FC_PERIODIC
#undef FC_COMPLEX_FUNCTION

template <class T>
FC_INLINE T exp2(T x) {
  if constexpr (is_real<T> && has_fma) return own::exp2(x);
  else if constexpr (is_real<T>) return target::exp2(x);
  else return math::exp(x * typename T::value_type(0.69314718055994530942));
}
template <class T>
FC_INLINE T expm1(T x) {
  if constexpr (is_real<T> && has_fma) return own::expm1(x);
  else if constexpr (is_real<T>) return target::expm1(x);
  else {
    using R = typename T::value_type;
    R a = x.real(), b = x.imag(), s = target::sin(b / 2);
    return {target::expm1(a) * target::cos(b) - 2 * s * s, target::exp(a) * target::sin(b)};
  }
}
template <class T>
FC_INLINE T log2(T x) {
  if constexpr (is_real<T> && has_fma) return own::log2(x);
  else if constexpr (is_real<T>) return target::log2(x);
  else return math::log(x) * typename T::value_type(1.44269504088896340736);
}
template <class T>
FC_INLINE T log1p(T x) {
  if constexpr (is_real<T> && has_fma) return own::log1p(x);
  else if constexpr (is_real<T>) return target::log1p(x);
  else {
    using R = typename T::value_type;
    R a = x.real(), b = x.imag();
    if (target::hypot(a, b) < R(0.5)) return {target::log1p(a * (a + 2) + b * b) / 2, target::atan2(b, a + 1)};
    return math::log(T(1) + x);
  }
}
template <class T>
FC_INLINE T pow(T a, T b) {
  if constexpr (is_same_v<T, float> && has_fma) return own::pow(a, b);
  else if constexpr (is_real<T>) return target::pow(a, b);
#if !defined(FC_BARE)
  else return std::pow(a, b);
#endif
}
template <class T>
FC_INLINE T hypot(T a, T b) {
  if constexpr (has_fma) return own::hypot(a, b);
  else return target::hypot(a, b);
}
template <class T>
FC_INLINE T atan2(T a, T b) {
  if constexpr (has_fma) return own::atan2(a, b);
  else return target::atan2(a, b);
}

// lgamma without the C library's global sign, which is a data race.
FC_FUNCTION_OF_NUMBERS double lgamma(double x) {
#if defined(__CUDACC__)
  return ::lgamma(x);
#elif defined(FC_BARE)
  return __builtin_lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);
#endif
}
FC_FUNCTION_OF_NUMBERS float lgamma(float x) {
  if (has_fma && own::positive(x)) return own::lgamma_of_positive(x);
#if defined(__CUDACC__)
  return ::lgammaf(x);
#elif defined(FC_BARE)
  return __builtin_lgammaf(x);
#else
  int sign;
  return ::lgammaf_r(x, &sign);
#endif
}

// Inverse error function: x times a polynomial of w = -log(1 - x^2), and of its root beyond.
template <class V>
FC_INLINE V erfinv_near(V w) {
  if constexpr (own::is_single<V>)
    return own::poly(w - 3.0f, 1.623542f, 0.24163042f, -0.005738145f, -0.0008362043f, 0.0001950831f, -1.2704025e-05f,
                     -1.7616682e-06f, 4.476903e-07f, -2.0165098e-08f, -5.4366587e-09f, 7.07942e-10f);
  else
    return own::poly(w - 2.5, 1.501409351110792, 0.2466402767441667, -0.004177317724383496, -0.0012527079078074829,
                     0.00021825026434256318, -4.996079611173956e-06, -3.416619591404169e-06, 4.787252381299726e-07,
                     1.341679559820944e-08, -1.086118607299662e-08, 9.073107389663029e-10, 1.196159853985287e-10,
                     -3.110649163196451e-11, 9.08606053079741e-13, 5.368481716774611e-13, -7.551199522345375e-14,
                     -3.132281484589996e-15, 1.8184842927434184e-15, -1.0474938411750245e-16, -2.1255566343301617e-17,
                     2.6458717948420677e-18);
}
template <class V>
FC_INLINE V erfinv_factor(V w, V root) {
  if constexpr (own::is_single<V>) {
    const V far = own::poly(root - 3.25f, 3.0838857f, 1.005259f, 0.005371423f, -0.0037519878f, 0.0024846185f,
                            -0.0016822938f, 0.0009857634f, -0.0003730484f, -4.0380983e-05f, 9.133784e-05f);
    return w < 6.0f ? erfinv_near(w) : far;
  } else {
    const V far =
        own::poly(root - 3.0, 2.832976798728271, 1.0016752766933994, 0.009445522011949451, -0.007643805569979982,
                  0.0056851824201795105, -0.003558794019491598, 0.0014837372939536238, -0.00014889803399135068,
                  -0.0002831238727621601, 0.00020551588673595208, -4.6463828151797944e-05, -2.2868874213964005e-05,
                  2.1947265118186846e-05, -5.963104661548783e-06, -1.681435917061886e-06, 2.0348000687202e-06,
                  -6.054986628830777e-07, -1.2722698226126566e-07, 1.4217310339474177e-07, -2.8252123209553513e-08);
    const V end =
        own::poly(root - 4.875, 4.7236171149637975, 1.0103244465623906, -5.055681952929381e-05, -0.0002562887347735425,
                  8.942926140510064e-05, -2.3429531580331015e-05, 5.5079800618455346e-06, -1.268329794757031e-06,
                  3.314768291255767e-07, -1.2098399453887614e-07, 6.034137334000175e-08, -3.232938098659356e-08,
                  1.5792964252885025e-08, -6.514805171229377e-09, 2.128928586429744e-09, -4.5774199283218307e-10,
                  -2.3187848771665098e-11, 7.917599610143371e-11, -3.4366413512441553e-11, 5.538438801770615e-12);
    return w < 5.0 ? erfinv_near(w) : (root < 3.75 ? far : end);
  }
}
template <class V, class T = Element<V>>
FC_INLINE V erfinv(V x) {
  const V a = own::fabs(x), w = -math::log((T(1) - a) * (T(1) + a));
  const V outside = a == T(1) ? Limits<T>::inf : Limits<T>::nan;
  return own::copysign(a < T(1) ? a * erfinv_factor(w, own::sqrt(w)) : outside, x);
}
// The same where w < 5.
template <class T>
FC_INLINE bool is_central(T x) {
  return target::fabs(x) < T(0.9966);
}
template <class V, class T = Element<V>>
FC_INLINE V erfinv_of_central(V x) {
  const V a = own::fabs(x), w = -math::log((T(1) - a) * (T(1) + a));
  return own::copysign(a * erfinv_near(w), x);
}

// Reflection for negative x, upward recurrence to x >= 10, then the asymptotic series.
template <class T>
FC_FUNCTION_OF_NUMBERS T digamma(T value) {
  if constexpr (is_same_v<T, float> && has_fma)
    if (own::positive(value)) return own::digamma_of_positive(value);
  double x = static_cast<double>(value), result = 0;
  if (x == 0) return static_cast<T>(target::copysign(Limits<double>::inf, -x));
  if (x < 0) {
    if (x == target::trunc(x)) return Limits<T>::nan;
    result = -pi / target::tan(pi * (x - target::trunc(x)));
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
  return static_cast<T>(result + target::log(x) - 0.5 / x - series);
}

// Hurwitz zeta by Euler-Maclaurin; polygamma(n, x) = (-1)^(n+1) n! zeta(n+1, x).
FC_FUNCTION_OF_NUMBERS double hurwitz(double s, double q) {
  if (q <= 0) {
    if (q == target::floor(q)) return Limits<double>::inf;
    if (s != target::floor(s)) return Limits<double>::nan;
    // The terms below zero are those of another sum, however many they are.
    const double part = -q - target::floor(-q), below = hurwitz(s, part) - hurwitz(s, 1 - q);
    return hurwitz(s, 1 - part) + (target::fmod(s, 2.0) == 0 ? below : -below);
  }
  double sum = 0;
  for (int i = 0; i < 12 || q < 10; ++i, q += 1) sum += target::pow(q, -s);
  sum += target::pow(q, 1 - s) / (s - 1) + 0.5 * target::pow(q, -s);
  const double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
  double term = s * target::pow(q, -s - 1);
  for (int i = 0; i < 5; ++i) {
    sum += b[i] * term;
    term *= (s + 2 * i + 1) * (s + 2 * i + 2) / (q * q);
  }
  return sum;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T polygamma(int n, T x) {
  if (n == 0) return digamma(x);
  double sign = n % 2 ? 1 : -1;
  return static_cast<T>(sign * target::tgamma(n + 1.0) * hurwitz(n + 1.0, static_cast<double>(x)));
}

// Modified Bessel functions of order 0 and 1 of x >= 0: power series below 15, asymptotic series above; the second is
// without the factor e^x.
FC_FUNCTION_OF_NUMBERS double bessel_series(int order, double x) {
  const double q = x * x / 4;
  double sum = 1, term = 1;
  for (int k = 1; k < 60 && term > sum * 1e-17; ++k) sum += term *= q / (static_cast<double>(k) * (k + order));
  return order == 1 ? x / 2 * sum : sum;
}
FC_FUNCTION_OF_NUMBERS double bessel_expansion(int order, double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 25; ++k) {
    const double odd = 2 * k - 1, next = term * (odd * odd - 4 * order) / (8 * k * x);
    if (target::fabs(next) > target::fabs(term)) break;
    sum += term = next;
  }
  return sum / (2.50662827463100050242 * target::sqrt(x));  // sqrt(2 pi)
}
FC_FUNCTION_OF_NUMBERS double bessel(int order, double x) {
  return x < 15 ? bessel_series(order, x) : target::exp(x) * bessel_expansion(order, x);
}
FC_FUNCTION_OF_NUMBERS double scaled_bessel(int order, double x) {
  return x < 15 ? target::exp(-x) * bessel_series(order, x) : bessel_expansion(order, x);
}
template <class T>
FC_FUNCTION_OF_NUMBERS T i0(T x) {
  return x != x ? x : static_cast<T>(bessel(0, target::fabs(static_cast<double>(x))));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T i1(T x) {
  return x != x ? x : target::copysign(static_cast<T>(bessel(1, target::fabs(static_cast<double>(x)))), x);
}

}  // namespace fc::math
