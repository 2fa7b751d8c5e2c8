// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backends/cpu/isa.h"
#include "backends/cpu/isa/product_tile.h"

namespace fc::cpu::FC_ISA {
namespace {

constexpr int W = kWidth<float>;
constexpr int kTile = kWinogradTile, kReach = kWinogradReach, kPoints = kWinogradPoints;
constexpr int kLine = kTile * W;  // a row of a vector's tiles, side by side
using V = Vec<float>;

// --- the transforms of one dimension; a and b are the points, p and q their squares
constexpr float a = 0.625F, b = 1.5F, p = a * a, q = b * b;

FC_INLINE V times(float c, V x, V y) { return fma<float>(splat(c), x, y); }

FC_INLINE void transform_input(const V* d, V* v) {
  const V even_a = times(-q, d[2], d[4]), odd_a = times(-q, d[1], d[3]), even_b = times(-p, d[2], d[4]),
          odd_b = times(-p, d[1], d[3]);
  v[0] = times(p * q, d[0], times(-(p + q), d[2], d[4]));
  v[1] = times(a, odd_a, even_a);
  v[2] = times(-a, odd_a, even_a);
  v[3] = times(b, odd_b, even_b);
  v[4] = times(-b, odd_b, even_b);
  v[5] = times(p * q, d[1], times(-(p + q), d[3], d[5]));
}
FC_INLINE void transform_kernel(const V* g, V* u) {
  constexpr float zero = 1 / (p * q), at_a = 1 / (2 * p * (p - q)), at_b = 1 / (2 * q * (q - p));
  const V even_a = times(p, g[2], g[0]) * at_a, even_b = times(q, g[2], g[0]) * at_b;
  u[0] = g[0] * zero;
  u[1] = times(a * at_a, g[1], even_a);
  u[2] = times(-a * at_a, g[1], even_a);
  u[3] = times(b * at_b, g[1], even_b);
  u[4] = times(-b * at_b, g[1], even_b);
  u[5] = g[2];
}
FC_INLINE void transform_output(const V* m, V* y) {
  const V sum_a = m[1] + m[2], odd_a = m[1] - m[2], sum_b = m[3] + m[4], odd_b = m[3] - m[4];
  y[0] = m[0] + sum_a + sum_b;
  y[1] = times(a, odd_a, odd_b * b);
  y[2] = times(p, sum_a, sum_b * q);
  y[3] = times(a * p, odd_a, times(b * q, odd_b, m[5]));
}

// --- four columns of neighbouring tiles, side by side in memory and as a vector each
template <int first, size_t... i>
FC_INLINE V every_second(V x, V y, std::index_sequence<i...>) {
  return __builtin_shufflevector(x, y, static_cast<int>(2 * i + first)...);
}
template <int first>
FC_INLINE V every_second(V x, V y) {
  return every_second<first>(x, y, std::make_index_sequence<W>());
}
template <int half, size_t... i>
FC_INLINE V zip(V x, V y, std::index_sequence<i...>) {
  return __builtin_shufflevector(x, y, static_cast<int>(i / 2 + half * W / 2 + i % 2 * W)...);
}
template <int half>
FC_INLINE V zip(V x, V y) {
  return zip<half>(x, y, std::make_index_sequence<W>());
}
FC_INLINE void split_columns(const float* line, V* columns) {
  const V x0 = load(line), x1 = load(line + W), x2 = load(line + 2 * W), x3 = load(line + 3 * W);
  const V even0 = every_second<0>(x0, x1), even1 = every_second<0>(x2, x3), odd0 = every_second<1>(x0, x1),
          odd1 = every_second<1>(x2, x3);
  columns[0] = every_second<0>(even0, even1);
  columns[1] = every_second<0>(odd0, odd1);
  columns[2] = every_second<1>(even0, even1);
  columns[3] = every_second<1>(odd0, odd1);
}
FC_INLINE void join_columns(const V* columns, float* line) {
  const V low02 = zip<0>(columns[0], columns[2]), high02 = zip<1>(columns[0], columns[2]),
          low13 = zip<0>(columns[1], columns[3]), high13 = zip<1>(columns[1], columns[3]);
  store(line, zip<0>(low02, low13));
  store(line + W, zip<1>(low02, low13));
  store(line + 2 * W, zip<0>(high02, high13));
  store(line + 3 * W, zip<1>(high02, high13));
}

// Tiles of a vector that are neighbours in a row of tiles.
struct Run {
  int64_t lane, count, image, y, x;  // the first one, in tiles
};
struct Runs {
  Run at[W];
  int count = 0;
  Runs(const Winograd& w, int64_t first) {
    for (int64_t lane = 0; lane < W && first + lane < w.tiles;) {
      const int64_t tile = first + lane, x = tile % w.across, y = tile / w.across % w.down;
      const int64_t n = std::min({w.across - x, W - lane, w.tiles - tile});
      at[count++] = {lane, n, tile / (w.across * w.down), y, x};
      lane += n;
    }
  }
};

// Two vectors at a time, of which compilers make no call of memcpy.
FC_INLINE void copy(float* to, const float* from, int64_t n) {
  for (; n >= 2 * W; n -= 2 * W, to += 2 * W, from += 2 * W) {
    const V x = load(from), y = load(from + W);
    store(to, x), store(to + W, y);
  }
  if (n >= W) {
    store(to, load(from));
    n -= W, to += W, from += W;
  }
  if (n > 0) store_part(to, load_part(from, n, 0.0F), n);
}
// n floats from column x on of a row of the image; what lies outside is left as it is. Null: all of it is zeros.
FC_INLINE void copy_row(float* to, const float* row, int64_t x, int64_t width, int64_t n) {
  if (!row) {
    std::fill_n(to, n, 0.0F);
    return;
  }
  const int64_t low = std::clamp<int64_t>(-x, 0, n), high = std::min(width - x, n);
  if (high > low) copy(to + low, row + x + low, high - low);
}

void input(const Winograd& w, const float* x, int64_t block, int64_t first, int64_t last, float* transformed) {
  float lines[kReach][kLine + W], later[kReach][kLine];
  const int64_t plane = w.height * w.width;
  for (int64_t vector = 0; vector < w.vectors; ++vector) {
    const Runs runs(w, block * w.block() + vector * W);
    const bool single = runs.count == 1;
    // What lies outside of the image, and lanes without a tile, stay 0.
    std::fill_n(lines[0], kReach * (kLine + W), 0.0F);
    std::fill_n(later[0], kReach * kLine, 0.0F);
    for (int64_t c = first; c < last; ++c) {
      const float* from[kReach];
      // All rows are copied before the first is read: a processor waits for what it has just written in other pieces.
      for (int64_t r = 0; r < kReach; ++r) {
        from[r] = lines[r];
        for (int i = 0; i < runs.count; ++i) {
          const Run& run = runs.at[i];
          const int64_t row = run.y * kTile + r - w.pad_y, column = run.x * kTile - w.pad_x;
          const float* image = x + (run.image * w.in + c) * plane;
          const float* at = row >= 0 && row < w.height ? image + row * w.width : nullptr;
          if (at && run.count == W && column >= 0 && column + kLine + kTile <= w.width) {
            from[r] = at + column;
            break;
          }
          // A tile's last two columns are its right neighbour's first, which the next run is not.
          copy_row(lines[r] + run.lane * kTile, at, column, w.width, run.count * kTile + (single ? 2 : 0));
          if (!single) copy_row(later[r] + run.lane * kTile, at, column + kTile, w.width, run.count * kTile);
        }
      }
      V columns[kReach][kReach];  // [point along x][row]
      for (int r = 0; r < kReach; ++r) {
        V d[2 * kTile], v[kReach];
        split_columns(from[r], d);
        split_columns(single ? from[r] + kTile : later[r], d + kTile);
        transform_input(d, v);
#pragma GCC unroll 6
        for (int j = 0; j < kReach; ++j) columns[j][r] = v[j];
      }
      float* to = transformed + c * w.block() + vector * W;
      const int64_t point = w.block_point();
      for (int j = 0; j < kReach; ++j) {
        V v[kReach];
        transform_input(columns[j], v);
#pragma GCC unroll 6
        for (int i = 0; i < kReach; ++i) store(to + (i * kReach + j) * point, v[i]);
      }
    }
  }
}

void weights(const Winograd& w, const float* kernels, int64_t to_stride, int64_t from_stride, bool mirrored,
             int64_t panel, float* packed) {
  static_assert(kTileRows <= W);  // lanes are output channels
  constexpr int64_t kChunk = 8;   // channels that are read before they are transformed
  const int64_t begin = panel * w.rows, count = std::min(w.rows, w.out - begin);
  float taps[kChunk * 9 * W] = {};
  for (int64_t c = 0; c < w.in; ++c) {
    if (c % kChunk == 0)
      for (int64_t i = 0; i < std::min(kChunk, w.in - c); ++i) {
        const float* from = kernels + begin * to_stride + (c + i) * from_stride;
        float* to = taps + i * 9 * W;
        int64_t lane = 0;
        for (; lane + 4 <= count; lane += 4)
          interleave(to + lane, W, reinterpret_cast<const char*>(from + lane * to_stride),
                     to_stride * static_cast<int64_t>(sizeof(float)), 9);
        for (; lane < count; ++lane)
          for (int t = 0; t < 9; ++t) to[t * W + lane] = from[lane * to_stride + t];
      }
    V g[3][3], u[3][kReach];
#pragma GCC unroll 9
    for (int t = 0; t < 9; ++t) g[t / 3][t % 3] = load(taps + (c % kChunk * 9 + (mirrored ? 8 - t : t)) * W);
    for (int i = 0; i < 3; ++i) transform_kernel(g[i], u[i]);
    float* to = packed + c * w.rows;
    for (int j = 0; j < kReach; ++j) {
      const V column[] = {u[0][j], u[1][j], u[2][j]};
      V v[kReach];
      transform_kernel(column, v);
      // Lanes beyond the panel's rows are the next channel's, which are written later.
#pragma GCC unroll 6
      for (int i = 0; i < kReach; ++i) store(to + (i * kReach + j) * w.panel_point(), v[i]);
    }
  }
}

template <int vectors>
void multiply(const Winograd& w, const float* packed, const float* transformed, float* sums) {
  using Fn = void (*)(int64_t, const float*, int64_t, int64_t, const float*, int64_t, float*);
  static constexpr auto tiles = []<size_t... i>(std::index_sequence<i...>) {
    return std::array<Fn, sizeof...(i)>{tile<float, static_cast<int>(i) + 1, true, vectors>...};
  }
  (std::make_index_sequence<kTileRows>());
  const Fn fn = tiles[static_cast<size_t>(w.rows - 1)];
  for (int point = 0; point < kPoints; ++point)
    fn(w.in, packed + point * w.panel_point(), 1, w.rows, transformed + point * w.block_point(), vectors * W,
       sums + point * w.rows * vectors * W);
}

bool output(const Winograd& w, const float* packed, const float* transformed, const float* bias, int64_t block,
            int64_t panel, float* y, float* room) {
  if (w.vectors == 1) multiply<1>(w, packed, transformed, room);
  else multiply<2>(w, packed, transformed, room);
  const int64_t begin = panel * w.rows, count = std::min(w.rows, w.out - begin), plane = w.out_height * w.out_width;
  V corners{};  // every product is part of one of them
  float line[kLine];
  for (int64_t vector = 0; vector < w.vectors; ++vector) {
    const Runs runs(w, block * w.block() + vector * W);
    for (int64_t k = 0; k < count; ++k) {
      const float* sums = room + k * w.block() + vector * W;
      V columns[kReach][kTile];
      for (int j = 0; j < kReach; ++j) {
        V m[kReach];
#pragma GCC unroll 6
        for (int i = 0; i < kReach; ++i) m[i] = load(sums + (i * kReach + j) * w.rows * w.block());
        transform_output(m, columns[j]);
      }
      for (int r = 0; r < kTile; ++r) {
        V m[kReach], out[kTile];
#pragma GCC unroll 6
        for (int j = 0; j < kReach; ++j) m[j] = columns[j][r];
        transform_output(m, out);
        if (r == 0 || r == kTile - 1) corners += (out[0] + out[kTile - 1]) * 0.0F;
        if (bias)
          for (V& v : out) v += bias[begin + k];
        bool joined = false;
        for (int i = 0; i < runs.count; ++i) {
          const Run& run = runs.at[i];
          const int64_t row = run.y * kTile + r, column = run.x * kTile;
          if (row >= w.out_height) continue;
          float* to = y + (run.image * w.out + begin + k) * plane + row * w.out_width + column;
          const int64_t n = std::min(run.count * kTile, w.out_width - column);
          if (n == kLine) {
            join_columns(out, to);
            break;
          }
          if (!std::exchange(joined, true)) join_columns(out, line);
          copy(to, line + run.lane * kTile, n);
        }
      }
    }
  }
  for (int i = 0; i < W; ++i)
    if (!(corners[i] == 0)) return false;
  return true;
}

}  // namespace

const WinogradKernels winograd_table = {W, kTileRows, weights, input, output,
                                        kPoints * kTileRows * kWinogradVectors * W};

}  // namespace fc::cpu::FC_ISA
