// SPDX-License-Identifier: Apache-2.0
// How a batch of matrix products is spread over threads: c is cut into blocks, each one serial call, dealt out to the
// whole team. A library's own threads get what they do better: large products on many threads, and sums too long for
// the number of results. For small ones a library takes as many threads as it likes for each shape, and teams of
// changing size are dear (core/threads.h).
#pragma once
#include <cstdint>

namespace fc::cpu {

struct Cut {
  enum How { Serial, Blocks } how;
  int64_t down, across;   // blocks of one matrix
  int64_t rows, columns;  // of a block; the last ones may be smaller, or empty
};

// c[batch] is m x n, summed over k; none of them is 0.
Cut cut_products(int64_t batch, int64_t m, int64_t n, int64_t k, int threads);
// Whether one call on all threads of a library beats blocks; it also cuts k where that is the long dimension.
bool worth_library_threads(int64_t batch, int64_t m, int64_t n, int64_t k, int threads);
// Whether dnnl_sgemm with AVX-512 copies its operands into panels first: on all threads, and in a call on one, which
// also looks at the leading dimensions. Without panels it is slow where sums run along the memory of both operands.
bool onednn_packs(int64_t m, int64_t n);
bool onednn_packs_serially(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb);

}  // namespace fc::cpu
