// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cut.h"

#include <algorithm>

namespace fc::cpu {
namespace {

// Costs are counted in multiplications, of which a core does about 50 in a nanosecond. The figures were fitted to
// dnnl_sgemm on 1 to 16 threads of a processor with AVX-512 (docs/performance.md).
constexpr double kCall = 25000;                     // one call
constexpr double kMoveA = 6, kMoveB = 18;           // reading and packing an element; b is the weights, and often cold
constexpr double kRegion = 50000, kWorker = 15000;  // a parallel region, and each of its threads
constexpr double kLibraryWork = 1 << 20;            // per thread: below this the library never gets them
constexpr int64_t kBlockCells = 1 << 12;            // per thread: below this only cutting k would occupy them
constexpr int64_t kRows = 4, kColumns = 16;         // what kernels fill up to; 16 floats are a line of the cache

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

double block_cost(int64_t rows, int64_t columns, int64_t k) {
  if (rows == 1 || columns == 1)  // reading the matrix is all there is to do
    return kCall + kMoveA * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
  const auto tiles = static_cast<double>(round_up(rows, kRows)) * static_cast<double>(round_up(columns, kColumns));
  return kCall +
         static_cast<double>(k) * (tiles + kMoveA * static_cast<double>(rows) + kMoveB * static_cast<double>(columns));
}

}  // namespace

Cut cut_products(int64_t batch, int64_t m, int64_t n, int64_t k, int threads) {
  const double serial = static_cast<double>(batch) * block_cost(m, n, k), region = kRegion + kWorker * threads;
  Cut best{Cut::Serial, 1, 1, m, n};
  if (threads == 1 || serial < 2 * region) return best;
  double least = serial;
  // 1, 2, 4, ... and the number of threads itself
  auto next = [&](int64_t v, int64_t last) { return v < last ? std::min(2 * v, last) : last + 1; };
  const int64_t most_down = std::min<int64_t>(threads, ceil_div(m, kRows)),
                most_across = std::min<int64_t>(threads, ceil_div(n, kColumns));
  for (int64_t down = 1; down <= most_down; down = next(down, most_down))
    for (int64_t across = 1; across <= most_across; across = next(across, most_across)) {
      const int64_t rows = round_up(ceil_div(m, down), kRows), columns = round_up(ceil_div(n, across), kColumns);
      const int64_t turns = ceil_div(batch * down * across, threads);
      const double cost = region + static_cast<double>(turns) * block_cost(std::min(rows, m), std::min(columns, n), k);
      if (cost < least) {
        least = cost;
        best = {Cut::Blocks, down, across, rows, columns};
      }
    }
  return best;
}

bool worth_library_threads(int64_t batch, int64_t m, int64_t n, int64_t k, int threads) {
  const double cells = static_cast<double>(m) * static_cast<double>(n) / threads;
  if (batch >= threads || cells * static_cast<double>(k) < (batch == 1 ? 1 : 4) * kLibraryWork) return false;
  if (cells < kBlockCells) return true;
  // The library's threads share what they pack, which pays where there are many of them. It shares badly where there
  // are few rows or columns and where k is long (docs/performance.md has the times).
  return threads > 4 && std::min(m, n) > 128 && k < 2 * std::max(m, n);
}

bool onednn_packs(int64_t m, int64_t n) {
  return 1.0 / static_cast<double>(m) + 1.0 / static_cast<double>(n) < 0.00196;
}
bool onednn_packs_serially(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb) {
  if (n > 100 && ((n < 1200 && m < 200 && k < 1200) || (lda % 256 == 0 && ldb % 256 == 0))) return true;
  return onednn_packs(m, n);
}

}  // namespace fc::cpu
