// SPDX-License-Identifier: Apache-2.0
// How a device draws random numbers (the family `random` of backend.h), header-only: Philox4x32-10, and what becomes of
// its words. Whoever follows it gets the same numbers on every device, however the work is split: element i depends on
// nothing but the seed and its counter. Computed in double for float64 results, in float for all others.
#pragma once
#include <cmath>
#include <cstdint>

#include "facula/families.h"

namespace facula::backend {

struct Words {
  uint32_t w[4];
};

inline Words philox(uint64_t seed, uint64_t counter) {
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  uint32_t c[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t{0xD2511F53} * c[0], q = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(q),
                              static_cast<uint32_t>(p >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// In [0, 1), from the first pair of words or the second.
template <class T>
T unit(const Words& words, int pair) {
  const uint32_t high = words.w[2 * pair], low = words.w[2 * pair + 1];
  if constexpr (sizeof(T) == 8) return static_cast<T>((uint64_t{high} << 32 | low) >> 11) * T(0x1p-53);
  else return static_cast<T>(high >> 8) * T(0x1p-24);
}

// Everything but integers; p: the probability of bernoulli. T is double for float64 results, else float.
template <class T>
T draw(int32_t opcode, const Words& words, T a, T b, T p) {
  const T u = unit<T>(words, 0), pi = static_cast<T>(3.141592653589793238462643L);
  switch (opcode) {
    case FC_RANDOM_UNIFORM: {
      const T x = a + u * (b - a);
      return x < b ? x : a;
    }
    case FC_RANDOM_NORMAL:
    case FC_RANDOM_LOG_NORMAL: {
      const T x = a + b * std::sqrt(T(-2) * std::log(T(1) - u)) * std::cos(T(2) * pi * unit<T>(words, 1));
      return opcode == FC_RANDOM_NORMAL ? x : std::exp(x);
    }
    case FC_RANDOM_EXPONENTIAL: return -std::log(T(1) - u) / a;
    case FC_RANDOM_CAUCHY: return a + b * std::tan(pi * (u - T(0.5)));
    case FC_RANDOM_GEOMETRIC: {
      const T x = std::ceil(std::log(T(1) - u) / std::log(T(1) - a));
      return x >= T(1) ? x : T(1);
    }
    default: return u < p ? T(1) : T(0);
  }
}
template <class T>
T draw(const fc_random& k, uint64_t element, T p) {
  return draw<T>(k.opcode, philox(k.seed, k.offset + element), static_cast<T>(k.a), static_cast<T>(k.b), p);
}

inline int64_t draw_integer(const Words& words, int64_t low, uint64_t range) {
  const uint64_t wide = uint64_t{words.w[0]} << 32 | words.w[1];
  const uint64_t x = range == 0 ? wide : range <= UINT32_MAX ? words.w[0] % static_cast<uint32_t>(range) : wide % range;
  return static_cast<int64_t>(static_cast<uint64_t>(low) + x);
}
inline int64_t draw_integer(const fc_random& k, uint64_t element) {
  return draw_integer(philox(k.seed, k.offset + element), k.low, k.range);
}

}  // namespace facula::backend
