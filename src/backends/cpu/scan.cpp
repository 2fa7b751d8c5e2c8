// SPDX-License-Identifier: Apache-2.0
// The CPU's scan family. Lines that lie side by side are scanned together, a tile at a time, so that memory is read in
// order. Sums of float32 run in double, as PyTorch's do.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "backends/cpu/register.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "dispatch/family_table.h"
#include "kernels/algebra.h"

namespace fc::cpu {
namespace {

constexpr int64_t kTile = 256, kAbreast = 2;  // lines at a time: across them, along them

struct Lines {  // n elements along the line, m lines
  const char* in;
  char *out, *indices;
  int64_t n, m, in_step, out_step, index_step, in_line, out_line, index_line;  // bytes
};
using LinesFn = void (*)(const Lines&);

struct Add {
  template <class A>
  static A apply(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>)
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};
struct Multiply {
  template <class A>
  static A apply(A a, A b) {
    return math::times(a, b);
  }
};
struct LogAdd {  // log(e^a + e^b)
  template <class A>
  static A apply(A a, A b) {
    if (a != a || b != b) return std::numeric_limits<A>::quiet_NaN();
    A high = a < b ? b : a, low = a < b ? a : b;
    return high == low && std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
  }
  template <class R>
  static std::complex<R> apply(std::complex<R> a, std::complex<R> b) {
    auto is_nan = [](const std::complex<R>& z) { return z.real() != z.real() || z.imag() != z.imag(); };
    if (is_nan(a) || is_nan(b)) return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
    const bool swap = a.real() < b.real();
    const std::complex<R> high = swap ? b : a, low = swap ? a : b;
    if (high.real() == low.real() && std::isinf(high.real()))
      return high.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
    return high + std::log(R(1) + std::exp(low - high));
  }
};

// What a line has come to.
template <class Op, class T, class Wide>
struct Fold {
  using Item = T;
  Wide sum;
  void start(T x) { sum = static_cast<Wide>(x); }
  void next(T x, int64_t) { sum = Op::apply(sum, static_cast<Wide>(x)); }
  void write(char* out, char*) const { *reinterpret_cast<T*>(out) = static_cast<T>(sum); }
};
// Of equal elements the last one counts; a NaN stays, and its index is the last NaN's.
template <bool max, class T>
struct Extreme {
  using Item = T;
  T best;
  int64_t position;
  void start(T x) {
    best = x;
    position = 0;
  }
  void next(T x, int64_t i) {
    const bool later = x != x || (best == best && (max ? x >= best : x <= best));
    if (!later) return;
    best = x;
    position = i;
  }
  void write(char* out, char* index) const {
    *reinterpret_cast<T*>(out) = best;
    *reinterpret_cast<int64_t*>(index) = position;
  }
};

// m lines in step from element to element.
template <class State>
[[gnu::always_inline]] inline void scan_together(const Lines& l, int64_t first, int64_t m, State* state) {
  const char* in = l.in + first * l.in_line;
  char *out = l.out + first * l.out_line, *indices = l.indices + first * l.index_line;
  auto at = [&](int64_t j) { return *reinterpret_cast<const typename State::Item*>(in + j * l.in_line); };
  for (int64_t j = 0; j < m; ++j) {
    state[j].start(at(j));
    state[j].write(out + j * l.out_line, indices + j * l.index_line);
  }
  for (int64_t i = 1; i < l.n; ++i) {
    in += l.in_step;
    out += l.out_step;
    indices += l.index_step;
    for (int64_t j = 0; j < m; ++j) {
      state[j].next(at(j), i);
      state[j].write(out + j * l.out_line, indices + j * l.index_line);
    }
  }
}
// Along the lines, a few of them in registers: each element waits for the one before it, but not for another line's.
template <class State>
void scan_lines(const Lines& l) {
  if (l.m > kAbreast) {
    State state[kTile];
    scan_together(l, 0, l.m, state);
    return;
  }
  State state[kAbreast];
  if (l.m == kAbreast) return scan_together(l, 0, kAbreast, state);
  for (int64_t j = 0; j < l.m; ++j) scan_together(l, j, 1, state);
}

template <class Op>
LinesFn accumulating(DType t) {
  switch (t) {
    case DType::Int64: return scan_lines<Fold<Op, int64_t, int64_t>>;
    case DType::Float32: return scan_lines<Fold<Op, float, double>>;
    case DType::Float64: return scan_lines<Fold<Op, double, double>>;
    case DType::Complex64: return scan_lines<Fold<Op, std::complex<float>, std::complex<double>>>;
    case DType::Complex128: return scan_lines<Fold<Op, std::complex<double>, std::complex<double>>>;
    default: return nullptr;
  }
}
template <bool max>
LinesFn comparing(DType t) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8: return scan_lines<Extreme<max, uint8_t>>;
    case DType::Int8: return scan_lines<Extreme<max, int8_t>>;
    case DType::Int16: return scan_lines<Extreme<max, int16_t>>;
    case DType::Int32: return scan_lines<Extreme<max, int32_t>>;
    case DType::Int64: return scan_lines<Extreme<max, int64_t>>;
    case DType::Float32: return scan_lines<Extreme<max, float>>;
    case DType::Float64: return scan_lines<Extreme<max, double>>;
    default: return nullptr;
  }
}
LinesFn pick(int opcode, DType t) {
  switch (opcode) {
    case FC_SCAN_SUM: return accumulating<Add>(t);
    case FC_SCAN_PROD: return accumulating<Multiply>(t);
    case FC_SCAN_MAX: return comparing<true>(t);
    case FC_SCAN_MIN: return comparing<false>(t);
    default:
      return t == DType::Float32      ? scan_lines<Fold<LogAdd, float, float>>
             : t == DType::Float64    ? scan_lines<Fold<LogAdd, double, double>>
             : t == DType::Complex64  ? scan_lines<Fold<LogAdd, std::complex<float>, std::complex<float>>>
             : t == DType::Complex128 ? scan_lines<Fold<LogAdd, std::complex<double>, std::complex<double>>>
                                      : nullptr;
  }
}

}  // namespace

void scan(void*, Device, const fc_scan& c) {
  DType type = static_cast<DType>(c.in.dtype);
  LinesFn fn = pick(c.opcode, type);
  constexpr const char* names[] = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"};
  FC_CHECK_AS(NotImplementedError, fn, "\"", names[c.opcode], "_cpu\" not implemented for '", info(type).legacy, "'");
  // The dimension with the smallest stride, other than the scanned one, runs across the tile.
  int across = -1;
  int64_t lines = 1;
  for (int d = 0; d < c.ndim; ++d) {
    if (d == c.dim || c.shape[d] == 1) continue;
    lines *= c.shape[d];
    if (across < 0 || std::abs(c.in.strides[d]) <= std::abs(c.in.strides[across])) across = d;
  }
  const int64_t n = c.shape[c.dim], width = across < 0 ? 1 : c.shape[across];
  // Along the line when that is contiguous, so that a tile does not stride over memory.
  const bool crosswise = across >= 0 && std::abs(c.in.strides[across]) < std::abs(c.in.strides[c.dim]);
  const int64_t tile = std::min(width, crosswise ? kTile : kAbreast);
  const int64_t tiles = (width + tile - 1) / tile;
  auto stride = [](const fc_operand& o, int d) { return o.data && d >= 0 ? o.strides[d] : 0; };
  parallel_for(0, lines / width * tiles, std::max<int64_t>(16384 / (n * tile), 1), [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) {
      int64_t rest = k / tiles, first = k % tiles * tile;
      int64_t in = first * stride(c.in, across), out = first * stride(c.out, across),
              index = first * stride(c.indices, across);
      for (int d = c.ndim; d-- > 0;) {
        if (d == c.dim || d == across || c.shape[d] == 1) continue;
        int64_t i = rest % c.shape[d];
        rest /= c.shape[d];
        in += i * c.in.strides[d];
        out += i * c.out.strides[d];
        index += i * stride(c.indices, d);
      }
      fn({static_cast<const char*>(c.in.data) + in, static_cast<char*>(c.out.data) + out,
          c.indices.data ? static_cast<char*>(c.indices.data) + index : nullptr, n, std::min(tile, width - first),
          c.in.strides[c.dim], c.out.strides[c.dim], stride(c.indices, c.dim), stride(c.in, across),
          stride(c.out, across), stride(c.indices, across)});
    }
  });
}

}  // namespace fc::cpu
