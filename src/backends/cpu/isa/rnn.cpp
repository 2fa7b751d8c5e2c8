// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/rnn.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/isa.h"
#include "backends/cpu/isa/product_tile.h"
#include "kernels/algebra.h"
#include "plan/rnn_modes.h"

namespace fc::cpu::FC_ISA {
namespace {

constexpr int kGates = 4;
template <class T>
constexpr int kUnits = kTileVectors* kWidth<T>;

// What formulas are applied to: vectors, or numbers in loops that the compiler vectorises (kernels/lanes.h).
template <class T>
using Lane = std::conditional_t<math::own::is_wide<Vec<T>>, Vec<T>, T>;
template <class T>
constexpr int kLane = sizeof(Lane<T>) / sizeof(T);
template <class T>
FC_INLINE Lane<T> get(const T* p) {
  Lane<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
FC_INLINE void put(T* p, Lane<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Pieces of nearly equal height.
int64_t rows_of_piece(int64_t n) {
  const int64_t pieces = (n + kTileRows - 1) / kTileRows;
  return (n + pieces - 1) / std::max<int64_t>(pieces, 1);
}

template <class T>
void multiply(int64_t rows, int64_t k, const T* a, int64_t a_row, const T* panel, T* out) {
  tile_of<T, false>(rows)(k, a, a_row, 1, panel, kUnits<T>, out);
}

template <class T>
void pack(const void* weights, int64_t unit_stride, int64_t depth_stride, int64_t hidden, int64_t depth,
          int64_t gate_count, int64_t block, void* panels) {
  constexpr int64_t width = kUnits<T>;
  const int64_t first = block * width, count = std::min(width, hidden - first);
  T* to = static_cast<T*>(panels) + block * gate_count * depth * width;
  for (int64_t g = 0; g < gate_count; ++g, to += depth * width) {
    const T* from = static_cast<const T*>(weights) + (g * hidden + first) * unit_stride;
    int64_t done = 0;
    if (depth_stride == 1)
      for (; done + 4 <= count; done += 4)
        interleave(to + done, width, reinterpret_cast<const char*>(from + done * unit_stride),
                   unit_stride * static_cast<int64_t>(sizeof(T)), depth);
    for (int64_t q = 0; q < depth; ++q) {
      for (int64_t i = done; i < count; ++i) to[q * width + i] = from[i * unit_stride + q * depth_stride];
      for (int64_t i = count; i < width; ++i) to[q * width + i] = T(0);
    }
  }
}

// A row's units of a block, where they lie or, if the block is not full, in a copy of full width that `put_back`
// writes.
template <class T, int most>
struct Units {
  static constexpr int width = kUnits<T>;
  T copy[most][width];
  T *at[most], *home[most];
  int64_t count;
  int used = 0;
  explicit Units(int64_t n) : count(n) {}
  T* operator()(const T* p) {
    T* own = const_cast<T*>(p);
    home[used] = own;
    if (count < width) {
      std::memcpy(copy[used], p, static_cast<size_t>(count) * sizeof(T));
      std::memset(copy[used] + count, 0, static_cast<size_t>(width - count) * sizeof(T));
      own = copy[used];
    }
    at[used++] = own;
    return own;
  }
  void put_back(int first, int last) {
    if (count < width)
      for (int i = first; i < last; ++i) std::memcpy(home[i], at[i], static_cast<size_t>(count) * sizeof(T));
  }
};

template <class T>
void step(const RnnStep& s, int64_t block, int64_t row) {
  constexpr int64_t width = kUnits<T>;
  const int64_t hidden = s.hidden, first = block * width, count = std::min(width, hidden - first);
  const int64_t rows = std::min(rows_of_piece(s.n), s.n - row);
  T sums[kGates][kTileRows * width];
  const T* panels = static_cast<const T*>(s.panels) + block * s.gate_count * hidden * width;
  for (int64_t g = 0; g < s.gate_count; ++g)
    multiply(rows, hidden, static_cast<const T*>(s.state) + row * hidden, hidden, panels + g * hidden * width, sums[g]);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t at = (row + i) * hidden + first;
    const T* sum[kGates];
    for (int g = 0; g < kGates; ++g) sum[g] = sums[g] + i * width;
    T* gate_row = static_cast<T*>(s.gates) + (row + i) * s.gate_count * hidden + first;
    Units<T, 12> u(count);
    T* g[kGates] = {};
    for (int64_t j = 0; j < s.gate_count; ++j) g[j] = u(gate_row + j * hidden);
    T *out = u(static_cast<T*>(s.out) + at), *next = u(static_cast<T*>(s.next) + at);
    if (s.mode == kLstm) {
      T *cell = u(static_cast<T*>(s.cells) + at), *c = u(static_cast<T*>(s.c) + at);
      FC_IVDEP
      for (int l = 0; l < width; l += kLane<T>) {
        const Lane<T> in = math::logistic(get(g[0] + l) + get(sum[0] + l)),
                      keep = math::logistic(get(g[1] + l) + get(sum[1] + l)),
                      fresh = math::tanh(get(g[2] + l) + get(sum[2] + l)),
                      show = math::logistic(get(g[3] + l) + get(sum[3] + l));
        const Lane<T> now = keep * get(c + l) + in * fresh, h = show * math::tanh(now);
        put(g[0] + l, in), put(g[1] + l, keep), put(g[2] + l, fresh), put(g[3] + l, show);
        put(cell + l, now), put(c + l, now), put(out + l, h), put(next + l, h);
      }
    } else if (s.mode == kGru) {
      T* cell = u(static_cast<T*>(s.cells) + at);
      const int written = u.used;
      const T *h = u(static_cast<const T*>(s.state) + at), *bias[3];
      static constexpr T none[width] = {};
      for (int j = 0; j < 3; ++j)
        bias[j] = s.b_hh ? u(static_cast<const T*>(s.b_hh) + j * hidden + first) : static_cast<const T*>(none);
      FC_IVDEP
      for (int l = 0; l < width; l += kLane<T>) {
        const Lane<T> reset = math::logistic(get(g[0] + l) + (get(sum[0] + l) + get(bias[0] + l))),
                      keep = math::logistic(get(g[1] + l) + (get(sum[1] + l) + get(bias[1] + l))),
                      from_h = get(sum[2] + l) + get(bias[2] + l), fresh = math::tanh(get(g[2] + l) + reset * from_h);
        const Lane<T> now = fresh + keep * (get(h + l) - fresh);
        put(g[0] + l, reset), put(g[1] + l, keep), put(g[2] + l, fresh);
        put(cell + l, from_h), put(out + l, now), put(next + l, now);
      }
      u.put_back(0, written);
      continue;
    } else if (s.mode == kTanh) {
      FC_IVDEP
      for (int l = 0; l < width; l += kLane<T>) {
        const Lane<T> h = math::tanh(get(g[0] + l) + get(sum[0] + l));
        put(out + l, h), put(next + l, h);
      }
    } else {
      FC_IVDEP
      for (int l = 0; l < width; ++l) {
        const T h = g[0][l] + sum[0][l];
        out[l] = next[l] = h <= T(0) ? T(0) : h;
      }
    }
    u.put_back(0, u.used);
  }
}

template <class T>
void back(const RnnBackStep& s, int64_t block, int64_t row) {
  constexpr int64_t width = kUnits<T>;
  const int64_t hidden = s.hidden, depth = s.gate_count * hidden, first = block * width,
                count = std::min(width, hidden - first), all = std::max(s.n, s.later_n),
                rows = std::min(rows_of_piece(all), all - row), multiplied = std::min(rows, s.later_n - row);
  T sums[kTileRows * width];
  if (multiplied > 0)
    multiply(multiplied, depth, static_cast<const T*>(s.later) + row * depth, depth,
             static_cast<const T*>(s.panels) + block * depth * width, sums);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t r = row + i, at = r * hidden + first;
    Units<T, 14> u(count);
    T* carry = u(static_cast<T*>(s.carry) + at);
    T dh[width];
    if (i >= multiplied) std::memcpy(dh, u(static_cast<const T*>(s.g_hy) + at), sizeof dh);
    else if (s.mode == kGru)
      for (int l = 0; l < width; ++l) dh[l] = sums[i * width + l] + carry[l];
    else std::memcpy(dh, sums + i * width, sizeof dh);
    if (r >= s.n) {  // this row begins after the step
      std::memcpy(static_cast<T*>(s.dhx) + at, dh, static_cast<size_t>(count) * sizeof(T));
      continue;
    }
    if (s.g_out) {
      const T* g = u(static_cast<const T*>(s.g_out) + at);
      for (int l = 0; l < width; ++l) dh[l] += g[l];
    }
    const T *gate[kGates] = {}, *before = nullptr, *cell = nullptr;
    const int64_t at_gates = r * depth + first;
    if (s.mode >= kLstm) {
      for (int64_t j = 0; j < s.gate_count; ++j) gate[j] = u(static_cast<const T*>(s.gates) + at_gates + j * hidden);
      cell = u(static_cast<const T*>(s.cells) + at);
      before = u(static_cast<const T*>(r < s.before_n ? s.before : s.initial) + at);
    }
    T* to = static_cast<T*>(s.flow) + at_gates;
    T flow[kGates][width];
    if (s.mode == kLstm) {
      FC_IVDEP
      for (int l = 0; l < width; l += kLane<T>) {
        const Lane<T> in = get(gate[0] + l), keep = get(gate[1] + l), fresh = get(gate[2] + l), show = get(gate[3] + l),
                      shown = math::tanh(get(cell + l)), d = get(dh + l), one = T(1) - Lane<T>{};
        const Lane<T> dc = get(carry + l) + d * show * (one - shown * shown);
        put(flow[0] + l, dc * fresh * in * (one - in));
        put(flow[1] + l, dc * get(before + l) * keep * (one - keep));
        put(flow[2] + l, dc * in * (one - fresh * fresh));
        put(flow[3] + l, d * shown * show * (one - show));
        put(carry + l, dc * keep);
      }
    } else if (s.mode == kGru) {
      T own[width];
      for (int l = 0; l < width; ++l) {
        const T reset = gate[0][l], keep = gate[1][l], fresh = gate[2][l], d = dh[l];
        const T last = d * (T(1) - keep) * (T(1) - fresh * fresh);
        own[l] = last;
        flow[0][l] = last * cell[l] * reset * (T(1) - reset);
        flow[1][l] = d * (before[l] - fresh) * keep * (T(1) - keep);
        flow[2][l] = last * reset;
        carry[l] = d * keep;
      }
      std::memcpy(static_cast<T*>(s.own) + at, own, static_cast<size_t>(count) * sizeof(T));
    } else {
      const T* h = u(static_cast<const T*>(s.out) + at);
      for (int l = 0; l < width; ++l)
        flow[0][l] = s.mode == kTanh ? dh[l] * (T(1) - h[l] * h[l]) : h[l] > T(0) ? dh[l] : T(0);
    }
    for (int64_t j = 0; j < s.gate_count; ++j)
      std::memcpy(to + j * hidden, flow[j], static_cast<size_t>(count) * sizeof(T));
    u.put_back(0, 1);
  }
}

template <class T>
RnnKernels of() {
  return {kUnits<T>, rows_of_piece, pack<T>, step<T>, back<T>};
}

}  // namespace

RnnKernels rnn_kernels(bool is_double) { return is_double ? of<double>() : of<float>(); }

}  // namespace fc::cpu::FC_ISA
