// SPDX-License-Identifier: Apache-2.0
// Short vectors for kernels that keep accumulators in registers: the compiler's own vector types, as wide as the
// instruction set. A Lanes<T> is always 256 bytes of accumulators, however many registers that takes, so a fold has
// the same combination tree and the same bits under every instruction set.
#pragma once
#include <cstdint>
#include <type_traits>

#if defined(__FMA__)
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
  return Vec<T>{} + x;
}

// k < kWidth elements; the rest of the vector is `fill`.
template <class T>
inline Vec<T> load_part(const T* p, int64_t k, T fill) {
  T buffer[kWidth<T>];
  for (int i = 0; i < kWidth<T>; ++i) buffer[i] = i < k ? p[i] : fill;
  return load(buffer);
}
template <class T>
inline void store_part(T* p, const Vec<T>& v, int64_t k) {
  T buffer[kWidth<T>];
  store(buffer, v);
  for (int i = 0; i < k; ++i) p[i] = buffer[i];
}

template <class T>
inline Vec<T> fma(const Vec<T>& a, const Vec<T>& b, const Vec<T>& c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return Vec<T>(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
  else return Vec<T>(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) return Vec<T>(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  else return Vec<T>(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#else
  return a * b + c;
#endif
}

// e^x within 1 ulp of float, 2 of double: x = n ln 2 + r, the Taylor polynomial of r, then twice half the power of two,
// so that results below the normal range round once.
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
  x = x < low ? splat(low) : x;
  x = x > high ? splat(high) : x;
  Vec<T> t = fma<T>(x, splat(T(1.44269504088896340736)), splat(magic));
  Vec<T> n = t - magic;
  Vec<T> r = fma<T>(n, splat(-ln2_low), fma<T>(n, splat(-ln2_high), x));
  constexpr int degree = single ? 7 : 13;
  constexpr double factorial[] = {1,    1,     2,      6,       24,       120,       720,
                                  5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800};
  Vec<T> y = splat(T(1 / factorial[degree]));
#pragma GCC unroll 16
  for (int k = degree - 1; k >= 0; --k) y = fma<T>(y, r, splat(T(1 / factorial[k])));
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
