// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/sparse.h"

#include <algorithm>

#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

// A block of columns stays in registers while the row's entries pass.
template <class T, int V>
inline int64_t block(const T* values, const int64_t* columns, int64_t n, const T* dense, uint64_t rows, int64_t width,
                     int64_t at, T* y) {
  constexpr int W = kWidth<T>;
  Vec<T> acc[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) acc[v] = splat(T(0));
  int64_t k = 0;
  for (; k < n; ++k) {
    const auto column = static_cast<uint64_t>(columns[k]);
    if (column >= rows) [[unlikely]]
      break;
    const Vec<T> by = splat(values[k]);
    const T* from = dense + static_cast<int64_t>(column) * width + at;
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) acc[v] = acc[v] + by * load(from + v * W);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store(y + v * W, acc[v]);
  return k;
}

template <class T>
inline int64_t scalars(const T* values, const int64_t* columns, int64_t n, const T* dense, uint64_t rows, int64_t width,
                       int64_t at, int64_t count, T* y) {
  constexpr int kMost = 2 * kWidth<T>;
  T acc[kMost] = {};
  int64_t k = 0;
  for (; k < n; ++k) {
    const auto column = static_cast<uint64_t>(columns[k]);
    if (column >= rows) [[unlikely]]
      break;
    const T* from = dense + static_cast<int64_t>(column) * width + at;
    for (int64_t j = 0; j < count; ++j) acc[j] += values[k] * from[j];
  }
  std::copy_n(acc, count, y);
  return k;
}

template <class T>
int64_t row(const void* values, const int64_t* columns, int64_t n, const void* dense, int64_t rows, int64_t width,
            void* y) {
  constexpr int W = kWidth<T>;
  const auto* v = static_cast<const T*>(values);
  const auto* d = static_cast<const T*>(dense);
  const auto limit = static_cast<uint64_t>(rows);
  auto* to = static_cast<T*>(y);
  int64_t good = n, j = 0;
  if (width == 1) {  // a vector: nothing to gain from blocks
    T sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      const auto column = static_cast<uint64_t>(columns[k]);
      if (column >= limit) [[unlikely]]
        return k;
      sum += v[k] * d[column];
    }
    *to = sum;
    return n;
  }
  for (; good == n && j + 4 * W <= width; j += 4 * W) good = block<T, 4>(v, columns, n, d, limit, width, j, to + j);
  for (; good == n && j + W <= width; j += W) good = block<T, 1>(v, columns, n, d, limit, width, j, to + j);
  if (good == n && j < width) good = scalars(v, columns, n, d, limit, width, j, width - j, to + j);
  return good;
}

template <class T>
double dot(const void* a, const void* b, int64_t n) {
  constexpr int W = kWidth<T>;
  const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  Vec<T> acc = splat(T(0));
  int64_t i = 0;
  for (; i + W <= n; i += W) acc = acc + load(x + i) * load(y + i);
  T lane[W];
  store(lane, acc);
  for (int w = W / 2; w > 0; w /= 2)
    for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
  T sum = lane[0];
  for (; i < n; ++i) sum += x[i] * y[i];
  return static_cast<double>(sum);
}

template <class T>
constexpr SparseKernels kernels = {row<T>, dot<T>};

}  // namespace

const SparseKernels sparse_table[2] = {kernels<float>, kernels<double>};

}  // namespace fc::cpu::FC_ISA
