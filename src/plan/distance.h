// SPDX-License-Identifier: Apache-2.0
// Shapes of distances between rows, shared by operators and kernels.
#pragma once
#include "define/calls.h"

namespace fc {

// x1 [batch, n, size] and x2 [batch, m, size], contiguous; result [batch…, n, m].
struct Distances {
  Tensor x1, x2;
  int64_t batch, n, m, size;
  Dims output;
};
// Broadcasts the batches. Throws as PyTorch does.
Distances plan_distances(const Tensor& x1, const Tensor& x2, double p);

int64_t check_pdist(const Tensor& self, double p);  // the number of pairs

}  // namespace fc
