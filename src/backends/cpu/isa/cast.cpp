// SPDX-License-Identifier: Apache-2.0
// Conversions between the types that C++ computes in, and between each storage type and the one it is computed in; the
// others go through these (see cast_fn). Floats out of an integer's range become what x86 gives PyTorch: conversion
// through int64 for narrow types, so NaN and infinities are defined and do not trap.
#include <algorithm>
#include <complex>

#include "backends/cpu/isa/tile.h"
#include "core/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace fc::cpu::FC_ISA {
namespace {

// Storage types with their conversion to and from a type C++ computes in.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct ComplexHalf {
  Half re, im;
};
struct F8e5m2 {
  uint8_t bits;
};
struct F8e4m3 {
  uint8_t bits;
};

template <class T>
inline T load(T v) {
  return v;
}
inline float load(Half v) {
#if defined(__F16C__)
  return _cvtsh_ss(v.bits);
#else
  return half_to_float(v.bits);
#endif
}
inline std::complex<float> load(ComplexHalf v) { return {load(v.re), load(v.im)}; }
inline float load(BFloat v) { return bfloat_to_float(v.bits); }
inline float load(F8e5m2 v) { return f8e5m2_to_float(v.bits); }
inline float load(F8e4m3 v) { return f8e4m3_to_float(v.bits); }

template <class To, class From>
inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) return v;
  else if constexpr (requires { v.real(); }) {
    if constexpr (requires(To t) { t.real(); })
      return To(static_cast<typename To::value_type>(v.real()), static_cast<typename To::value_type>(v.imag()));
    else if constexpr (std::is_same_v<To, ComplexHalf>) return {convert<Half>(v.real()), convert<Half>(v.imag())};
    else if constexpr (std::is_same_v<To, bool>) return v.real() != 0 || v.imag() != 0;
    else return convert<To>(v.real());
  } else if constexpr (requires(To t) { t.real(); }) return To(static_cast<typename To::value_type>(v), 0);
  else if constexpr (std::is_same_v<To, bool>) return v != 0;
  else if constexpr (std::is_same_v<To, Half>) {
    float f = static_cast<float>(v);
#if defined(__F16C__)
    return {static_cast<uint16_t>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT))};
#else
    return {float_to_half(f)};
#endif
  } else if constexpr (std::is_same_v<To, BFloat>) return {float_to_bfloat(static_cast<float>(v))};
  else if constexpr (std::is_same_v<To, F8e5m2>) return {float_to_f8e5m2(static_cast<float>(v))};
  else if constexpr (std::is_same_v<To, F8e4m3>) return {float_to_f8e4m3(static_cast<float>(v))};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // In range for int64: plain. Otherwise the x86 "integer indefinite" value, cut to the target's width.
    int64_t wide = v >= From(-0x1p63) && v < From(0x1p63) ? static_cast<int64_t>(v) : INT64_MIN;
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (v >= From(0x1p63) && v < From(0x1p64)) return static_cast<uint64_t>(v);
      return static_cast<uint64_t>(wide);
    } else if constexpr (std::is_same_v<To, int32_t>) {
      return wide >= INT32_MIN && wide <= INT32_MAX ? static_cast<int32_t>(wide) : INT32_MIN;
    } else {
      return static_cast<To>(wide);
    }
  } else return static_cast<To>(v);
}

#if defined(__F16C__)
// The compiler does not vectorise the conversion of halves by itself; these do the bulk of a row.
inline int64_t bulk(float* d, const Half* s, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i))));
  return i;
}
inline int64_t bulk(Half* d, const float* s, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#endif
template <class To, class From>
inline int64_t bulk(To*, const From*, int64_t) {
  return 0;
}

template <class From, class To>
void cast_row(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  if (ds == sizeof(To) && ss == sizeof(From)) {
    auto* d = reinterpret_cast<To*>(dst);
    auto* s = reinterpret_cast<const From*>(src);
    int64_t i = bulk(d, s, n);
    FC_IVDEP
    for (; i < n; ++i) d[i] = convert<To>(load(s[i]));
  } else if (ds == sizeof(To) && ss == 0) {
    std::fill_n(reinterpret_cast<To*>(dst), n, convert<To>(load(*reinterpret_cast<const From*>(src))));
  } else {
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<To*>(dst + i * ds) = convert<To>(load(*reinterpret_cast<const From*>(src + i * ss)));
  }
}

template <class T>
constexpr DType type_of() {
  if constexpr (std::is_same_v<T, Half>) return DType::Float16;
  else if constexpr (std::is_same_v<T, ComplexHalf>) return DType::Complex32;
  else if constexpr (std::is_same_v<T, BFloat>) return DType::BFloat16;
  else if constexpr (std::is_same_v<T, F8e5m2>) return DType::Float8_e5m2;
  else if constexpr (std::is_same_v<T, F8e4m3>) return DType::Float8_e4m3fn;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::UInt16;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::UInt32;
  else if constexpr (std::is_same_v<T, uint64_t>) return DType::UInt64;
  else return dtype_of<T>();
}

template <class From, class... To>
void add_from(KernelTable& t) {
  ((t.cast[static_cast<int>(type_of<From>())][static_cast<int>(type_of<To>())] = cast_row<From, To>), ...);
}
template <class A, class B>
void add_pair(KernelTable& t) {
  add_from<A, B>(t);
  add_from<B, A>(t);
}
template <class... All>
void add_all(KernelTable& t) {
  (add_from<All, All...>(t), ...);
}

}  // namespace

void fill_cast(KernelTable& t) {
  add_all<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double>(t);
  for (DType same : {DType::Float16, DType::BFloat16, DType::UInt16})
    t.cast[static_cast<int>(same)][static_cast<int>(same)] = cast_row<uint16_t, uint16_t>;
  add_pair<Half, float>(t);
  add_pair<BFloat, float>(t);
  add_pair<F8e5m2, float>(t);
  add_pair<F8e4m3, float>(t);
  add_pair<uint16_t, int64_t>(t);
  add_pair<uint32_t, int64_t>(t);
  add_pair<uint64_t, int64_t>(t);
  add_pair<uint64_t, float>(t);
  add_pair<uint64_t, double>(t);
  add_pair<std::complex<float>, float>(t);
  add_pair<std::complex<double>, double>(t);
  add_pair<std::complex<float>, std::complex<double>>(t);
  add_pair<ComplexHalf, std::complex<float>>(t);
  add_from<std::complex<float>, bool, std::complex<float>>(t);
  add_from<std::complex<double>, bool, std::complex<double>>(t);
}

}  // namespace fc::cpu::FC_ISA
