// SPDX-License-Identifier: Apache-2.0
// Products of matrices: c = alpha * a @ b + beta * c, batched, any strides. A tile takes blocks of c; what it needs of
// a and b is brought into the scratchpad, block by block, where the product is computed. Natively what lies there as
// the innermost loop (block.h) wants it is read in its place.
#include "block.h"
#include "facula/families.h"

namespace {

constexpr int32_t kColumns = 32;
// Natively sums fill the registers; else blocks of 2.8 kB together, of a scratchpad of 4.
constexpr int32_t kRows = block::kNative ? 8 : 16, kDepth = block::kNative ? 16 : 4;
constexpr int32_t kDots = block::kNative ? 16 : 8;  // results of a vector and a matrix, and how much of both at once
constexpr int32_t kPiece = block::kNative ? 64 : 32;

// A matrix of a batch as the product sees it.
struct Matrix {
  const float* data;
  int32_t rows, columns, row, column;  // steps between neighbours
  HB_INLINE const float* at(int32_t i, int32_t j) const { return data + i * row + j * column; }
};

#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
// to[j][i] = from[i][j], four by four.
HB_INLINE void turn4(const float* from, int32_t step, float* to, int32_t width) {
  using L = block::Lanes<4>;
  L a, b, c, d;
  block::get<4>(a, from);
  block::get<4>(b, from + step);
  block::get<4>(c, from + 2 * step);
  block::get<4>(d, from + 3 * step);
  const L ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const L cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  block::put<4>(to, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  block::put<4>(to + width, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  block::put<4>(to + 2 * width, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  block::put<4>(to + 3 * width, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}
#endif

// height x width numbers from (i0, j0) on, as far as the matrix goes.
template <int32_t height, int32_t width>
__attribute__((noinline)) void fetch(const Matrix& m, int32_t i0, int32_t j0, float (&block)[height][width]) {
  const float* from = m.at(i0, j0);
  const int32_t rows = m.rows - i0 < height ? m.rows - i0 : height,
                columns = m.columns - j0 < width ? m.columns - j0 : width;
  if (m.column != 1 && m.row == 1) {  // neighbours in memory lie below each other
#if defined(HB_EMUL) && !defined(HB_EMUL_CHECK)
    if constexpr (height % 4 == 0 && width % 4 == 0)
      if (rows == height && columns == width) {
        for (int32_t j = 0; j < width; j += 4)
          for (int32_t i = 0; i < height; i += 4) turn4(from + i + j * m.column, m.column, &block[i][j], width);
        return;
      }
#endif
    for (int32_t j = 0; j < columns; ++j)
      for (int32_t i = 0; i < rows; ++i) block[i][j] = hb::load(from + i + j * m.column);
    return;
  }
  for (int32_t i = 0; i < rows; ++i) {
    const float* p = from + i * m.row;
    if (columns == width && m.column == 1)
      for (int32_t j = 0; j < width; ++j) block[i][j] = hb::load(p + j);
    else
      for (int32_t j = 0; j < columns; ++j) block[i][j] = hb::load(p + j * m.column);
  }
}

HB_INLINE void store(float* to, float sum, float alpha, float beta) {
  hb::store(to, beta == 0.0f ? alpha * sum : alpha * sum + beta * hb::load(to));
}

// rows x width numbers of c from (i0, j0) on.
__attribute__((noinline)) void product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                                       int32_t i0, int32_t j0, int32_t width) {
  const block::Loops loops = block::choose();
  const int32_t rows = c.rows - i0 < kRows ? c.rows - i0 : kRows,
                columns = c.columns - j0 < width ? c.columns - j0 : width, depth = a.columns;
  const bool left_here = block::kNative, right_here = block::kNative && b.column == 1 && columns % block::kLanes == 0;
  alignas(block::kNative ? 64 : 4) float left[kRows][kDepth], right[kDepth][kColumns], sum[kRows][kColumns] = {};
  int32_t left_at[kDepth], right_at[kDepth];
  for (int32_t k = 0; k < kDepth; ++k) {
    left_at[k] = left_here ? k * a.column : k;
    right_at[k] = right_here ? k * b.row : k * kColumns;
  }
  for (int32_t k = 0; k < depth; k += kDepth) {
    if (!left_here) fetch(a, i0, k, left);
    if (!right_here) fetch(b, k, j0, right);
    loops.products({&sum[0][0], kColumns, left_here ? a.at(i0, k) : &left[0][0], left_here ? a.row : kDepth, left_at,
                    right_here ? b.at(k, j0) : &right[0][0], right_at, depth - k < kDepth ? depth - k : kDepth, rows,
                    columns});
  }
  for (int32_t i = 0; i < rows; ++i) {
    float* to = const_cast<float*>(c.at(i0 + i, j0));
    if (c.column == 1)
      for (int32_t j = 0; j < columns; ++j) store(to + j, sum[i][j], alpha, beta);
    else
      for (int32_t j = 0; j < columns; ++j) store(to + j * c.column, sum[i][j], alpha, beta);
  }
}

// Numbers of a row of c from j0 on, where neighbours in memory are added up.
HB_BLOCK_FUSED __attribute__((noinline)) void dot_products(const Matrix& a, const Matrix& b, const Matrix& c,
                                                           float alpha, float beta, int32_t j0) {
  const block::Loops loops = block::choose();
  const int32_t n = c.columns - j0 < kDots ? c.columns - j0 : kDots, depth = a.columns;
  float row[kPiece], right[block::kNative ? 1 : kDots][kPiece], sum[kDots][block::kLanes] = {};
  int32_t at[kDots];
  const bool row_here = block::kNative && a.column == 1;
  int32_t k = 0;
  for (; k + kPiece <= depth; k += kPiece) {  // pieces without an end
    if (!row_here)
      for (int32_t i = 0; i < kPiece; ++i) row[i] = hb::load(a.at(0, k + i));
    if (!block::kNative)
      for (int32_t j = 0; j < n; ++j)
        for (int32_t i = 0; i < kPiece; ++i) right[j][i] = hb::load(b.at(k + i, j0 + j));
    for (int32_t j = 0; j < n; ++j) at[j] = block::kNative ? j * b.column : j * kPiece;
    loops.dots({&sum[0][0], row_here ? a.at(0, k) : row, 0, 0, block::kNative ? b.at(k, j0) : &right[0][0], at, 0, n, 1,
                1, kPiece / block::kLanes});
  }
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = k; i < depth; ++i)  // lane by lane, as the loops do it
    {
      float& lane = sum[j][(i - k) % block::kLanes];
      lane = __builtin_fmaf(hb::load(a.at(0, i)), hb::load(b.at(i, j0 + j)), lane);
    }
    float all = 0;
    for (int32_t l = 0; l < block::kLanes; ++l) all += sum[j][l];
    store(const_cast<float*>(c.at(0, j0 + j)), all, alpha, beta);
  }
}

// [batch, m, n], [batch, m, k], [batch, k, n].
void matmul(hb::Out<float> c, hb::In<float> a, hb::In<float> b, float alpha, float beta) {
  // Of the product and its transpose, b' a', the one whose right side lies in rows.
  const int32_t m = c.size[1], n = c.size[2];
  const bool turned = (n == 1 && m > 1) || (m > 1 && b.stride[2] != 1 && a.stride[2] != 1 && a.stride[1] == 1);
  auto matrix = [](const auto& t, bool turn) {
    return Matrix{t.data, t.size[1 + turn], t.size[2 - turn], t.stride[1 + turn], t.stride[2 - turn]};
  };
  Matrix left = turned ? matrix(b, true) : matrix(a, false), right = turned ? matrix(a, true) : matrix(b, false);
  Matrix result = matrix(c, turned);
  const float *left_0 = left.data, *right_0 = right.data, *result_0 = result.data;
  const int32_t left_step = turned ? b.stride[0] : a.stride[0], right_step = turned ? a.stride[0] : b.stride[0];
  const bool dots = result.rows == 1 && right.row == 1 && (right.column != 1 || right.columns == 1);
  // Few results are shared by more tiles: then blocks are half as wide.
  const int32_t down = (result.rows + kRows - 1) / kRows;
  int32_t width = dots ? kDots : kColumns;
  if (!dots && c.size[0] * down * ((result.columns + kColumns - 1) / kColumns) < hb::tiles()) width = kColumns / 2;
  const int32_t across = (result.columns + width - 1) / width;
  hb::each(c.size[0] * down * across, [&](int32_t item) {
    const int32_t group = item / (down * across), rest = item - group * down * across, j0 = rest / down * width;
    left.data = left_0 + group * left_step;
    right.data = right_0 + group * right_step;
    result.data = result_0 + group * c.stride[0];
    if (dots) dot_products(left, right, result, alpha, beta, j0);
    else product(left, right, result, alpha, beta, rest % down * kRows, j0, width);
  });
}

}  // namespace

HB_FAMILY_KERNEL(tensorlib_matmul, &matmul, FC_FAMILY_MATMUL, 0, float)
