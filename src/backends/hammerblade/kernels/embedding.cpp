// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index, sums of them, and the gradients of that: embeddings and index_select.
#include <facula_hb/kernel.h>

namespace {

template <class T>
void embedding(hb::DenseOut<T> out, hb::DenseIn<T> weight, hb::DenseIn<int64_t> indices, hb::Ignored, hb::Ignored,
               hb::Ignored, hb::Fault fault) {
  const int32_t width = weight.size[1];
  hb::each(indices.numel, [&](int32_t i) {
    const int64_t row = hb::load(indices.data + i);
    if (row < 0 || row >= weight.size[0]) return fault.bad_index(row);
    for (int32_t k = 0; k < width; ++k)
      hb::store(out.data + i * width + k, hb::load(weight.data + static_cast<int32_t>(row) * width + k));
  });
}

// A tile owns rows of the table, so that gradients of one word meet on one tile, in the order of the indices.
// gradient(i, k): element k of the one for index i.
template <class Gradient>
HB_INLINE void add_to_rows(const hb::DenseOut<float>& out, const hb::DenseIn<int64_t>& indices, int64_t padding,
                           const hb::Fault& fault, Gradient gradient) {
  const int32_t width = out.size[1];
  const hb::Range mine = hb::share(out.size[0]);
  for (int32_t i = mine.begin * width; i < mine.end * width; ++i) hb::store(out.data + i, 0.0f);
  for (int32_t i = 0; i < indices.numel; ++i) {
    const int64_t row = hb::load(indices.data + i);
    if (row < 0 || row >= out.size[0]) fault.bad_index(row);
    if (row == padding || row < mine.begin || row >= mine.end) continue;
    float* to = out.data + static_cast<int32_t>(row) * width;
    for (int32_t k = 0; k < width; ++k) hb::store(to + k, hb::load(to + k) + gradient(i, k));
  }
}

void embedding_dense_backward(hb::DenseOut<float> out, hb::DenseIn<float> grad, hb::DenseIn<int64_t> indices,
                              hb::Ignored, int64_t padding, hb::Ignored, hb::Fault fault) {
  const int32_t width = out.size[1];
  add_to_rows(out, indices, padding, fault, [&](int32_t i, int32_t k) { return hb::load(grad.data + i * width + k); });
}

// A tile makes some columns of one bag's sum at a time, in its scratchpad.
template <class T>
void embedding_recsys(hb::DenseOut<T> out, hb::DenseIn<T> weight, hb::DenseIn<int64_t> indices, int64_t padding,
                      hb::Ignored, hb::Ignored, hb::Fault fault) {
  constexpr int32_t kColumns = 64;
  const int32_t n = indices.size[1], width = weight.size[1], parts = (width + kColumns - 1) / kColumns;
  hb::each(indices.size[0] * parts, [&](int32_t i) {
    const int32_t bag = i / parts, first = i % parts * kColumns;
    const int32_t columns = width - first < kColumns ? width - first : kColumns;
    T sums[kColumns] = {};
    for (int32_t e = 0; e < n; ++e) {
      const int64_t row = hb::load(indices.data + bag * n + e);
      if (row < 0 || row >= weight.size[0]) return fault.bad_index(row);
      if (row == padding) continue;
      const T* from = weight.data + static_cast<int32_t>(row) * width + first;
      for (int32_t k = 0; k < columns; ++k) sums[k] += hb::load(from + k);
    }
    for (int32_t k = 0; k < columns; ++k) hb::store(out.data + bag * width + first + k, sums[k]);
  });
}

// The gradient has one row for all indices of a bag, or one for each.
void embedding_dense_backward_recsys(hb::DenseOut<float> out, hb::In<float> grad, hb::DenseIn<int64_t> indices,
                                     hb::Ignored, int64_t padding, hb::Ignored, hb::Fault fault) {
  const int32_t n = indices.size[1];
  const bool shared = grad.size[1] == 1;
  add_to_rows(out, indices, padding, fault,
              [&](int32_t i, int32_t k) { return grad.get(i / n, shared ? 0 : i % n, k); });
}

template <class T>
void index_select(hb::DenseOut<T> out, hb::DenseIn<T> in, int64_t dim, hb::DenseIn<int64_t> index, hb::Fault fault) {
  const int32_t d = static_cast<int32_t>(dim < 0 ? dim + in.ndim : dim), size = in.size[d];
  int32_t inner = 1;
  for (int32_t i = d + 1; i < in.ndim; ++i) inner *= in.size[i];
  hb::each(out.numel / inner, [&](int32_t i) {
    const int64_t at = hb::load(index.data + i % index.numel);
    if (at < 0 || at >= size) return fault.bad_index(at);
    const T* from = in.data + (i / index.numel * size + static_cast<int32_t>(at)) * inner;
    for (int32_t k = 0; k < inner; ++k) hb::store(out.data + i * inner + k, hb::load(from + k));
  });
}

bool plain(const hb::Call& c) { return c[0].n == 2; }
bool counted_once(const hb::Call& c) { return c[4].number == 0; }  // scale_grad_by_freq is decomposed
bool bags(const hb::Call& c) { return c[0].n == 2 && c[1].n == 2; }
bool gradients_of_bags(const hb::Call& c) {
  return counted_once(c) && c[0].n == 3 && c[1].n == 2 && c[0].list[0] == c[1].list[0] &&
         (c[0].list[1] == 1 || c[0].list[1] == c[1].list[1]);
}
bool has_dimensions(const hb::Call& c) {
  for (int32_t d = 0; d < c[0].n; ++d)
    if (c[0].list[d] == 0) return false;
  return c[0].n > 0;
}

}  // namespace

HB_KERNEL_IF(embedding, "aten::embedding", HB_NUMBERS, plain)
HB_KERNEL_PLAIN_IF(embedding_dense_backward, "aten::embedding_dense_backward", counted_once)
HB_KERNEL_IF(embedding_recsys, "aten::embedding_recsys", HB_NUMBERS, bags)
HB_KERNEL_PLAIN_IF(embedding_dense_backward_recsys, "aten::embedding_dense_backward_recsys", gradients_of_bags)
HB_KERNEL_IF(index_select, "aten::index_select", HB_NUMBERS, has_dimensions)
