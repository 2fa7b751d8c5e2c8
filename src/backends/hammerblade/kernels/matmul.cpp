// SPDX-License-Identifier: Apache-2.0
// Products of matrices: c = alpha * a @ b + beta * c, batched, any strides. A tile takes blocks of c; the blocks of a
// and b that it needs are brought into the scratchpad one after the other, where the product is computed.
#include "block.h"
#include "facula/families.h"

namespace {

constexpr int32_t kRows = 16, kColumns = block::kColumns,
                  kDepth = 4;  // blocks of 2.8 kB together, of a scratchpad of 4

// Rows and columns of a matrix, zero beyond those that it has.
template <int32_t height, int32_t width>
__attribute__((noinline)) void fetch(const float* from, int32_t row, int32_t column, int32_t rows, int32_t columns,
                                     float (&block)[height][width]) {
  if (column != 1 && row == 1) {  // neighbours in memory lie below each other
    for (int32_t j = 0; j < width; ++j)
      for (int32_t i = 0; i < height; ++i)
        block[i][j] = i < rows && j < columns ? hb::load(from + i + j * column) : 0.0f;
    return;
  }
  for (int32_t i = 0; i < height; ++i) {
    const float* p = from + i * row;
    if (i < rows && columns == width && column == 1)
      for (int32_t j = 0; j < width; ++j) block[i][j] = hb::load(p + j);
    else
      for (int32_t j = 0; j < width; ++j) block[i][j] = i < rows && j < columns ? hb::load(p + j * column) : 0.0f;
  }
}

// [batch, m, n], [batch, m, k], [batch, k, n]. Few results are shared by more tiles: then blocks are half as wide.
void matmul(hb::Out<float> c, hb::In<float> a, hb::In<float> b, float alpha, float beta) {
  const int32_t m = c.size[1], n = c.size[2], depth = a.size[2], down = (m + kRows - 1) / kRows;
  const int32_t width = c.size[0] * down * ((n + kColumns - 1) / kColumns) < hb::tiles() ? kColumns / 2 : kColumns;
  const int32_t across = (n + width - 1) / width;
  const block::Loops loops = block::choose();
  int32_t at[kDepth];
  for (int32_t k = 0; k < kDepth; ++k) at[k] = k * kColumns;
  hb::each(c.size[0] * down * across, [&](int32_t item) {
    const int32_t group = item / (down * across), rest = item - group * down * across;
    const int32_t i0 = rest / across * kRows, j0 = rest % across * width;
    const int32_t rows = m - i0 < kRows ? m - i0 : kRows, columns = n - j0 < width ? n - j0 : width;
    float left[kRows][kDepth], right[kDepth][kColumns], sum[kRows][kColumns] = {};
    const int32_t computed = rows > 8 ? kRows : (rows + 3) / 4 * 4;
    for (int32_t k0 = 0; k0 < depth; k0 += kDepth) {
      const int32_t k_left = depth - k0 < kDepth ? depth - k0 : kDepth;
      fetch(a.data + a.at(group, i0, k0), a.stride[1], a.stride[2], rows, k_left, left);
      fetch(b.data + b.at(group, k0, j0), b.stride[1], b.stride[2], k_left, columns, right);
      loops.products({&sum[0][0], &left[0][0], kDepth, &right[0][0], at, k_left, computed, columns});
    }
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < columns; ++j) {
        float* to = c.data + c.at(group, i0 + i, j0 + j);
        const float before = beta == 0.0f ? 0.0f : beta * hb::load(to);
        hb::store(to, alpha * sum[i][j] + before);
      }
  });
}

}  // namespace

HB_FAMILY_KERNEL(tensorlib_matmul, &matmul, FC_FAMILY_MATMUL, 0, float)
