// SPDX-License-Identifier: Apache-2.0
// Replaces every place of a graph that looks like a pattern, both given as graphs' text, by another: inputs of the
// pattern stand for any value, its nodes for nodes of that kind, with these attributes, whose results nothing else
// reads.
//   graph(%x, %y, %one):                           graph(%x, %y, %one):
//     %s = aten::add(%x, %y, %one)            =>     %r = aten::_add_relu(%x, %y, %one)
//     %r = aten::relu(%s)                            return (%r)
//     return (%r)
#pragma once
#include <functional>
#include <string_view>
#include <unordered_map>

#include "jit/ir/graph.h"

namespace fc::jit {
class PassContext;

using Match = std::unordered_map<const Value*, Value*>;  // of the pattern's values
// Asked before each rewrite, with the pattern's values by name.
using MatchFilter = std::function<bool(const std::function<Value*(std::string_view)>&)>;
// How often it was done. The pattern and the replacement take the same inputs and give as many results; throws if not.
size_t rewrite_pattern(Graph& g, const Graph& pattern, const Graph& replacement, const MatchFilter& filter = {},
                       const PassContext* context = nullptr);

bool fuse_linear(Graph& g, PassContext& context);    // addmm and matmul with a transposed weight become aten::linear
bool fuse_add_relu(Graph& g, PassContext& context);  // aten::_add_relu
bool fuse_addmm(Graph& g, PassContext& context);     // a sum with a product of known types becomes aten::addmm

}  // namespace fc::jit
