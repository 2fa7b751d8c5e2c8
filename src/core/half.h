// SPDX-License-Identifier: Apache-2.0
// The narrow float formats as bit patterns, with conversions that round to nearest even. Arithmetic never happens
// in them: kernels convert whole chunks to float32 and back.
#pragma once
#include <bit>
#include <cstdint>

namespace fc {

inline float half_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  uint32_t rest = h & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // The exponent is rebiased by a multiplication, which also normalises subnormal numbers.
  float f = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | sign);
}

inline uint16_t float_to_half(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits >= 0x7f800000) return static_cast<uint16_t>(sign | 0x7c00 | (bits > 0x7f800000 ? 0x200 : 0));
  if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (bits < 0x38800000) {  // subnormal in half: adding 0.5 leaves the rounded result in the low bits
    float f = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(f) - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | (bits - 0x38000000) >> 13);
}

inline float bfloat_to_float(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

inline uint16_t float_to_bfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

// e5m2 is the upper byte of a half.
inline float f8e5m2_to_float(uint8_t v) { return half_to_float(static_cast<uint16_t>(v << 8)); }
inline uint8_t float_to_f8e5m2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 24 & 0x80;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint8_t>(sign | 0x7f);
  if (bits >= 0x47700000) return static_cast<uint8_t>(sign | 0x7c);
  if (bits < 0x38800000) {  // subnormal: unit 2^-16
    float f = std::bit_cast<float>(bits) + 128.0f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(f) - 0x43000000));
  }
  bits += 0xfffff + (bits >> 21 & 1);
  return static_cast<uint8_t>(sign | (bits - 0x38000000) >> 21);
}

// e4m3fn: bias 7, no infinities, 0x7f is NaN. What is larger than the largest number, 448, becomes that.
inline float f8e4m3_to_float(uint8_t v) {
  uint32_t sign = static_cast<uint32_t>(v & 0x80) << 24;
  uint32_t rest = v & 0x7f;
  if (rest == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  float f = std::bit_cast<float>(rest << 20) * 0x1p120f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | sign);
}
inline uint8_t float_to_f8e4m3(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 24 & 0x80;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint8_t>(sign | 0x7f);
  if (bits >= 0x43e00000) return static_cast<uint8_t>(sign | 0x7e);
  if (bits < 0x3c800000) {  // subnormal: unit 2^-9
    float f = std::bit_cast<float>(bits) + 16384.0f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(f) - 0x46800000));
  }
  return static_cast<uint8_t>(sign | (bits + 0x7ffff + (bits >> 20 & 1) - 0x3c000000) >> 20);
}

}  // namespace fc
