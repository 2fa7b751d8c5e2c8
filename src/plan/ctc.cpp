// SPDX-License-Identifier: Apache-2.0
#include "plan/ctc.h"

namespace fc {

Ctc plan_ctc(const Tensor& log_probs, const Tensor& targets, IntSpan inputs, IntSpan lengths, int64_t blank) {
  FC_CHECK(log_probs.dim() == 3, "ctc_loss: expected log_probs of 3 dimensions, got ", log_probs.sizes());
  Ctc c{log_probs.size(0), log_probs.size(1), log_probs.size(2), 0, Tensor(), {}};
  const auto n = static_cast<size_t>(c.batch);
  FC_CHECK(log_probs.numel() > 0, "ctc_loss: log_probs tensor must not be empty");
  FC_CHECK(targets.dtype() == DType::Int64 || targets.dtype() == DType::Int32,
           "ctc_loss: targets must be Int or Long, got ", info(targets.dtype()).legacy);
  FC_CHECK(blank >= 0 && blank < c.classes, "ctc_loss: blank must be in label range");
  FC_CHECK(inputs.size() == n, "ctc_loss: input_lengths must be of size batch_size");
  FC_CHECK(lengths.size() == n, "ctc_loss: target_lengths must be of size batch_size");
  FC_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == c.batch),
           "ctc_loss: Expected targets of one dimension or of size [", c.batch, ", longest], got ", targets.sizes());
  int64_t total = 0;
  for (size_t b = 0; b < n; ++b) {
    FC_CHECK(inputs[b] >= 0 && inputs[b] <= c.steps, "ctc_loss: Expected input_lengths to have value at most ", c.steps,
             ", but got value ", inputs[b], " (while checking arguments for ctc_loss_cpu)");
    FC_CHECK(lengths[b] >= 0, "ctc_loss: Expected target_lengths to have value at least 0, but got value ", lengths[b]);
    c.first.push_back(targets.dim() == 1 ? total : static_cast<int64_t>(b) * targets.size(1));
    FC_CHECK(!__builtin_add_overflow(total, lengths[b], &total), "ctc_loss: target_lengths overflow");
    c.longest = std::max(c.longest, lengths[b]);
  }
  FC_CHECK(targets.dim() == 1 ? targets.size(0) == total : c.longest <= targets.size(1),
           "ctc_loss: Expected tensor to have size at least ", targets.dim() == 1 ? total : c.longest, " at dimension ",
           targets.dim() - 1, ", but got size ", targets.sizes(),
           " for argument #2 'targets' (while checking arguments for ctc_loss_cpu)");
  c.targets = contiguous(to_dtype(targets, DType::Int64));
  return c;
}

}  // namespace fc
