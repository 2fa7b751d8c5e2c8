// SPDX-License-Identifier: Apache-2.0
// Graphs that stand for an operator, made of simpler ones: what RunDecompositions puts in their place. Some come with
// Facula (variance), programs add others. Any thread may call.
//   %v : Tensor = aten::var(%x, %unbiased)    =>    %m : Tensor = aten::mean(%x, …)
//                                                   %d : Tensor = aten::sub(%x, %m, %one) …
#pragma once
#include <string_view>

#include "core/ref.h"

namespace fc::jit {
class Graph;
class Node;
class PassContext;

Ref<Graph> decomposition_of(const Node& n);                          // null: it has none. Not to be changed.
void register_decomposition(std::string_view schema, Ref<Graph> g);  // in place of one that was there
bool run_decompositions(Graph& g, PassContext& context);

}  // namespace fc::jit
