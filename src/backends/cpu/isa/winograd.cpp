// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/winograd.h"

#include <algorithm>
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
constexpr float at_zero = 1 / (p * q), at_a = 1 / (2 * p * (p - q)), at_b = 1 / (2 * q * (q - p));

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
  const V even_a = times(p, g[2], g[0]) * at_a, even_b = times(q, g[2], g[0]) * at_b;
  u[0] = g[0] * at_zero;
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

// What these do to a gradient, the other way round.
FC_INLINE void transform_gradient(const V* g, V* m) {
  const V even_a = times(p, g[2], g[0]), odd_a = times(p, g[3], g[1]), even_b = times(q, g[2], g[0]),
          odd_b = times(q, g[3], g[1]);
  m[0] = g[0];
  m[1] = times(a, odd_a, even_a);
  m[2] = times(-a, odd_a, even_a);
  m[3] = times(b, odd_b, even_b);
  m[4] = times(-b, odd_b, even_b);
  m[5] = g[3];
}
FC_INLINE void transform_sums(const V* u, V* g) {
  const V sum_a = (u[1] + u[2]) * at_a, odd_a = (u[1] - u[2]) * at_a, sum_b = (u[3] + u[4]) * at_b,
          odd_b = (u[3] - u[4]) * at_b;
  g[0] = times(at_zero, u[0], sum_a + sum_b);
  g[1] = times(a, odd_a, odd_b * b);
  g[2] = times(p, sum_a, times(q, sum_b, u[5]));
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

// Transforms a vector of tiles, channel by channel: of the input or, without its border, of the result's gradient.
template <bool gradient>
class Reader {
 public:
  Reader(const Winograd& w, const float* image, int64_t first_tile)
      : image_(image),
        channels_(gradient ? w.out : w.in),
        height_(gradient ? w.out_height : w.height),
        width_(gradient ? w.out_width : w.width),
        runs_(w, first_tile) {
    for (int i = 0; i < runs_.count; ++i) {
      runs_.at[i].y = runs_.at[i].y * kTile - (gradient ? 0 : w.pad_y);
      runs_.at[i].x = runs_.at[i].x * kTile - (gradient ? 0 : w.pad_x);
    }
    single_ = gradient || runs_.count == 1;
    // What lies outside of the image, and lanes without a tile, stay 0.
    std::fill_n(lines_[0], kRows * (kLine + W), 0.0F);
    std::fill_n(later_[0], kRows * kLine, 0.0F);
  }

  // to(point, vector) for all points.
  template <class F>
  FC_INLINE void transform(int64_t channel, const F& to) {
    const float* from[kRows];
    // All rows are copied before the first is read: a processor waits for what it has just written in other pieces.
    for (int64_t r = 0; r < kRows; ++r) from[r] = read(channel, r);
    V columns[kReach][kRows], v[kReach];  // [point along x][row]
    for (int r = 0; r < kRows; ++r) {
      V d[2 * kTile];
      split_columns(from[r], d);
      if constexpr (gradient) transform_gradient(d, v);
      else {
        split_columns(single_ ? from[r] + kTile : later_[r], d + kTile);
        transform_input(d, v);
      }
#pragma GCC unroll 6
      for (int j = 0; j < kReach; ++j) columns[j][r] = v[j];
    }
    for (int j = 0; j < kReach; ++j) {
      if constexpr (gradient) transform_gradient(columns[j], v);
      else transform_input(columns[j], v);
#pragma GCC unroll 6
      for (int i = 0; i < kReach; ++i) to(i * kReach + j, v[i]);
    }
  }

 private:
  static constexpr int kRows = gradient ? kTile : kReach, kBeyond = kRows - kTile;  // columns of the next tile, too

  FC_INLINE const float* read(int64_t channel, int64_t r) {
    for (int i = 0; i < runs_.count; ++i) {
      const Run& run = runs_.at[i];
      const int64_t row = run.y + r;
      const float* plane = image_ + (run.image * channels_ + channel) * height_ * width_;
      const float* at = row >= 0 && row < height_ ? plane + row * width_ : nullptr;
      if (at && run.count == W && run.x >= 0 && run.x + kLine + (gradient ? 0 : kTile) <= width_) return at + run.x;
      // A tile's last two columns are its right neighbour's first, which the next run is not.
      copy_row(lines_[r] + run.lane * kTile, at, run.x, width_, run.count * kTile + (single_ ? kBeyond : 0));
      if (!single_) copy_row(later_[r] + run.lane * kTile, at, run.x + kTile, width_, run.count * kTile);
    }
    return lines_[r];
  }

  const float* image_;
  int64_t channels_, height_, width_;
  Runs runs_;
  bool single_;
  float lines_[kRows][kLine + W], later_[kRows][kLine];
};

void input(const Winograd& w, const float* x, int64_t block, int64_t first, int64_t last, float* transformed) {
  const int64_t apart = w.block_point();
  for (int64_t vector = 0; vector < w.vectors; ++vector) {
    Reader<false> reader(w, x, block * w.block() + vector * W);
    for (int64_t c = first; c < last; ++c) {
      float* to = transformed + c * w.block() + vector * W;
      reader.transform(c, [&](int point, V v) { store(to + point * apart, v); });
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

bool is_zero(V v) {
  for (int i = 0; i < W; ++i)
    if (!(v[i] == 0)) return false;
  return true;
}

bool output(const Winograd& w, const float* packed, const float* transformed, const float* bias, int64_t block,
            int64_t panel, float* y, float* room) {
  const TileFn<float> multiply = w.vectors == 1 ? tile_of<float, true, 1>(w.rows) : tile_of<float, true, 2>(w.rows);
  for (int point = 0; point < kPoints; ++point)
    multiply(w.in, packed + point * w.panel_point(), 1, w.rows, transformed + point * w.block_point(), w.block(),
             room + point * w.rows * w.block());
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
  return is_zero(corners);
}

// --- the gradient of the kernels
FC_INLINE void transpose(V* m) {
  for (int round = 1; round < W; round *= 2) {
    V next[W];
#pragma GCC unroll 8
    for (int i = 0; i < W / 2; ++i) {
      next[2 * i] = zip<0>(m[i], m[i + W / 2]);
      next[2 * i + 1] = zip<1>(m[i], m[i + W / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) m[i] = next[i];
  }
}

template <bool gradient>
void side(const Winograd& w, const float* image, int64_t first, int64_t count, int64_t tile, int64_t width,
          int64_t point, float* to, float* room) {
  Reader<gradient> reader(w, image, tile);
  for (int64_t c = 0; c < W; ++c) {
    float* at = room + c * W;
    if (c < count) reader.transform(first + c, [&](int i, V v) { store(at + i * W * W, v); });
    else
      for (int i = 0; i < kPoints; ++i) store(at + i * W * W, V{});
  }
  for (int i = 0; i < kPoints; ++i) {
    V m[W];
#pragma GCC unroll 16
    for (int c = 0; c < W; ++c) m[c] = load(room + (i * W + c) * W);
    transpose(m);
    float* row = to + i * point;
    // Lanes beyond the width are the next row's, which is written later; the last row's may be another thread's.
#pragma GCC unroll 16
    for (int t = 0; t < W - 1; ++t) store(row + t * width, m[t]);
    if (width >= W) store(row + (W - 1) * width, m[W - 1]);
    else store_part(row + (W - 1) * width, m[W - 1], width);
  }
}
void either_side(const Winograd& w, const float* image, bool gradient, int64_t first, int64_t count, int64_t tile,
                 int64_t width, int64_t point, float* to, float* room) {
  if (gradient) side<true>(w, image, first, count, tile, width, point, to, room);
  else side<false>(w, image, first, count, tile, width, point, to, room);
}

void products(const Winograd& w, int64_t depth, const float* grad, int64_t grad_point, const float* x, int64_t x_point,
              int64_t first, int64_t last, bool add, float* sums) {
  constexpr int64_t kColumns = kWinogradVectors * W;
  const TileFn<float> multiply = tile_of<float, true, kWinogradVectors>(w.rows);
  float fresh[kTileRows * kColumns];
  for (int64_t i = first; i < last; ++i) {
    float* to = sums + i * w.rows * kColumns;
    multiply(depth, grad + i * grad_point, 1, w.rows, x + i * x_point, kColumns, add ? fresh : to);
    if (add)
      for (int64_t l = 0; l < w.rows * kColumns; l += W) store(to + l, load(to + l) + load(fresh + l));
  }
}

bool gradient(const Winograd& w, const float* sums, int64_t panel, int64_t first_channel, float* dw) {
  constexpr int64_t kColumns = kWinogradVectors * W;
  const int64_t begin = panel * w.rows, count = std::min(w.rows, w.out - begin),
                channels = std::min(kColumns, w.in - first_channel);
  V corners{};  // every sum is part of one of them
  for (int64_t k = 0; k < count; ++k)
    for (int64_t lane = 0; lane < channels; lane += W) {
      V columns[kReach][3], taps[3][3];
      for (int j = 0; j < kReach; ++j) {
        V u[kReach];
#pragma GCC unroll 6
        for (int i = 0; i < kReach; ++i) u[i] = load(sums + ((i * kReach + j) * w.rows + k) * kColumns + lane);
        transform_sums(u, columns[j]);
      }
      float* to = dw + ((begin + k) * w.in + first_channel + lane) * 9;
      for (int i = 0; i < 3; ++i) {
        V u[kReach];
#pragma GCC unroll 6
        for (int j = 0; j < kReach; ++j) u[j] = columns[j][i];
        transform_sums(u, taps[i]);
        if (i != 1) corners += (taps[i][0] + taps[i][2]) * 0.0F;
      }
      for (int64_t l = 0; l < std::min<int64_t>(W, channels - lane); ++l)
        for (int t = 0; t < 9; ++t) to[l * 9 + t] = taps[t / 3][t % 3][l];
    }
  return is_zero(corners);
}

}  // namespace

const WinogradKernels winograd_table = {
    W,           kTileRows,     weights,  input,   output, kPoints* kTileRows* kWinogradVectors* W,
    either_side, kPoints* W* W, products, gradient};

}  // namespace fc::cpu::FC_ISA
