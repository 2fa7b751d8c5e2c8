// SPDX-License-Identifier: Apache-2.0
// Elementary functions of float and double without branches or tables, so that a loop over them becomes vector code.
// Each is a reduction to a small interval and a polynomial (Chebyshev interpolation in 60 digits), with fma where one
// rounding matters: within 2 units in the last place (erfc: 4), exact for infinities, NaN and zeros, and the same bits
// in a vector and in the tail of a loop. tests/cpp/elementary_test.cpp measures the error.
//
// sin, cos and tan hold up to |x| <= trig_limit; their callers give larger arguments to the C library.
#pragma once
#include "kernels/lanes.h"

namespace fc::math::own {

template <class T>
struct Constants;
template <>
struct Constants<float> : Format<float> {
  static constexpr float exp_low = -104.0f, exp_high = 90.0f, expm1_low = -20.0f, expm1_high = 89.0f, sinh_high = 89.5f,
                         tanh_high = 10.0f;
  static constexpr float trig_limit = 1e5f;
  static constexpr float ln2 = 0.693147182f, ln2_low = -1.90465421e-09f;
  static constexpr float ln2_short = 0.693115234f,
                         ln2_short_low = 3.19461833e-05f;  // times an exponent, the first is exact
  static constexpr float log10_2_short = 0.301025391f, log10_2_short_low = 4.60503907e-06f;
  static constexpr float log2e = 1.44269502f, log2e_low = 1.92596303e-08f;
  static constexpr float log10e = 0.434294492f, log10e_low = -1.010305e-08f;
  static constexpr float half_pi = 1.57079637f, half_pi_low = -4.37113883e-08f, half_pi_lowest = -1.71512451e-15f;
};
template <>
struct Constants<double> : Format<double> {
  static constexpr double exp_low = -746, exp_high = 711, expm1_low = -40, expm1_high = 710, sinh_high = 710.6,
                          tanh_high = 22;
  static constexpr double trig_limit = 1e9;
  static constexpr double ln2 = 0.69314718055994529, ln2_low = 2.3190468138462996e-17;
  static constexpr double ln2_short = 0.69314718055966296, ln2_short_low = 2.8235290563031577e-13;
  static constexpr double log10_2_short = 0.30102999566383914, log10_2_short_low = 1.4205023227266099e-13;
  static constexpr double log2e = 1.4426950408889634, log2e_low = 2.0355273740931033e-17;
  static constexpr double log10e = 0.43429448190325182, log10e_low = 1.0983196502167651e-17;
  static constexpr double half_pi = 1.5707963267948966, half_pi_low = 6.123233995736766e-17,
                          half_pi_lowest = -1.4973849048591698e-33;
};
template <class T>
inline constexpr T trig_limit = Constants<T>::trig_limit;

// --- exponentials

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
template <class V>
FC_INLINE V exp_poly(V r) {
  if constexpr (is_single<V>)
    return poly(r, 0.5f, 0.166666672f, 0.0416664667f, 0.00833331048f, 0.00139336498f, 0.000198909911f);
  else
    return poly(r, 0.5, 0.16666666666666671, 0.041666666666666671, 0.0083333333333261358, 0.0013888888888883748,
                0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06, 2.7557273643110297e-07,
                2.5105217004720745e-08, 2.0914686968086876e-09);
}

template <class V>
struct Reduced {
  V n, r;  // x = n ln(2) + r
};
template <class V, class T = Element<V>>
FC_INLINE Reduced<V> reduce_exp(V x) {
  using F = Constants<T>;
  const V n = fma(x, F::log2e, F::magic) - F::magic;
  return {n, fma(n, -F::ln2_low, fma(n, -F::ln2, x))};
}

// exp(r) - 1
template <class V>
FC_INLINE V small_expm1(V r) {
  return fma(r * r, exp_poly(r), r);
}
template <class V, class T = Element<V>>
FC_INLINE V exp(V x) {
  const auto [n, r] = reduce_exp(clamp(x, Constants<T>::exp_low, Constants<T>::exp_high));
  return times_power_of_two(small_expm1(r) + T(1), n);
}
template <class V, class T = Element<V>>
FC_INLINE V exp_normal(V x) {  // of an x whose result is a normal number
  const auto [n, r] = reduce_exp(x);
  const V s = power_of_two(n);
  return fma(s, small_expm1(r), s);
}
template <class V, class T = Element<V>>
FC_INLINE V exp2(V x) {
  using F = Constants<T>;
  x = clamp(x, T(-F::bias - F::mantissa - 2), T(F::bias + 1));
  const V n = round_to_integer(x), f = x - n;
  const V r = fma(f, F::ln2, f * F::ln2_low);
  return times_power_of_two(small_expm1(r) + T(1), n);
}
// (exp(x) - 1) / 4 as a sum of two: a quarter, so that it holds wherever sinh does.
template <class V>
struct Pair {
  V high, low;
};
template <class V, class T = Element<V>>
FC_INLINE Pair<V> quarter_expm1(V x) {
  const auto [n, r] = reduce_exp(x);
  const V square = r * r * exp_poly(r), m = r + square, rest = (r - m) + square;
  const V s = power_of_two<-2>(n), whole = s - T(0.25), high = fma(s, m, whole);
  return {high, fma(s, m, whole - high) + s * rest};
}
// p / (p + c) for p >= 0, c > 0
template <class V, class T = Element<V>>
FC_INLINE Pair<V> ratio(Pair<V> p, T c) {
  const V d = p.high + c, back = d - p.high, lost = (p.high - (d - back)) + (c - back) + p.low;
  const V inverse = T(1) / d, q = p.high * inverse;
  return {q, (fma(q, -d, p.high) + fma(q, -lost, p.low)) * inverse};
}
template <class V, class T = Element<V>>
FC_INLINE V expm1(V x) {
  using F = Constants<T>;
  const auto [high, low] = quarter_expm1(clamp(x, F::expm1_low, F::expm1_high));
  return fabs(x) < Limits<T>::epsilon / 4 ? x : T(4) * (high + low);
}
// tanh(a) for a < 3/4
FC_INLINE auto small_tanh(auto a) {
  const auto z = a * a;
  const auto p = poly(z, -0.33333316f, 0.13332695f, -0.053892724f, 0.021452028f, -0.007657247f, 0.0017369313f);
  return fma(a * z, p, a);
}
template <class V, class T = Element<V>>
FC_INLINE V tanh(V x) {
  const V a = fabs(x);
  if constexpr (is_single<V>) {  // a polynomial and an exponential cost less than an exponential that is a sum of two
    const auto [n, r] = reduce_exp(T(2) * at_most(Constants<T>::tanh_high, a));
    const V s = power_of_two(n), large = T(1) - T(2) / fma(s, small_expm1(r), s + T(1));
    return copysign(a < T(0.75) ? small_tanh(a) : large, x);
  }
  const Pair<V> q = ratio(quarter_expm1(T(2) * at_most(Constants<T>::tanh_high, a)), T(0.5));
  return a < Limits<T>::epsilon / 4 ? x : copysign(q.high + q.low, x);
}
template <class V, class T = Element<V>>
FC_INLINE V cosh(V x) {
  const auto [n, r] = reduce_exp(at_most(Constants<T>::exp_high, fabs(x)));
  const V h = times_power_of_two(small_expm1(r) + T(1), n - T(1));  // exp(|x|) / 2
  return h + T(0.25) / h;
}
template <class V, class T = Element<V>>
FC_INLINE V sinh(V x) {  // with m = exp(|x|) - 1: (m + m / (m + 1)) / 2
  const V a = fabs(x);
  const Pair<V> m = quarter_expm1(at_most(Constants<T>::sinh_high, a)), q = ratio(m, T(0.25));
  const V twice = T(2) * m.high, half = T(0.5) * q.high, sum = twice + half;
  const V y = sum + ((twice - sum) + half + (T(2) * m.low + T(0.5) * q.low));
  const V either = sum > Limits<T>::max ? sum : y;
  return a < Limits<T>::epsilon / 4 ? x : copysign(either, x);
}

// --- logarithms

// (2 atanh(s) - 2 s) / s^3 as a function of s^2, for 1 + f in [sqrt(1/2), sqrt(2)], s = f / (2 + f)
template <class V>
FC_INLINE V log_poly(V z) {
  if constexpr (is_single<V>) return poly(z, 0.666666687f, 0.400001228f, 0.285507798f, 0.233316138f);
  else
    return poly(z, 0.66666666666666663, 0.40000000000000885, 0.28571428570799784, 0.22222222392581045,
                0.18181795547521137, 0.15386244737621665, 0.13268638369266825, 0.13088034850927555);
}

// x = 2^e (1 + f); log(1 + f) = f - f^2 / 2 + tail
template <class V>
struct LogParts {
  V e, f, half_square, tail;
};
template <class V, class T = Element<V>>
FC_INLINE LogParts<V> log_parts(V x) {
  const auto [e, f] = split(x);
  LogParts<V> p;
  p.e = e;
  p.f = f;
  p.half_square = T(0.5) * p.f * p.f;
  const V s = p.f / (T(2) + p.f), z = s * s;
  p.tail = s * fma(z, log_poly(z), p.half_square);
  return p;
}
// (log(1 + f) - f + f^2 / 2) / f^3, in single precision: shorter than a quotient
template <class V>
FC_INLINE V log_tail(V f) {
  return poly(f, 0.3333333f, -0.2500082f, 0.20001225f, -0.16623358f, 0.14201786f, -0.1316021f, 0.12761404f,
              -0.07634209f);
}
template <class V, class T = Element<V>>
FC_INLINE V log(V x) {
  using F = Constants<T>;
  if constexpr (is_single<V>) {
    const auto [e, f] = split(x);
    const V z = f * f, low = fma(e, F::ln2_short_low, f * z * log_tail(f));
    return log_edges(x, fma(e, F::ln2_short, f - (T(0.5) * z - low)));
  }
  const LogParts<V> p = log_parts(x);
  const V low = fma(p.e, F::ln2_short_low, p.tail);
  return log_edges(x, fma(p.e, F::ln2_short, p.f - (p.half_square - low)));
}

// e * (a + b) + log(1 + f) * (c + d), where c + d is one over the logarithm of the base.
template <class V, class T = Element<V>>
FC_INLINE V log_base(V x, T a, T b, T c, T d) {
  const LogParts<V> p = log_parts(x);
  const V high = p.f - p.half_square, low = (p.f - high) - p.half_square + p.tail;
  const V main = high * c, rest = fma(high, c, -main) + fma(low, c, high * d);
  const V whole = p.e * a, sum = whole + main;
  const V error = (whole - sum) + main;  // exact: the whole is larger, or 0
  return log_edges(x, sum + (error + (b == T(0) ? rest : fma(p.e, b, rest))));
}
template <class V, class T = Element<V>>
FC_INLINE V log2(V x) {
  using F = Constants<T>;
  if constexpr (is_single<V>) {  // f (log2(e) + f p)
    const auto [e, f] = split(x);
    const V p = poly(f, -0.721347511f, 0.480898291f, -0.360685587f, 0.288556695f, -0.239824355f, 0.204888463f,
                     -0.1898617f, 0.184108138f, -0.110138357f);
    return log_edges(x, e + fma(f, F::log2e, f * fma(f, p, F::log2e_low)));
  }
  return log_base(x, T(1), T(0), F::log2e, F::log2e_low);
}
template <class V, class T = Element<V>>
FC_INLINE V log10(V x) {
  using F = Constants<T>;
  if constexpr (is_single<V>) {
    const auto [e, f] = split(x);
    const V p = poly(f, -0.217147246f, 0.144764811f, -0.108577184f, 0.0868642181f, -0.0721943229f, 0.0616775714f,
                     -0.0571540669f, 0.0554220751f, -0.0331549495f);
    const V low = fma(e, F::log10_2_short_low, f * fma(f, p, F::log10e_low));
    return log_edges(x, fma(e, F::log10_2_short, fma(f, F::log10e, low)));
  }
  return log_base(x, F::log10_2_short, F::log10_2_short_low, F::log10e, F::log10e_low);
}
template <class V, class T = Element<V>>
FC_INLINE V log1p(V x) {
  using F = Constants<T>;
  const V u = T(1) + x, v = u - x;
  const V lost = (T(1) - v) + (x - (u - v));  // 1 + x = u + lost, exactly
  const LogParts<V> p = log_parts(u);
  const V low = fma(p.e, F::ln2_short_low, p.tail) + lost / u;
  const V y = fma(p.e, F::ln2_short, p.f - (p.half_square - low));
  return copysign(log_edges(u, y), x);  // for -0
}
template <class V, class T = Element<V>>
FC_INLINE V asinh(V x) {
  const V a = fabs(x);
  const V near = log1p(a + a * a / (T(1) + sqrt(fma(a, a, T(1)))));
  const V far = log(a) + Constants<T>::ln2;
  return copysign(a > T(0x1p30) ? far : near, x);
}
template <class V, class T = Element<V>>
FC_INLINE V acosh(V x) {
  const V t = x - T(1);
  const V near = log1p(t + sqrt(fma(t, t, T(2) * t)));
  const V y = x > T(0x1p30) ? log(x) + Constants<T>::ln2 : near;
  return x < T(1) ? Limits<T>::nan : y;
}
template <class V, class T = Element<V>>
FC_INLINE V atanh(V x) {
  const V a = fabs(x);
  return copysign(T(0.5) * log1p(T(2) * a / (T(1) - a)), x);
}

// --- sine, cosine, tangent

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 as functions of r^2, for |r| <= pi / 4
template <class V>
FC_INLINE V sin_poly(V z) {
  if constexpr (is_single<V>) return poly(z, -0.166666672f, 0.00833333191f, -0.000198400841f, 2.72496209e-06f);
  else
    return poly(z, -0.16666666666666666, 0.0083333333333333315, -0.00019841269841265041, 2.7557319219320579e-06,
                -2.5052106225994401e-08, 1.6058530596645953e-10, -7.5866368828251592e-13);
}
template <class V>
FC_INLINE V cos_poly(V z) {
  if constexpr (is_single<V>) return poly(z, 0.0416666679f, -0.00138888881f, 2.48005981e-05f, -2.73007032e-07f);
  else
    return poly(z, 0.041666666666666664, -0.0013888888888888887, 2.4801587301584632e-05, -2.755731922139249e-07,
                2.0876755787492604e-09, -1.1470460319209511e-11, 4.7458384125310228e-14);
}

template <class V>
struct Angle {
  V r, rest;        // the angle less a multiple of pi / 2, |r| <= pi / 4, as a sum of two
  Bits<V> quarter;  // that multiple; only its two lowest bits count
};
template <class V, class T = Element<V>>
FC_INLINE Angle<V> reduce_angle(V x) {
  using F = Constants<T>;
  const V shifted = fma(x, T(0.63661977236758134308), F::magic), n = shifted - F::magic;
  const V first = fma(n, -F::half_pi, x), second = n * F::half_pi_low, r = first - second, back = r - first;
  // What r is too short for: the rounding errors of its difference and its product, and the next digits of pi / 2.
  const V rest = ((first - (r - back)) - (second + back)) - fma(n, F::half_pi_lowest, fma(n, F::half_pi_low, -second));
  return {r, rest, bits_of(shifted)};
}
template <class V>
struct SinCos {
  V sin, sin_low, cos, cos_low;  // of the reduced angle, each a sum of two
  Bits<V> quarter;
};
template <class V, class T = Element<V>>
FC_INLINE SinCos<V> sin_cos(V x) {
  const auto [r, rest, quarter] = reduce_angle(x);
  const V z = r * r, h = T(0.5) * z, w = T(1) - h;
  const V sine = fma(z * r, sin_poly(z), rest);
  const V cosine = fma(z * z, cos_poly(z), fma(r, -rest, (T(1) - w) - h));
  return {r, sine, w, cosine, quarter};
}
template <class V, class T = Element<V>>
FC_INLINE V negate_by(V x, Bits<V> n) {  // by the second lowest bit
  return from_bits<V>(bits_of(x) ^ ((n << (8 * sizeof(T) - 2)) & bits_of(T(-0.0))));
}
template <class V, class T = Element<V>>
FC_INLINE V sin(V x) {
  const SinCos<V> s = sin_cos(x);
  const V y = negate_by((s.quarter & 1 ? s.cos : s.sin) + (s.quarter & 1 ? s.cos_low : s.sin_low), s.quarter);
  return fabs(x) < Limits<T>::epsilon / 4 ? x : y;
}
template <class V, class T = Element<V>>
FC_INLINE V cos(V x) {
  const SinCos<V> s = sin_cos(x);
  return negate_by((s.quarter & 1 ? s.sin : s.cos) + (s.quarter & 1 ? s.sin_low : s.cos_low), s.quarter + 1);
}
template <class V, class T = Element<V>>
FC_INLINE V tan(V x) {
  if constexpr (is_single<V>) {  // tan(r), or -1 / tan(r)
    const auto [r, rest, quarter] = reduce_angle(x);
    const V z = r * r, cube = r * z;
    const V p = poly(z, 0.3333335f, 0.13332662f, 0.05406007f, 0.021281369f, 0.010837981f, 8.672962e-05f, 0.0043776883f);
    const V about = fma(cube, p, r), low = fma(cube, p, rest * fma(about, about, T(1)));
    const V t = r + low, t_low = (r - t) + low, inverse = T(-1) / t;
    const V y = fma(inverse, fma(inverse, t_low, fma(inverse, t, T(1))), inverse);
    return fabs(x) < Limits<T>::epsilon / 4 ? x : (quarter & 1 ? y : t);
  }
  const SinCos<V> s = sin_cos(x);
  const auto odd = s.quarter & 1;
  const V a = odd ? s.cos : s.sin, a_low = odd ? s.cos_low : s.sin_low;
  const V b = odd ? s.sin : s.cos, b_low = odd ? s.sin_low : s.cos_low;
  const V d = b + b_low, inverse = T(1) / d, q = (a + a_low) * inverse;
  const V y = q + (fma(-q, d, a) + (a_low - q * ((b - d) + b_low))) * inverse;
  return fabs(x) < Limits<T>::epsilon / 4 ? x : negate_by(y, s.quarter << 1);
}

// --- their inverses

// (atan(a) - a) / a^3 as a function of a^2, for a <= tan(pi / 8); (asin(a) - a) / a^3, for a <= 1/2
template <class V>
FC_INLINE V atan_poly(V z) {
  if constexpr (is_single<V>)
    return poly(z, -0.333333343f, 0.199999765f, -0.142841458f, 0.110712603f, -0.0862389654f, 0.0504612811f);
  else
    return poly(z, -0.33333333333333331, 0.19999999999999993, -0.1428571428571149, 0.11111111110751482,
                -0.090909090668160802, 0.076923067291948963, -0.066666418691311832, 0.058819230561140225,
                -0.052580202726567583, 0.047192591882420927, -0.041038875468626869, 0.030622995553735516,
                -0.013905374533113234);
}
template <class V>
FC_INLINE V asin_poly(V z) {
  if constexpr (is_single<V>)
    return poly(z, 0.166666657f, 0.0750009492f, 0.0445993207f, 0.0311017279f, 0.017143717f, 0.0337007269f);
  else
    return poly(z, 0.16666666666666669, 0.074999999999984246, 0.04464285714637338, 0.030381944137085216,
                0.022372173002005596, 0.017352391265909227, 0.013971235301124539, 0.011478952690257387,
                0.010324318288744113, 0.0054508781877205502, 0.017419357964884856, -0.014881409392818066,
                0.02877844261259304);
}

// atan(a) for a >= 0: around 0, 1 or infinity.
template <class V, class T = Element<V>>
FC_INLINE V atan_positive(V a) {
  using F = Constants<T>;
  const auto low = a <= T(0.41421356237309504880), middle = a <= T(2.41421356237309504880);
  const V y = (low ? a : (middle ? a - T(1) : T(-1))) / (low ? T(1) : (middle ? a + T(1) : a));
  const V base = low ? T(0) : (middle ? T(0.5) * F::half_pi : F::half_pi);
  const V base_low = low ? T(0) : (middle ? T(0.5) * F::half_pi_low : F::half_pi_low);
  const V z = y * y;
  return base + (y + fma(y * z, atan_poly(z), base_low));
}
template <class V, class T = Element<V>>
FC_INLINE V atan(V x) {
  return copysign(atan_positive(fabs(x)), x);
}
template <class V, class T = Element<V>>
FC_INLINE V atan2(V y, V x) {
  using F = Constants<T>;
  constexpr T inf = Limits<T>::inf;
  const V a = fabs(x), b = fabs(y);
  const auto steep = b > a;
  const V small = steep ? a : b, large = steep ? b : a;
  V ratio = small / large;
  ratio = large == T(0) ? T(0) : (small == inf ? T(1) : ratio);
  V angle = atan_positive(ratio);
  angle = steep ? F::half_pi - (angle - F::half_pi_low) : angle;
  angle = copysign(spread<V>(T(1)), x) < T(0) ? T(2) * F::half_pi - (angle - T(2) * F::half_pi_low) : angle;
  return ((x != x) | (y != y)) ? x + y : copysign(angle, y);
}
// asin(a) for a <= 1/2, else asin(sqrt((1 - a) / 2))
template <class V, class T = Element<V>>
FC_INLINE V arc_sine(V a) {
  const auto far = a > T(0.5);
  const V z = far ? T(0.5) * (T(1) - a) : a * a, s = far ? sqrt(z) : a;
  const V rest = far ? fma(-s, s, z) / (s + s + Format<T>::smallest) : T(0);  // what the root is too short for
  return s + fma(s * z, asin_poly(z), rest);
}
template <class V, class T = Element<V>>
FC_INLINE V asin(V x) {
  using F = Constants<T>;
  const V a = fabs(x), r = arc_sine(a);
  return copysign(a > T(0.5) ? F::half_pi - (T(2) * r - F::half_pi_low) : r, x);
}
template <class V, class T = Element<V>>
FC_INLINE V acos(V x) {
  using F = Constants<T>;
  const V a = fabs(x), r = arc_sine(a);
  const V near = F::half_pi - (copysign(r, x) - F::half_pi_low);
  const V far = x < T(0) ? T(2) * F::half_pi - (T(2) * r - T(2) * F::half_pi_low) : T(2) * r;
  return a > T(0.5) ? far : near;
}

// --- error function: x (2 / sqrt(pi) + x^2 P(x^2)) up to 1; beyond, 1 - exp(-Q(x)), where Q approximates -log(erfc(x))
template <class V>
FC_INLINE V erf_near(V z) {
  if constexpr (is_single<V>)
    return poly(z, -0.376126379f, 0.112837821f, -0.0268654302f, 0.00522103161f, -0.000848408032f, 0.000112659589f,
                -9.66704465e-06f);
  else
    return poly(z, -0.37612638903183748, 0.11283791670954879, -0.026866170645076792, 0.0052239776248180145,
                -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05, 1.6461000484121368e-06,
                -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09, 5.9571761477489113e-11);
}
template <class V>
FC_INLINE V erf_far(V a) {
  if constexpr (is_single<V>)
    return poly(a, -0.000320914376f, 1.13023674f, 0.631820261f, 0.110085681f, -0.0264243707f, 0.00476074778f,
                -0.000597052975f, 4.60874471e-05f, -1.63863729e-06f);
  else {
    // one interval up to 2.2, another beyond
    const V first =
        poly(a, 6.7455872082024377e-07, 1.1283721454644182, 0.63665376245081151, 0.1026711074011238,
             -0.018919459108467516, -0.00052315622174596522, 0.0020507536696575028, -0.00089473284644627686,
             0.00022377801984568868, -2.9203826276219895e-05, -1.3695713209400276e-06, 1.4970126694608314e-06,
             -3.1940766512408289e-07, 3.3872222215871255e-08, -1.5342989679495102e-09);
    const V second =
        poly(a, -0.00014463311379598747, 1.1290746280429347, 0.63509237939959695, 0.10476689332853503,
             -0.020784140373389125, 0.00059590799289885169, 0.0016320181858864432, -0.00084270673274749824,
             0.00026791198356828012, -6.3216976206536329e-05, 1.1605161016064105e-05, -1.6760200635884321e-06,
             1.8936538812293596e-07, -1.643237271548534e-08, 1.0586726262046333e-09, -4.7727569651820376e-11,
             1.3441362901834321e-12, -1.7799983808711811e-14);
    return a > 2.2 ? second : first;
  }
}
template <class V, class T = Element<V>>
FC_INLINE V erf_within_one(V x) {
  constexpr T c = T(1.12837916709551257390), c_rest = is_single<V> ? T(-5.8635383e-08) : T(1.533545961316588e-17);
  const V z = x * x;
  return fma(x, c, x * fma(z, erf_near(z), c_rest));
}
template <class V, class T = Element<V>>
FC_INLINE V erf(V x) {
  constexpr T last = is_single<V> ? T(4) : T(6);
  const V a = fabs(x);
  const V near = erf_within_one(a), far = T(1) - exp_normal(-erf_far(at_most(last, a)));
  return copysign(a > T(1) ? far : near, x);
}

// --- the normal distribution beyond a as exp(-P(a)), and its density over that, for 0 <= a <= 6 and gelu: an absolute
// error of 4e-8, and 1e-7 for the density. Even and odd powers apart, because the chain is what the time goes into.
template <class V>
FC_INLINE V normal_tail(V a) {
  const V z = a * a;
  const V even = poly(z, 0.6931471f, 0.3182751f, -0.005005683f, 0.00010184914f, 2.4198976e-06f);
  const V odd = poly(z, 0.79788804f, 0.036462948f, 0.0001741208f, -2.4318973e-05f, -9.4548945e-08f);
  return exp_normal(-poly(a, even, odd));
}
template <class V>
FC_INLINE V normal_density_over_tail(V a) {
  const V z = a * a;
  const V even = poly(z, 0.7978865f, 0.10916156f, 0.00022009468f, -0.00032646282f, -4.38127e-06f);
  const V odd = poly(z, 0.6365888f, -0.019477494f, 0.0010345383f, 5.182159e-05f, 1.5600428e-07f);
  return poly(a, even, odd);
}

// --- the error function's complement: exp(x^2) erfc(x) (x + c) as a polynomial of t = (x - c) / (x + c), for x >= 1/2
template <class V>
FC_INLINE V erfc_poly(V t) {
  if constexpr (is_single<V>)
    return poly(t, 1.02158271f, -0.687160663f, 0.279471813f, -0.0364431276f, -0.0215049941f, 0.00648903529f,
                0.00304952126f, -0.000878518313f, -0.00053770131f, 0.000101266272f);
  else
    return poly(t, 1.0959956610004911, -0.97654872908088198, 0.77320870226523693, -0.54085383131323653,
                0.33085158787802796, -0.17401093723989418, 0.076381514908777008, -0.026370053340765138,
                0.0061120556643207775, -0.00028095886379903845, -0.00045505276318614014, 0.00017681282304329099,
                -3.6347290119307664e-6, -1.8860952179520687e-5, 4.6928680631184884e-6, 1.4244411011604821e-6,
                -8.4281963522373568e-7, -7.5980362206987285e-8, 1.1968928061689266e-7, 1.2676250372663287e-9,
                -1.22193051681457e-8);
}
// exp(x^2) erfc(x) for x >= 1/2
template <class V, class T = Element<V>>
FC_INLINE V erfcx_beyond_half(V x) {
  constexpr T c = is_single<V> ? T(2) : T(4);
  const V inverse = T(1) / (x + c), y = erfc_poly((x - c) * inverse) * inverse;
  return x > Limits<T>::max ? T(0) : y;
}
template <class V, class T = Element<V>>
FC_INLINE V erfc(V x) {
  constexpr T c = is_single<V> ? T(2) : T(4), last = is_single<V> ? T(10.1) : T(27.3);
  const V a = at_most(last, fabs(x)), top = a - c, bottom = a + c, inverse = T(1) / bottom;
  // What rounding lost, relative: of a + c and its inverse, and of the square.
  const V short_by = fma(-inverse, bottom, T(1)) - (a - (bottom - c)) * inverse;
  const V t = fma(top * inverse, short_by, top * inverse), square = a * a;
  const auto [n, r] = reduce_exp(-square);
  const V g = erfc_poly(t) * inverse, y = fma(g, small_expm1(r), g);
  const V tail = times_power_of_two(fma(y, short_by - fma(a, a, -square), y), n);
  return fabs(x) > T(0.5) ? (x < T(0) ? T(2) - tail : tail) : T(1) - erf_within_one(x);
}

// --- gamma function of a positive float, in double: Stirling's series from 10 on. Below, 10 is added to x, which makes
// x (x + 1) … (x + 9) a factor: with t = x (x + 9), it is t (t + 8) (t + 14) (t + 18) (t + 20).
FC_INLINE bool positive(float x) { return x > 0 && x <= Limits<float>::max; }

FC_INLINE float lgamma_of_positive(float value) {
  const double x = value, y = x < 10 ? x + 10 : x, inverse = 1 / y, z = inverse * inverse;
  const double series = poly(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  const double stirling = (y - 0.5) * log(y) - y + (0.91893853320467274178 + series * inverse);
  const double t = x * (x + 9), product = t * (t + 8) * ((t + 14) * (t + 18)) * (t + 20);
  const double near = x == 1 || x == 2 ? 0.0 : stirling - log(product);
  return static_cast<float>(x < 10 ? near : stirling);
}
FC_INLINE float digamma_of_positive(float value) {
  const double x = value, y = x < 10 ? x + 10 : x, inverse = 1 / y, z = inverse * inverse;
  const double series = z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  const double far = log(y) - 0.5 * inverse - series;
  // The sum of 1 / (x + k) is the product's derivative over the product.
  const double t = x * (x + 9), product = t * poly(t, 40320.0, 12176.0, 1308.0, 60.0, 1.0);
  const double derivative = (x + x + 9) * poly(t, 40320.0, 24352.0, 3924.0, 240.0, 5.0);
  return static_cast<float>(x < 10 ? far - derivative / product : far);
}

// --- length of a vector: squares of floats fit into a double, those of doubles after moving the exponent
FC_INLINE float hypot(float a, float b) {
  const double x = a, y = b;
  const float r = static_cast<float>(target::sqrt(x * x + y * y)), inf = Limits<float>::inf;
  return target::fabs(a) == inf || target::fabs(b) == inf ? inf : r;
}
FC_INLINE double hypot(double a, double b) {
  const double x = target::fabs(a), y = target::fabs(b), large = x < y ? y : x, inf = Limits<double>::inf;
  const double up = large > 0x1p500 ? 0x1p-600 : (large < 0x1p-400 ? 0x1p600 : 1.0);
  const double down = large > 0x1p500 ? 0x1p600 : (large < 0x1p-400 ? 0x1p-600 : 1.0);
  const double s = a * up, t = b * up, high = s * s, sum = target::fma(t, t, high), root = target::sqrt(sum);
  return x == inf || y == inf ? inf : root * down;
}

// --- the neighbour of a towards b
template <class T>
FC_INLINE T nextafter(T a, T b) {
  using B = Bits<T>;
  const B bits = bits_of(a), step = (a < b) == (a > T(0)) ? B(1) : ~B(0);  // away from 0, or towards it
  const T moved = from_bits<T>(bits + step), smallest = copysign(from_bits<T>(B(1)), b);
  const T next = a == T(0) ? smallest : moved;
  const T y = a == b ? b : next;
  return ((a != a) | (b != b)) ? a + b : y;
}

// --- power: in double with series as long as a float needs
FC_INLINE double log2_of_float(double x) {  // x >= 0; subnormal floats are ordinary doubles
  using F = Constants<double>;
  constexpr u64 root = 0x3FE6A09E667F3BCD, one = u64{F::bias} << F::mantissa;  // of sqrt(1/2) and 1
  const u64 b = bits_of(x) + (one - root);
  const double wide = 0x1p52, e = from_bits<double>((b >> F::mantissa) | bits_of(wide)) - (wide + F::bias);
  const double f = from_bits<double>((b & ((u64{1} << F::mantissa) - 1)) + root) - 1, s = f / (2 + f), z = s * s;
  const double series = poly(z, 2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13);
  return log_edges(x, target::fma(s * series, F::log2e, e));
}
FC_INLINE double exp2_for_float(double x) {
  x = clamp(x, -160.0, 130.0);
  const double n = round_to_integer(x), r = (x - n) * Constants<double>::ln2;
  return power_of_two(n) * poly(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320);
}
FC_INLINE float pow(float a, float b) {
  constexpr float inf = Limits<float>::inf;
  const float x = target::fabs(a);
  float r = static_cast<float>(exp2_for_float(static_cast<double>(b) * log2_of_float(static_cast<double>(x))));
  const bool whole = target::trunc(b) == b, odd = whole && target::trunc(b * 0.5f) != b * 0.5f;
  r = a < 0 && !whole && x != inf ? Limits<float>::nan : r;
  r = odd ? target::copysign(r, a) : r;
  r = x == 1 && target::fabs(b) == inf ? 1.0f : r;
  return a == 1 || b == 0 ? 1.0f : r;
}

}  // namespace fc::math::own
