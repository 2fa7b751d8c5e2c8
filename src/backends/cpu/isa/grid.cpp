// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/grid.h"

#include <cmath>

#include "backends/cpu/isa.h"

namespace fc::cpu::FC_ISA {
namespace {

// Coordinates moved into the input as the padding says; slopes are multiplied by what that does to changes.
template <class T>
void move_inside(const GridAxis& axis, T* __restrict at, T* __restrict slope, int64_t n) {
  if (axis.padding == GridPadding::Zeros) return;
  const T low = axis.align ? T(0) : T(-0.5), span = T(axis.align ? axis.size - 1 : axis.size), most = T(axis.size - 1);
  if (axis.padding == GridPadding::Reflection && span > 0) {
    for (int64_t i = 0; i < n; ++i) {
      const T away = std::abs(at[i] - low), rest = away - std::floor(away / (2 * span)) * (2 * span);
      const bool back = rest >= span;
      slope[i] = (at[i] < low) != back ? -slope[i] : slope[i];
      at[i] = (back ? 2 * span - rest : rest) + low;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const bool below = !(at[i] > 0), above = at[i] >= most;
    slope[i] = below || above ? T(0) : slope[i];
    at[i] = below ? T(0) : above ? most : at[i];
  }
}

template <class T>
void to_indices(const GridAxis& axis, const T* __restrict at, int64_t n, GridIndex<T>* __restrict index) {
  const T size = T(axis.size);
  for (int64_t i = 0; i < n; ++i) {
    const bool inside = at[i] >= 0 && at[i] < size;
    const auto whole = static_cast<GridIndex<T>>(inside ? at[i] : T(0));
    index[i] = inside ? whole : GridIndex<T>(-1);
  }
}

template <class T>
void cubic(const GridAxis& axis, const T* __restrict at, const T* __restrict slope, int64_t n, GridTaps<T>& t) {
  const T a = T(-0.75);
  for (int j = 0; j < 4; ++j) {
    T whole[kGridBlock], unused[kGridBlock];
    const bool near = j == 1 || j == 2;
    for (int64_t i = 0; i < n; ++i) {
      const T below = std::floor(at[i]), x = at[i] - below - T(j - 1), far = std::abs(x);
      whole[i] = below + T(j - 1);
      unused[i] = 1;
      t.weight[j][i] = near ? ((a + 2) * far - (a + 3)) * far * far + 1 : ((far - 5) * far + 8) * far * a - 4 * a;
      const T change = near ? (3 * (a + 2) * far - 2 * (a + 3)) * far : ((3 * far - 10) * far + 8) * a;
      t.slope[j][i] = slope[i] * (x < 0 ? -change : change);
    }
    move_inside(axis, whole, unused, n);
    to_indices(axis, whole, n, t.index[j]);
  }
}

template <class T>
void linear(const GridAxis& axis, T* __restrict at, const T* __restrict slope, int64_t n, GridTaps<T>& t) {
  T next[kGridBlock];
  for (int64_t i = 0; i < n; ++i) {
    const T below = std::floor(at[i]), part = at[i] - below;
    t.weight[0][i] = 1 - part;
    t.weight[1][i] = part;
    t.slope[0][i] = -slope[i];
    t.slope[1][i] = slope[i];
    at[i] = below;
    next[i] = below + 1;
  }
  to_indices(axis, at, n, t.index[0]);
  to_indices(axis, next, n, t.index[1]);
}

}  // namespace

template <class T>
void find_taps(const GridAxis& axis, const T* numbers, int64_t step, int64_t n, GridTaps<T>& t) {
  T at[kGridBlock], slope[kGridBlock];
  const T size = T(axis.align ? axis.size - 1 : axis.size);
  for (int64_t i = 0; i < n; ++i) {
    const T number = numbers[i * step];
    at[i] = axis.align ? (number + 1) / 2 * size : ((number + 1) * size - 1) / 2;
    slope[i] = size / 2;
  }
  if (axis.mode == Interpolation::Cubic) return cubic(axis, at, slope, n, t);
  move_inside(axis, at, slope, n);
  if (axis.mode == Interpolation::Linear) return linear(axis, at, slope, n, t);
  for (int64_t i = 0; i < n; ++i) {
    at[i] = std::nearbyint(at[i]);
    t.weight[0][i] = 1;
    t.slope[0][i] = 0;
  }
  to_indices(axis, at, n, t.index[0]);
}

template void find_taps<float>(const GridAxis&, const float*, int64_t, int64_t, GridTaps<float>&);
template void find_taps<double>(const GridAxis&, const double*, int64_t, int64_t, GridTaps<double>&);

}  // namespace fc::cpu::FC_ISA
