// SPDX-License-Identifier: Apache-2.0
// Products of matrices: c = alpha * a @ b + beta * c, batched, any strides. A tile takes blocks of c; the blocks of
// a and b
// that it needs are brought into the scratchpad one after the other, where the product is computed.
#include <facula_hb/kernel.h>

#include "facula/families.h"

namespace {

constexpr int32_t kRows = 16, kColumns = 16, kDepth = 8;  // blocks of 2 kB together, of a scratchpad of 4

// Rows and columns of a matrix, zero beyond those that it has.
template <class T, int32_t height, int32_t width>
void fetch(const T* from, int32_t row, int32_t column, int32_t rows, int32_t columns, T (&block)[height][width]) {
  for (int32_t i = 0; i < height; ++i) {
    const T* p = from + i * row;
    if (i < rows && columns == width && column == 1)
      for (int32_t j = 0; j < width; ++j) block[i][j] = hb::load(p + j);
    else
      for (int32_t j = 0; j < width; ++j) block[i][j] = i < rows && j < columns ? hb::load(p + j * column) : T(0);
  }
}

// [batch, m, n], [batch, m, k], [batch, k, n]
template <class T>
void matmul(hb::Out<T> c, hb::In<T> a, hb::In<T> b, T alpha, T beta) {
  const int32_t m = c.size[1], n = c.size[2], depth = a.size[2];
  const int32_t across = (n + kColumns - 1) / kColumns, down = (m + kRows - 1) / kRows;
  hb::each(c.size[0] * down * across, [&](int32_t item) {
    const int32_t group = item / (down * across), rest = item - group * down * across;
    const int32_t i0 = rest / across * kRows, j0 = rest % across * kColumns;
    const int32_t rows = m - i0 < kRows ? m - i0 : kRows, columns = n - j0 < kColumns ? n - j0 : kColumns;
    T left[kRows][kDepth], right[kDepth][kColumns], sum[kRows][kColumns] = {};
    for (int32_t k0 = 0; k0 < depth; k0 += kDepth) {
      const int32_t k_left = depth - k0 < kDepth ? depth - k0 : kDepth;
      fetch(a.data + a.at(group, i0, k0), a.stride[1], a.stride[2], rows, k_left, left);
      fetch(b.data + b.at(group, k0, j0), b.stride[1], b.stride[2], k_left, columns, right);
      for (int32_t i = 0; i < kRows; ++i)
        for (int32_t k = 0; k < kDepth; ++k)
          for (int32_t j = 0; j < kColumns; ++j) sum[i][j] += left[i][k] * right[k][j];
    }
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < columns; ++j) {
        T* to = c.data + c.at(group, i0 + i, j0 + j);
        const T before = beta == T(0) ? T(0) : beta * hb::load(to);
        hb::store(to, alpha * sum[i][j] + before);
      }
  });
}

}  // namespace

HB_FAMILY_KERNEL(tensorlib_matmul, &matmul<float>, FC_FAMILY_MATMUL, 0, float)
