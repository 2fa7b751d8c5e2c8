// SPDX-License-Identifier: Apache-2.0
#include "define/calls.h"

namespace fc {

Tensor sum_to_size(T a, IntSpan sizes) {
  if (Dims::same(a.sizes(), sizes)) return a;
  size_t lead = a.sizes().size() - sizes.size();
  Dims dims;
  for (size_t i = 0; i < a.sizes().size(); ++i)
    if (i < lead || (sizes[i - lead] == 1 && a.sizes()[i] != 1)) dims.push_back(static_cast<int64_t>(i));
  Tensor out = sum(a, dims, true);
  return lead ? view(out, sizes) : out;
}

}  // namespace fc
