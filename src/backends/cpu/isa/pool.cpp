// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pool.h"

#include <utility>

#include "backends/cpu/isa.h"
#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

template <class T>
using Place = PoolPlace<T>;

template <class V, int... i>
[[gnu::always_inline]] inline V evens(const V& a, const V& b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...);
}
// Elements 0, stride, 2 * stride …
template <class T>
[[gnu::always_inline]] inline Vec<T> load_every(const T* p, int64_t stride) {
  constexpr int W = kWidth<T>;
  if (stride == 1) return load(p);
  Vec<T> v{};
  if (stride == 2) return evens(load(p), load(p + W), std::make_integer_sequence<int, W>());
  for (int i = 0; i < W; ++i) v[i] = p[i * stride];
  return v;
}

template <class T>
struct Best {
  Vec<T> value;
  Vec<Place<T>> place;
  [[gnu::always_inline]] void look_at(const Vec<T>& v, const Vec<Place<T>>& at) {
    auto takes = v > value;
    if constexpr (!std::is_integral_v<T>) takes |= v != v;
    value = takes ? v : value;
    place = takes ? at : place;
  }
};

template <class T, int kStride>
void max_row_of(const PoolRow<T>& r, T* best, Place<T>* place) {
  constexpr int W = kWidth<T>;
  const int64_t stride = kStride ? kStride : r.stride;
  Vec<Place<T>> lane{};
  for (int i = 0; i < W; ++i) lane[i] = static_cast<Place<T>>(i * stride);
  for (int64_t x = 0; x < r.out; x += W) {
    Best<T> b{splat(r.lowest), load(r.first + x)};
    for (int64_t k = 0; k < r.n_rows; ++k) {
      const T* row = r.rows[k] + x * stride;
      Vec<Place<T>> at = lane + static_cast<Place<T>>(r.places[k] + x * stride);
      for (int64_t j = 0; j < r.kernel; ++j) {
        b.look_at(load_every(row, stride), at);
        row += r.dilation;
        at += static_cast<Place<T>>(r.dilation);
      }
    }
    store(best + x, b.value);
    store(place + x, b.place);
  }
}

template <class T>
void max_row(const PoolRow<T>& r, T* best, Place<T>* place) {
  if (r.stride == 1) max_row_of<T, 1>(r, best, place);
  else if (r.stride == 2) max_row_of<T, 2>(r, best, place);
  else max_row_of<T, 0>(r, best, place);
}

// N vectors of channels at a time: the window is gone through once for all of them.
template <class T, int N>
[[gnu::always_inline]] inline void channels_of(const PoolPixel<T>& p, int64_t c, T* best, int64_t* place) {
  constexpr int W = kWidth<T>;
  Best<T> b[N];
  for (Best<T>& one : b) one = {splat(p.lowest), splat(p.first)};
  for (int64_t k = 0; k < p.n; ++k) {
    const T* from = p.pixels[k] + c;
    const Vec<Place<T>> at = splat(p.places[k]);
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) b[i].look_at(load(from + i * W), at);
  }
  Place<T> places[N * W];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    store(best + c + i * W, b[i].value);
    store(places + i * W, b[i].place);
  }
  for (int i = 0; i < N * W; ++i) place[c + i] = places[i];
}

template <class T>
void max_pixel(const PoolPixel<T>& p, T* best, int64_t* place) {
  constexpr int W = kWidth<T>;
  int64_t c = 0;
  for (; c + 4 * W <= p.channels; c += 4 * W) channels_of<T, 4>(p, c, best, place);
  for (; c + W <= p.channels; c += W) channels_of<T, 1>(p, c, best, place);
  if (c == p.channels) return;
  if (p.channels >= W) return channels_of<T, 1>(p, p.channels - W, best, place);  // some a second time
  const int64_t n = p.channels;
  Best<T> b{splat(p.lowest), splat(p.first)};
  for (int64_t k = 0; k < p.n; ++k) {
    if constexpr (std::is_floating_point_v<T>) {
      b.look_at(load_part(p.pixels[k], n, p.lowest), splat(p.places[k]));
    } else {
      Vec<T> v = splat(p.lowest);
      for (int i = 0; i < W; ++i)
        if (i < n) v[i] = p.pixels[k][i];
      b.look_at(v, splat(p.places[k]));
    }
  }
  if constexpr (std::is_floating_point_v<T>) store_part(best, b.value, n);
  T values[W];
  Place<T> places[W];
  store(values, b.value);
  store(places, b.place);
  for (int64_t i = 0; i < n; ++i) place[i] = places[i];
  if constexpr (!std::is_floating_point_v<T>)
    for (int64_t i = 0; i < n; ++i) best[i] = values[i];
}

template <class T>
void widen(const Place<T>* __restrict from, int64_t* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// Integers wrap around.
template <class T>
using Wrapping = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t,
                                    std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>>;
template <class T>
[[gnu::always_inline]] inline Vec<T> plus(const Vec<T>& a, const Vec<T>& b) {
  using U = Vec<Wrapping<T>>;
  return Vec<T>(U(a) + U(b));
}

template <class T, int kStride>
void sum_row_of(const PoolRow<T>& r, T* sum) {
  constexpr int W = kWidth<T>;
  const int64_t stride = kStride ? kStride : r.stride;
  for (int64_t x = 0; x < r.out; x += W) {
    Vec<T> total{};
    for (int64_t k = 0; k < r.n_rows; ++k) {
      const T* row = r.rows[k] + x * stride;
      for (int64_t j = 0; j < r.kernel; ++j, row += r.dilation) total = plus<T>(total, load_every(row, stride));
    }
    store(sum + x, total);
  }
}
template <class T>
void sum_row(const PoolRow<T>& r, T* sum) {
  if (r.stride == 1) sum_row_of<T, 1>(r, sum);
  else if (r.stride == 2) sum_row_of<T, 2>(r, sum);
  else sum_row_of<T, 0>(r, sum);
}

template <class T>
void sum_pixel(const PoolPixel<T>& p, T* sum) {
  constexpr int W = kWidth<T>;
  auto some = [&](auto count, int64_t c) {
    constexpr int N = decltype(count)::value;
    Vec<T> total[N] = {};
    for (int64_t k = 0; k < p.n; ++k) {
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) total[i] = plus<T>(total[i], load(p.pixels[k] + c + i * W));
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) store(sum + c + i * W, total[i]);
  };
  int64_t c = 0;
  for (; c + 4 * W <= p.channels; c += 4 * W) some(std::integral_constant<int, 4>(), c);
  for (; c + W <= p.channels; c += W) some(std::integral_constant<int, 1>(), c);
  if (c == p.channels) return;
  if (p.channels >= W) return some(std::integral_constant<int, 1>(), p.channels - W);
  for (c = 0; c < p.channels; ++c) {
    Wrapping<T> total = 0;
    for (int64_t k = 0; k < p.n; ++k) total += static_cast<Wrapping<T>>(p.pixels[k][c]);
    sum[c] = static_cast<T>(total);
  }
}

}  // namespace

template <class T>
PoolKernels<T> pool_kernels() {
  return {&max_row<T>, &max_pixel<T>, &widen<T>, &sum_row<T>, &sum_pixel<T>};
}
template PoolKernels<float> pool_kernels<float>();
template PoolKernels<double> pool_kernels<double>();
template PoolKernels<int32_t> pool_kernels<int32_t>();
template PoolKernels<int64_t> pool_kernels<int64_t>();

}  // namespace fc::cpu::FC_ISA
