// SPDX-License-Identifier: Apache-2.0
// Special functions of physics and statistics that the C library has not, computed in double whatever the type: series,
// recurrences, continued fractions and integrals, each where it is exact. Loops depend on the operand, so there is
// nothing here for vectors or tensors. Every loop is bounded for any operand.
#pragma once
#include "kernels/algebra.h"

namespace fc::math {

inline constexpr double euler = 0.57721566490153286061, two_pi = 6.28318530717958647692;
// log(x / 2) + Euler's constant, also where x / 2 would be 0.
FC_FUNCTION_OF_NUMBERS double log_half_plus_euler(double x) { return target::log(x) - 0.69314718055994530942 + euler; }
template <int n>
FC_FUNCTION_OF_NUMBERS double horner(double x, const double (&c)[n]) {
  double sum = c[n - 1];
  for (int i = n - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// --- incomplete gamma functions: P(a, x) and Q(a, x) = 1 - P(a, x)
// log(1 + x) - x
FC_FUNCTION_OF_NUMBERS double log1p_less(double x) {
  if (!(target::fabs(x) < 0.4)) return target::log1p(x) - x;
  const double r = x / (2 + x), q = r * r;
  double sum = 0;
  for (int k = 33; k >= 3; k -= 2) sum = sum * q + 1.0 / k;
  return 2 * r * q * sum - x * r;
}
FC_FUNCTION_OF_NUMBERS double lgamma_of_1_plus(double a) {
  if (a > 0.02) return lgamma(1 + a);
  return a * horner(a, {-euler, 0.82246703342411321824, -0.40068563438653142847, 0.27058080842778454788,
                        -0.20738555102867398527, 0.16955717699740818995, -0.14404989676884611812});
}
// x^a e^-x / gamma(a + 1)
FC_FUNCTION_OF_NUMBERS double gamma_density(double a, double x) {
  if (a < 10) return target::exp(a * target::log(x) - x - lgamma_of_1_plus(a));
  const double z = 1 / (a * a), stirling = horner(z, {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188}) / a;
  return target::exp(a * log1p_less((x - a) / a) - stirling) / target::sqrt(two_pi * a);
}
// Both for large a, by the normal distribution and corrections of Temme's: near x = a, elsewhere they are 0 and 1.
FC_FUNCTION_OF_NUMBERS double gamma_of_large(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  if (!(target::fabs(mu) < 0.4)) return (mu > 0) == upper ? 0 : 1;
  const double eta = target::copysign(target::sqrt(-2 * log1p_less(mu)), mu), sign = upper ? 1 : -1;
  const double c0 = horner(
                   eta, {-1.0 / 3, 1.0 / 12, -0.014814814814814815, 0.0011574074074074074, 0.00035273368606701940,
                         -0.00017875514403292181, 3.9192631785224378e-5, -2.1854485106799922e-6, -1.8540622107151600e-6,
                         8.2967113409530860e-7, -1.7665952736826079e-7, 6.7078535434014986e-9, 1.0261809784240308e-8}),
               c1 = horner(eta, {-0.0018518518518518519, -0.0034722222222222222, 0.0026455026455026455,
                                 -0.00099022633744855967, 0.00020576131687242798, -4.0187757201646091e-7,
                                 -1.8098550334489978e-5, 7.6491609160811101e-6}),
               c2 = horner(eta, {0.0041335978835978836, -0.0026813271604938272, 0.00077160493827160494});
  const double rest = target::exp(-0.5 * a * eta * eta) / target::sqrt(two_pi * a) * (c0 + (c1 + c2 / a) / a);
  return 0.5 * target::erfc(sign * eta * target::sqrt(0.5 * a)) + sign * rest;
}
FC_FUNCTION_OF_NUMBERS double lower_gamma_series(double a, double x) {
  double sum = 1, term = 1;
  for (int n = 1; n < 10000 && term > sum * 0x1p-54; ++n) sum += term *= x / (a + n);
  return gamma_density(a, x) * sum;
}
// Of small x, where 1 - P would cancel.
FC_FUNCTION_OF_NUMBERS double upper_gamma_series(double a, double x) {
  const double log_first = a * target::log(x) - lgamma_of_1_plus(a);
  double sum = 0, power = 1;
  for (int n = 1; n < 60; ++n) {
    power *= -x / n;
    sum += power / (a + n);
  }
  return -target::expm1(log_first) - target::exp(log_first) * a * sum;
}
FC_FUNCTION_OF_NUMBERS double upper_gamma_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int n = 1; n < 10000; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (target::fabs(d * c - 1) < 0x1p-52) break;
  }
  return gamma_density(a, x) * a * h;
}
FC_FUNCTION_OF_NUMBERS double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0)) return Limits<double>::nan;
  const double inf = Limits<double>::inf;
  if (a == 0) return x > 0 ? (upper ? 0 : 1) : Limits<double>::nan;
  if (a == inf) return x == inf ? Limits<double>::nan : (upper ? 1 : 0);
  if (x == 0 || x == inf) return (x == 0) == upper ? 1 : 0;
  if (a > 20000) return gamma_of_large(a, x, upper);
  if (x <= 1.1 ? (x < 0.5 ? -0.4 / target::log(x) : 1.1 * x) < a : x < a) {
    const double p = lower_gamma_series(a, x);
    return upper ? 1 - p : p;
  }
  const double q = x <= 1.1 ? upper_gamma_series(a, x) : upper_gamma_fraction(a, x);
  if (upper) return q;
  return x <= 1.1 ? lower_gamma_series(a, x) : 1 - q;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T igamma(T a, T x) {
  return static_cast<T>(incomplete_gamma(static_cast<double>(a), static_cast<double>(x), false));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T igammac(T a, T x) {
  return static_cast<T>(incomplete_gamma(static_cast<double>(a), static_cast<double>(x), true));
}

// The sum of (q + k)^-s over k = 0, 1 …
template <class T>
FC_FUNCTION_OF_NUMBERS T zeta(T s, T q) {
  if (s == T(1)) return Limits<T>::inf;
  if (s < T(1)) return Limits<T>::nan;
  if (q <= T(0) && q == target::floor(q)) return Limits<T>::inf;
  if (s == Limits<T>::inf) return q == T(1) ? T(1) : (q > T(1) ? T(0) : Limits<T>::inf);
  return s != s || q != q ? Limits<T>::nan : static_cast<T>(hurwitz(static_cast<double>(s), static_cast<double>(q)));
}

// --- the normal distribution
// e^(x^2) erfc(x)
template <class T>
FC_FUNCTION_OF_NUMBERS T erfcx(T x) {
  const T z = T(1) / (x * x), far = T(0.56418958354775628695) / x;  // 1 / sqrt(pi)
  if (x > T(50)) return far * (T(1) + z * (T(-0.5) + z * (T(0.75) - T(1.875) * z)));
  return x < T(0.5) ? exp(x * x) * erfc(x) : erfcx_beyond_half(at_least(T(0.5), x));
}
// The inverse of the distribution function: by erfinv's polynomials of -log(1 - erf^2), beyond them by Newton's method
// on the logarithm.
FC_FUNCTION_OF_NUMBERS double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -Limits<double>::inf : (p == 1 ? Limits<double>::inf : Limits<double>::nan);
  const double root2 = 1.41421356237309504880;
  if (p > 1e-15) {
    const double w = -target::log(4 * p * (1 - p));
    return root2 * (2 * p - 1) * erfinv_factor(w, target::sqrt(w));
  }
  const double goal = target::log(p);
  double z = -target::sqrt(-2 * goal - target::log(-2 * two_pi * goal));
  for (int i = 0; i < 4; ++i) {
    const double scaled = erfcx_beyond_half(-z / root2);
    z -= (target::log(0.5 * scaled) - 0.5 * z * z - goal) * scaled * 1.25331413731550025121;  // sqrt(pi / 2)
  }
  return z;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T ndtri(T p) {
  return static_cast<T>(normal_quantile(static_cast<double>(p)));
}

// --- Bessel functions
template <class T>
FC_FUNCTION_OF_NUMBERS T i0e(T x) {
  return x != x ? x : static_cast<T>(scaled_bessel(0, target::fabs(static_cast<double>(x))));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T i1e(T x) {
  return x != x ? x : target::copysign(static_cast<T>(scaled_bessel(1, target::fabs(static_cast<double>(x)))), x);
}
// J and Y of order 0 and 1 for x > 0: J by recurrence from orders where it vanishes, Y by Neumann's series of these J;
// both by Hankel's expansion from 25 on.
struct JandY {
  double j[2], y[2];
};
FC_FUNCTION_OF_NUMBERS JandY bessel_near(double x) {
  if (x < 1e-4) {
    const double l = log_half_plus_euler(x) * 2 / pi, j0 = 1 - x * x / 4, j1 = x / 2 * (1 - x * x / 8);
    return {{j0, j1}, {l * j0 + x * x / two_pi, -2 / pi / x + (l - 2 / pi) * j1 + x / two_pi}};
  }
  double next = 0, here = 1e-150, sum = 0, even = 0, odd = 0, j1 = 0;
  for (int k = 2 * static_cast<int>(10 + 0.9 * x); k > 0; --k) {  // `here` is of order k
    const int half = k / 2;
    const double sign = half % 2 ? -1 : 1;
    if (k % 2 == 0) {
      sum += 2 * here;
      even += sign * here / half;
    } else if (k > 1) {
      odd += sign * here * k / (static_cast<double>(half) * (half + 1));
    } else {
      j1 = here;
    }
    const double before = 2 * k / x * here - next;
    next = here;
    here = before;
  }
  sum += here;
  const double j0 = here / sum, l = log_half_plus_euler(x);
  j1 /= sum;
  return {{j0, j1}, {2 / pi * (l * j0 - 2 * even / sum), 2 / pi * ((l - 1) * j1 - odd / sum - j0 / x)}};
}
FC_FUNCTION_OF_NUMBERS JandY bessel_far(double x) {
  const double s = target::sin(x), c = target::cos(x), by = 1 / target::sqrt(pi * x);
  double p[2], q[2];
  for (int order = 0; order < 2; ++order) {
    double term = 1;
    p[order] = 1;
    q[order] = 0;
    for (int k = 1; k < 40; ++k) {
      const double odd = 2 * k - 1;
      term *= (4 * order - odd * odd) / (8 * k * x);
      if (k % 2) q[order] += k % 4 == 1 ? term : -term;
      else p[order] += k % 4 == 0 ? term : -term;
      if (target::fabs(term) < 0x1p-54) break;
    }
  }
  return {{by * (p[0] * (c + s) - q[0] * (s - c)), by * (p[1] * (s - c) + q[1] * (s + c))},
          {by * (p[0] * (s - c) + q[0] * (c + s)), by * (q[1] * (s - c) - p[1] * (s + c))}};
}
FC_FUNCTION_OF_NUMBERS JandY bessel_of(double x) { return x < 25 ? bessel_near(x) : bessel_far(x); }
template <class T>
FC_FUNCTION_OF_NUMBERS T bessel_j(int order, T x) {
  if (x == T(0)) return order == 0 ? T(1) : x;
  const T size = static_cast<T>(bessel_of(target::fabs(static_cast<double>(x))).j[order]);
  return order == 1 && x < T(0) ? -size : size;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T bessel_y(int order, T x) {
  if (!(x > T(0))) return x == T(0) ? -Limits<T>::inf : Limits<T>::nan;
  return static_cast<T>(bessel_of(static_cast<double>(x)).y[order]);
}
// e^x K(x) of any order below 2, x > 0.5: the integral of e^(-x (cosh t - 1)) cosh(order t), by the trapezoidal rule,
// whose error vanishes exponentially.
FC_FUNCTION_OF_NUMBERS double scaled_k_integral(double order, double x) {
  if (x == Limits<double>::inf) return 0;
  const double step = x > 4 ? 0.5 / target::sqrt(x) : 0.25;
  double sum = 0.5;
  for (int i = 1; i < 200; ++i) {
    const double t = i * step, s = target::sinh(0.5 * t), decay = 2 * x * s * s;
    if (decay > 60) break;
    sum += target::exp(-decay) * target::cosh(order * t);
  }
  return sum * step;
}
// K(x) times e^x, or not; x > 0. Below 1 order 0 by its series, order 1 from it by the Wronskian.
FC_FUNCTION_OF_NUMBERS double bessel_k(int order, double x, bool scaled) {
  if (x >= 1) {
    const double k = scaled_k_integral(order, x);
    return scaled ? k : k * target::exp(-x);
  }
  const double i0 = bessel(0, x), i1 = bessel(1, x), q = x * x / 4;
  double k0 = -log_half_plus_euler(x) * i0, term = 1, harmonic = 0;
  for (int k = 1; k < 12; ++k) {
    term *= q / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    k0 += term * harmonic;
  }
  const double k = order == 0 ? k0 : (1 / x - i1 * k0) / i0;
  return scaled ? k * target::exp(x) : k;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T modified_bessel_k(int order, T x, bool scaled) {
  if (!(x > T(0))) return x == T(0) ? Limits<T>::inf : Limits<T>::nan;
  return static_cast<T>(bessel_k(order, static_cast<double>(x), scaled));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T spherical_bessel_j0(T x) {
  if (target::fabs(x) == Limits<T>::inf) return T(0);
  return x == T(0) ? T(1) : target::sin(x) / x;
}

// The Airy function Ai: by K of order 1/3, by Fourier's integral on a shifted contour, where it decays like a normal
// distribution, and by its expansion far below zero.
FC_FUNCTION_OF_NUMBERS double airy(double x) {
  if (!(target::fabs(x) < Limits<double>::inf)) return Limits<double>::nan;
  if (x > 1) {
    const double z = x * target::sqrt(x) * (2.0 / 3);
    return target::sqrt(x / 3) / pi * target::exp(-z) * scaled_k_integral(1.0 / 3, z);
  }
  if (x > -8) {
    const double c = 0.5, step = 1.0 / 14;
    double sum = 0.5;
    for (int i = 1; i < 140; ++i) {
      const double t = i * step;
      sum += target::exp(-c * t * t) * target::cos(t * (t * t / 3 + x - c * c));
    }
    return target::exp(c * c * c / 3 - x * c) * sum * step / pi;
  }
  const double z = -x * target::sqrt(-x) * (2.0 / 3), s = target::sin(z), c = target::cos(z);
  double even = 1, odd = 0, term = 1;
  for (int k = 1; k < 20; ++k) {
    term *= (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1)) / z;
    if (k % 2) odd += k % 4 == 1 ? term : -term;
    else even += k % 4 == 0 ? term : -term;
    if (target::fabs(term) < 0x1p-54) break;
  }
  return ((s + c) * even - (c - s) * odd) / target::sqrt(2 * pi * target::sqrt(-x));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T airy_ai(T x) {
  return static_cast<T>(airy(static_cast<double>(x)));
}

// --- orthogonal polynomials of x and degree n, a number of which the integer part counts; 0 for a negative one
enum Polynomial { kChebyshevT, kChebyshevU, kChebyshevV, kChebyshevW, kHermiteH, kHermiteHe, kLaguerreL, kLegendreP };

// Chebyshev's four in closed form: of an angle within -1 and 1, of a hyperbolic one outside. |x| is not 1.
FC_FUNCTION_OF_NUMBERS double chebyshev(int kind, double x, double n) {
  const bool inside = target::fabs(x) < 1, odd = target::fmod(n, 2.0) != 0;
  if (!inside && x < 0) {  // mirrored; the third and the fourth are each other's mirror image
    const double mirrored = chebyshev(kind == kChebyshevV   ? kChebyshevW
                                      : kind == kChebyshevW ? kChebyshevV
                                                            : kind,
                                      -x, n);
    return odd ? -mirrored : mirrored;
  }
  const double a = inside ? target::acos(x) : target::acosh(x);
  const auto s = [&](double v) { return inside ? target::sin(v) : target::sinh(v); };
  const auto c = [&](double v) { return inside ? target::cos(v) : target::cosh(v); };
  switch (kind) {
    case kChebyshevT: return c(n * a);
    case kChebyshevU: return s((n + 1) * a) / s(a);
    case kChebyshevV: return c((n + 0.5) * a) / c(a / 2);
    default: return s((n + 0.5) * a) / s(a / 2);
  }
}
FC_FUNCTION_OF_NUMBERS double orthogonal(int kind, double x, double degree) {
  const double n = target::trunc(degree);  // as a conversion to an integer
  if (!(n >= 0)) return 0;
  if (n == 0) return 1;
  if (x != x) return x;
  const bool is_chebyshev = kind <= kChebyshevW, odd = target::fmod(n, 2.0) != 0;
  if (is_chebyshev && target::fabs(x) == 1) {
    const double large = kind == kChebyshevU ? n + 1 : 2 * n + 1;
    const bool is_large = kind == kChebyshevU || (kind == kChebyshevV && x < 0) || (kind == kChebyshevW && x > 0);
    return (is_large ? large : 1) * (x < 0 && odd ? -1 : 1);
  }
  if (kind == kLegendreP && target::fabs(x) == 1) return x < 0 && odd ? -1 : 1;
  if (is_chebyshev && n > 6 && (target::fabs(x) < 1 || n > 1000)) return chebyshev(kind, x, n);
  if (n > 0x1p20) return Limits<double>::nan;  // beyond what a recurrence gives in reasonable time
  double before = 1, here = x;
  switch (kind) {
    case kChebyshevU:
    case kHermiteH: here = 2 * x; break;
    case kChebyshevV: here = 2 * x - 1; break;
    case kChebyshevW: here = 2 * x + 1; break;
    case kLaguerreL: here = 1 - x; break;
    default: break;
  }
  for (double k = 1; k < n && here == here; ++k) {
    double next;
    switch (kind) {
      case kHermiteH: next = 2 * x * here - 2 * k * before; break;
      case kHermiteHe: next = x * here - k * before; break;
      case kLaguerreL: next = ((2 * k + 1 - x) * here - k * before) / (k + 1); break;
      case kLegendreP: next = ((2 * k + 1) * x * here - k * before) / (k + 1); break;
      default: next = 2 * x * here - before; break;
    }
    before = here;
    here = next;
  }
  return here;
}
template <class T>
FC_FUNCTION_OF_NUMBERS T polynomial(Polynomial kind, T x, T n) {
  return static_cast<T>(orthogonal(kind, static_cast<double>(x), static_cast<double>(n)));
}
template <class T>
FC_FUNCTION_OF_NUMBERS T shifted_polynomial(Polynomial kind, T x, T n) {
  return static_cast<T>(orthogonal(kind, 2 * static_cast<double>(x) - 1, static_cast<double>(n)));
}

}  // namespace fc::math
