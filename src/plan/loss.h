// SPDX-License-Identifier: Apache-2.0
// What the loss kernels of all devices share.
#pragma once
#include "core/tensor.h"

namespace fc {

enum Reduction : int64_t { kReduceNone = 0, kReduceMean = 1, kReduceSum = 2 };

// [N, C, S] of a loss over classes: input [C], [N, C] or [N, C, d…], target the same without C.
struct ClassShape {
  int64_t n, c, s;
};
// Throws PyTorch's errors where shapes, types or the class weights do not fit.
ClassShape check_nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction);
// The same for rows of logits, which must be float32 or float64, [N, C] with at least one class.
ClassShape check_cross_entropy_rows(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction);

}  // namespace fc
