// SPDX-License-Identifier: Apache-2.0
// Padding that repeats what is inside (reflection, replication, around a circle): what it does to each dimension.
#pragma once
#include <vector>

#include "core/tensor.h"

namespace fc {

enum PadMode : int64_t { kReflect, kReplicate, kCircular };
inline constexpr const char* pad_names[] = {"reflection_pad", "replication_pad", "_pad_circular"};
PadMode checked_mode(int64_t mode);  // throws for another number

// A padded dimension: its size (of a circle what is left of it), the widths of the border, and what a negative width
// takes away: of a circle before it is closed, else of the result.
struct EdgeLine {
  size_t dim;
  int64_t size, before, after, cut_before, cut_after;

  int64_t result() const { return size + before + after; }  // before a result is cut
  // Which element of the input is at place i of the result, of a circle or before it is cut.
  int64_t source(PadMode mode, int64_t i) const;
};

// Of a pad (before and after, last dimension first), the last dimension first; those that keep their size are left out.
// Throws as PyTorch does.
std::vector<EdgeLine> plan_edges(const char* op, IntSpan sizes, IntSpan pad, PadMode mode);

// Throws, as PyTorch does, unless self is what pads of this length are made for: of a circle any, else with or without
// a batch, of which alone nothing may be left.
void check_padded(const Tensor& self, IntSpan pad, PadMode mode);
// Throws unless the gradient has the size of a padded result.
void check_edges_backward(const Tensor& grad, IntSpan sizes, IntSpan pad, PadMode mode);

}  // namespace fc
