// SPDX-License-Identifier: Apache-2.0
// The innermost loops of products and convolutions, on blocks in the scratchpad that fit the registers. Natively they
// are vectors, chosen for the processor at hand (choose); on the chip, and in check mode, blocks of 4 x 4 numbers.
// Every element is added up in the same order, product and sum rounded each, so the results are the same bits.
#pragma once
#include <facula_hb/kernel.h>

namespace block {

inline constexpr int32_t kColumns = 32, kLanes = 16;

// sum[r][x] += factor[r][t] * taps[t][x], t after t; r < rows (a multiple of 4), x < columns (rounded up to a vector).
struct Products {
  float* sum;           // rows of kColumns
  const float* factor;  // row r begins at r * factor_row
  int32_t factor_row;
  const float* taps;
  const int32_t* at;  // tap t begins at taps + at[t]
  int32_t n, rows, columns;
};
// sum[r][t][l] += row[r][x] * taps[t][x], x after x; l is x modulo kLanes, x < kColumns.
struct Dots {
  float* sum;        // [rows][n][kLanes]
  const float* row;  // rows of kColumns
  const float* taps;
  const int32_t* at;
  int32_t n, rows;
};
struct Loops {
  void (*products)(const Products&);
  void (*dots)(const Dots&);
};

#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)

template <int32_t W>
struct LanesOf {
  typedef float type __attribute__((vector_size(4 * W), aligned(4), may_alias));
};
template <int32_t W>
using Lanes = typename LanesOf<W>::type;

template <int32_t W, int32_t R, int32_t V>
HB_INLINE void products_of(const Products& p, int32_t r0, int32_t x0) {
  using L = Lanes<W>;
  L sum[R][V];
  float* to = p.sum + r0 * kColumns + x0;
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) sum[r][v] = *reinterpret_cast<const L*>(to + r * kColumns + v * W);
  const float* factor = p.factor + r0 * p.factor_row;
  for (int32_t t = 0; t < p.n; ++t) {
    const float* from = p.taps + p.at[t] + x0;
    L x[V];
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) x[v] = *reinterpret_cast<const L*>(from + v * W);
#pragma GCC unroll 8
    for (int32_t r = 0; r < R; ++r) {
      const float f = factor[r * p.factor_row + t];
#pragma GCC unroll 2
      for (int32_t v = 0; v < V; ++v) sum[r][v] += f * x[v];
    }
  }
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) *reinterpret_cast<L*>(to + r * kColumns + v * W) = sum[r][v];
}
template <int32_t W, int32_t R>
HB_INLINE void products_by(const Products& p) {
  for (int32_t r = 0; r < p.rows; r += R) {
    int32_t x = 0;
    for (; x + W < p.columns; x += 2 * W) products_of<W, R, 2>(p, r, x);
    if (x < p.columns) products_of<W, R, 1>(p, r, x);
  }
}
template <int32_t W>
HB_INLINE void dots_by(const Dots& d) {
  using L = Lanes<W>;
  for (int32_t r = 0; r < d.rows; ++r)
    for (int32_t t = 0; t < d.n; ++t) {
      float* to = d.sum + (r * d.n + t) * kLanes;
      const float *a = d.row + r * kColumns, *b = d.taps + d.at[t];
#pragma GCC unroll 2
      for (int32_t l = 0; l < kLanes; l += W) {
        L sum = *reinterpret_cast<const L*>(to + l);
#pragma GCC unroll 2
        for (int32_t x = l; x < kColumns; x += kLanes)
          sum += *reinterpret_cast<const L*>(a + x) * *reinterpret_cast<const L*>(b + x);
        *reinterpret_cast<L*>(to + l) = sum;
      }
    }
}
inline void products(const Products& p) { products_by<8, 4>(p); }
inline void dots(const Dots& d) { dots_by<8>(d); }

#if defined(HB_EMUL_WIDE) || defined(__AVX512F__)
#if defined(HB_EMUL_WIDE)
#define HB_BLOCK_WIDE HB_EMUL_WIDE
#else
#define HB_BLOCK_WIDE
#endif
HB_BLOCK_WIDE inline void wide_products(const Products& p) {
  if (p.rows % 8) products_by<16, 4>(p);
  else products_by<16, 8>(p);
}
HB_BLOCK_WIDE inline void wide_dots(const Dots& d) { dots_by<16>(d); }
inline Loops choose() { return hb_emul_wide() ? Loops{&wide_products, &wide_dots} : Loops{&products, &dots}; }
#else
inline Loops choose() { return {&products, &dots}; }
#endif

#else

// Instrumented, an unrolled loop's temporaries would fill the scratchpad.
#ifdef HB_EMUL_CHECK
#define HB_BLOCK_UNROLL(n)
#else
#define HB_BLOCK_UNROLL(n) bsg_unroll(n)
#endif

// clang-format off
inline void products(const Products& p) {
  for (int32_t r = 0; r < p.rows; r += 4)
    for (int32_t x = 0; x < p.columns; x += 4) {
      float* to = p.sum + r * kColumns + x;
      const float* factor = p.factor + r * p.factor_row;
      float sum[4][4];
      HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i)
        HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) sum[i][j] = to[i * kColumns + j];
      for (int32_t t = 0; t < p.n; ++t) {
        const float* from = p.taps + p.at[t] + x;
        HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i) {
          const float f = factor[i * p.factor_row + t];
          HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) sum[i][j] += f * from[j];
        }
      }
      HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i)
        HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) to[i * kColumns + j] = sum[i][j];
    }
}
// clang-format on
inline void dots(const Dots& d) {
  for (int32_t r = 0; r < d.rows; ++r)
    for (int32_t t = 0; t < d.n; ++t) {
      float* to = d.sum + (r * d.n + t) * kLanes;
      const float *a = d.row + r * kColumns, *b = d.taps + d.at[t];
      HB_BLOCK_UNROLL(8) for (int32_t x = 0; x < kColumns; ++x) to[x % kLanes] += a[x] * b[x];
    }
}
inline Loops choose() { return {&products, &dots}; }

#endif

// n elements of a row from `first` on, each `step` further; zero beyond its ends.
template <int32_t kStep>
HB_INLINE void fetch_by(const float* row, int32_t length, int32_t first, int32_t step, int32_t n, float* to) {
  if (kStep) step = kStep;
  int32_t begin = first < 0 ? (step - 1 - first) / step : 0, end = first < length ? (length - 1 - first) / step + 1 : 0;
  if (begin > n) begin = n;
  if (end > n) end = n;
  if (end < begin) end = begin;
  const float* from = row + first;
  for (int32_t i = 0; i < begin; ++i) to[i] = 0;
  for (int32_t i = begin; i < end; ++i) to[i] = hb::load(from + i * step);
  for (int32_t i = end; i < n; ++i) to[i] = 0;
}
inline void fetch(const float* row, int32_t length, int32_t first, int32_t step, int32_t n, float* to) {
  if (step == 1) fetch_by<1>(row, length, first, step, n, to);
  else if (step == 2) fetch_by<2>(row, length, first, step, n, to);
  else fetch_by<0>(row, length, first, step, n, to);
}

}  // namespace block
