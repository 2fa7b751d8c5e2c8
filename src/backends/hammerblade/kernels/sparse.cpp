// SPDX-License-Identifier: Apache-2.0
// Sparse matrices: products with dense ones, and the bookkeeping between coordinates and compressed rows. A tile owns
// rows of the result, so entries of one row meet on one tile.
#include <facula_hb/kernel.h>

namespace {

HB_INLINE void add_row(float* to, float factor, const float* from, int32_t n) {
  HB_INDEPENDENT
  for (int32_t j = 0; j < n; ++j) hb::store(to + j, hb::load(to + j) + factor * hb::load(from + j));
}

void _sparse_csr_mm(hb::DenseOut<float> out, hb::DenseIn<int64_t> compressed, hb::DenseIn<int64_t> columns,
                    hb::DenseIn<float> values, hb::DenseIn<float> dense, hb::Fault fault) {
  const int32_t n = dense.size[1], depth = dense.size[0];
  hb::each(out.size[0], [&](int32_t row) {
    float* to = out.data + row * n;
    for (int32_t j = 0; j < n; ++j) hb::store(to + j, 0.0f);
    const int64_t end = hb::load(compressed.data + row + 1);
    for (int64_t e = hb::load(compressed.data + row); e < end; ++e) {
      const int64_t k = hb::load(columns.data + e);
      if (k < 0 || k >= depth) return fault.bad_index(k);
      add_row(to, hb::load(values.data + e), dense.data + static_cast<int32_t>(k) * n, n);
    }
  });
}

void _sparse_coo_mm(hb::DenseOut<float> out, hb::DenseIn<int64_t> indices, hb::DenseIn<float> values,
                    hb::DenseIn<float> dense, hb::Ignored, hb::Fault fault) {
  const int32_t n = dense.size[1], depth = dense.size[0], entries = values.numel;
  const hb::Range mine = hb::share(out.size[0]);
  for (int32_t i = mine.begin * n; i < mine.end * n; ++i) hb::store(out.data + i, 0.0f);
  for (int32_t e = 0; e < entries; ++e) {
    const int64_t row = hb::load(indices.data + e);
    if (row < 0 || row >= out.size[0]) fault.bad_index(row);
    if (row < mine.begin || row >= mine.end) continue;
    const int64_t k = hb::load(indices.data + entries + e);
    if (k < 0 || k >= depth) fault.bad_index(k);
    else
      add_row(out.data + static_cast<int32_t>(row) * n, hb::load(values.data + e),
              dense.data + static_cast<int32_t>(k) * n, n);
  }
}

// The elements of a @ b.T at the entries' places.
void _sparse_sampled_mm(hb::DenseOut<float> out, hb::DenseIn<int64_t> indices, hb::DenseIn<float> a,
                        hb::DenseIn<float> b, hb::Fault fault) {
  const int32_t depth = a.size[1];
  hb::each(out.numel, [&](int32_t e) {
    const int64_t row = hb::load(indices.data + e), column = hb::load(indices.data + out.numel + e);
    if (row < 0 || row >= a.size[0]) return fault.bad_index(row);
    if (column < 0 || column >= b.size[0]) return fault.bad_index(column);
    const float *x = a.data + static_cast<int32_t>(row) * depth, *y = b.data + static_cast<int32_t>(column) * depth;
    float sum = 0;
    for (int32_t k = 0; k < depth; ++k) sum += hb::load(x + k) * hb::load(y + k);
    hb::store(out.data + e, sum);
  });
}

// Where each row begins among sorted entries, and the row of each entry.
void _sparse_compress(hb::DenseOut<int64_t> out, hb::DenseIn<int64_t> rows, int64_t size, hb::Fault fault) {
  hb::each(rows.numel, [&](int32_t e) {
    const int64_t row = hb::load(rows.data + e);
    if (row < 0 || row >= size) fault.bad_index(row);
  });
  hb::each(out.numel, [&](int32_t row) {
    int32_t low = 0, high = rows.numel;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (hb::load(rows.data + middle) < row) low = middle + 1;
      else high = middle;
    }
    hb::store(out.data + row, static_cast<int64_t>(low));
  });
}

void _sparse_decompress(hb::DenseOut<int64_t> out, hb::DenseIn<int64_t> compressed, hb::Ignored) {
  hb::each(compressed.numel - 1, [&](int32_t row) {
    const int64_t end = hb::load(compressed.data + row + 1);
    for (int64_t e = hb::load(compressed.data + row); e < end && e < out.numel; ++e)
      if (e >= 0) hb::store(out.data + e, static_cast<int64_t>(row));
  });
}

// Sizes of the results.
int32_t rows_by_columns(const hb::Call& c, int32_t, int64_t* size) {  // by compressed rows
  size[0] = c[0].list[0] - 1;
  size[1] = c[3].list[1];
  return 2;
}
int32_t given_rows_by_columns(const hb::Call& c, int32_t, int64_t* size) {
  size[0] = static_cast<int64_t>(c[3].number);
  size[1] = c[2].list[1];
  return 2;
}
int32_t entries(const hb::Call& c, int32_t, int64_t* size) {
  size[0] = c[0].list[1];
  return 1;
}
int32_t one_more(const hb::Call& c, int32_t, int64_t* size) {
  size[0] = static_cast<int64_t>(c[1].number) + 1;
  return 1;
}
int32_t given(const hb::Call& c, int32_t, int64_t* size) {
  size[0] = static_cast<int64_t>(c[1].number);
  return 1;
}

}  // namespace

HB_KERNEL_SIZED(_sparse_csr_mm, "aten::_sparse_csr_mm", rows_by_columns)
HB_KERNEL_SIZED(_sparse_coo_mm, "aten::_sparse_coo_mm", given_rows_by_columns)
HB_KERNEL_SIZED(_sparse_sampled_mm, "aten::_sparse_sampled_mm", entries)
HB_KERNEL_SIZED(_sparse_compress, "aten::_sparse_compress", one_more)
HB_KERNEL_SIZED(_sparse_decompress, "aten::_sparse_decompress", given)
