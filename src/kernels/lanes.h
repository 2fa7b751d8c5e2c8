// SPDX-License-Identifier: Apache-2.0
// The basic operations of elementary.h's functions, on one number or on a vector of them (the compiler's own vector
// type, which has arithmetic, comparisons and `?:`, and takes scalars as operands).
//
// A formula is a template over V, its operands; T = Element<V> is the type of its constants. With AVX-512, V may be a
// Wide<T> of 64 bytes, for which some operations are single instructions that the compiler would not find in a loop
// over numbers: scaling by a power of two, splitting into exponent and mantissa, special values by a table. Elsewhere V
// is float or double, and the compiler makes vector code of loops.
#pragma once
#include "kernels/target.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define FC_WIDE 1
#endif

namespace fc::math::own {

template <class V>
struct ElementOf {
  using type = V;
};
#if defined(FC_WIDE)
template <class T>
struct WideOf {
  typedef T type __attribute__((vector_size(64)));
};
template <class T>
using Wide = typename WideOf<T>::type;
template <>
struct ElementOf<Wide<float>> {
  using type = float;
};
template <>
struct ElementOf<Wide<double>> {
  using type = double;
};
#endif
template <class V>
using Element = typename ElementOf<V>::type;
template <class V>
inline constexpr bool is_wide = !is_same_v<V, Element<V>>;
template <class V>
inline constexpr bool is_single = is_same_v<Element<V>, float>;

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = u32;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // adding it rounds to an integer, which the low bits then hold
  static constexpr float smallest = 0x1p-126f;
};
template <>
struct Format<double> {
  using Bits = u64;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr double smallest = 0x1p-1022;
};

template <class V>
struct BitsOf {
  using type = typename Format<V>::Bits;
};
#if defined(FC_WIDE)
template <>
struct BitsOf<Wide<float>> {
  using type = Wide<u32>;
};
template <>
struct BitsOf<Wide<double>> {
  using type = Wide<u64>;
};
#endif
template <class V>
using Bits = typename BitsOf<V>::type;

template <class V>
FC_INLINE Bits<V> bits_of(V x) {
  return target::bit_cast<Bits<V>>(x);
}
template <class V>
FC_INLINE V from_bits(Bits<V> b) {
  return target::bit_cast<V>(b);
}

// x in all lanes. (Less zero, because adding it would change a sign.)
template <class V, class T>
FC_INLINE V spread(T x) {
  if constexpr (is_same_v<V, T>) return x;
  else return x - V{};
}

#if defined(FC_WIDE)
// Masks that leave nothing out, where GCC 12 would warn of the plain form's own header.
FC_INLINE Wide<float> fused(Wide<float> a, Wide<float> b, Wide<float> c) { return _mm512_fmadd_ps(a, b, c); }
FC_INLINE Wide<double> fused(Wide<double> a, Wide<double> b, Wide<double> c) { return _mm512_fmadd_pd(a, b, c); }
FC_INLINE Wide<float> root(Wide<float> x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
FC_INLINE Wide<double> root(Wide<double> x) { return _mm512_maskz_sqrt_pd(0xff, x); }
// The second where either is NaN.
FC_INLINE Wide<float> larger(Wide<float> a, Wide<float> b) { return _mm512_maskz_max_ps(0xffff, a, b); }
FC_INLINE Wide<double> larger(Wide<double> a, Wide<double> b) { return _mm512_maskz_max_pd(0xff, a, b); }
FC_INLINE Wide<float> smaller(Wide<float> a, Wide<float> b) { return _mm512_maskz_min_ps(0xffff, a, b); }
FC_INLINE Wide<double> smaller(Wide<double> a, Wide<double> b) { return _mm512_maskz_min_pd(0xff, a, b); }
FC_INLINE Wide<float> scaled(Wide<float> x, Wide<float> n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
FC_INLINE Wide<double> scaled(Wide<double> x, Wide<double> n) { return _mm512_maskz_scalef_pd(0xff, x, n); }
FC_INLINE Wide<float> exponent(Wide<float> x) { return _mm512_maskz_getexp_ps(0xffff, x); }
FC_INLINE Wide<double> exponent(Wide<double> x) { return _mm512_maskz_getexp_pd(0xff, x); }
FC_INLINE Wide<float> mantissa(Wide<float> x) {  // in [1, 2)
  return _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
}
FC_INLINE Wide<double> mantissa(Wide<double> x) {
  return _mm512_maskz_getmant_pd(0xff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
}
FC_INLINE Wide<float> by_class(Wide<float> x, Wide<float> y, int table) {
  return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(table), 0);
}
FC_INLINE Wide<double> by_class(Wide<double> x, Wide<double> y, int table) {
  return _mm512_fixupimm_pd(y, x, _mm512_set1_epi64(table), 0);
}
#endif

template <class A, class B, class C>
FC_INLINE auto fma(A a, B b, C c) {
  using V = decltype(a * b + c);
  if constexpr (is_wide<V>) return fused(spread<V>(a), spread<V>(b), spread<V>(c));
  else return target::fma(a, b, c);
}
template <class V>
FC_INLINE V sqrt(V x) {
  if constexpr (is_wide<V>) return root(x);
  else return target::sqrt(x);
}
template <class V>
FC_INLINE V fabs(V x) {
  if constexpr (is_wide<V>) return from_bits<V>(bits_of(x) & ~bits_of(Element<V>(-0.0)));
  else return target::fabs(x);
}
template <class V>
FC_INLINE V copysign(V x, V sign) {
  if constexpr (is_wide<V>) {
    const auto mask = bits_of(Element<V>(-0.0));
    return from_bits<V>((bits_of(x) & ~mask) | (bits_of(sign) & mask));
  } else {
    return target::copysign(x, sign);
  }
}

// c0 + c1 x + c2 x^2 + …
template <class V, class C>
FC_INLINE C poly(V, C c0) {
  return c0;
}
template <class V, class C, class... Rest>
FC_INLINE auto poly(V x, C c0, Rest... rest) {
  if constexpr (has_fma) return fma(poly(x, rest...), x, c0);
  else return poly(x, rest...) * x + c0;
}

// NaN stays.
template <class V, class T = Element<V>>
FC_INLINE V at_least(T low, V x) {
  if constexpr (is_wide<V>) return larger(spread<V>(low), x);
  else return x < low ? low : x;
}
template <class V, class T = Element<V>>
FC_INLINE V at_most(T high, V x) {
  if constexpr (is_wide<V>) return smaller(spread<V>(high), x);
  else return x > high ? high : x;
}
template <class V, class T = Element<V>>
FC_INLINE V clamp(V x, T low, T high) {
  return at_most(high, at_least(low, x));
}
template <class V, class T = Element<V>>
FC_INLINE V round_to_integer(V x) {  // |x| < 2^(mantissa - 1)
  return (x + Format<T>::magic) - Format<T>::magic;
}
// 2^(n + k) of an integer n, within the normal exponents.
template <int k = 0, class V, class T = Element<V>>
FC_INLINE V power_of_two(V n) {
  using F = Format<T>;
  if constexpr (is_wide<V>) return scaled(spread<V>(k < 0 ? T(1) / T(1 << -k) : T(1 << k)), n);
  else return from_bits<T>(bits_of(n + (F::magic + F::bias + k)) << F::mantissa);
}
// x 2^n, where 2^n alone may be outside of the format.
template <class V, class T = Element<V>>
FC_INLINE V times_power_of_two(V x, V n) {
  if constexpr (is_wide<V>) return scaled(x, n);
  else {
    const V half = round_to_integer(n * T(0.5));
    return x * power_of_two(half) * power_of_two(n - half);
  }
}

// x = 2^e (1 + f) of a positive, finite x, 1 + f in [sqrt(1/2), sqrt(2)]
template <class V>
struct Split {
  V e, f;
};
template <class V, class T = Element<V>>
FC_INLINE Split<V> split(V x) {
  using F = Format<T>;
  if constexpr (is_wide<V>) {
    const V m = mantissa(x), e = exponent(x);
    const auto large = m > T(1.41421356237309504880);
    return {large ? e + T(1) : e, (large ? m * T(0.5) : m) - T(1)};
  } else {
    using B = Bits<T>;
    const B low = target::bit_cast<B>(T(0.70710678118654752440)), one = target::bit_cast<B>(T(1));
    const bool subnormal = x < F::smallest;
    const T normal = subnormal ? x * from_bits<T>(B(F::bias + F::mantissa) << F::mantissa) : x;
    const B b = bits_of(normal) + (one - low);
    // The exponent becomes a number by placing it below the leading bit of 2^mantissa.
    const T wide = from_bits<T>(B(F::bias + F::mantissa) << F::mantissa);
    const T biased = from_bits<T>((b >> F::mantissa) | bits_of(wide)) - wide;
    return {biased - T(subnormal ? F::bias + F::mantissa : F::bias),
            from_bits<T>((b & ((B(1) << F::mantissa) - 1)) + low) - T(1)};
  }
}
// y, or what a logarithm of x gives at and beyond the ends.
template <class V, class T = Element<V>>
FC_INLINE V log_edges(V x, V y) {
  if constexpr (is_wide<V>) {
    // Four bits each for NaN (twice), 0, 1, -inf, inf, negative and positive x: 0 is y, 2 x, 3 NaN, 4 -inf, 5 inf.
    return by_class(x, y, 0x03530422);
  } else {
    constexpr T inf = Limits<T>::inf;
    y = x == inf ? inf : y;
    return x > T(0) ? y : (x == T(0) ? -inf : Limits<T>::nan);
  }
}

}  // namespace fc::math::own
