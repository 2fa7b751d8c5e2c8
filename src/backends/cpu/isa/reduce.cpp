// SPDX-License-Identifier: Apache-2.0
// Folds of blocks. A row is folded into 256 bytes of accumulators and these pairwise; columns are folded row by row.
// Blocks are short (backends/cpu/reduce.cpp cuts them and combines their results pairwise), so sums of float32 stay
// accurate without a wider accumulator.
#include <complex>
#include <limits>

#include "backends/cpu/isa/tile.h"
#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

// Each fold: `map` of an element (and the shift of its result, for deviations), `join` of two partial results.
// Both work on scalars and on vectors.
struct Plain {
  template <class V, class S>
  static V map(V x, S) {
    return x;
  }
};
struct SumFold : Plain {
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};
struct ProdFold : Plain {
  template <class V>
  static V join(V a, V b) {
    return a * b;
  }
};
struct MaxFold : Plain {  // a NaN on either side stays
  template <class V>
  static V join(V a, V b) {
    if constexpr (std::is_floating_point_v<V>) return b > a || b != b ? b : a;
    else return b > a ? b : a;
  }
};
struct MinFold : Plain {
  template <class V>
  static V join(V a, V b) {
    if constexpr (std::is_floating_point_v<V>) return b < a || b != b ? b : a;
    else return b < a ? b : a;
  }
};
struct AnyFold {
  template <class V, class S>
  static V map(V x, S) {
    return x != V{} ? V{} + 1 : V{};
  }
  template <class V>
  static V join(V a, V b) {
    return a | b;
  }
};
struct AllFold : AnyFold {
  template <class V>
  static V join(V a, V b) {
    return a & b;
  }
};
struct NanSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x != x ? V{} : x;
  }
};
struct AbsSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x < V{} ? -x : x;
  }
};
struct SquareSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x * x;
  }
};
struct DeviationFold : SumFold {
  template <class V, class S>
  static V map(V x, S shift) {
    V d = x - shift;
    return d * d;
  }
};

template <class Fold, class T>
inline constexpr bool keeps_nan = (std::is_same_v<Fold, MaxFold> ||
                                   std::is_same_v<Fold, MinFold>)&&std::is_floating_point_v<T>;

// n >= kLanes<T>.
template <class Fold, class T>
T fold_lanes(const T* x, int64_t n, [[maybe_unused]] T shift) {
  constexpr int W = kWidth<T>, K = kLaneVectors, L = kLanes<T>;
  Vec<T> acc[K];
  [[maybe_unused]] decltype(acc[0] != acc[0]) nan{};
  Vec<T> s = splat(shift);
  for (int k = 0; k < K; ++k) {
    Vec<T> v = load(x + k * W);
    if constexpr (keeps_nan<Fold, T>) nan |= v != v;
    acc[k] = Fold::map(v, s);
  }
  int64_t i = L;
  for (; i + L <= n; i += L) {
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
      Vec<T> v = load(x + i + k * W);
      if constexpr (keeps_nan<Fold, T>) {
        nan |= v != v;
        acc[k] = std::is_same_v<Fold, MaxFold> ? (v > acc[k] ? v : acc[k]) : (v < acc[k] ? v : acc[k]);
      } else {
        acc[k] = Fold::join(acc[k], Fold::map(v, s));
      }
    }
  }
  T lane[L];
  for (int k = 0; k < K; ++k) store(lane + k * W, acc[k]);
  for (int l = 0; i < n; ++i, ++l) lane[l] = Fold::join(lane[l], Fold::map(x[i], shift));
  for (int w = L / 2; w > 0; w /= 2)
    for (int l = 0; l < w; ++l) lane[l] = Fold::join(lane[l], lane[l + w]);
  if constexpr (keeps_nan<Fold, T>) {
    for (int l = 0; l < W; ++l)
      if (nan[l]) return std::numeric_limits<T>::quiet_NaN();
  }
  return lane[0];
}

template <class Fold, class T>
T fold_row(const char* in, int64_t stride, int64_t n, T shift) {
  auto at = [&](int64_t i) { return Fold::map(*reinterpret_cast<const T*>(in + i * stride), shift); };
  if constexpr (!scalar::is_complex_v<T>)
    if (stride == sizeof(T) && n >= kLanes<T>) return fold_lanes<Fold>(reinterpret_cast<const T*>(in), n, shift);
  T a = at(0);
  if (n < 8) {
    for (int64_t i = 1; i < n; ++i) a = Fold::join(a, at(i));
    return a;
  }
  T b = at(1), c = at(2), d = at(3);
  int64_t i = 4;
  for (; i + 4 <= n; i += 4) {
    a = Fold::join(a, at(i));
    b = Fold::join(b, at(i + 1));
    c = Fold::join(c, at(i + 2));
    d = Fold::join(d, at(i + 3));
  }
  for (; i < n; ++i) a = Fold::join(a, at(i));
  return Fold::join(Fold::join(a, b), Fold::join(c, d));
}

template <class Fold, class T>
void rows(const char* in, int64_t row, int64_t n_rows, int64_t stride, int64_t n, char* out, const char* shift) {
  for (int64_t j = 0; j < n_rows; ++j)
    reinterpret_cast<T*>(out)[j] =
        fold_row<Fold, T>(in + j * row, stride, n, shift ? reinterpret_cast<const T*>(shift)[j] : T());
}

template <class Fold, class T>
void columns(const char* in, int64_t row, int64_t n, int64_t m, char* out, const char* shift) {
  auto* __restrict acc = reinterpret_cast<T*>(out);
  auto r = [&](int64_t i) { return reinterpret_cast<const T*>(in + i * row); };
  auto* s = reinterpret_cast<const T*>(shift);
  const T* x = r(0);
  for (int64_t j = 0; j < m; ++j) acc[j] = Fold::map(x[j], s ? s[j] : T());
  int64_t i = 1;
  for (; i + 4 <= n; i += 4) {
    const T *a = r(i), *b = r(i + 1), *c = r(i + 2), *d = r(i + 3);
    if constexpr (std::is_same_v<Fold, DeviationFold>) {
      for (int64_t j = 0; j < m; ++j)
        acc[j] = Fold::join(Fold::join(Fold::join(Fold::join(acc[j], Fold::map(a[j], s[j])), Fold::map(b[j], s[j])),
                                       Fold::map(c[j], s[j])),
                            Fold::map(d[j], s[j]));
    } else {
      for (int64_t j = 0; j < m; ++j)
        acc[j] = Fold::join(
            Fold::join(Fold::join(Fold::join(acc[j], Fold::map(a[j], 0)), Fold::map(b[j], 0)), Fold::map(c[j], 0)),
            Fold::map(d[j], 0));
    }
  }
  for (; i < n; ++i) {
    const T* a = r(i);
    for (int64_t j = 0; j < m; ++j) acc[j] = Fold::join(acc[j], Fold::map(a[j], s ? s[j] : T()));
  }
}

template <class Fold, class T>
void combine(char* a, const char* b, int64_t m) {
  auto* __restrict x = reinterpret_cast<T*>(a);
  auto* y = reinterpret_cast<const T*>(b);
  for (int64_t j = 0; j < m; ++j) x[j] = Fold::join(x[j], y[j]);
}

template <class T>
void divide(char* a, int64_t m, int64_t count) {
  auto* x = reinterpret_cast<T*>(a);
  for (int64_t j = 0; j < m; ++j) x[j] /= static_cast<scalar::real_t<T>>(count);
}

template <class Fold, class T, class As = T>
void add(KernelTable& t, int opcode) {
  t.reduce[opcode][static_cast<int>(dtype_of<As>())] = {rows<Fold, T>, columns<Fold, T>, combine<Fold, T>, nullptr};
}

template <class Fold, class... T>
void add_all(KernelTable& t, int opcode) {
  (add<Fold, T>(t, opcode), ...);
}

// --- the place of the largest or smallest element
template <bool max, class T>
inline bool better(T b, T a) {  // does a later b replace a? The first of equals wins, and the first NaN over all
  if constexpr (std::is_floating_point_v<T>) return (max ? b > a : b < a) || (b != b && a == a);
  else return max ? b > a : b < a;
}

template <bool max, class T>
void arg_row(const char* in, int64_t stride, int64_t n, int64_t base, char* value, int64_t* index) {
  auto at = [&](int64_t i) { return *reinterpret_cast<const T*>(in + i * stride); };
  T& best = *reinterpret_cast<T*>(value);
  if (base == 0) {
    best = at(0);
    *index = 0;
  }
  // A block's extreme is found by a fold; only a block that improves on the best is searched for the place.
  constexpr int64_t block = 1024;
  int64_t i = 0;
  using Fold = std::conditional_t<max, MaxFold, MinFold>;
  if (stride == sizeof(T)) {
    for (; i + kLanes<T> <= n; i += block) {
      int64_t m = n - i < block ? n - i : block;
      const T* x = reinterpret_cast<const T*>(in) + i;
      T extreme = m < kLanes<T> ? fold_row<Fold, T>(in + i * stride, stride, m, T()) : fold_lanes<Fold>(x, m, T());
      if (!better<max>(extreme, best)) continue;
      int64_t k = 0;
      while (!(x[k] == extreme || x[k] != x[k])) ++k;  // a NaN can only be met here if the extreme is NaN
      best = x[k];
      *index = base + i + k;
    }
  }
  for (; i < n; ++i)
    if (better<max>(at(i), best)) {
      best = at(i);
      *index = base + i;
    }
}

template <bool max, class T>
void arg_columns(const char* in, int64_t row, int64_t n, int64_t m, int64_t base, char* value, int64_t* index) {
  auto* __restrict best = reinterpret_cast<T*>(value);
  for (int64_t i = 0; i < n; ++i) {
    const T* x = reinterpret_cast<const T*>(in + i * row);
    if (base + i == 0) {
      for (int64_t j = 0; j < m; ++j) best[j] = x[j], index[j] = 0;
      continue;
    }
    for (int64_t j = 0; j < m; ++j) {
      bool b = better<max>(x[j], best[j]);
      best[j] = b ? x[j] : best[j];
      index[j] = b ? base + i : index[j];
    }
  }
}

template <bool max, class T>
void arg_combine(char* value, int64_t* index, const char* later, const int64_t* later_index, int64_t m) {
  auto* a = reinterpret_cast<T*>(value);
  auto* b = reinterpret_cast<const T*>(later);
  for (int64_t j = 0; j < m; ++j)
    if (better<max>(b[j], a[j])) {
      a[j] = b[j];
      index[j] = later_index[j];
    }
}

template <class T, class As = T>
void add_extremes(KernelTable& t) {
  int type = static_cast<int>(dtype_of<As>());
  add<MaxFold, T, As>(t, FC_REDUCE_MAX);
  add<MinFold, T, As>(t, FC_REDUCE_MIN);
  t.arg_reduce[0][type] = {arg_row<true, T>, arg_columns<true, T>, arg_combine<true, T>};
  t.arg_reduce[1][type] = {arg_row<false, T>, arg_columns<false, T>, arg_combine<false, T>};
}

}  // namespace

void fill_reduce(KernelTable& t) {
  using c64 = std::complex<float>;
  using c128 = std::complex<double>;
  // Integers as unsigned ones: they wrap around.
  add<SumFold, uint64_t, int64_t>(t, FC_REDUCE_SUM);
  add<ProdFold, uint64_t, int64_t>(t, FC_REDUCE_PROD);
  add_all<SumFold, float, double, c64, c128>(t, FC_REDUCE_SUM);
  add_all<SumFold, float, double, c64, c128>(t, FC_REDUCE_MEAN);
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Float32)].finish = divide<float>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Float64)].finish = divide<double>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Complex64)].finish = divide<c64>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Complex128)].finish = divide<c128>;
  add_all<ProdFold, float, double, c64, c128>(t, FC_REDUCE_PROD);
  add_all<NanSumFold, float, double>(t, FC_REDUCE_NANSUM);
  add_all<AbsSumFold, float, double>(t, FC_REDUCE_SUM_ABS);
  add_all<SquareSumFold, float, double>(t, FC_REDUCE_SUM_SQUARES);
  add_all<DeviationFold, float, double>(t, FC_REDUCE_SUM_DEVIATIONS);
  add<AnyFold, uint8_t, bool>(t, FC_REDUCE_ANY);
  add<AllFold, uint8_t, bool>(t, FC_REDUCE_ALL);
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
