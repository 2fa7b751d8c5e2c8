// SPDX-License-Identifier: Apache-2.0
// Copies, casts and fills. A cast's opcode is the type it makes, its compute type the one it reads. Copies within one
// type move words of its size, and do for types that the device cannot compute with. Half types become float and back.
#include <facula_hb/kernel.h>

#include "facula/families.h"

namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

float widen(Half h) {
  const uint32_t sign = (h.bits & 0x8000u) << 16, exponent = h.bits >> 10 & 31u, mantissa = h.bits & 1023u;
  if (exponent == 0) {
    const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  return __builtin_bit_cast(float, sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13);
}
float widen(BFloat h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h.bits) << 16); }

// To nearest, ties to even.
void narrow(float x, Half& to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  uint32_t h;
  if (size > 0x7f800000u) h = 0x7e00u;
  else if (size >= 0x477ff000u) h = 0x7c00u;
  else if (size < 0x38800000u)  // subnormal: adding a half lets the float unit round
    h = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000u;
  else h = ((size + 0xfffu + (size >> 13 & 1u)) >> 13) - (112u << 10);
  to.bits = static_cast<uint16_t>(sign | h);
}
void narrow(float x, BFloat& to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  to.bits = x != x ? uint16_t{0x7fc0} : static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace

template <>
inline constexpr int hb::dtype_of<Half> = FC_FLOAT16;
template <>
inline constexpr int hb::dtype_of<BFloat> = FC_BFLOAT16;
// kernel.h has the contract's numbers without its header.
static_assert(hb::dtype_of<uint8_t> == FC_UINT8 && hb::dtype_of<int8_t> == FC_INT8 &&
              hb::dtype_of<int16_t> == FC_INT16 && hb::dtype_of<int32_t> == FC_INT32 &&
              hb::dtype_of<int64_t> == FC_INT64 && hb::dtype_of<float> == FC_FLOAT32 &&
              hb::dtype_of<double> == FC_FLOAT64 && hb::dtype_of<bool> == FC_BOOL);

namespace {

template <class H>
void from_half(hb::Out<float> out, hb::In<H> in) {
  hb::map(
      out, [](H x) { return widen(x); }, in);
}
template <class H>
void to_half(hb::Out<H> out, hb::In<float> in) {
  hb::map(
      out,
      [](float x) {
        H h;
        narrow(x, h);
        return h;
      },
      in);
}

template <class To, class From>
void cast(hb::Out<To> out, hb::In<From> in) {
  hb::map(
      out,
      [](From x) {
        constexpr int from = hb::dtype_of<From>;
        if constexpr (hb::dtype_of<To> == FC_BOOL) return x != From(0);
        else if constexpr (hb::dtype_of<To> <= FC_INT64 && (from == FC_FLOAT32 || from == FC_FLOAT64)) {
          // Out of range is no undefined value; as on x86-64 it is the smallest 64-bit integer.
          constexpr From bound = From(9223372036854775808.0);
          return static_cast<To>(x >= -bound && x < bound ? static_cast<int64_t>(x) : INT64_MIN);
        } else return static_cast<To>(x);
      },
      in);
}

}  // namespace

#define HB_CAST(To, to, From, from) \
  HB_FAMILY_KERNEL(tensorlib_copy_##from##_to_##to, (&cast<To, From>), FC_FAMILY_COPY, hb::dtype_of<To>, From)
#define HB_CASTS(To, to)          \
  HB_CAST(To, to, bool, Bool)     \
  HB_CAST(To, to, uint8_t, Byte)  \
  HB_CAST(To, to, int8_t, Char)   \
  HB_CAST(To, to, int16_t, Short) \
  HB_CAST(To, to, int32_t, Int)   \
  HB_CAST(To, to, int64_t, Long)  \
  HB_CAST(To, to, float, Float)   \
  HB_CAST(To, to, double, Double)
HB_CASTS(bool, Bool)
HB_CASTS(uint8_t, Byte)
HB_CASTS(int8_t, Char)
HB_CASTS(int16_t, Short)
HB_CASTS(int32_t, Int)
HB_CASTS(int64_t, Long)
HB_CASTS(float, Float)
HB_CASTS(double, Double)
HB_FAMILY_KERNEL(tensorlib_copy_Half_to_Float, &from_half<Half>, FC_FAMILY_COPY, FC_FLOAT32, Half)
HB_FAMILY_KERNEL(tensorlib_copy_BFloat16_to_Float, &from_half<BFloat>, FC_FAMILY_COPY, FC_FLOAT32, BFloat)
HB_FAMILY_KERNEL(tensorlib_copy_Float_to_Half, &to_half<Half>, FC_FAMILY_COPY, FC_FLOAT16, float)
HB_FAMILY_KERNEL(tensorlib_copy_Float_to_BFloat16, &to_half<BFloat>, FC_FAMILY_COPY, FC_BFLOAT16, float)
