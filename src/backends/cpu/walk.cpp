// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/walk.h"

#include <algorithm>
#include <cstring>

#include "core/tensor.h"
#include "core/threads.h"

namespace facula::cpu {
namespace {

constexpr int64_t kChunk = 256;         // elements converted at a time
constexpr int64_t kGrain = 32768;       // elements per thread at least, for the cheapest kernels

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

struct Runner {
  const Walk& w;
  const Plan& p;
  bool converts = false;
  CastFn casts[kMaxOperands] = {};

  Runner(const Walk& walk, const Plan& plan) : w(walk), p(plan) {
    for (int k = 0; k < w.n_operands; ++k) {
      const WalkOperand& o = w.operands[k];
      if (o.dtype == o.kernel_dtype) continue;
      converts = true;
      casts[k] = k == 0 ? cast_fn(o.kernel_dtype, o.dtype) : cast_fn(o.dtype, o.kernel_dtype);
    }
  }

  void tile(char* const* pointers, int64_t from, int64_t n0, int64_t n1) const {
    char* at[kMaxOperands];
    int64_t strides[2 * kMaxOperands];
    for (int k = 0; k < w.n_operands; ++k) {
      at[k] = pointers[k] + from * p.strides[k][0];
      strides[k] = p.strides[k][0];
      strides[w.n_operands + k] = p.strides[k][1];
    }
    if (!converts) {
      w.fn(at, strides, n0, n1, w.params);
      return;
    }
    for (int64_t j = 0; j < n1; ++j) {
      char* row[kMaxOperands];
      for (int k = 0; k < w.n_operands; ++k) row[k] = at[k] + j * strides[w.n_operands + k];
      converted_row(row, strides, n0);
    }
  }

  void converted_row(char* const* row, const int64_t* strides, int64_t n) const {
    alignas(64) char buffers[kMaxOperands][kChunk * 16];
    for (int64_t done = 0; done < n; done += kChunk) {
      int64_t m = std::min(kChunk, n - done);
      char* at[kMaxOperands];
      int64_t s[2 * kMaxOperands] = {};
      for (int k = 0; k < w.n_operands; ++k) {
        char* here = row[k] + done * strides[k];
        if (!casts[k]) {
          at[k] = here;
          s[k] = strides[k];
          continue;
        }
        at[k] = buffers[k];
        s[k] = static_cast<int64_t>(item_size(w.operands[k].kernel_dtype));
        if (k == 0) continue;
        if (strides[k] == 0) {  // one element for the whole row
          casts[k](buffers[k], 0, here, 0, 1);
          s[k] = 0;
        } else {
          casts[k](buffers[k], s[k], here, strides[k], m);
        }
      }
      w.fn(at, s, m, 1, w.params);
      if (casts[0]) casts[0](row[0] + done * strides[0], strides[0], buffers[0], s[0], m);
    }
  }

  // Runs elements [from, to) of the plan, counted with dimension 0 fastest.
  void range(int64_t from, int64_t to) const {
    int64_t n0 = p.shape[0], n1 = p.shape[1];
    int64_t index[kMaxRank];
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
        tile(pointers, column, m, 1);
        from += m;
        column = (column + m) % n0;
        rows = column == 0 ? 1 : 0;
      } else {
        rows = std::min(n1 - index[1], (to - from) / n0);
        tile(pointers, 0, n0, rows);
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
};

}  // namespace

void walk(const Walk& w) {
  int64_t total = 1;
  for (int d = 0; d < w.ndim; ++d) total *= w.shape[d];
  if (total == 0) return;
  Plan plan;
  make_plan(w, plan);
  Runner runner(w, plan);
  parallel_for(0, total, std::max<int64_t>(kGrain / w.cost, 1), [&](int64_t from, int64_t to) { runner.range(from, to); });
}

}  // namespace facula::cpu
