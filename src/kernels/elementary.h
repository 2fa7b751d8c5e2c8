// SPDX-License-Identifier: Apache-2.0
// Elementary functions of float and double without branches or tables, so that a loop over them becomes vector code.
// Each is a reduction to a small interval and a polynomial (Chebyshev interpolation in 60 digits), with fma where one
// rounding matters: within 2 units in the last place (erfc: 4), exact for infinities, NaN and zeros, and the same bits in a vector
// and in the tail of a loop. tests/cpp/elementary_test.cpp measures the error.
//
// sin, cos and tan hold up to |x| <= trig_limit; their callers give larger arguments to the C library.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// Each instruction set needs its own copy, and only inlined code is sure to be its own.
#define FC_INLINE [[gnu::always_inline]] inline

namespace fc::math::own {

#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
constexpr bool has_fma = true;
#else
constexpr bool has_fma = false;
#endif

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // adding it rounds to an integer, which the low bits then hold
  static constexpr float smallest = 0x1p-126f;
  static constexpr float exp_low = -104.0f, exp_high = 90.0f, expm1_low = -20.0f, expm1_high = 89.0f, sinh_high = 89.5f,
                         tanh_high = 10.0f;
  static constexpr float trig_limit = 1e5f;
  static constexpr float ln2[2] = {0.693147182f, -1.90465421e-09f};
  static constexpr float ln2_short[2] = {0.693115234f, 3.19461833e-05f};  // times an exponent, the first is exact
  static constexpr float log10_2_short[2] = {0.301025391f, 4.60503907e-06f};
  static constexpr float log2e[2] = {1.44269502f, 1.92596303e-08f};
  static constexpr float log10e[2] = {0.434294492f, -1.010305e-08f};
  static constexpr float half_pi[3] = {1.57079637f, -4.37113883e-08f, -1.71512451e-15f};
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr double smallest = 0x1p-1022;
  static constexpr double exp_low = -746, exp_high = 711, expm1_low = -40, expm1_high = 710, sinh_high = 710.6,
                          tanh_high = 22;
  static constexpr double trig_limit = 1e9;
  static constexpr double ln2[2] = {0.69314718055994529, 2.3190468138462996e-17};
  static constexpr double ln2_short[2] = {0.69314718055966296, 2.8235290563031577e-13};
  static constexpr double log10_2_short[2] = {0.30102999566383914, 1.4205023227266099e-13};
  static constexpr double log2e[2] = {1.4426950408889634, 2.0355273740931033e-17};
  static constexpr double log10e[2] = {0.43429448190325182, 1.0983196502167651e-17};
  static constexpr double half_pi[3] = {1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33};
};
template <class T>
inline constexpr T trig_limit = Format<T>::trig_limit;

template <class T>
FC_INLINE typename Format<T>::Bits bits_of(T x) {
  return std::bit_cast<typename Format<T>::Bits>(x);
}
template <class T>
FC_INLINE T from_bits(typename Format<T>::Bits b) {
  return std::bit_cast<T>(b);
}

// c0 + c1 x + c2 x^2 + …
template <class T>
FC_INLINE T poly(T, T c0) {
  return c0;
}
template <class T, class... Rest>
FC_INLINE T poly(T x, T c0, Rest... rest) {
  if constexpr (has_fma) return std::fma(poly(x, rest...), x, c0);
  else return poly(x, rest...) * x + c0;
}

template <class T>
FC_INLINE T round_to_integer(T x) {  // |x| < 2^(mantissa - 1)
  return (x + Format<T>::magic) - Format<T>::magic;
}
template <class T>
FC_INLINE T power_of_two(T n) {  // of an integer within the normal exponents
  return from_bits<T>(bits_of(n + (Format<T>::magic + Format<T>::bias)) << Format<T>::mantissa);
}

// --- exponentials

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
FC_INLINE float exp_poly(float r) {
  return poly(r, 0.5f, 0.166666672f, 0.0416664667f, 0.00833331048f, 0.00139336498f, 0.000198909911f);
}
FC_INLINE double exp_poly(double r) {
  return poly(r, 0.5, 0.16666666666666671, 0.041666666666666671, 0.0083333333333261358, 0.0013888888888883748,
              0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06, 2.7557273643110297e-07,
              2.5105217004720745e-08, 2.0914686968086876e-09);
}

template <class T>
struct Reduced {
  T n, r;  // x = n ln(2) + r
};
template <class T>
FC_INLINE Reduced<T> reduce_exp(T x) {
  using F = Format<T>;
  const T n = std::fma(x, F::log2e[0], F::magic) - F::magic;
  return {n, std::fma(n, -F::ln2[1], std::fma(n, -F::ln2[0], x))};
}

// (1 + m) 2^n, where 2^n alone may be outside of the format.
template <class T>
FC_INLINE T scale(T m, T n) {
  const T half = round_to_integer(n * T(0.5));
  return (m + T(1)) * power_of_two(half) * power_of_two(n - half);
}
template <class T>
FC_INLINE T clamp(T x, T low, T high) {  // NaN stays
  x = x < low ? low : x;
  return x > high ? high : x;
}

// exp(x) 2^extra
template <class T>
FC_INLINE T exp_times(T x, T extra) {
  const auto [n, r] = reduce_exp(clamp(x, Format<T>::exp_low, Format<T>::exp_high));
  return scale(std::fma(r * r, exp_poly(r), r), n + extra);
}
template <class T>
FC_INLINE T exp(T x) {
  return exp_times(x, T(0));
}
template <class T>
FC_INLINE T exp_normal(T x) {  // of an x whose result is a normal number
  const auto [n, r] = reduce_exp(x);
  const T s = power_of_two(n);
  return std::fma(s, std::fma(r * r, exp_poly(r), r), s);
}
template <class T>
FC_INLINE T exp2(T x) {
  using F = Format<T>;
  x = clamp(x, T(-F::bias - F::mantissa - 2), T(F::bias + 1));
  const T n = round_to_integer(x), f = x - n;
  const T r = std::fma(f, F::ln2[0], f * F::ln2[1]);
  return scale(std::fma(r * r, exp_poly(r), r), n);
}
// (exp(x) - 1) / 4 as a sum of two: a quarter, so that it holds wherever sinh does.
template <class T>
struct Pair {
  T high, low;
};
template <class T>
FC_INLINE Pair<T> quarter_expm1(T x) {
  const auto [n, r] = reduce_exp(x);
  const T square = r * r * exp_poly(r), m = r + square, rest = (r - m) + square;
  const T s = power_of_two(n - T(2)), whole = s - T(0.25), high = std::fma(s, m, whole);
  return {high, std::fma(s, m, whole - high) + s * rest};
}
// p / (p + c) for p >= 0, c > 0
template <class T>
FC_INLINE Pair<T> ratio(Pair<T> p, T c) {
  const T d = p.high + c, back = d - p.high, lost = (p.high - (d - back)) + (c - back) + p.low;
  const T inverse = T(1) / d, q = p.high * inverse;
  return {q, (std::fma(-q, d, p.high) + std::fma(-q, lost, p.low)) * inverse};
}
template <class T>
FC_INLINE T expm1(T x) {
  using F = Format<T>;
  const auto [high, low] = quarter_expm1(clamp(x, F::expm1_low, F::expm1_high));
  return std::fabs(x) < std::numeric_limits<T>::epsilon() / 4 ? x : T(4) * (high + low);
}
template <class T>
FC_INLINE T tanh(T x) {
  const T a = std::fabs(x);
  const Pair<T> q = ratio(quarter_expm1(T(2) * clamp(a, T(0), Format<T>::tanh_high)), T(0.5));
  return a < std::numeric_limits<T>::epsilon() / 4 ? x : std::copysign(q.high + q.low, x);
}
template <class T>
FC_INLINE T cosh(T x) {
  const T h = exp_times(std::fabs(x), T(-1));  // exp(|x|) / 2
  return h + T(0.25) / h;
}
template <class T>
FC_INLINE T sinh(T x) {  // with m = exp(|x|) - 1: (m + m / (m + 1)) / 2
  const T a = std::fabs(x);
  const Pair<T> m = quarter_expm1(clamp(a, T(0), Format<T>::sinh_high)), q = ratio(m, T(0.25));
  const T twice = T(2) * m.high, half = T(0.5) * q.high, sum = twice + half;
  const T y = sum + ((twice - sum) + half + (T(2) * m.low + T(0.5) * q.low));
  const T either = sum > std::numeric_limits<T>::max() ? sum : y;
  return a < std::numeric_limits<T>::epsilon() / 4 ? x : std::copysign(either, x);
}

// --- logarithms

// (2 atanh(s) - 2 s) / s^3 as a function of s^2, for 1 + f in [sqrt(1/2), sqrt(2)], s = f / (2 + f)
FC_INLINE float log_poly(float z) { return poly(z, 0.666666687f, 0.400001228f, 0.285507798f, 0.233316138f); }
FC_INLINE double log_poly(double z) {
  return poly(z, 0.66666666666666663, 0.40000000000000885, 0.28571428570799784, 0.22222222392581045,
              0.18181795547521137, 0.15386244737621665, 0.13268638369266825, 0.13088034850927555);
}

// x = 2^e (1 + f); log(1 + f) = f - f^2 / 2 + tail
template <class T>
struct LogParts {
  T e, f, half_square, tail;
};
template <class T>
FC_INLINE LogParts<T> log_parts(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  const Bits root = std::bit_cast<Bits>(T(0.70710678118654752440)), one = std::bit_cast<Bits>(T(1));
  const bool subnormal = x < F::smallest;
  const T normal = subnormal ? x * from_bits<T>(Bits(F::bias + F::mantissa) << F::mantissa) : x;
  const Bits b = bits_of(normal) + (one - root);
  // The exponent becomes a number by placing it below the leading bit of 2^mantissa.
  const T wide = from_bits<T>(Bits(F::bias + F::mantissa) << F::mantissa);
  const T biased = from_bits<T>((b >> F::mantissa) | bits_of(wide)) - wide;
  LogParts<T> p;
  p.e = biased - T(subnormal ? F::bias + F::mantissa : F::bias);
  p.f = from_bits<T>((b & ((Bits(1) << F::mantissa) - 1)) + root) - T(1);
  p.half_square = T(0.5) * p.f * p.f;
  const T s = p.f / (T(2) + p.f), z = s * s;
  p.tail = s * std::fma(z, log_poly(z), p.half_square);
  return p;
}
template <class T>
FC_INLINE T log_edges(T x, T y) {  // what a logarithm gives at and beyond the ends
  constexpr T inf = std::numeric_limits<T>::infinity();
  y = x == inf ? inf : y;
  return x > T(0) ? y : (x == T(0) ? -inf : std::numeric_limits<T>::quiet_NaN());
}

template <class T>
FC_INLINE T log(T x) {
  using F = Format<T>;
  const LogParts<T> p = log_parts(x);
  const T low = std::fma(p.e, F::ln2_short[1], p.tail);
  return log_edges(x, std::fma(p.e, F::ln2_short[0], p.f - (p.half_square - low)));
}

// e * (a + b) + log(1 + f) * (c + d), where c + d is one over the logarithm of the base.
template <class T>
FC_INLINE T log_base(T x, T a, T b, T c, T d) {
  const LogParts<T> p = log_parts(x);
  const T high = p.f - p.half_square, low = (p.f - high) - p.half_square + p.tail;
  const T main = high * c, rest = std::fma(high, c, -main) + std::fma(low, c, high * d);
  const T whole = p.e * a, sum = whole + main;
  // The larger one first: the rounding error of the sum is exact then.
  const T error = std::fabs(whole) >= std::fabs(main) ? (whole - sum) + main : (main - sum) + whole;
  return log_edges(x, sum + (error + std::fma(p.e, b, rest)));
}
template <class T>
FC_INLINE T log2(T x) {
  return log_base(x, T(1), T(0), Format<T>::log2e[0], Format<T>::log2e[1]);
}
template <class T>
FC_INLINE T log10(T x) {
  using F = Format<T>;
  return log_base(x, F::log10_2_short[0], F::log10_2_short[1], F::log10e[0], F::log10e[1]);
}
template <class T>
FC_INLINE T log1p(T x) {
  using F = Format<T>;
  const T u = T(1) + x, v = u - x;
  const T lost = (T(1) - v) + (x - (u - v));  // 1 + x = u + lost, exactly
  const LogParts<T> p = log_parts(u);
  const T low = std::fma(p.e, F::ln2_short[1], p.tail) + lost / u;
  const T y = std::fma(p.e, F::ln2_short[0], p.f - (p.half_square - low));
  return std::copysign(log_edges(u, y), x);  // for -0
}
template <class T>
FC_INLINE T asinh(T x) {
  const T a = std::fabs(x);
  const T near = log1p(a + a * a / (T(1) + std::sqrt(std::fma(a, a, T(1)))));
  const T far = log(a) + Format<T>::ln2[0];
  return std::copysign(a > T(0x1p30) ? far : near, x);
}
template <class T>
FC_INLINE T acosh(T x) {
  const T t = x - T(1);
  const T near = log1p(t + std::sqrt(std::fma(t, t, T(2) * t)));
  const T y = x > T(0x1p30) ? log(x) + Format<T>::ln2[0] : near;
  return x < T(1) ? std::numeric_limits<T>::quiet_NaN() : y;
}
template <class T>
FC_INLINE T atanh(T x) {
  const T a = std::fabs(x);
  return std::copysign(T(0.5) * log1p(T(2) * a / (T(1) - a)), x);
}

// --- sine, cosine, tangent

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 as functions of r^2, for |r| <= pi / 4
FC_INLINE float sin_poly(float z) { return poly(z, -0.166666672f, 0.00833333191f, -0.000198400841f, 2.72496209e-06f); }
FC_INLINE float cos_poly(float z) { return poly(z, 0.0416666679f, -0.00138888881f, 2.48005981e-05f, -2.73007032e-07f); }
FC_INLINE double sin_poly(double z) {
  return poly(z, -0.16666666666666666, 0.0083333333333333315, -0.00019841269841265041, 2.7557319219320579e-06,
              -2.5052106225994401e-08, 1.6058530596645953e-10, -7.5866368828251592e-13);
}
FC_INLINE double cos_poly(double z) {
  return poly(z, 0.041666666666666664, -0.0013888888888888887, 2.4801587301584632e-05, -2.755731922139249e-07,
              2.0876755787492604e-09, -1.1470460319209511e-11, 4.7458384125310228e-14);
}

template <class T>
struct SinCos {
  T sin, sin_low, cos, cos_low;      // of the angle less a multiple of pi / 2, each a sum of two
  typename Format<T>::Bits quarter;  // that multiple; only its two lowest bits count
};
template <class T>
FC_INLINE SinCos<T> sin_cos(T x) {
  using F = Format<T>;
  const T shifted = std::fma(x, T(0.63661977236758134308), F::magic), n = shifted - F::magic;
  const T first = std::fma(n, -F::half_pi[0], x), second = n * F::half_pi[1], r = first - second, back = r - first;
  // What r is too short for: the rounding errors of its difference and its product, and the next digits of pi / 2.
  const T rest =
      ((first - (r - back)) - (second + back)) - std::fma(n, F::half_pi[2], std::fma(n, F::half_pi[1], -second));
  const T z = r * r, h = T(0.5) * z, w = T(1) - h;
  const T sine = std::fma(z * r, sin_poly(z), rest);
  const T cosine = std::fma(z * z, cos_poly(z), std::fma(r, -rest, (T(1) - w) - h));
  return {r, sine, w, cosine, bits_of(shifted)};
}
template <class T>
FC_INLINE T negate_if(T x, typename Format<T>::Bits condition) {  // condition: 0 or 2
  return from_bits<T>(bits_of(x) ^ (condition << (8 * sizeof(T) - 2)));
}
template <class T>
FC_INLINE T sin(T x) {
  const SinCos<T> s = sin_cos(x);
  const T y = negate_if((s.quarter & 1 ? s.cos : s.sin) + (s.quarter & 1 ? s.cos_low : s.sin_low), s.quarter & 2);
  return std::fabs(x) < std::numeric_limits<T>::epsilon() / 4 ? x : y;
}
template <class T>
FC_INLINE T cos(T x) {
  const SinCos<T> s = sin_cos(x);
  return negate_if((s.quarter & 1 ? s.sin : s.cos) + (s.quarter & 1 ? s.sin_low : s.cos_low), (s.quarter + 1) & 2);
}
template <class T>
FC_INLINE T tan(T x) {
  const SinCos<T> s = sin_cos(x);
  const bool odd = s.quarter & 1;
  const T a = odd ? s.cos : s.sin, a_low = odd ? s.cos_low : s.sin_low;
  const T b = odd ? s.sin : s.cos, b_low = odd ? s.sin_low : s.cos_low;
  const T d = b + b_low, inverse = T(1) / d, q = (a + a_low) * inverse;
  const T y = q + (std::fma(-q, d, a) + (a_low - q * ((b - d) + b_low))) * inverse;
  return std::fabs(x) < std::numeric_limits<T>::epsilon() / 4 ? x : negate_if(y, (s.quarter & 1) << 1);
}

// --- their inverses

// (atan(a) - a) / a^3 as a function of a^2, for a <= tan(pi / 8); (asin(a) - a) / a^3, for a <= 1/2
FC_INLINE float atan_poly(float z) {
  return poly(z, -0.333333343f, 0.199999765f, -0.142841458f, 0.110712603f, -0.0862389654f, 0.0504612811f);
}
FC_INLINE double atan_poly(double z) {
  return poly(z, -0.33333333333333331, 0.19999999999999993, -0.1428571428571149, 0.11111111110751482,
              -0.090909090668160802, 0.076923067291948963, -0.066666418691311832, 0.058819230561140225,
              -0.052580202726567583, 0.047192591882420927, -0.041038875468626869, 0.030622995553735516,
              -0.013905374533113234);
}
FC_INLINE float asin_poly(float z) {
  return poly(z, 0.166666657f, 0.0750009492f, 0.0445993207f, 0.0311017279f, 0.017143717f, 0.0337007269f);
}
FC_INLINE double asin_poly(double z) {
  return poly(z, 0.16666666666666669, 0.074999999999984246, 0.04464285714637338, 0.030381944137085216,
              0.022372173002005596, 0.017352391265909227, 0.013971235301124539, 0.011478952690257387,
              0.010324318288744113, 0.0054508781877205502, 0.017419357964884856, -0.014881409392818066,
              0.02877844261259304);
}

// atan(a) for a >= 0: around 0, 1 or infinity.
template <class T>
FC_INLINE T atan_positive(T a) {
  using F = Format<T>;
  const bool low = a <= T(0.41421356237309504880), middle = a <= T(2.41421356237309504880);
  const T y = (low ? a : (middle ? a - T(1) : T(-1))) / (low ? T(1) : (middle ? a + T(1) : a));
  const T base = low ? T(0) : (middle ? T(0.5) * F::half_pi[0] : F::half_pi[0]);
  const T base_low = low ? T(0) : (middle ? T(0.5) * F::half_pi[1] : F::half_pi[1]);
  const T z = y * y;
  return base + (y + std::fma(y * z, atan_poly(z), base_low));
}
template <class T>
FC_INLINE T atan(T x) {
  return std::copysign(atan_positive(std::fabs(x)), x);
}
template <class T>
FC_INLINE T atan2(T y, T x) {
  using F = Format<T>;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T a = std::fabs(x), b = std::fabs(y);
  const bool steep = b > a;
  const T small = steep ? a : b, large = steep ? b : a;
  T ratio = small / large;
  ratio = large == T(0) ? T(0) : (small == inf ? T(1) : ratio);
  T angle = atan_positive(ratio);
  angle = steep ? F::half_pi[0] - (angle - F::half_pi[1]) : angle;
  angle = std::copysign(T(1), x) < T(0) ? T(2) * F::half_pi[0] - (angle - T(2) * F::half_pi[1]) : angle;
  return x != x || y != y ? x + y : std::copysign(angle, y);
}
// asin(a) for a <= 1/2, else asin(sqrt((1 - a) / 2))
template <class T>
FC_INLINE T arc_sine(T a) {
  const bool far = a > T(0.5);
  const T z = far ? T(0.5) * (T(1) - a) : a * a, s = far ? std::sqrt(z) : a;
  const T rest = far ? std::fma(-s, s, z) / (s + s + Format<T>::smallest) : T(0);  // what the root is too short for
  return s + std::fma(s * z, asin_poly(z), rest);
}
template <class T>
FC_INLINE T asin(T x) {
  using F = Format<T>;
  const T a = std::fabs(x), r = arc_sine(a);
  return std::copysign(a > T(0.5) ? F::half_pi[0] - (T(2) * r - F::half_pi[1]) : r, x);
}
template <class T>
FC_INLINE T acos(T x) {
  using F = Format<T>;
  const T a = std::fabs(x), r = arc_sine(a);
  const T near = F::half_pi[0] - (std::copysign(r, x) - F::half_pi[1]);
  const T far = x < T(0) ? T(2) * F::half_pi[0] - (T(2) * r - T(2) * F::half_pi[1]) : T(2) * r;
  return a > T(0.5) ? far : near;
}

// --- error function: x (2 / sqrt(pi) + x^2 P(x^2)) up to 1; beyond, 1 - exp(-Q(x)), where Q approximates -log(erfc(x))
FC_INLINE float erf_near(float z) {
  return poly(z, -0.376126379f, 0.112837821f, -0.0268654302f, 0.00522103161f, -0.000848408032f, 0.000112659589f,
              -9.66704465e-06f);
}
FC_INLINE float erf_far(float a) {
  return poly(a, -0.000320914376f, 1.13023674f, 0.631820261f, 0.110085681f, -0.0264243707f, 0.00476074778f,
              -0.000597052975f, 4.60874471e-05f, -1.63863729e-06f);
}
FC_INLINE double erf_near(double z) {
  return poly(z, -0.37612638903183748, 0.11283791670954879, -0.026866170645076792, 0.0052239776248180145,
              -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05, 1.6461000484121368e-06,
              -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09, 5.9571761477489113e-11);
}
FC_INLINE double erf_far(double a) {  // one interval up to 2.2, another beyond
  const double first =
      poly(a, 6.7455872082024377e-07, 1.1283721454644182, 0.63665376245081151, 0.1026711074011238,
           -0.018919459108467516, -0.00052315622174596522, 0.0020507536696575028, -0.00089473284644627686,
           0.00022377801984568868, -2.9203826276219895e-05, -1.3695713209400276e-06, 1.4970126694608314e-06,
           -3.1940766512408289e-07, 3.3872222215871255e-08, -1.5342989679495102e-09);
  const double second =
      poly(a, -0.00014463311379598747, 1.1290746280429347, 0.63509237939959695, 0.10476689332853503,
           -0.020784140373389125, 0.00059590799289885169, 0.0016320181858864432, -0.00084270673274749824,
           0.00026791198356828012, -6.3216976206536329e-05, 1.1605161016064105e-05, -1.6760200635884321e-06,
           1.8936538812293596e-07, -1.643237271548534e-08, 1.0586726262046333e-09, -4.7727569651820376e-11,
           1.3441362901834321e-12, -1.7799983808711811e-14);
  return a > 2.2 ? second : first;
}
template <class T>
FC_INLINE T erf_within_one(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T c = T(1.12837916709551257390), c_rest = single ? T(-5.8635383e-08) : T(1.533545961316588e-17);
  const T z = x * x;
  return std::fma(x, c, x * std::fma(z, erf_near(z), c_rest));
}
template <class T>
FC_INLINE T erf(T x) {
  const T a = std::fabs(x), last = sizeof(T) == 4 ? T(4) : T(6);
  const T near = erf_within_one(a), far = T(1) - exp_normal(-erf_far(a > last ? last : a));
  return std::copysign(a > T(1) ? far : near, x);
}

// --- the normal distribution beyond a as exp(-P(a)), and its density over that, for 0 <= a <= 6 and gelu: an absolute
// error of 4e-8, and 1e-7 for the density. Even and odd powers apart, because the chain is what the time goes into.
FC_INLINE float normal_tail(float a) {
  const float z = a * a;
  const float even = poly(z, 0.6931471f, 0.3182751f, -0.005005683f, 0.00010184914f, 2.4198976e-06f);
  const float odd = poly(z, 0.79788804f, 0.036462948f, 0.0001741208f, -2.4318973e-05f, -9.4548945e-08f);
  return exp_normal(-poly(a, even, odd));
}
FC_INLINE float normal_density_over_tail(float a) {
  const float z = a * a;
  const float even = poly(z, 0.7978865f, 0.10916156f, 0.00022009468f, -0.00032646282f, -4.38127e-06f);
  const float odd = poly(z, 0.6365888f, -0.019477494f, 0.0010345383f, 5.182159e-05f, 1.5600428e-07f);
  return poly(a, even, odd);
}

// --- the error function's complement: exp(x^2) erfc(x) (x + c) as a polynomial of t = (x - c) / (x + c), for x >= 1/2
FC_INLINE float erfc_poly(float t) {
  return poly(t, 1.02158271f, -0.687160663f, 0.279471813f, -0.0364431276f, -0.0215049941f, 0.00648903529f,
              0.00304952126f, -0.000878518313f, -0.00053770131f, 0.000101266272f);
}
FC_INLINE double erfc_poly(double t) {
  return poly(t, 1.0959956610004911, -0.97654872908088198, 0.77320870226523693, -0.54085383131323653,
              0.33085158787802796, -0.17401093723989418, 0.076381514908777008, -0.026370053340765138,
              0.0061120556643207775, -0.00028095886379903845, -0.00045505276318614014, 0.00017681282304329099,
              -3.6347290119307664e-6, -1.8860952179520687e-5, 4.6928680631184884e-6, 1.4244411011604821e-6,
              -8.4281963522373568e-7, -7.5980362206987285e-8, 1.1968928061689266e-7, 1.2676250372663287e-9,
              -1.22193051681457e-8);
}
template <class T>
FC_INLINE T erfc(T x) {
  constexpr T c = sizeof(T) == 4 ? T(2) : T(4), last = sizeof(T) == 4 ? T(10.1) : T(27.3);
  const T a = std::fabs(x) > last ? last : std::fabs(x), top = a - c, bottom = a + c, inverse = T(1) / bottom;
  // What rounding lost, relative: of a + c and its inverse, and of the square.
  const T short_by = std::fma(-inverse, bottom, T(1)) - (a - (bottom - c)) * inverse;
  const T t = std::fma(top * inverse, short_by, top * inverse), square = a * a;
  const auto [n, r] = reduce_exp(-square);
  const T e = std::fma(r * r, exp_poly(r), r), g = erfc_poly(t) * inverse, y = std::fma(g, e, g);
  const T half = round_to_integer(n * T(0.5)), corrected = std::fma(y, short_by - std::fma(a, a, -square), y);
  const T tail = corrected * power_of_two(half) * power_of_two(n - half);
  return std::fabs(x) > T(0.5) ? (x < T(0) ? T(2) - tail : tail) : T(1) - erf_within_one(x);
}

// --- gamma function of a positive float, in double: Stirling's series from 10 on. Below, 10 is added to x, which makes
// x (x + 1) … (x + 9) a factor: with t = x (x + 9), it is t (t + 8) (t + 14) (t + 18) (t + 20).
FC_INLINE bool positive(float x) { return x > 0 && x <= std::numeric_limits<float>::max(); }

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
  const float r = static_cast<float>(std::sqrt(x * x + y * y)), inf = std::numeric_limits<float>::infinity();
  return std::fabs(a) == inf || std::fabs(b) == inf ? inf : r;
}
FC_INLINE double hypot(double a, double b) {
  const double x = std::fabs(a), y = std::fabs(b), large = x < y ? y : x, inf = std::numeric_limits<double>::infinity();
  const double up = large > 0x1p500 ? 0x1p-600 : (large < 0x1p-400 ? 0x1p600 : 1.0);
  const double down = large > 0x1p500 ? 0x1p600 : (large < 0x1p-400 ? 0x1p-600 : 1.0);
  const double s = a * up, t = b * up, high = s * s, sum = std::fma(t, t, high), root = std::sqrt(sum);
  return x == inf || y == inf ? inf : root * down;
}

// --- power: in double with series as long as a float needs
FC_INLINE double log2_of_float(double x) {  // x >= 0; subnormal floats are ordinary doubles
  using F = Format<double>;
  constexpr uint64_t root = 0x3FE6A09E667F3BCD, one = uint64_t{F::bias} << F::mantissa;  // of sqrt(1/2) and 1
  const uint64_t b = bits_of(x) + (one - root);
  const double wide = 0x1p52, e = from_bits<double>((b >> F::mantissa) | bits_of(wide)) - (wide + F::bias);
  const double f = from_bits<double>((b & ((uint64_t{1} << F::mantissa) - 1)) + root) - 1, s = f / (2 + f), z = s * s;
  const double series = poly(z, 2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13);
  return log_edges(x, std::fma(s * series, F::log2e[0], e));
}
FC_INLINE double exp2_for_float(double x) {
  x = clamp(x, -160.0, 130.0);
  const double n = round_to_integer(x), r = (x - n) * Format<double>::ln2[0];
  return power_of_two(n) * poly(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320);
}
FC_INLINE float pow(float a, float b) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float x = std::fabs(a);
  float r = static_cast<float>(exp2_for_float(static_cast<double>(b) * log2_of_float(static_cast<double>(x))));
  const bool whole = std::trunc(b) == b, odd = whole && std::trunc(b * 0.5f) != b * 0.5f;
  r = a < 0 && !whole && x != inf ? std::numeric_limits<float>::quiet_NaN() : r;
  r = odd ? std::copysign(r, a) : r;
  r = x == 1 && std::fabs(b) == inf ? 1.0f : r;
  return a == 1 || b == 0 ? 1.0f : r;
}

}  // namespace fc::math::own
