// SPDX-License-Identifier: Apache-2.0
#include "plan/loss.h"

#include "core/error.h"

namespace fc {

ClassShape check_nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  FC_CHECK(self.dim() >= 1, "nll_loss: input tensor should be at least 1D, but got ", self.sizes());
  FC_CHECK(reduction >= 0 && reduction <= 2, "nll_loss: reduction must be 0 (none), 1 (mean) or 2 (sum), got ",
           reduction);
  ClassShape r{self.dim() > 1 ? self.size(0) : 1, self.size(self.dim() > 1 ? 1 : 0), 1};
  if (self.dim() == 1) {
    FC_CHECK(target.dim() == 0 || target.numel() == 1,
             "nll_loss: For 1D input, 1D target must have size 1, but got target size: ", target.sizes());
  } else {
    FC_CHECK_AS(ValueError, target.dim() > 0 && target.size(0) == r.n, "nll_loss: Expected input batch_size (", r.n,
                ") to match target batch_size (", target.dim() ? target.size(0) : 0, ").");
    bool fits = target.dim() == self.dim() - 1;
    for (int64_t d = 2; fits && d < self.dim(); ++d) fits = self.size(d) == target.size(d - 1);
    FC_CHECK(fits, "nll_loss: Expected target of the input's shape without its dimension 1; the input is ",
             self.sizes(), ", the target ", target.sizes());
    for (int64_t d = 2; d < self.dim(); ++d) r.s *= self.size(d);
  }
  FC_CHECK(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
           "nll_loss: expected scalar type Long but found ", info(target.dtype()).legacy, " for the target");
  FC_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == r.c),
           "nll_loss: weight tensor should be defined either for all ", r.c,
           " classes or no classes but got weight tensor of shape: ", weight.sizes());
  return r;
}

ClassShape check_cross_entropy_rows(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  FC_CHECK(self.dim() == 2 && self.size(1) > 0 && (self.dtype() == DType::Float32 || self.dtype() == DType::Float64),
           "cross_entropy_rows: expected float32 or float64 logits of shape [N, C], got ", info(self.dtype()).name, " ",
           self.sizes());
  return check_nll(self, target, weight, reduction);
}

}  // namespace fc
