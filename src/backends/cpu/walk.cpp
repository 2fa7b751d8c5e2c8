// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/walk.h"

#include <algorithm>
#include <cstring>

#include "core/tensor.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

constexpr int64_t kBufferBytes = 4096;
constexpr int64_t kLongRow = 64;  // elements; worth a call of its own

struct Plan {
  int ndim = 0;
  int64_t shape[kMaxRank + 1];
  int64_t strides[kMaxOperands][kMaxRank + 1];  // innermost dimension first
};

// Innermost first: the dimension with the smallest strides becomes the row; dimensions that continue each other merge.
void make_plan(const Walk& w, Plan& p) {
  int order[kMaxRank];
  int n = 0;
  for (int d = w.ndim; d-- > 0;)
    if (w.shape[d] != 1) order[n++] = d;
  auto further_out = [&](int a, int b) {  // is a further out than b?
    for (int k = 0; k < w.n_operands; ++k) {
      int64_t sa = std::abs(w.operands[k].strides[a]), sb = std::abs(w.operands[k].strides[b]);
      if (sa == 0 || sb == 0 || sa == sb) continue;
      return sa > sb;
    }
    return false;
  };
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && further_out(order[j - 1], order[j]); --j) std::swap(order[j - 1], order[j]);
  for (int i = 0; i < n; ++i) {
    int d = order[i];
    if (p.ndim > 0) {
      int last = p.ndim - 1;
      bool continues = true;
      for (int k = 0; k < w.n_operands; ++k)
        continues &= w.operands[k].strides[d] == p.strides[k][last] * p.shape[last];
      if (continues) {
        p.shape[last] *= w.shape[d];
        continue;
      }
    }
    p.shape[p.ndim] = w.shape[d];
    for (int k = 0; k < w.n_operands; ++k) p.strides[k][p.ndim] = w.operands[k].strides[d];
    ++p.ndim;
  }
  while (p.ndim < 2) {
    p.shape[p.ndim] = 1;
    for (int k = 0; k < w.n_operands; ++k) p.strides[k][p.ndim] = 0;
    ++p.ndim;
  }
}

// Copies a block of n1 rows of n0 elements of N bytes; each side has two strides.
template <size_t N>
void move_block(char* dst, int64_t d0, int64_t d1, const char* src, int64_t s0, int64_t s1, int64_t n0, int64_t n1) {
  for (int64_t j = 0; j < n1; ++j, dst += d1, src += s1) {
    if (d0 == N && s0 == N) {
      std::memcpy(dst, src, static_cast<size_t>(n0) * N);
    } else {
      for (int64_t i = 0; i < n0; ++i) std::memcpy(dst + i * d0, src + i * s0, N);
    }
  }
}

// One operand of a flat kernel: what its elements need to pass through a buffer.
struct Stage {
  CastFn cast = nullptr;  // null: only moved
  CastFn spread;          // the same from one element to many; conversions know the widest stores of the machine
  int64_t item, stored;   // bytes of an element as the kernel sees it, and in memory

  Stage() = default;
  Stage(const WalkOperand& o, bool result)
      : spread(cast_fn(o.dtype, o.kernel_dtype)),
        item(static_cast<int64_t>(item_size(o.kernel_dtype))),
        stored(static_cast<int64_t>(item_size(o.dtype))) {
    if (o.dtype != o.kernel_dtype) cast = result ? cast_fn(o.kernel_dtype, o.dtype) : spread;
  }
  void move(char* dst, int64_t d0, int64_t d1, const char* src, int64_t s0, int64_t s1, int64_t n0, int64_t n1) const {
    if (cast) {
      if (d1 == n0 * d0 && s1 == n0 * s0) n0 *= n1, n1 = 1;
      for (int64_t j = 0; j < n1; ++j) cast(dst + j * d1, d0, src + j * s1, s0, n0);
      return;
    }
    switch (item) {
      case 1: return move_block<1>(dst, d0, d1, src, s0, s1, n0, n1);
      case 2: return move_block<2>(dst, d0, d1, src, s0, s1, n0, n1);
      case 4: return move_block<4>(dst, d0, d1, src, s0, s1, n0, n1);
      case 8: return move_block<8>(dst, d0, d1, src, s0, s1, n0, n1);
      default: return move_block<16>(dst, d0, d1, src, s0, s1, n0, n1);
    }
  }
  void gather(char* buffer, const char* src, int64_t s0, int64_t s1, int64_t n0, int64_t n1) const {
    if (s0 != 0) return move(buffer, item, n0 * item, src, s0, s1, n0, n1);
    if (s1 == 0) n0 *= n1, n1 = 1;
    for (int64_t j = 0; j < n1; ++j) spread(buffer + j * n0 * item, item, src + j * s1, 0, n0);
  }
  void scatter(char* dst, int64_t d0, int64_t d1, const char* buffer, int64_t n0, int64_t n1) const {
    move(dst, d0, d1, buffer, item, n0 * item, n0, n1);
  }
};

class FlatRunner {
 public:
  FlatRunner(const Walk& walk, const Plan& plan, FlatFn f) : w(walk), p(plan), fn(f) {
    int64_t widest = 1;
    for (int k = 0; k < w.n_operands; ++k) {
      stages[k] = Stage(w.operands[k], k == 0);
      widest = std::max(widest, stages[k].item);
    }
    chunk = kBufferBytes / widest;
  }

  void tile(char* const* pointers, int64_t n0, int64_t n1) const {
    bool row[kMaxOperands], whole[kMaxOperands];  // needs no buffer within a row, in the whole tile
    bool all_rows = true, all_whole = true, gaps = false;
    for (int k = 0; k < w.n_operands; ++k) {
      const int64_t s0 = p.strides[k][0];
      row[k] = !stages[k].cast && (n0 == 1 || s0 == stages[k].item);
      whole[k] = row[k] && (n1 == 1 || p.strides[k][1] == n0 * stages[k].item);
      all_rows &= row[k];
      all_whole &= whole[k];
      gaps |= s0 != 0 && s0 != stages[k].stored;
    }
    if (all_whole) {
      fn(pointers, n0 * n1, w.params);
      return;
    }
    if (n0 >= kLongRow)
      for (int k : {1, 2})
        if (w.with_constant && w.with_constant[k - 1] && p.strides[k][0] == 0 && !stages[k].cast && row[0] &&
            row[3 - k])
          return rows(w.with_constant[k - 1], pointers, n0, n1);
    Buffers buffers;
    const int64_t columns = all_rows ? n0 : chunk;
    if (n1 > 1 && n0 <= chunk / 2) {  // short rows: several in one go
      for (int64_t j = 0, m; j < n1; j += m) {
        m = std::min(chunk / n0, n1 - j);
        piece(pointers, whole, buffers, 0, j, n0, m);
      }
    } else if (gaps) {
      // The same columns of all rows before the next columns: what a strided operand brings into the cache with this
      // row, the following rows use.
      for (int64_t i = 0; i < n0; i += columns)
        for (int64_t j = 0; j < n1; ++j) piece(pointers, row, buffers, i, j, std::min(columns, n0 - i), 1);
    } else {
      for (int64_t j = 0; j < n1; ++j)
        for (int64_t i = 0; i < n0; i += columns) piece(pointers, row, buffers, i, j, std::min(columns, n0 - i), 1);
    }
  }

 private:
  struct Buffers {
    const char* constant[kMaxOperands] = {};  // the element that a buffer holds nothing but copies of,
    int64_t copies[kMaxOperands];             // and how many
    alignas(64) char data[kMaxOperands][kBufferBytes];
  };

  void rows(FlatFn f, char* const* pointers, int64_t n0, int64_t n1) const {
    char* at[kMaxOperands];
    for (int64_t j = 0; j < n1; ++j) {
      for (int k = 0; k < w.n_operands; ++k) at[k] = pointers[k] + j * p.strides[k][1];
      f(at, n0, w.params);
    }
  }

  // Elements [i, i + n0) of rows [j, j + n1).
  void piece(char* const* pointers, const bool* direct, Buffers& b, int64_t i, int64_t j, int64_t n0,
             int64_t n1) const {
    char* at[kMaxOperands] = {};
    char* out = nullptr;
    for (int k = 0; k < w.n_operands; ++k) {
      const int64_t s0 = p.strides[k][0], s1 = p.strides[k][1];
      char* here = pointers[k] + i * s0 + j * s1;
      at[k] = direct[k] ? here : b.data[k];
      if (direct[k]) continue;
      const bool constant = s0 == 0 && (s1 == 0 || n1 == 1);
      if (k == 0) {
        out = here;
      } else if (!constant || b.constant[k] != here || b.copies[k] < n0 * n1) {
        stages[k].gather(b.data[k], here, s0, s1, n0, n1);
        b.constant[k] = constant ? here : nullptr;
        b.copies[k] = n0 * n1;
      }
    }
    fn(at, n0 * n1, w.params);
    if (out) stages[0].scatter(out, p.strides[0][0], p.strides[0][1], b.data[0], n0, n1);
  }

  const Walk& w;
  const Plan& p;
  FlatFn fn;
  int64_t chunk;  // elements in a buffer
  Stage stages[kMaxOperands];
};

class TileRunner {
 public:
  TileRunner(const Walk& walk, const Plan& plan, TileFn f) : w(walk), fn(f) {
    for (int k = 0; k < w.n_operands; ++k) {
      strides[k] = plan.strides[k][0];
      strides[w.n_operands + k] = plan.strides[k][1];
    }
  }
  void tile(char* const* pointers, int64_t n0, int64_t n1) const { fn(pointers, strides, n0, n1, w.params); }

 private:
  const Walk& w;
  TileFn fn;
  int64_t strides[2 * kMaxOperands];
};

// Runs elements [from, to) of the plan, counted with dimension 0 fastest.
template <class Runner>
void run_range(const Walk& w, const Plan& p, const Runner& runner, int64_t from, int64_t to) {
  int64_t n0 = p.shape[0], n1 = p.shape[1];
  int64_t index[kMaxRank + 1];
  char* pointers[kMaxOperands];
  int64_t rest = from / n0, column = from % n0;
  for (int d = 1; d < p.ndim; ++d) {
    index[d] = rest % p.shape[d];
    rest /= p.shape[d];
  }
  for (int k = 0; k < w.n_operands; ++k) {
    pointers[k] = w.operands[k].data;
    for (int d = 1; d < p.ndim; ++d) pointers[k] += index[d] * p.strides[k][d];
  }
  while (from < to) {
    int64_t rows;
    if (column != 0 || to - from < n0) {  // part of a row
      int64_t m = std::min(n0 - column, to - from);
      char* at[kMaxOperands];
      for (int k = 0; k < w.n_operands; ++k) at[k] = pointers[k] + column * p.strides[k][0];
      runner.tile(at, m, 1);
      from += m;
      column = (column + m) % n0;
      rows = column == 0 ? 1 : 0;
    } else {
      rows = std::min(n1 - index[1], (to - from) / n0);
      runner.tile(pointers, n0, rows);
      from += rows * n0;
    }
    if (rows == 0) continue;
    index[1] += rows;
    for (int k = 0; k < w.n_operands; ++k) pointers[k] += rows * p.strides[k][1];
    for (int d = 1; d + 1 < p.ndim && index[d] == p.shape[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      for (int k = 0; k < w.n_operands; ++k) pointers[k] += p.strides[k][d + 1] - p.shape[d] * p.strides[k][d];
    }
  }
}

template <class Runner, class Fn>
void run(const Walk& w, Fn fn) {
  int64_t total = 1;
  for (int d = 0; d < w.ndim; ++d) total *= w.shape[d];
  if (total == 0) return;
  Plan plan;
  make_plan(w, plan);
  Runner runner(w, plan, fn);
  parallel_for(0, total, walk_grain(w.cost), [&](int64_t from, int64_t to) { run_range(w, plan, runner, from, to); });
}

// A few elements whose dimensions continue each other as they are need no plan.
bool run_short_row(const Walk& w, TileFn fn) {
  constexpr int64_t limit = 1024;
  int64_t n = 1, strides[2 * kMaxOperands] = {};
  for (int d = w.ndim; d-- > 0;) {
    if (w.shape[d] == 1) continue;
    for (int k = 0; k < w.n_operands; ++k) {
      const int64_t s = w.operands[k].strides[d];
      if (n == 1) strides[k] = s;
      else if (s != strides[k] * n) return false;
    }
    n *= w.shape[d];
    if (n > limit || n == 0) return false;
  }
  char* pointers[kMaxOperands];
  for (int k = 0; k < w.n_operands; ++k) pointers[k] = w.operands[k].data;
  fn(pointers, strides, n, 1, w.params);
  return true;
}

}  // namespace

void walk(const Walk& w, FlatFn fn) { run<FlatRunner>(w, fn); }
void walk(const Walk& w, TileFn fn) {
  if (!run_short_row(w, fn)) run<TileRunner>(w, fn);
}

}  // namespace fc::cpu
