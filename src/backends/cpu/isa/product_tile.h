// SPDX-License-Identifier: Apache-2.0
// The inner loop of our own matrix products: a tile of the result lives in registers while k runs. And what packs the
// panels that it reads.
#pragma once
#include <array>
#include <utility>

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
template <class N, int rows, bool packed, int vectors = kTileVectors>
[[gnu::noinline]] void tile(int64_t k, const N* a, int64_t a_i, int64_t a_k, const N* b, int64_t b_k, N* out) {
  constexpr int lanes = kWidth<N>;
  Vec<N> sum[rows][vectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vec<N> y[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) y[j] = load(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      Vec<N> x = splat<N>(packed ? a[i] : a[i * a_i]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] = fma<N>(x, y[j], sum[i][j]);
    }
    a += packed ? rows : a_k;
    b += b_k;
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) store(out + (i * vectors + j) * lanes, sum[i][j]);
}

// The tile of 1 to kTileRows rows.
template <class N>
using TileFn = void (*)(int64_t k, const N* a, int64_t a_i, int64_t a_k, const N* b, int64_t b_k, N* out);
template <class N, bool packed, int vectors = kTileVectors>
TileFn<N> tile_of(int64_t rows) {
  static constexpr auto tiles = []<size_t... i>(std::index_sequence<i...>) {
    return std::array<TileFn<N>, sizeof...(i)>{tile<N, static_cast<int>(i) + 1, packed, vectors>...};
  }
  (std::make_index_sequence<kTileRows>());
  return tiles[static_cast<size_t>(rows - 1)];
}

// Four rows become columns: to[q * step + r] is element q of row r. Both sides are dense along their short dimension,
// so four by four elements move in registers.
template <class N>
void interleave(N* to, int64_t step, const char* from, int64_t stride, int64_t depth) {
  typedef N Quad __attribute__((vector_size(4 * sizeof(N)), aligned(sizeof(N)), may_alias));
  auto row = [&](int r, int64_t q) { return reinterpret_cast<const N*>(from + r * stride) + q; };
  int64_t q = 0;
  for (; q + 4 <= depth; q += 4) {
    Quad a, b, c, d;
    __builtin_memcpy(&a, row(0, q), sizeof a), __builtin_memcpy(&b, row(1, q), sizeof b);
    __builtin_memcpy(&c, row(2, q), sizeof c), __builtin_memcpy(&d, row(3, q), sizeof d);
    const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Quad out[] = {
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (q + i) * step, &out[i], sizeof(Quad));
  }
  for (; q < depth; ++q)
    for (int r = 0; r < 4; ++r) to[q * step + r] = *row(r, q);
}

}  // namespace
}  // namespace fc::cpu::FC_ISA
