// SPDX-License-Identifier: Apache-2.0
// Random words to numbers, as docs/random.md prescribes bit by bit: every fma is one rounding, everything else two.
#include <bit>
#include <cmath>

#include "backends/cpu/isa.h"

namespace fc::cpu::FC_ISA {
namespace {

inline float unit24(uint32_t w) { return static_cast<float>(static_cast<int32_t>(w & 0xffffff)) * 0x1p-24f; }
inline double unit53(const uint32_t* w) {
  uint64_t bits = (static_cast<uint64_t>(w[0]) << 32 | w[1]) & ((uint64_t{1} << 53) - 1);
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}

void uniform_float(const uint32_t* words, float* out, int64_t n, float from, float to) {
  const float range = to - from;
  for (int64_t i = 0; i < n; ++i) out[i] = std::fma(unit24(words[i]), range, from);
}
void uniform_double(const uint32_t* words, double* out, int64_t n, double from, double to) {
  const double range = to - from;
  for (int64_t i = 0; i < n; ++i) out[i] = std::fma(unit53(words + 2 * i), range, from);
}

// Section 6.2: log of x in [2^-24, 1], sine and cosine of t in [0, 2 pi].
inline float log_of(float x) {
  int32_t bits = std::bit_cast<int32_t>(x);
  int32_t exponent = (bits >> 23) - 126;
  float m = std::bit_cast<float>((bits & 0x7fffff) | 0x3f000000);
  const bool small = m < 0.70710678118654752440f;
  float e = static_cast<float>(exponent - (small ? 1 : 0));
  m = (small ? m + m : m) - 1.0f;
  const float z = m * m;
  float y = 7.0376836292e-2f;
  y = std::fma(y, m, -1.1514610310e-1f);
  y = std::fma(y, m, 1.1676998740e-1f);
  y = std::fma(y, m, -1.2420140846e-1f);
  y = std::fma(y, m, 1.4249322787e-1f);
  y = std::fma(y, m, -1.6668057665e-1f);
  y = std::fma(y, m, 2.0000714765e-1f);
  y = std::fma(y, m, -2.4999993993e-1f);
  y = std::fma(y, m, 3.3333331174e-1f);
  y = std::fma(y * m, z, e * -2.12194440e-4f);
  y = std::fma(z, -0.5f, y);
  return std::fma(e, 0.693359375f, m + y);
}

inline float flip(float x, int32_t sign) { return std::bit_cast<float>(std::bit_cast<int32_t>(x) ^ sign); }

void normal_float(const uint32_t* words, float* out, int64_t n, float mean, float std_dev) {
  for (int64_t block = 0; block < n; block += 16) {
    const uint32_t* w = words + block;
    float* o = out + block;
    FC_IVDEP
    for (int j = 0; j < 8; ++j) {
      const float r = std::sqrt(-2.0f * log_of(1.0f - unit24(w[j])));
      const float t = 6.28318530717958647692f * unit24(w[j + 8]);
      const int32_t k = (static_cast<int32_t>(t * 1.27323954473516f) + 1) & ~1;
      const float kf = static_cast<float>(k);
      float x = std::fma(kf, -0.78515625f, t);
      x = std::fma(kf, -2.4187564849853515625e-4f, x);
      x = std::fma(kf, -3.77489497744594108e-8f, x);
      const float z = x * x;
      float c = std::fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
      c = std::fma(c, z, 4.166664568298827e-2f) * z;
      c = std::fma(c, z, z * -0.5f) + 1.0f;
      float s = std::fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
      s = std::fma(s, z, -1.6666654611e-1f) * z;
      s = std::fma(s, x, x);
      const bool swap = (k & 2) != 0;
      const float sine = flip(swap ? c : s, (k & 4) << 29), cosine = flip(swap ? s : c, ((k + 2) & 4) << 29);
      o[j] = std::fma(r * cosine, std_dev, mean);
      o[j + 8] = std::fma(r * sine, std_dev, mean);
    }
  }
}

void normal_double(const uint32_t* words, double* out, int64_t n, double mean, double std_dev) {
  for (int64_t block = 0; block < n; block += 16)
    for (int64_t j = block; j < block + 8; ++j) {
      const double r = std::sqrt(-2.0 * std::log(1.0 - unit53(words + 2 * j)));
      const double t = 6.28318530717958647692 * unit53(words + 2 * (j + 8));
      out[j] = std::fma(r * std::cos(t), std_dev, mean);
      out[j + 8] = std::fma(r * std::sin(t), std_dev, mean);
    }
}

}  // namespace

void fill_random(KernelTable& t) { t.random = {uniform_float, uniform_double, normal_float, normal_double}; }

}  // namespace fc::cpu::FC_ISA
