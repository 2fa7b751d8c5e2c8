// SPDX-License-Identifier: Apache-2.0
// What embedding_bag's kernels of all devices share.
#pragma once
#include "define/calls.h"

namespace fc {

enum BagMode : int64_t { kBagSum, kBagMean, kBagMax };
// Throws as PyTorch does; the number of bags.
int64_t check_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                   const Tensor& sample_weights, bool include_last);

}  // namespace fc
