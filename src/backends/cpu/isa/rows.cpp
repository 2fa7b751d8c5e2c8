// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/rows.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

// Visits a row in vectors: f(position, vector count of valid elements).
template <class T, class F>
inline void each(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) f(i, std::integral_constant<int, kWidth<T>>{});
  if (i < n) f(i, static_cast<int>(n - i));
}
template <class T, class K>
inline Vec<T> get(const T* p, K k, T fill = T()) {
  if constexpr (std::is_same_v<K, int>) return load_part(p, k, fill);
  else return load(p);
}
template <class T, class K>
inline void put(T* p, const Vec<T>& v, K k) {
  if constexpr (std::is_same_v<K, int>) store_part(p, v, k);
  else store(p, v);
}

// The sum of all lanes, pairwise.
template <class T, int K>
inline T fold(const Vec<T> (&acc)[K]) {
  if constexpr (K > 1) {
    Vec<T> half[K / 2];
#pragma GCC unroll 16
    for (int k = 0; k < K / 2; ++k) half[k] = acc[k] + acc[k + K / 2];
    return fold<T>(half);
  } else {
    T lane[kWidth<T>];
    store(lane, acc[0]);
    for (int w = kWidth<T> / 2; w > 0; w /= 2)
      for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
    return lane[0];
  }
}

// Sums over a row of what f(position, valid elements) gives, N vectors that must be 0 beyond the valid elements: in
// lanes, then pairwise. The last, incomplete round goes through memory, so that the others' lanes stay in registers.
template <class T, int N, class F>
inline void row_sums(int64_t n, T (&sums)[N], const F& f) {
  constexpr int W = kWidth<T>, K = kLaneVectors / N;
  struct Vectors {
    Vec<T> v[N];
  };
  Vec<T> acc[N][K];
#pragma GCC unroll 16
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j) acc[j][k] = splat(T(0));
  int64_t i = 0;
  for (; i + K * W <= n; i += K * W)
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
      Vectors v;
      f(i + k * W, std::integral_constant<int, W>{}, v.v);
      for (int j = 0; j < N; ++j) acc[j][k] += v.v[j];
    }
  if (i < n) {
    Vectors rest[K];
    int k = 0;
    for (; i + W <= n; i += W) f(i, std::integral_constant<int, W>{}, rest[k++].v);
    if (i < n) f(i, static_cast<int>(n - i), rest[k++].v);
    for (; k < K; ++k)
      for (int j = 0; j < N; ++j) rest[k].v[j] = splat(T(0));
#pragma GCC unroll 16
    for (k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) acc[j][k] += rest[k].v[j];
  }
  for (int j = 0; j < N; ++j) sums[j] = fold<T, K>(acc[j]);
}
template <class T, class F>
inline T row_sum(int64_t n, const F& f) {
  T sum[1];
  row_sums<T, 1>(n, sum, [&](int64_t i, auto k, Vec<T>(&v)[1]) { v[0] = f(i, k); });
  return sum[0];
}

template <class T>
inline T row_max(const T* x, int64_t n) {
  constexpr int W = kWidth<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> a = splat(lowest), b = a, c = a, d = a;
  int64_t i = 0;
  auto larger = [](const Vec<T>& v, const Vec<T>& m) { return v > m ? v : m; };
  for (; i + 4 * W <= n; i += 4 * W) {
    a = larger(load(x + i), a);
    b = larger(load(x + i + W), b);
    c = larger(load(x + i + 2 * W), c);
    d = larger(load(x + i + 3 * W), d);
  }
  for (; i < n; i += W) a = larger(i + W <= n ? load(x + i) : load_part(x + i, n - i, lowest), a);
  a = larger(larger(a, b), larger(c, d));
  T lane[W];
  store(lane, a);
  for (int w = W / 2; w > 0; w /= 2)
    for (int l = 0; l < w; ++l) lane[l] = lane[l + w] > lane[l] ? lane[l + w] : lane[l];
  return lane[0];
}

template <class T>
double largest(const void* x, int64_t n) {
  return static_cast<double>(row_max(static_cast<const T*>(x), n));
}
// exp(x[i] - top), and 0 beyond the valid elements. Those are not exponentials of something very low: many processors
// take a hundred cycles and more for a result below the normal range.
template <class T, class K>
inline Vec<T> exp_of(const T* x, K k, T top) {
  const Vec<T> e = exp<T>(get(x, k, top) - top);
  if constexpr (std::is_same_v<K, int>) return first_lanes<T>(k) ? e : splat(T(0));
  else return e;
}

template <class T>
double exp_less(void* row, int64_t n, double shift) {
  T* x = static_cast<T*>(row);
  const T top = static_cast<T>(shift);
  return static_cast<double>(row_sum<T>(n, [&](int64_t i, auto k) {
    Vec<T> e = exp_of(x + i, k, top);
    put<T>(x + i, e, k);
    return e;
  }));
}

template <class T>
void softmax_terms(const void* in, void* terms, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * n;
    T* term = static_cast<T*>(terms) + 2 * r;
    const T top = row_max(x, n);
    term[0] = top;
    term[1] = std::log(row_sum<T>(n, [&](int64_t i, auto k) { return exp_of(x + i, k, top); }));
  }
}
template <class T>
void scaled_softmax(const void* in, void* out, int64_t n, const void* terms, double factor) {
  const T *x = static_cast<const T*>(in), *term = static_cast<const T*>(terms);
  T* y = static_cast<T*>(out);
  const T top = term[0], less = term[1], scale = static_cast<T>(factor);
  each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, exp<T>(get(x + i, k) - top - less) * scale, k); });
}

template <class T>
void softmax(const void* in, void* out, int64_t rows, int64_t n, bool log) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * n;
    T* y = static_cast<T*>(out) + r * n;
    if (log) {
      T terms[2];
      softmax_terms<T>(x, terms, 1, n);
      const T top = terms[0], less = terms[1];
      each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, get(x + i, k) - top - less, k); });
    } else {
      const T top = row_max(x, n);
      T total = row_sum<T>(n, [&](int64_t i, auto k) {
        Vec<T> e = exp_of(x + i, k, top);
        put<T>(y + i, e, k);
        return e;
      });
      const T scale = 1 / total;
      each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, get(y + i, k) * scale, k); });
    }
  }
}

// What is subtracted before exponentials are taken; infinities would leave NaN.
template <class T>
inline T shift_of(T top) {
  return std::abs(top) == std::numeric_limits<T>::infinity() ? T(0) : top;
}
template <class T>
void logsumexp(const void* in, void* out, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * n;
    const T top = shift_of(row_max(x, n));
    const T total = row_sum<T>(n, [&](int64_t i, auto k) { return exp_of(x + i, k, top); });
    static_cast<T*>(out)[r] = std::log(total) + top;
  }
}

template <class T>
void softmax_backward(const void* grad, const void* result, void* out, int64_t rows, int64_t n, bool log) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* g = static_cast<const T*>(grad) + r * n;
    const T* y = static_cast<const T*>(result) + r * n;
    T* dx = static_cast<T*>(out) + r * n;
    if (log) {
      const T total = row_sum<T>(n, [&](int64_t i, auto k) { return get(g + i, k); });
      each<T>(n, [&](int64_t i, auto k) { put<T>(dx + i, get(g + i, k) - exp<T>(get(y + i, k)) * total, k); });
    } else {
      const T total = row_sum<T>(n, [&](int64_t i, auto k) { return get(g + i, k) * get(y + i, k); });
      each<T>(n, [&](int64_t i, auto k) { put<T>(dx + i, (get(g + i, k) - total) * get(y + i, k), k); });
    }
  }
}

constexpr int64_t kColumns = 256;  // columns at a time; their sums fit the first cache

template <class T>
inline void column_max(const T* x, int64_t n, int64_t stride, int64_t m, T* top) {
  for (int64_t j = 0; j < m; ++j) top[j] = x[j];
  for (int64_t i = 1; i < n; ++i) {
    const T* row = x + i * stride;
    for (int64_t j = 0; j < m; ++j) top[j] = row[j] > top[j] ? row[j] : top[j];
  }
}

template <class T>
void softmax_columns(const void* in, void* out, int64_t n, int64_t stride, int64_t columns, bool log) {
  for (int64_t start = 0; start < columns; start += kColumns) {
    const int64_t m = columns - start < kColumns ? columns - start : kColumns;
    const T* x = static_cast<const T*>(in) + start;
    T* y = static_cast<T*>(out) + start;
    T top[kColumns], total[kColumns] = {};
    column_max(x, n, stride, m, top);
    for (int64_t i = 0; i < n; ++i)
      each<T>(m, [&](int64_t j, auto k) {
        Vec<T> e = exp<T>(get(x + i * stride + j, k) - get(top + j, k));
        if (!log) put<T>(y + i * stride + j, e, k);
        put<T>(total + j, get(total + j, k) + e, k);
      });
    for (int64_t j = 0; j < m; ++j) total[j] = log ? std::log(total[j]) : 1 / total[j];
    for (int64_t i = 0; i < n; ++i) {
      const T* row = x + i * stride;
      T* to = y + i * stride;
      if (log)
        for (int64_t j = 0; j < m; ++j) to[j] = row[j] - top[j] - total[j];
      else
        for (int64_t j = 0; j < m; ++j) to[j] *= total[j];
    }
  }
}

template <class T>
void logsumexp_columns(const void* in, void* out, int64_t n, int64_t stride, int64_t columns) {
  for (int64_t start = 0; start < columns; start += kColumns) {
    const int64_t m = columns - start < kColumns ? columns - start : kColumns;
    const T* x = static_cast<const T*>(in) + start;
    T top[kColumns], total[kColumns] = {};
    column_max(x, n, stride, m, top);
    for (int64_t j = 0; j < m; ++j) top[j] = shift_of(top[j]);
    for (int64_t i = 0; i < n; ++i)
      each<T>(m, [&](int64_t j, auto k) {
        put<T>(total + j, get(total + j, k) + exp<T>(get(x + i * stride + j, k) - get(top + j, k)), k);
      });
    for (int64_t j = 0; j < m; ++j) static_cast<T*>(out)[start + j] = std::log(total[j]) + top[j];
  }
}

template <class T>
void softmax_columns_backward(const void* grad, const void* result, void* out, int64_t n, int64_t stride,
                              int64_t columns, bool log) {
  for (int64_t start = 0; start < columns; start += kColumns) {
    const int64_t m = columns - start < kColumns ? columns - start : kColumns;
    const T* g = static_cast<const T*>(grad) + start;
    const T* y = static_cast<const T*>(result) + start;
    T* dx = static_cast<T*>(out) + start;
    T total[kColumns] = {};
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) total[j] += log ? g[i * stride + j] : g[i * stride + j] * y[i * stride + j];
    for (int64_t i = 0; i < n; ++i)
      each<T>(m, [&](int64_t j, auto k) {
        int64_t at = i * stride + j;
        Vec<T> a = get(g + at, k), b = get(y + at, k), t = get(total + j, k);
        put<T>(dx + at, log ? a - exp<T>(b) * t : (a - t) * b, k);
      });
  }
}

template <class T>
void moments(const void* in, int64_t n, double* mean, double* deviations) {
  const T* x = static_cast<const T*>(in);
  const T m = row_sum<T>(n, [&](int64_t i, auto k) { return get(x + i, k); }) / static_cast<T>(n);
  *mean = m;
  *deviations = row_sum<T>(n, [&](int64_t i, auto k) {
    Vec<T> d = get(x + i, k, m) - m;
    return d * d;
  });
}

template <class T>
void normalise(const void* in, void* out, int64_t n, double mean, double rstd, const void* weight, const void* bias) {
  const T* x = static_cast<const T*>(in);
  const T* w = static_cast<const T*>(weight);
  const T* b = static_cast<const T*>(bias);
  T* y = static_cast<T*>(out);
  const T m = static_cast<T>(mean), s = static_cast<T>(rstd);
  if (w && b)
    each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, (get(x + i, k) - m) * s * get(w + i, k) + get(b + i, k), k); });
  else
    each<T>(n, [&](int64_t i, auto k) {
      Vec<T> v = (get(x + i, k) - m) * s;
      if (w) v *= get(w + i, k);
      if (b) v += get(b + i, k);
      put<T>(y + i, v, k);
    });
}

template <class T>
void pair_sums(const void* grad, const void* in, int64_t n, double mean, const void* weight, double* sums) {
  const T* g = static_cast<const T*>(grad);
  const T* x = static_cast<const T*>(in);
  const T* w = static_cast<const T*>(weight);
  const T m = static_cast<T>(mean);
  T both[2];
  auto sum = [&](const auto& term) {
    row_sums<T, 2>(n, both, [&](int64_t i, auto k, Vec<T>(&v)[2]) {
      v[0] = term(i, k);
      v[1] = v[0] * (get(x + i, k) - m);
    });
  };
  if (w) sum([&](int64_t i, auto k) { return get(g + i, k) * get(w + i, k); });
  else sum([&](int64_t i, auto k) { return get(g + i, k); });
  sums[0] = both[0];
  sums[1] = both[1];
}

template <class T>
double squared_distance(const void* av, const void* bv, int64_t n) {
  const T *a = static_cast<const T*>(av), *b = static_cast<const T*>(bv);
  return static_cast<double>(row_sum<T>(n, [&](int64_t i, auto k) {
    Vec<T> d = get(a + i, k) - get(b + i, k);
    return d * d;
  }));
}

template <class T>
void affine(const void* grad, const void* in, void* out, int64_t n, double a, double b, double c, const void* weight) {
  const T* g = static_cast<const T*>(grad);
  const T* x = static_cast<const T*>(in);
  const T* w = static_cast<const T*>(weight);
  T* y = static_cast<T*>(out);
  const T p = static_cast<T>(a), q = static_cast<T>(b), r = static_cast<T>(c);
  if (!x) each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, (get(g + i, k) - q) * p + r, k); });
  else if (!w) each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, get(g + i, k) * p + get(x + i, k) * q + r, k); });
  else
    each<T>(n, [&](int64_t i, auto k) { put<T>(y + i, get(g + i, k) * get(w + i, k) * p + get(x + i, k) * q + r, k); });
}

template <class T>
void affine_columns(const void* grad, const void* in, void* out, int64_t n, int64_t stride, int64_t m, const void* av,
                    const void* bv, const void* cv) {
  const T *a = static_cast<const T*>(av), *b = static_cast<const T*>(bv), *c = static_cast<const T*>(cv);
  for (int64_t i = 0; i < n; ++i) {
    const T* g = static_cast<const T*>(grad) + i * stride;
    T* __restrict y = static_cast<T*>(out) + i * stride;
    if (in) {
      const T* x = static_cast<const T*>(in) + i * stride;
      for (int64_t j = 0; j < m; ++j) y[j] = g[j] * a[j] + x[j] * b[j] + c[j];
    } else {
      for (int64_t j = 0; j < m; ++j) y[j] = (g[j] - b[j]) * a[j] + c[j];
    }
  }
}

template <class T>
void column_sums(const void* grad, const void* in, int64_t n, int64_t stride, int64_t m, const void* mean,
                 const void* rstd, void* dw, void* db) {
  T* __restrict w = static_cast<T*>(dw);
  T* __restrict b = static_cast<T*>(db);
  const T* means = static_cast<const T*>(mean);
  for (int64_t i = 0; i < n; ++i) {
    const T* g = static_cast<const T*>(grad) + i * stride;
    const T* x = static_cast<const T*>(in) + i * stride;
    if (rstd) {
      const T s = static_cast<const T*>(rstd)[i], u = means[i];
      for (int64_t j = 0; j < m; ++j) {
        w[j] += g[j] * ((x[j] - u) * s);
        b[j] += g[j];
      }
    } else {
      for (int64_t j = 0; j < m; ++j) {
        w[j] += g[j] * (x[j] - means[j]);
        b[j] += g[j];
      }
    }
  }
}

template <class T>
constexpr RowKernels table() {
  return {softmax<T>,    softmax_backward<T>,  softmax_columns<T>, softmax_columns_backward<T>,
          logsumexp<T>,  logsumexp_columns<T>, softmax_terms<T>,   scaled_softmax<T>,
          largest<T>,    exp_less<T>,          moments<T>,         normalise<T>,
          pair_sums<T>,  squared_distance<T>,  affine<T>,          affine_columns<T>,
          column_sums<T>};
}

}  // namespace

extern constexpr RowKernels row_table[2] = {table<float>(), table<double>()};

}  // namespace fc::cpu::FC_ISA
