// SPDX-License-Identifier: Apache-2.0
#include "files/crc32.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fc::files {
namespace {

// Eight tables: eight bytes a step.
constexpr uint32_t kPolynomial = 0xEDB88320;  // the highest power is the lowest bit
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? kPolynomial ^ (c >> 1) : c >> 1;
    t[0][i] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) t[k][i] = t[0][t[k - 1][i] & 255] ^ (t[k - 1][i] >> 8);
  return t;
}();

uint32_t by_tables(uint32_t crc, const unsigned char* p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t v = 0;
    for (size_t i = 0; i < 8; ++i) v |= uint64_t{p[i]} << (8 * i);
    v ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][(v >> (8 * i)) & 255];
  }
  for (; n > 0; ++p, --n) crc = tables[0][(crc ^ *p) & 255] ^ (crc >> 8);
  return crc;
}

// Modulo the checksum's polynomial.
uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit; bit >>= 1) {
    if (a & bit) product ^= b;
    b = b & 1 ? kPolynomial ^ (b >> 1) : b >> 1;
  }
  return product;
}

#if defined(__x86_64__)
// The message is a polynomial. A lane of 128 bits moves forward by multiplying its halves with powers of x modulo the
// checksum's polynomial; then Barrett's reduction brings one lane to 32 bits.
#define FC_CLMUL gnu::target("pclmul,sse4.1")
#define FC_WIDE_CLMUL gnu::target("pclmul,sse4.1,avx512f,vpclmulqdq")
constexpr long long kBy16[] = {0x01751997d0, 0x00ccaa009e}, kBy64[] = {0x0154442bd4, 0x01c6e41596},
                    kBy256[] = {0x011542778a, 0x01322d1430};

[[FC_CLMUL]] inline __m128i load(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
[[FC_CLMUL]] inline __m128i pair(const long long (&k)[2]) { return _mm_set_epi64x(k[1], k[0]); }
[[FC_CLMUL]] inline __m128i fold(__m128i lane, __m128i by, __m128i next) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11)), next);
}

// From four lanes one after the other, and n more bytes: a multiple of 16.
[[FC_CLMUL]] uint32_t finish(__m128i a, __m128i b, __m128i c, __m128i d, const unsigned char* p, size_t n) {
  const __m128i by_16 = pair(kBy16), by_64 = pair(kBy64);
  for (; n >= 64; p += 64, n -= 64) {
    a = fold(a, by_64, load(p));
    b = fold(b, by_64, load(p + 16));
    c = fold(c, by_64, load(p + 32));
    d = fold(d, by_64, load(p + 48));
  }
  a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
  for (; n >= 16; p += 16, n -= 16) a = fold(a, by_16, load(p));
  const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
  a = _mm_xor_si128(_mm_srli_si128(a, 4),
                    _mm_clmulepi64_si128(_mm_and_si128(a, low), _mm_set_epi64x(0, 0x0163cd6124), 0x00));
  const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(a, low), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low), barrett, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, q), 1));
}

[[FC_CLMUL]] uint32_t by_products(uint32_t crc, const unsigned char* p, size_t n) {  // n: 16 k >= 64
  const __m128i first = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc)));
  return finish(first, load(p + 16), load(p + 32), load(p + 48), p + 64, n - 64);
}

// Sixteen lanes at a time.
[[FC_WIDE_CLMUL]] inline __m512i wide_load(const unsigned char* p) { return _mm512_loadu_si512(p); }
[[FC_WIDE_CLMUL]] inline __m512i wide_fold(__m512i lanes, __m512i by, __m512i next) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, by, 0x00), _mm512_clmulepi64_epi128(lanes, by, 0x11),
                                   next, 0x96);  // the exclusive or of all three
}
[[FC_WIDE_CLMUL]] uint32_t by_wide_products(uint32_t crc, const unsigned char* p, size_t n) {  // n: 16 k >= 256
  const __m512i by_256 = _mm512_set4_epi64(kBy256[1], kBy256[0], kBy256[1], kBy256[0]);
  const __m512i by_64 = _mm512_set4_epi64(kBy64[1], kBy64[0], kBy64[1], kBy64[0]);
  __m512i a = _mm512_xor_si512(wide_load(p), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  __m512i b = wide_load(p + 64), c = wide_load(p + 128), d = wide_load(p + 192);
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
    a = wide_fold(a, by_256, wide_load(p));
    b = wide_fold(b, by_256, wide_load(p + 64));
    c = wide_fold(c, by_256, wide_load(p + 128));
    d = wide_fold(d, by_256, wide_load(p + 192));
  }
  a = wide_fold(wide_fold(wide_fold(a, by_64, b), by_64, c), by_64, d);
  unsigned char lanes[64];
  _mm512_storeu_si512(lanes, a);
  return finish(load(lanes), load(lanes + 16), load(lanes + 32), load(lanes + 48), p, n);
}
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  auto p = static_cast<const unsigned char*>(data);
  crc = ~crc;
#if defined(__x86_64__)
  if (bytes >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
    const size_t body = bytes & ~size_t{15};
    crc = wide && body >= 256 ? by_wide_products(crc, p, body) : by_products(crc, p, body);
    p += body;
    bytes -= body;
  }
#endif
  return ~by_tables(crc, p, bytes);
}

// Bytes that follow multiply a message by x^8 each.
Crc32Shift::Crc32Shift(uint64_t bytes) : factor_(uint32_t{1} << 31) {
  for (uint32_t power = uint32_t{1} << 23; bytes; bytes >>= 1, power = multiply(power, power))
    if (bytes & 1) factor_ = multiply(factor_, power);
}
uint32_t Crc32Shift::operator()(uint32_t crc) const { return multiply(factor_, crc); }

}  // namespace fc::files
