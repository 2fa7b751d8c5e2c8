// SPDX-License-Identifier: Apache-2.0
// What the formulas need of a compiler, and nothing of a library: sized integers, traits, limits, and the operations on
// one float or double that are an instruction or a call of the C library. GCC and Clang for any processor, nvcc and
// NVRTC take it; FC_BARE says that there is no C++ library (a GPU, a bare RISC-V core), where complex numbers have
// arithmetic only.
#pragma once

#if defined(__CUDACC__)
// Each instruction set needs its own copy of a formula, and only inlined code is sure to be its own.
#define FC_INLINE __host__ __device__ __forceinline__
#define FC_FUNCTION_OF_NUMBERS __host__ __device__ inline
#else
#define FC_INLINE [[gnu::always_inline]] inline
#define FC_FUNCTION_OF_NUMBERS inline  // too long to be inlined, and for numbers only
#endif
#if defined(__CUDACC__) || __STDC_HOSTED__ == 0
#define FC_BARE 1
#endif

namespace fc::math {

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <bool c, class A, class B>
struct Choose {
  using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using type = B;
};
template <bool c, class A, class B>
using choose_t = typename Choose<c, A, B>::type;

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float inf = __builtin_bit_cast(float, 0x7f800000u), nan = __builtin_bit_cast(float, 0x7fc00000u);
  static constexpr float epsilon = 0x1p-23f, max = 0x1.fffffep127f;
};
template <>
struct Limits<double> {
  static constexpr double inf = __builtin_bit_cast(double, 0x7ff0000000000000ull),
                          nan = __builtin_bit_cast(double, 0x7ff8000000000000ull);
  static constexpr double epsilon = 0x1p-52, max = 0x1.fffffffffffffp1023;
};

#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA) || defined(__CUDACC__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

namespace target {

#if defined(__CUDACC__)
#define FC_LIBRARY(name) ::name
#else
#define FC_LIBRARY(name) __builtin_##name
#endif
#define FC_ONE(name)                                               \
  FC_INLINE float name(float x) { return FC_LIBRARY(name##f)(x); } \
  FC_INLINE double name(double x) { return FC_LIBRARY(name)(x); }
#define FC_TWO(name)                                                           \
  FC_INLINE float name(float a, float b) { return FC_LIBRARY(name##f)(a, b); } \
  FC_INLINE double name(double a, double b) { return FC_LIBRARY(name)(a, b); }
FC_ONE(fabs)
FC_ONE(sqrt)
FC_ONE(floor)
FC_ONE(ceil)
FC_ONE(trunc)
FC_ONE(nearbyint)
FC_ONE(exp)
FC_ONE(exp2)
FC_ONE(expm1)
FC_ONE(log)
FC_ONE(log2)
FC_ONE(log10)
FC_ONE(log1p)
FC_ONE(sin)
FC_ONE(cos)
FC_ONE(tan)
FC_ONE(asin)
FC_ONE(acos)
FC_ONE(atan)
FC_ONE(sinh)
FC_ONE(cosh)
FC_ONE(tanh)
FC_ONE(asinh)
FC_ONE(acosh)
FC_ONE(atanh)
FC_ONE(erf)
FC_ONE(erfc)
FC_ONE(tgamma)
FC_TWO(copysign)
FC_TWO(fmod)
FC_TWO(pow)
FC_TWO(hypot)
FC_TWO(atan2)
#undef FC_ONE
#undef FC_TWO
FC_INLINE float fma(float a, float b, float c) { return FC_LIBRARY(fmaf)(a, b, c); }
FC_INLINE double fma(double a, double b, double c) { return FC_LIBRARY(fma)(a, b, c); }
#undef FC_LIBRARY

template <class To, class From>
FC_INLINE To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}

}  // namespace target
}  // namespace fc::math
