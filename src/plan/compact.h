// SPDX-License-Identifier: Apache-2.0
// Results whose sizes the data decide, for devices without a loop of their own: a running sum says how many elements
// there are up to each place, and a search in it where the k-th one stands. On a device that does not scan they throw
// Unsupported, and the CPU does the whole.
#pragma once
#include <optional>

#include "define/calls.h"

namespace fc {

Tensor nonzero_by_scan(const Tensor& self);
Tensor masked_select_by_scan(const Tensor& self, const Tensor& mask);
Tensor masked_scatter_by_scan(const Tensor& self, const Tensor& mask, const Tensor& source);
Tensor repeat_interleave_by_scan(const Tensor& repeats, std::optional<int64_t> output_size);

}  // namespace fc
