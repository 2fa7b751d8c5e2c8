// SPDX-License-Identifier: Apache-2.0
// A copy of a graph whose values are numbered in the order in which they stand, so that two graphs that differ in
// numbers only print alike.
//   %17 : Tensor = aten::neg(%x.3)   =>   %1 : Tensor = aten::neg(%0)
#pragma once
#include "jit/ir/graph.h"

namespace fc::jit {

Ref<Graph> canonicalize(const Graph& g, bool keep_names);  // names stay, with numbers only where there was one

}  // namespace fc::jit
