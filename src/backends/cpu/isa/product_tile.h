// SPDX-License-Identifier: Apache-2.0
// The inner loop of our own matrix products: a tile of the result lives in registers while k runs.
#pragma once
#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 12;  // as many as registers hold
#elif defined(__AVX2__)
inline constexpr int kTileRows = 6;
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 2;  // of a tile's row

// out[rows][width] = a panel @ b panel. Packed panels have a_i == 1 and a_k == rows. Not inlined: beside the caller's
// variables the vectors of b would not stay in registers.
template <class N, int rows, bool packed>
[[gnu::noinline]] void tile(int64_t k, const N* a, int64_t a_i, int64_t a_k, const N* b, int64_t b_k, N* out) {
  constexpr int lanes = kWidth<N>;
  Vec<N> sum[rows][kTileVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vec<N> y[kTileVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) y[j] = load(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      Vec<N> x = splat<N>(packed ? a[i] : a[i * a_i]);
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = fma<N>(x, y[j], sum[i][j]);
    }
    a += packed ? rows : a_k;
    b += b_k;
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) store(out + (i * kTileVectors + j) * lanes, sum[i][j]);
}

}  // namespace
}  // namespace fc::cpu::FC_ISA
