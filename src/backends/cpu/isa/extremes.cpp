// SPDX-License-Identifier: Apache-2.0
// The largest and smallest element, and its index.
#include "backends/cpu/isa/fold.h"
#include "kernels/formulas/base_folds.h"

namespace fc::cpu::FC_ISA {
namespace {

template <class Fold, class T>
void arg_row(const char* in, int64_t stride, int64_t n, int64_t base, char* value, int64_t* index) {
  auto at = [&](int64_t i) { return *reinterpret_cast<const T*>(in + i * stride); };
  T& best = *reinterpret_cast<T*>(value);
  if (base == 0) {
    best = at(0);
    *index = 0;
  }
  // A block's extreme is found by a fold; only a block that improves on the best is searched for the position.
  constexpr int64_t block = 1024;
  int64_t i = 0;
  if (stride == sizeof(T)) {
    for (; i + kLanes<T> <= n; i += block) {
      int64_t m = n - i < block ? n - i : block;
      const T* x = reinterpret_cast<const T*>(in) + i;
      T extreme = m < kLanes<T> ? fold_row<Fold, T>(in + i * stride, stride, m, T()) : fold_lanes<Fold>(x, m, T());
      if (!Fold::moves(best, extreme)) continue;
      int64_t k = 0;
      while (!(x[k] == extreme || x[k] != x[k])) ++k;  // a NaN can only be met here if the extreme is NaN
      best = x[k];
      *index = base + i + k;
    }
  }
  for (; i < n; ++i)
    if (Fold::moves(best, at(i))) {
      best = at(i);
      *index = base + i;
    }
}

template <class Fold, class T>
void arg_columns(const char* in, int64_t row, int64_t n, int64_t m, int64_t base, char* value, int64_t* index) {
  auto* __restrict best = reinterpret_cast<T*>(value);
  for (int64_t i = 0; i < n; ++i) {
    const T* x = reinterpret_cast<const T*>(in + i * row);
    if (base + i == 0) {
      for (int64_t j = 0; j < m; ++j) best[j] = x[j], index[j] = 0;
      continue;
    }
    for (int64_t j = 0; j < m; ++j) {
      bool b = Fold::moves(best[j], x[j]);
      best[j] = b ? x[j] : best[j];
      index[j] = b ? base + i : index[j];
    }
  }
}

template <class Fold, class T>
void arg_combine(char* value, int64_t* index, const char* later, const int64_t* later_index, int64_t m) {
  auto* a = reinterpret_cast<T*>(value);
  auto* b = reinterpret_cast<const T*>(later);
  for (int64_t j = 0; j < m; ++j)
    if (Fold::moves(a[j], b[j])) {
      a[j] = b[j];
      index[j] = later_index[j];
    }
}

template <class Fold, class T, class As>
void add_extreme(KernelTable& t, ArgReduceKernel* by_type) {
  add<Fold, T, As>(t);
  by_type[static_cast<int>(dtype_of<As>())] = {arg_row<Fold, T>, arg_columns<Fold, T>, arg_combine<Fold, T>};
}
template <class T, class As = T>
void add_extremes(KernelTable& t) {
  add_extreme<folds::max, T, As>(t, t.arg_reduce[0]);
  add_extreme<folds::min, T, As>(t, t.arg_reduce[1]);
}

}  // namespace

void fill_extremes(KernelTable& t) {
  add_extremes<uint8_t, bool>(t);
  add_extremes<uint8_t>(t);
  add_extremes<int8_t>(t);
  add_extremes<int16_t>(t);
  add_extremes<int32_t>(t);
  add_extremes<int64_t>(t);
  add_extremes<float>(t);
  add_extremes<double>(t);
}

}  // namespace fc::cpu::FC_ISA
