// SPDX-License-Identifier: Apache-2.0
// The gather and scatter families. Trailing dimensions that the index does not vary along, and that lie densely in
// both operands, move as one block: index_select and embedding copy whole rows this way.
//
// Scatter gives the same bits for any number of threads: a position is written by one thread only, which goes through
// the index in order. Threads share either lines (all that `dim` leaves) or, if there are few, ranges of destinations.
#include <algorithm>
#include <complex>
#include <cstring>

#include "backends/cpu/register.h"
#include "core/error.h"
#include "core/half.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "dispatch/family_table.h"

namespace fc::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

[[noreturn]] void out_of_bounds(int64_t index, int64_t dim, int64_t size) {
  raise<IndexError>("index ", index, " is out of bounds for dimension ", dim, " with size ", size);
}

int64_t read_index(const char* p) {
  int64_t i;
  std::memcpy(&i, p, sizeof i);
  return i;
}

// Bytes of the trailing block; nd becomes the number of dimensions before it.
int64_t trailing_block(int& nd, int dim, const int64_t* shape, const fc_operand& a, const fc_operand& b,
                       const fc_operand& index, int64_t item) {
  int64_t block = item;
  while (nd - 1 > dim) {
    int d = nd - 1;
    if (shape[d] != 1 && (index.strides[d] != 0 || a.strides[d] != block || b.strides[d] != block)) break;
    block *= shape[d];
    --nd;
  }
  return block;
}

struct GatherRow {
  char* out;
  const char* in;
  const char* index;
  int64_t out_step, in_step, index_step;  // along the row
  int64_t in_dim;                         // bytes per unit of index
  int64_t n, size, dim, block;
};

// Rows are passed by value: nothing that is written can be part of them, and they stay in registers.
template <size_t N>
void gather_row(const GatherRow row) {
  const GatherRow r = row;
  if constexpr (N == 4 || N == 8) {
    using U = std::conditional_t<N == 4, uint32_t, uint64_t>;
    if (r.out_step == N && r.in_dim == N && r.in_step == 0 && r.index_step == sizeof(int64_t)) {
      auto* __restrict out = reinterpret_cast<U*>(r.out);
      const auto* in = reinterpret_cast<const U*>(r.in);
      const auto* index = reinterpret_cast<const int64_t*>(r.index);
      for (int64_t i = 0; i < r.n; ++i) {
        if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(r.size)) [[unlikely]]
          out_of_bounds(index[i], r.dim, r.size);
        out[i] = in[index[i]];
      }
      return;
    }
  }
  for (int64_t i = 0; i < r.n; ++i) {
    int64_t at = read_index(r.index + i * r.index_step);
    if (at < 0 || at >= r.size) [[unlikely]]
      out_of_bounds(at, r.dim, r.size);
    const char* from = r.in + i * r.in_step + at * r.in_dim;
    if constexpr (N != 0) std::memcpy(r.out + i * r.out_step, from, N);
    else std::memcpy(r.out + i * r.out_step, from, static_cast<size_t>(r.block));
  }
}

using GatherFn = void (*)(GatherRow);
GatherFn pick_gather(int64_t block) {
  switch (block) {
    case 1: return gather_row<1>;
    case 2: return gather_row<2>;
    case 4: return gather_row<4>;
    case 8: return gather_row<8>;
    case 16: return gather_row<16>;
    default: return gather_row<0>;
  }
}

// Coordinates of a position in row-major order over some dimensions, and where three operands are there.
struct Cursor {
  int n = 0;
  int64_t shape[kMaxRank + 1], index[kMaxRank + 1],
      strides[3][kMaxRank + 1];  // one more: callers start with a dimension of one
  char* at[3];

  void add(int64_t size, int64_t a, int64_t b, int64_t c) {
    shape[n] = size;
    strides[0][n] = a;
    strides[1][n] = b;
    strides[2][n] = c;
    ++n;
  }
  void go_to(int64_t position) {
    for (int d = n; d-- > 0;) {
      index[d] = position % shape[d];
      position /= shape[d];
      for (int k = 0; k < 3; ++k) at[k] += index[d] * strides[k][d];
    }
  }
  void advance(int64_t steps) {  // along the last dimension, not beyond its end
    int d = n - 1;
    index[d] += steps;
    for (int k = 0; k < 3; ++k) at[k] += steps * strides[k][d];
    for (; d > 0 && index[d] == shape[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
      for (int k = 0; k < 3; ++k) at[k] += strides[k][d - 1] - shape[d] * strides[k][d];
    }
  }
};

// Whether some index lies outside [0, size). For size >= 1: index or size - 1 - index is negative then, and signs are
// collected without a comparison, which vectors of the baseline do not have for 64 bits.
bool any_outside(const char* at, int64_t step, int64_t n, int64_t size) {
  if (size == 0) return n > 0;
  const auto last = static_cast<uint64_t>(size) - 1;
  uint64_t signs = 0;
  if (step == sizeof(int64_t)) {
    const auto* index = reinterpret_cast<const uint64_t*>(at);
    for (int64_t i = 0; i < n; ++i) signs |= index[i] | (last - index[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<uint64_t>(read_index(at + i * step));
      signs |= index | (last - index);
    }
  }
  return signs >> 63;
}

// Before anything is written: every index must be in range. Dimensions that repeat the index are skipped.
void check_indices(const fc_scatter& c) {
  Cursor all;
  int64_t total = 1;
  all.add(1, 0, 0, 0);
  for (int d = 0; d < c.ndim; ++d) {
    if (c.shape[d] == 0) return;
    if (c.index.strides[d] == 0) continue;
    all.add(c.shape[d], c.index.strides[d], 0, 0);
    total *= c.shape[d];
  }
  all.at[0] = static_cast<char*>(c.index.data);
  all.at[1] = all.at[2] = nullptr;
  parallel_for(0, total, kGrain, [&](int64_t from, int64_t to) {
    Cursor here = all;
    here.go_to(from);
    int last = here.n - 1;
    while (from < to) {
      int64_t m = std::min(here.shape[last] - here.index[last], to - from);
      const char* at = here.at[0];
      const int64_t step = here.strides[0][last];
      const bool bad = any_outside(at, step, m, c.out_size);
      for (int64_t i = 0; bad && i < m; ++i)
        if (int64_t v = read_index(at + i * step); v < 0 || v >= c.out_size) out_of_bounds(v, c.dim, c.out_size);
      here.advance(m);
      from += m;
    }
  });
}

// --- scatter

struct ScatterRun {
  char* out;
  const char* src;
  const char* index;
  int64_t n, m;                            // positions along dim; lines beside each other
  int64_t out_dim, src_dim, index_dim;     // bytes per step along dim
  int64_t out_line, src_line, index_line;  // bytes per line
  int64_t low, high;                       // destinations that are ours,
  bool all;                                // or all of them
  int64_t block;                           // bytes
  bool along_dim;                          // dim is the inner loop
};

template <class F>
[[gnu::always_inline]] inline void each_destination(const ScatterRun run, const F& f) {
  const ScatterRun r = run;
  auto one = [&](int64_t j, int64_t i) {
    int64_t at = read_index(r.index + j * r.index_dim + i * r.index_line);
    if (at >= r.low && at < r.high) f(r.out + at * r.out_dim + i * r.out_line, r.src + j * r.src_dim + i * r.src_line);
  };
  if (r.along_dim) {
    for (int64_t i = 0; i < r.m; ++i)
      for (int64_t j = 0; j < r.n; ++j) one(j, i);
  } else {
    for (int64_t j = 0; j < r.n; ++j)
      for (int64_t i = 0; i < r.m; ++i) one(j, i);
  }
}

template <size_t N>
void scatter_set(const ScatterRun r) {
  each_destination(r,
                   [&r](char* to, const char* from) { std::memcpy(to, from, N ? N : static_cast<size_t>(r.block)); });
}

struct Half16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
template <class T>
T widen(T v) {
  return v;
}
inline float widen(Half16 v) { return half_to_float(v.bits); }
inline float widen(BFloat16 v) { return bfloat_to_float(v.bits); }
template <class T, class C>
T narrow_to(C v) {
  if constexpr (std::is_same_v<T, Half16>) return {float_to_half(v)};
  else if constexpr (std::is_same_v<T, BFloat16>) return {float_to_bfloat(v)};
  else return static_cast<T>(v);
}

template <class T>
constexpr bool is_complex_type = false;
template <class T>
constexpr bool is_complex_type<std::complex<T>> = true;

// Sums and products of integers wrap, so they are computed without sign.
template <int opcode, class C>
C combine(C a, C b) {
  if constexpr (opcode == FC_SCATTER_ADD || opcode == FC_SCATTER_MUL) {
    if constexpr (std::is_same_v<C, bool>) return opcode == FC_SCATTER_ADD ? a || b : a && b;
    else if constexpr (std::is_integral_v<C>) {
      auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<C>(opcode == FC_SCATTER_ADD ? x + y : x * y);
    } else if constexpr (opcode == FC_SCATTER_ADD) return a + b;
    else return a * b;
  } else if constexpr (!is_complex_type<C>) {
    if constexpr (std::is_floating_point_v<C>)
      if (a != a || b != b) return a != a ? a : b;  // NaN stays
    return opcode == FC_SCATTER_MAX ? std::max(a, b) : std::min(a, b);
  } else {
    return a;
  }
}

template <int opcode, class T>
void scatter_combine(const ScatterRun r) {
  const int64_t size = sizeof(T), count = r.block / size;
  if (count == 1 && r.along_dim && r.index_dim == sizeof(int64_t) && r.src_dim == size && r.out_dim == size) {
    for (int64_t i = 0; i < r.m; ++i) {
      auto* a = reinterpret_cast<T*>(r.out + i * r.out_line);
      const auto* b = reinterpret_cast<const T*>(r.src + i * r.src_line);
      const auto* index = reinterpret_cast<const int64_t*>(r.index + i * r.index_line);
      auto one = [&](int64_t at, int64_t j) { a[at] = narrow_to<T>(combine<opcode>(widen(a[at]), widen(b[j]))); };
      const auto low = static_cast<uint64_t>(r.low), length = static_cast<uint64_t>(r.high - r.low);
      const int64_t n = r.n;
      if (r.all)
        for (int64_t j = 0; j < n; ++j) one(index[j], j);
      else
        for (int64_t j = 0; j < n; ++j)
          if (static_cast<uint64_t>(index[j]) - low < length) one(index[j], j);
    }
    return;
  }
  if (count == 1) {
    each_destination(r, [](char* to, const char* from) {
      auto* a = reinterpret_cast<T*>(to);
      *a = narrow_to<T>(combine<opcode>(widen(*a), widen(*reinterpret_cast<const T*>(from))));
    });
    return;
  }
  each_destination(r, [count](char* to, const char* from) {
    auto* __restrict a = reinterpret_cast<T*>(to);
    const auto* __restrict b = reinterpret_cast<const T*>(from);
    for (int64_t k = 0; k < count; ++k) a[k] = narrow_to<T>(combine<opcode>(widen(a[k]), widen(b[k])));
  });
}

using ScatterFn = void (*)(ScatterRun);

template <int opcode>
ScatterFn pick_combine(DType t) {
  switch (t) {
    case DType::Bool: return scatter_combine<opcode, bool>;
    case DType::UInt8: return scatter_combine<opcode, uint8_t>;
    case DType::Int8: return scatter_combine<opcode, int8_t>;
    case DType::Int16: return scatter_combine<opcode, int16_t>;
    case DType::Int32: return scatter_combine<opcode, int32_t>;
    case DType::Int64: return scatter_combine<opcode, int64_t>;
    case DType::Float16: return scatter_combine<opcode, Half16>;
    case DType::BFloat16: return scatter_combine<opcode, BFloat16>;
    case DType::Float32: return scatter_combine<opcode, float>;
    case DType::Float64: return scatter_combine<opcode, double>;
    default: break;
  }
  if constexpr (opcode == FC_SCATTER_ADD || opcode == FC_SCATTER_MUL) {
    if (t == DType::Complex64) return scatter_combine<opcode, std::complex<float>>;
    if (t == DType::Complex128) return scatter_combine<opcode, std::complex<double>>;
  }
  raise<NotImplementedError>("\"scatter_cpu\" not implemented for '", info(t).legacy, "'");
}

ScatterFn pick_scatter(int opcode, DType t, int64_t block) {
  switch (opcode) {
    case FC_SCATTER_ADD: return pick_combine<FC_SCATTER_ADD>(t);
    case FC_SCATTER_MUL: return pick_combine<FC_SCATTER_MUL>(t);
    case FC_SCATTER_MAX: return pick_combine<FC_SCATTER_MAX>(t);
    case FC_SCATTER_MIN: return pick_combine<FC_SCATTER_MIN>(t);
    default: break;
  }
  switch (block) {
    case 1: return scatter_set<1>;
    case 2: return scatter_set<2>;
    case 4: return scatter_set<4>;
    case 8: return scatter_set<8>;
    case 16: return scatter_set<16>;
    default: return scatter_set<0>;
  }
}

}  // namespace

void gather(void*, Device, const fc_gather& c) {
  int64_t item = static_cast<int64_t>(item_size(static_cast<DType>(c.out.dtype)));
  int nd = c.ndim;
  int64_t block = trailing_block(nd, c.dim, c.shape, c.out, c.in, c.index, item);
  Cursor start;
  int64_t total = 1;
  for (int d = 0; d < nd; ++d) {
    start.add(c.shape[d], c.out.strides[d], d == c.dim ? 0 : c.in.strides[d], c.index.strides[d]);
    total *= c.shape[d];
  }
  if (total == 0 || block == 0) return;
  start.at[0] = static_cast<char*>(c.out.data);
  start.at[1] = static_cast<char*>(c.in.data);
  start.at[2] = static_cast<char*>(c.index.data);
  GatherFn fn = pick_gather(block);
  int last = nd - 1;
  parallel_for(0, total, std::max<int64_t>(kGrain * item / block, 1), [&](int64_t from, int64_t to) {
    Cursor here = start;
    here.go_to(from);
    while (from < to) {
      int64_t m = std::min(here.shape[last] - here.index[last], to - from);
      fn({here.at[0], here.at[1], here.at[2], here.strides[0][last], here.strides[1][last], here.strides[2][last],
          c.in.strides[c.dim], m, c.in_size, c.dim, block});
      here.advance(m);
      from += m;
    }
  });
}

void scatter(void*, Device, const fc_scatter& c) {
  DType dtype = static_cast<DType>(c.out.dtype);
  int64_t item = static_cast<int64_t>(item_size(dtype));
  int nd = c.ndim;
  int64_t block = trailing_block(nd, c.dim, c.shape, c.out, c.src, c.index, item);
  ScatterFn fn = pick_scatter(c.opcode, dtype, block);
  check_indices(c);
  Cursor start;  // over the lines
  int64_t lines = 1, n = c.shape[c.dim];
  start.add(1, 0, 0, 0);
  for (int d = 0; d < nd; ++d) {
    if (d == c.dim) continue;
    start.add(c.shape[d], c.out.strides[d], c.src.strides[d], c.index.strides[d]);
    lines *= c.shape[d];
  }
  if (lines == 0 || n == 0 || block == 0) return;
  start.at[0] = static_cast<char*>(c.out.data);
  start.at[1] = static_cast<char*>(c.src.data);
  start.at[2] = static_cast<char*>(c.index.data);
  int last = start.n - 1;
  auto run = [&](int64_t from, int64_t to, int64_t low, int64_t high) {
    Cursor here = start;
    here.go_to(from);
    while (from < to) {
      int64_t m = std::min(here.shape[last] - here.index[last], to - from);
      fn({here.at[0], here.at[1], here.at[2], n, m, c.out.strides[c.dim], c.src.strides[c.dim], c.index.strides[c.dim],
          here.strides[0][last], here.strides[1][last], here.strides[2][last], low, high,
          low == 0 && high == c.out_size, block, c.dim == nd - 1});
      here.advance(m);
      from += m;
    }
  };
  int64_t work = n * (block / item);  // per line
  if (lines >= 2 * num_threads()) {
    parallel_for(0, lines, std::max<int64_t>(kGrain / work, 1),
                 [&](int64_t from, int64_t to) { run(from, to, 0, c.out_size); });
  } else {
    int64_t grain = lines * work < 2 * kGrain ? c.out_size : (c.out_size + num_threads() - 1) / num_threads();
    parallel_for(0, c.out_size, grain, [&](int64_t low, int64_t high) { run(0, lines, low, high); });
  }
}

}  // namespace fc::cpu
