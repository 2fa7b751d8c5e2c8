// SPDX-License-Identifier: Apache-2.0
// Operators over lists of tensors: one pass over the elements of all of them, cut into pieces of equal work, whatever
// the sizes of the tensors are.
#pragma once
#include <algorithm>
#include <vector>

#include "core/tensor.h"
#include "core/threads.h"

namespace fc {

// Calls f(tensor, from, to) for ranges of elements that make up all tensors; several threads call it at once.
template <class F>
void for_elements_of_all(TensorSpan tensors, int64_t grain, const F& f) {
  std::vector<int64_t> ends(tensors.size());
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) ends[i] = total += tensors[i].numel();
  parallel_for(0, total, grain, [&](int64_t from, int64_t to) {
    size_t i = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), from) - ends.begin());
    while (from < to) {
      const int64_t begin = ends[i] - tensors[i].numel(), stop = std::min(to, ends[i]);
      if (from < stop) f(i, from - begin, stop - begin);
      from = std::max(from, stop);
      ++i;
    }
  });
}

// Whether both have their elements in the same order in memory, without gaps: then both are rows.
inline bool same_rows(const Tensor& a, const Tensor& b) {
  if (!Dims::same(a.sizes(), b.sizes())) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return a.impl().is_dense() && Dims::same(a.strides(), b.strides());
}

// Throws unless the list has as many items as the first one has tensors, in PyTorch's words.
void check_list_lengths(const char* op, size_t first, size_t other);

// Whether no tensor that is written lies in the memory of another item: then the order of the items does not matter.
// written[i] and read[k][i] belong together.
bool items_are_apart(TensorSpan written, std::span<const TensorSpan> read);

}  // namespace fc
