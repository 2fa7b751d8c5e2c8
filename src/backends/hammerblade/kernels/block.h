// SPDX-License-Identifier: Apache-2.0
// The innermost loops of products and convolutions, on blocks that fit the registers. Natively they are vectors, chosen
// for the processor at hand (choose), which read operands where they lie and blocks that are larger than a scratchpad
// holds; on the chip, and in check mode, blocks of 4 x 4 numbers of operands in the scratchpad. Every element is added
// up in the same order, product and sum rounded once together, so the results are the same bits.
#pragma once
#include <facula_hb/kernel.h>

namespace block {

#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
inline constexpr bool kNative = true;
#else
inline constexpr bool kNative = false;
#endif
inline constexpr int32_t kLanes = 16;

// sum[r][x] += factor of row r and tap t * taps[t][x], t after t; r < rows, x < columns (rounded up to a vector: more
// of the taps is read, and of the sum written). A factor lies at factor[r * factor_row + factor_at[t]], a tap at
// taps + at[t].
struct Products {
  float* sum;
  int32_t sum_row;  // from a row of sums to the next
  const float* factor;
  int32_t factor_row;
  const int32_t* factor_at;
  const float* taps;
  const int32_t* at;
  int32_t n, rows, columns;
};
// sum[r][t][l] += row[r][x] * taps[t][x] for all lines, line after line and x after x; l is x modulo kLanes, x < steps
// * kLanes.
struct Dots {
  float* sum;  // [rows][n][kLanes]
  const float* row;
  int32_t row_step, row_line;  // from a row, and from a line, to the next
  const float* taps;
  const int32_t* at;
  int32_t tap_line, n, rows, lines, steps;
};
struct Loops {
  void (*products)(const Products&);
  void (*dots)(const Dots&);
};

#if defined(__x86_64__) && !defined(__FMA__)
#define HB_BLOCK_FUSED __attribute__((target("fma")))  // as check mode's build has none
#else
#define HB_BLOCK_FUSED
#endif

#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)

template <int32_t W>
struct LanesOf {
  typedef float type __attribute__((vector_size(4 * W), aligned(4), may_alias));
  typedef float whole __attribute__((vector_size(4 * W)));
};
template <int32_t W>
using Lanes = typename LanesOf<W>::whole;
// Vectors are passed by reference, so that no calling convention has a say.
template <int32_t W>
HB_INLINE void get(Lanes<W>& v, const float* p) {
  v = *reinterpret_cast<const typename LanesOf<W>::type*>(p);
}
template <int32_t W>
HB_INLINE void put(float* p, const Lanes<W>& v) {
  *reinterpret_cast<typename LanesOf<W>::type*>(p) = v;
}
// sum += a * b, rounded once.
template <int32_t W>
HB_INLINE void fuse(Lanes<W>& sum, const Lanes<W>& a, const Lanes<W>& b) {
#if defined(__x86_64__)
  if constexpr (W == 16) asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "vm"(b));
  else asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "xm"(b));
#else
#pragma GCC unroll 16
  for (int32_t i = 0; i < W; ++i) sum[i] = __builtin_fmaf(a[i], b[i], sum[i]);
#endif
}

template <int32_t W, int32_t R, int32_t V>
HB_INLINE void products_of(const Products& p, int32_t r0, int32_t x0) {
  using L = Lanes<W>;
  L sum[R][V];
  float* to = p.sum + r0 * p.sum_row + x0;
  const float* factor[R];  // of rows that there are
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r) {
    factor[r] = p.factor + (r0 + r < p.rows ? r0 + r : r0) * static_cast<intptr_t>(p.factor_row);
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) get<W>(sum[r][v], to + (r0 + r < p.rows ? r : 0) * p.sum_row + v * W);
  }
  const float* taps = p.taps + x0;
  for (int32_t t = 0; t < p.n; ++t) {
    const float* from = taps + p.at[t];
    const intptr_t of = p.factor_at[t];
    L x[V];
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) get<W>(x[v], from + v * W);
#pragma GCC unroll 8
    for (int32_t r = 0; r < R; ++r) {
      const L f = factor[r][of] - L{};
#pragma GCC unroll 2
      for (int32_t v = 0; v < V; ++v) fuse<W>(sum[r][v], f, x[v]);
    }
  }
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v)
      if (r0 + r < p.rows) put<W>(to + r * p.sum_row + v * W, sum[r][v]);
}
template <int32_t W, int32_t R>
HB_INLINE void products_rows(const Products& p, int32_t r) {
  int32_t x = 0;
  for (; x + W < p.columns; x += 2 * W) products_of<W, R, 2>(p, r, x);
  if (x < p.columns) products_of<W, R, 1>(p, r, x);
}
template <int32_t W>
HB_INLINE void products_by(const Products& p) {
  constexpr int32_t most = W == 16 ? 8 : 4;  // as many sums as there are registers
  int32_t r = 0;
  for (; r + 1 < p.rows; r += most) products_rows<W, most>(p, r);
  if (r < p.rows) products_rows<W, 1>(p, r);
}

template <int32_t W, int32_t R, int32_t T>
HB_INLINE void dots_of(const Dots& d, int32_t r0, int32_t t0, int32_t l) {
  using L = Lanes<W>;
  L sum[R][T];
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int32_t t = 0; t < T; ++t) get<W>(sum[r][t], d.sum + ((r0 + r) * d.n + t0 + t) * kLanes + l);
  const float *row[R], *tap[T];
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r) row[r] = d.row + (r0 + r) * d.row_step + l;
#pragma GCC unroll 8
  for (int32_t t = 0; t < T; ++t) tap[t] = d.taps + d.at[t0 + t] + l;
  intptr_t row_at = 0, tap_at = 0;
  for (int32_t line = 0; line < d.lines; ++line, row_at += d.row_line, tap_at += d.tap_line) {
    for (intptr_t x = 0; x < d.steps * kLanes; x += kLanes) {
      L a[R];
#pragma GCC unroll 8
      for (int32_t r = 0; r < R; ++r) get<W>(a[r], row[r] + (row_at + x));
#pragma GCC unroll 8
      for (int32_t t = 0; t < T; ++t) {
        L b;
        get<W>(b, tap[t] + (tap_at + x));
#pragma GCC unroll 8
        for (int32_t r = 0; r < R; ++r) fuse<W>(sum[r][t], a[r], b);
      }
    }
  }
#pragma GCC unroll 8
  for (int32_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int32_t t = 0; t < T; ++t) put<W>(d.sum + ((r0 + r) * d.n + t0 + t) * kLanes + l, sum[r][t]);
}
template <int32_t W, int32_t R, int32_t T>
HB_INLINE void dots_rows(const Dots& d, int32_t r) {
  for (int32_t l = 0; l < kLanes; l += W) {
    int32_t t = 0;
    if constexpr (T > 1)
      for (; t + T <= d.n; t += T) dots_of<W, R, T>(d, r, t, l);
    for (; t < d.n; ++t) dots_of<W, R, 1>(d, r, t, l);
  }
}
template <int32_t W>
HB_INLINE void dots_by(const Dots& d) {
  int32_t r = 0;
  if (d.n > 1) {
    if constexpr (W == 16)
      if (d.n % 3 == 0)
        for (; r + 8 <= d.rows; r += 8) dots_rows<W, 8, 3>(d, r);
    constexpr int32_t most = W == 16 ? 4 : 2;
    const bool fives = W == 16 && d.n % 5 == 0;
    for (; r + most <= d.rows; r += most) {
      if (fives) dots_rows<W, most, 5>(d, r);
      else dots_rows<W, most, 3>(d, r);
    }
  } else {
    for (; r + 8 <= d.rows; r += 8) dots_rows<W, 8, 1>(d, r);
  }
  for (; r < d.rows; ++r) dots_rows<W, 1, 4>(d, r);
}
inline void products(const Products& p) { products_by<8>(p); }
inline void dots(const Dots& d) { dots_by<8>(d); }

#if defined(HB_EMUL_WIDE) || defined(__AVX512F__)
#if defined(HB_EMUL_WIDE)
#define HB_BLOCK_WIDE HB_EMUL_WIDE
#else
#define HB_BLOCK_WIDE
#endif
HB_BLOCK_WIDE inline void wide_products(const Products& p) { products_by<16>(p); }
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
HB_BLOCK_FUSED inline void products(const Products& p) {
  for (int32_t r = 0; r < p.rows; r += 4)
    for (int32_t x = 0; x < p.columns; x += 4) {
      float* to = p.sum + r * p.sum_row + x;
      const float* factor = p.factor + r * p.factor_row;
      float sum[4][4];
      HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i)
        HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) sum[i][j] = to[i * p.sum_row + j];
      for (int32_t t = 0; t < p.n; ++t) {
        const float* from = p.taps + p.at[t] + x;
        const float* by = factor + p.factor_at[t];
        HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i) {
          const float f = by[i * p.factor_row];
          HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) sum[i][j] = __builtin_fmaf(f, from[j], sum[i][j]);
        }
      }
      HB_BLOCK_UNROLL(4) for (int32_t i = 0; i < 4; ++i)
        HB_BLOCK_UNROLL(4) for (int32_t j = 0; j < 4; ++j) to[i * p.sum_row + j] = sum[i][j];
    }
}
// clang-format on
HB_BLOCK_FUSED inline void dots(const Dots& d) {
  for (int32_t r = 0; r < d.rows; ++r)
    for (int32_t t = 0; t < d.n; ++t) {
      float* to = d.sum + (r * d.n + t) * kLanes;
      for (int32_t line = 0; line < d.lines; ++line) {
        const float *a = d.row + r * d.row_step + line * d.row_line, *b = d.taps + d.at[t] + line * d.tap_line;
        for (int32_t x = 0; x < d.steps * kLanes; x += kLanes) HB_BLOCK_UNROLL(8)
        for (int32_t l = 0; l < kLanes; ++l) to[l] = __builtin_fmaf(a[x + l], b[x + l], to[l]);
      }
    }
}
inline Loops choose() { return {&products, &dots}; }

#endif

// n neighbours.
HB_INLINE void copy(const float* from, int32_t n, float* to) {
#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
  if (n >= 8) {  // the last eight once more, instead of one by one
    Lanes<8> v;
    for (int32_t i = 0; i + 8 < n; i += 8) get<8>(v, from + i), put<8>(to + i, v);
    get<8>(v, from + n - 8);
    return put<8>(to + n - 8, v);
  }
#endif
  for (int32_t i = 0; i < n; ++i) to[i] = hb::load(from + i);
}
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
  if (kStep == 1) copy(from + begin, end - begin, to + begin);
  else {
    int32_t i = begin;
#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
    if constexpr (kStep == 2)  // pairs, of which the last may not be there
      for (; i + 8 < end; i += 8) {
        Lanes<8> a, b;
        get<8>(a, from + 2 * i);
        get<8>(b, from + 2 * i + 8);
        put<8>(to + i, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14));
      }
#endif
    for (; i < end; ++i) to[i] = hb::load(from + i * step);
  }
  for (int32_t i = end; i < n; ++i) to[i] = 0;
}
inline void fetch(const float* row, int32_t length, int32_t first, int32_t step, int32_t n, float* to) {
  if (step == 1) fetch_by<1>(row, length, first, step, n, to);
  else if (step == 2) fetch_by<2>(row, length, first, step, n, to);
  else fetch_by<0>(row, length, first, step, n, to);
}

}  // namespace block
