// SPDX-License-Identifier: Apache-2.0
// What facula::resample and its backward take: `t`, the dimension of which elements are chosen and summed, and their
// `index` and `weight` [out, taps].
#pragma once
#include "core/error.h"
#include "core/tensor.h"

namespace fc {

// Throws unless the arguments fit together; positions themselves are the kernel's to check.
inline void check_resample(const Tensor& t, int64_t dim, const Tensor& index, const Tensor& weight) {
  FC_CHECK(index.dim() == 2 && index.dtype() == DType::Int64 && weight.dtype() == t.dtype() &&
               Dims::same(index.sizes(), weight.sizes()),
           "resample: expected int64 positions [out, taps] and as many weights of the type ", t.dtype());
  FC_CHECK(dim >= 0 && dim < t.dim(), "resample: no dimension ", dim, " in ", t.sizes());
}

}  // namespace fc
