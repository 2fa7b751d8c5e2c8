// SPDX-License-Identifier: Apache-2.0
// Where the positions of a sampler's grid lie in its input: along each dimension a few taps, their weights, and how the
// weights change with the grid's number.
#pragma once
#include <cstdint>
#include <type_traits>

#include "backends/cpu/variants.h"
#include "plan/grid.h"

namespace fc::cpu {

constexpr int64_t kGridBlock = 256;  // positions whose taps are kept at a time

constexpr int taps_of(Interpolation mode) {
  return mode == Interpolation::Cubic ? 4 : mode == Interpolation::Linear ? 2 : 1;
}

struct GridAxis {
  int64_t size;
  Interpolation mode;
  GridPadding padding;
  bool align;
};

// 32 bits for float32, which vector instructions convert.
template <class T>
using GridIndex = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;

template <class T>
struct GridTaps {
  GridIndex<T> index[4][kGridBlock];  // -1: outside, which counts as zero
  T weight[4][kGridBlock], slope[4][kGridBlock];
};

// Of n numbers of the grid, every `step`th, along one dimension.
FC_VARIANTS(template <class T>
            void find_taps(const GridAxis&, const T* numbers, int64_t step, int64_t n, GridTaps<T>&);)

}  // namespace fc::cpu
