// SPDX-License-Identifier: Apache-2.0
// How a batch of matrix products is spread over threads. Large products are the library's own affair: it uses every
// thread, and cuts k too where that is the long dimension. Small ones are not: a library takes a number of threads of its
// own for each shape, and teams of changing size are dear (core/threads.h). There c is cut into blocks, each one serial
// call, dealt out to the whole team.
#pragma once
#include <cstdint>

namespace fc::cpu {

struct Cut {
  enum How { Serial, Blocks, Library } how;
  int64_t down, across;   // blocks of one matrix
  int64_t rows, columns;  // of a block; the last ones may be smaller, or empty
};

// c[batch] is m x n, summed over k; none of them is 0.
Cut cut_products(int64_t batch, int64_t m, int64_t n, int64_t k, int threads);

}  // namespace fc::cpu
