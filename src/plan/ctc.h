// SPDX-License-Identifier: Apache-2.0
// Shapes of the CTC loss, shared by operators and kernels.
#pragma once
#include <vector>

#include "define/calls.h"

namespace fc {

// log_probs [steps, batch, classes]; the labels of sample b are `length` elements of targets from `first` on.
struct Ctc {
  int64_t steps, batch, classes, longest;
  Tensor targets;  // int64, contiguous
  std::vector<int64_t> first;
};
// Throws as PyTorch does; labels themselves are checked where they can be read.
Ctc plan_ctc(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths, IntSpan target_lengths,
             int64_t blank);

}  // namespace fc
