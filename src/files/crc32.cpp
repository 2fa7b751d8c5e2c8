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
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
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

#if defined(__x86_64__)
// The message is a polynomial; a lane of 128 bits is moved forward by multiplying its halves with x^k modulo the
// checksum's polynomial. Four lanes at a time, then one, then Barrett's reduction to 32 bits.
[[gnu::target("pclmul,sse4.1")]] inline __m128i fold(__m128i lane, __m128i by, __m128i next) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11)), next);
}

[[gnu::target("pclmul,sse4.1")]] uint32_t by_products(uint32_t crc, const unsigned char* p,
                                                      size_t n) {  // n: 16 k >= 64
  auto at = [&](size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i); };
  const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i a = _mm_xor_si128(at(0), _mm_cvtsi32_si128(static_cast<int>(crc))), b = at(1), c = at(2), d = at(3);
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    a = fold(a, by_64, at(0));
    b = fold(b, by_64, at(1));
    c = fold(c, by_64, at(2));
    d = fold(d, by_64, at(3));
  }
  a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
  for (; n >= 16; p += 16, n -= 16) a = fold(a, by_16, at(0));
  const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
  a = _mm_xor_si128(_mm_srli_si128(a, 4),
                    _mm_clmulepi64_si128(_mm_and_si128(a, low), _mm_set_epi64x(0, 0x0163cd6124), 0x00));
  const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(a, low), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low), barrett, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, q), 1));
}
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  auto p = static_cast<const unsigned char*>(data);
  crc = ~crc;
#if defined(__x86_64__)
  if (bytes >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    const size_t body = bytes & ~size_t{15};
    crc = by_products(crc, p, body);
    p += body;
    bytes -= body;
  }
#endif
  return ~by_tables(crc, p, bytes);
}

}  // namespace fc::files
