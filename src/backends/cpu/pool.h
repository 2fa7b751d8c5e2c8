// SPDX-License-Identifier: Apache-2.0
// Pooling's inner loops, compiled once per instruction set (isa/pool.cpp). The largest of a window is the first one
// that nothing after it exceeds; a NaN exceeds everything before it. Places are counted in numbers as wide as the
// elements, so that both stay in vectors side by side.
#pragma once
#include <cstdint>
#include <type_traits>

#include "backends/cpu/variants.h"

namespace fc::cpu {

inline constexpr int64_t kPoolSlack = 64;  // elements that a row has to read, and to write, beyond its end

template <class T>
using PoolPlace = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// A row of results of contiguous planes. Input rows are copies that begin `padding` columns before the image.
template <class T>
struct PoolRow {
  const T* const* rows;        // those that the windows see, in their order
  const PoolPlace<T>* places;  // of each row's element 0, which is in the padding if there is one
  int64_t n_rows, out;         // how many rows, and results
  int64_t kernel, stride, dilation;
  const PoolPlace<T>* first;  // by result: where its window's first element inside the image is
  T lowest;                   // what is in the padding
};

// One pixel of channels-last results.
template <class T>
struct PoolPixel {
  const T* const* pixels;      // the window's, in its order
  const PoolPlace<T>* places;  // of each
  int64_t n, channels;
  PoolPlace<T> first;  // the place of a window in which nothing is larger than `lowest`
  T lowest;
};

template <class T>
struct PoolKernels {
  void (*max_row)(const PoolRow<T>&, T* best, PoolPlace<T>* place);  // both with slack
  void (*max_pixel)(const PoolPixel<T>&, T* best, int64_t* place);
  void (*widen)(const PoolPlace<T>* from, int64_t* to, int64_t n);
  // Sums of windows, in their order; places count for nothing.
  void (*sum_row)(const PoolRow<T>&, T* sum);  // with slack
  void (*sum_pixel)(const PoolPixel<T>&, T* sum);
};

FC_VARIANTS(template <class T> PoolKernels<T> pool_kernels();)

}  // namespace fc::cpu
