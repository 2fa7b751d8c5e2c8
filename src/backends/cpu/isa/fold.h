// SPDX-License-Identifier: Apache-2.0
// Folds of blocks. A row is folded into 256 bytes of accumulators and these pairwise; columns are folded row by row.
// Blocks are short (backends/cpu/reduce.cpp cuts them and combines their results pairwise), so sums of float32 stay
// accurate without a wider accumulator.
#pragma once
#include <complex>
#include <limits>

#include "backends/cpu/isa/tile.h"
#include "backends/cpu/isa/vec.h"
#include "kernels/fold.h"

namespace fc::cpu::FC_ISA {
namespace {

template <class Fold, class T>
inline constexpr bool keeps_nan = Fold::is_extreme&& std::is_floating_point_v<T>;

// How elements lie in memory: as they are computed, or as something that is widened on the way. A source may have a
// faster `fold` of a row of its own, where the order of the terms does not matter.
template <class T>
struct Same {
  using Stored = T;
  static T one(const T* p) { return *p; }
  static auto some(const T* p) { return load(p); }
};

// n >= kLanes<T>. A Result of two parts has them in turn.
template <class Fold, class T, class Source = Same<T>, class Result = T>
Result fold_lanes(const typename Source::Stored* x, int64_t n, [[maybe_unused]] T shift) {
  constexpr int W = kWidth<T>, K = kLaneVectors, L = kLanes<T>;
  Vec<T> acc[K];
  [[maybe_unused]] decltype(acc[0] != acc[0]) nan{};
  Vec<T> s = splat(shift);
  for (int k = 0; k < K; ++k) {
    Vec<T> v = Source::some(x + k * W);
    if constexpr (keeps_nan<Fold, T>) nan |= v != v;
    acc[k] = Fold::term(v, s);
  }
  int64_t i = L;
  for (; i + L <= n; i += L) {
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
      Vec<T> v = Source::some(x + i + k * W);
      if constexpr (keeps_nan<Fold, T>) {
        nan |= v != v;
        acc[k] = Fold::pick(acc[k], v);
      } else {
        acc[k] = Fold::join(acc[k], Fold::term(v, s));
      }
    }
  }
  if (i < n) {
    T lane[L];
    for (int k = 0; k < K; ++k) store(lane + k * W, acc[k]);
    for (int l = 0; i < n; ++i, ++l) lane[l] = Fold::join(lane[l], Fold::term(Source::one(x + i), shift));
    for (int k = 0; k < K; ++k) {
      acc[k] = load(lane + k * W);
      if constexpr (keeps_nan<Fold, T>) nan |= acc[k] != acc[k];
    }
  }
  // Pairwise: lane l with lane l + L / 2, and so on, until there is one for each part.
  for (int w = K / 2; w > 0; w /= 2)
    for (int k = 0; k < w; ++k) acc[k] = Fold::join(acc[k], acc[k + w]);
  T lane[W];
  store(lane, acc[0]);
  constexpr int parts = sizeof(Result) / sizeof(T);
  for (int w = W / 2; w >= parts; w /= 2)
    for (int l = 0; l < w; ++l) lane[l] = Fold::join(lane[l], lane[l + w]);
  if constexpr (keeps_nan<Fold, T>) {
    for (int l = 0; l < W; ++l)
      if (nan[l]) return std::numeric_limits<T>::quiet_NaN();
  }
  if constexpr (parts == 1) return lane[0];
  else return {lane[0], lane[1]};
}

// The same of complex numbers; the compiler makes vector code of these loops.
template <class Fold, class T, class R = scalar::real_t<T>>
T fold_complex_lanes(const T* x, int64_t n) {
  constexpr int L = kLanes<T>;
  R re[L], im[L];
  auto join = [&](int l, T b) {
    const T c = Fold::join(T(re[l], im[l]), b);
    re[l] = c.real();
    im[l] = c.imag();
  };
  auto term = [&](int64_t i) { return Fold::term(x[i], T()); };
  for (int l = 0; l < L; ++l) re[l] = term(l).real(), im[l] = term(l).imag();
  int64_t i = L;
  for (; i + L <= n; i += L)
    for (int l = 0; l < L; ++l) join(l, term(i + l));
  for (int l = 0; i < n; ++i, ++l) join(l, term(i));
  for (int w = L / 2; w > 0; w /= 2)
    for (int l = 0; l < w; ++l) join(l, T(re[l + w], im[l + w]));
  return {re[0], im[0]};
}

// The same of elements at(0), at(1), ... that lie apart, in the same order: long sums are as exact in any layout.
template <class Fold, class T, class At>
T fold_apart(int64_t n, const At& at) {
  constexpr int L = kLanes<T>, P = L < 16 ? L : 16;  // as many lanes at a time as there are registers
  T lane[L];
  const int64_t whole = n / L * L;
  for (int first = 0; first < L; first += P) {
    T some[P];
#pragma GCC unroll 16
    for (int l = 0; l < P; ++l) some[l] = at(first + l);
    for (int64_t i = L; i < whole; i += L)
#pragma GCC unroll 16
      for (int l = 0; l < P; ++l) some[l] = Fold::join(some[l], at(i + first + l));
    for (int l = 0; l < P; ++l) lane[first + l] = some[l];
  }
  for (int64_t i = whole; i < n; ++i) lane[i - whole] = Fold::join(lane[i - whole], at(i));
  for (int w = L / 2; w > 0; w /= 2)
    for (int l = 0; l < w; ++l) lane[l] = Fold::join(lane[l], lane[l + w]);
  return lane[0];
}

template <class Fold, class T, class Source = Same<T>>
T fold_row(const char* in, int64_t stride, int64_t n, T shift) {
  using Stored = typename Source::Stored;
  auto at = [&](int64_t i) { return Fold::term(Source::one(reinterpret_cast<const Stored*>(in + i * stride)), shift); };
  if (stride == sizeof(Stored) && n >= kLanes<T>) {
    auto* x = reinterpret_cast<const Stored*>(in);
    using R = scalar::real_t<T>;
    if constexpr (requires { Source::fold(x, n); }) return Source::fold(x, n);
    else if constexpr (!scalar::is_complex_v<T>) return fold_lanes<Fold, T, Source>(x, n, shift);
    else if constexpr (Fold::accepts & folds::kByParts)
      return fold_lanes<Fold, R, Same<R>, T>(reinterpret_cast<const R*>(x), 2 * n, R());
    else return fold_complex_lanes<Fold>(x, n);
  }
  // Integers have the same result in any order; where there are few elements, joining the lanes costs more than it
  // gives.
  if constexpr (!std::is_integral_v<T>)
    if (n >= 8 * kLanes<T>) return fold_apart<Fold, T>(n, at);
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

template <class Fold, class T, class Source = Same<T>>
void rows(const char* in, int64_t row, int64_t n_rows, int64_t stride, int64_t n, char* out, const char* shift) {
  for (int64_t j = 0; j < n_rows; ++j)
    reinterpret_cast<T*>(out)[j] =
        fold_row<Fold, T, Source>(in + j * row, stride, n, shift ? reinterpret_cast<const T*>(shift)[j] : T());
}

template <class Fold, class T, class Source = Same<T>>
void columns(const char* in, int64_t row, int64_t n, int64_t m, char* out, const char* shift) {
  using Stored = typename Source::Stored;
  auto* __restrict acc = reinterpret_cast<T*>(out);
  auto r = [&](int64_t i) { return reinterpret_cast<const Stored*>(in + i * row); };
  auto* s = reinterpret_cast<const T*>(shift);
  auto term = [&](const Stored* x, int64_t j) {
    if constexpr (Fold::accepts & folds::kShifted) return Fold::term(Source::one(x + j), s[j]);
    else return Fold::term(Source::one(x + j), T());
  };
  const Stored* x = r(0);
  for (int64_t j = 0; j < m; ++j) acc[j] = term(x, j);
  int64_t i = 1;
  for (; i + 4 <= n; i += 4) {
    const Stored *a = r(i), *b = r(i + 1), *c = r(i + 2), *d = r(i + 3);
    for (int64_t j = 0; j < m; ++j)
      acc[j] = Fold::join(Fold::join(Fold::join(Fold::join(acc[j], term(a, j)), term(b, j)), term(c, j)), term(d, j));
  }
  for (; i < n; ++i) {
    const Stored* a = r(i);
    for (int64_t j = 0; j < m; ++j) acc[j] = Fold::join(acc[j], term(a, j));
  }
}

template <class Fold, class T>
void combine(char* a, const char* b, int64_t m) {
  auto* __restrict x = reinterpret_cast<T*>(a);
  auto* y = reinterpret_cast<const T*>(b);
  for (int64_t j = 0; j < m; ++j) x[j] = Fold::join(x[j], y[j]);
}

template <class Fold, class T, class As = T, class Source = Same<T>>
void add(KernelTable& t, DType partial = dtype_of<As>()) {
  t.reduce[Fold::code][static_cast<int>(dtype_of<As>())] = {rows<Fold, T, Source>, columns<Fold, T, Source>,
                                                            combine<Fold, T>, nullptr, partial};
}

// bool as bytes: anything but 0 is true.
struct Truth {
  using Stored = uint8_t;
  static uint8_t one(const uint8_t* p) { return *p != 0; }
  static Vec<uint8_t> some(const uint8_t* p) { return load(p) != 0 ? Vec<uint8_t>{} + 1 : Vec<uint8_t>{}; }
};
// The same, to be counted.
struct Counted {
  using Stored = uint8_t;
  static uint64_t one(const uint8_t* p) { return *p != 0; }
  static uint64_t fold(const uint8_t* x, int64_t n) {
    constexpr int W = kWidth<uint8_t>;
    uint64_t count = 0;
    int64_t i = 0;
    while (i + W <= n) {
      Vec<uint8_t> lanes{};  // each holds 255 at most
      for (int k = 0; k < 255 && i + W <= n; ++k, i += W) lanes += Truth::some(x + i);
      uint8_t lane[W];
      store(lane, lanes);
      for (int l = 0; l < W; ++l) count += lane[l];
    }
    for (; i < n; ++i) count += one(x + i);
    return count;
  }
};

template <class T>
void divide(char* a, int64_t m, int64_t count) {
  auto* x = reinterpret_cast<T*>(a);
  for (int64_t j = 0; j < m; ++j) x[j] /= static_cast<scalar::real_t<T>>(count);
}

// All that a row of a .def is made for.
template <class Fold, class... T>
void add_all(KernelTable& t) {
  (add<Fold, T>(t), ...);
  if constexpr (Fold::is_mean) ((t.reduce[Fold::code][static_cast<int>(dtype_of<T>())].finish = divide<T>), ...);
}
// A row of a .def, in all types that it is made for.
template <class Fold>
void add_fold(KernelTable& t) {
  using namespace scalar;
  if constexpr (Fold::accepts & kInt) add<Fold, uint64_t, int64_t>(t);
  if constexpr (Fold::accepts & kReal) add_all<Fold, float, double>(t);
  if constexpr (Fold::accepts & kComplex) add_all<Fold, std::complex<float>, std::complex<double>>(t);
  if constexpr ((Fold::accepts & kBool) && Fold::is_sum) add<Fold, uint64_t, bool, Counted>(t, DType::Int64);
  else if constexpr (Fold::accepts & kBool) add<Fold, uint8_t, bool, Truth>(t);
}

}  // namespace
}  // namespace fc::cpu::FC_ISA
