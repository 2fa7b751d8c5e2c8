// SPDX-License-Identifier: Apache-2.0
// Short vectors for kernels that keep accumulators in registers: the compiler's own vector types, as wide as the
// instruction set. A Lanes<T> is always 256 bytes of accumulators, however many registers that takes, so a fold has
// the same combination tree and the same bits under every instruction set.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace fc::cpu::FC_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, const Vec<T>& v) {
  __builtin_memcpy(p, &v, sizeof v);
}
template <class T>
inline Vec<T> splat(T x) {
  return x - Vec<T>{};  // compiles to a broadcast, and keeps -0.0
}

// Lanes before k are set.
template <class T>
inline auto first_lanes(int64_t k) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Vec<I> lane{};
  for (int i = 0; i < kWidth<T>; ++i) lane[i] = static_cast<I>(i);
  return lane < splat(static_cast<I>(k));
}

// k < kWidth elements, nothing beyond them is touched; the rest of the vector is `fill`.
template <class T>
inline Vec<T> load_part(const T* p, int64_t k, T fill) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_mask_loadu_ps(__m512(splat(fill)), static_cast<__mmask16>((1U << k) - 1), p));
  else return Vec<T>(_mm512_mask_loadu_pd(__m512d(splat(fill)), static_cast<__mmask8>((1U << k) - 1), p));
#elif defined(__AVX2__)
  const auto mask = first_lanes<T>(k);
  if constexpr (sizeof(T) == 4) return mask ? Vec<T>(_mm256_maskload_ps(p, __m256i(mask))) : splat(fill);
  else return mask ? Vec<T>(_mm256_maskload_pd(p, __m256i(mask))) : splat(fill);
#else
  T buffer[kWidth<T>];
  for (int i = 0; i < kWidth<T>; ++i) buffer[i] = i < k ? p[i] : fill;
  return load(buffer);
#endif
}
template <class T>
inline void store_part(T* p, const Vec<T>& v, int64_t k) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << k) - 1), __m512(v));
  else _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << k) - 1), __m512d(v));
#elif defined(__AVX2__)
  const auto mask = first_lanes<T>(k);
  if constexpr (sizeof(T) == 4) _mm256_maskstore_ps(p, __m256i(mask), __m256(v));
  else _mm256_maskstore_pd(p, __m256i(mask), __m256d(v));
#else
  T buffer[kWidth<T>];
  store(buffer, v);
  for (int i = 0; i < k; ++i) p[i] = buffer[i];
#endif
}

template <class T>
inline Vec<T> fma(const Vec<T>& a, const Vec<T>& b, const Vec<T>& c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
  else if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
  else
#elif defined(__FMA__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  else if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
  else
#endif
    return a * b + c;
}

// e^x within 1 ulp of float, 2 of double: x = n ln 2 + r, the Taylor polynomial of r, then 2^n, or twice half of it, so
// that results below the normal range round once.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using VI = Vec<I>;
  constexpr bool single = sizeof(T) == 4;
  constexpr T low = single ? T(-105) : T(-746), high = single ? T(89) : T(710);
  constexpr T magic = single ? T(12582912) : T(6755399441055744);  // 1.5 * 2^23, 2^52: adding it rounds to integers
  constexpr T ln2_high = single ? T(0.693359375) : T(6.93147180369123816490e-01);
  constexpr T ln2_low = single ? T(-2.12194440054690581e-4) : T(1.90821492927058770002e-10);
  constexpr int mantissa = single ? 23 : 52, bias = single ? 127 : 1023;
  if constexpr (math::own::is_wide<Vec<T>>) x = math::own::clamp(x, low, high);
  else {
    x = splat(low) > x ? splat(low) : x;  // in this form one instruction each
    x = splat(high) < x ? splat(high) : x;
  }
  Vec<T> t = fma<T>(x, splat(T(1.44269504088896340736)), splat(magic));
  Vec<T> n = t - magic;
  Vec<T> r = fma<T>(n, splat(-ln2_low), fma<T>(n, splat(-ln2_high), x));
  constexpr int degree = single ? 7 : 13;
  constexpr double factorial[] = {1,    1,     2,      6,       24,       120,       720,
                                  5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800};
  Vec<T> y = splat(T(1 / factorial[degree]));
#pragma GCC unroll 16
  for (int k = degree - 1; k >= 0; --k) y = fma<T>(y, r, splat(T(1 / factorial[k])));
  if constexpr (math::own::is_wide<Vec<T>>) return math::own::times_power_of_two(y, n);
  VI whole = __builtin_bit_cast(VI, t) - __builtin_bit_cast(I, magic);
  VI half = whole >> 1;
  VI a = (half + bias) << mantissa, b = (whole - half + bias) << mantissa;
  return y * __builtin_bit_cast(Vec<T>, a) * __builtin_bit_cast(Vec<T>, b);
}

inline constexpr int kLaneVectors = 256 / kVectorBytes;
template <class T>
inline constexpr int kLanes = 256 / static_cast<int>(sizeof(T));

}  // namespace
}  // namespace fc::cpu::FC_ISA
