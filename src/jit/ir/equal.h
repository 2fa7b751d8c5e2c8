// SPDX-License-Identifier: Apache-2.0
// When two nodes compute the same: kind, inputs, types of outputs and attributes are equal, and neither has blocks.
#pragma once
#include "jit/ir/graph.h"

namespace fc::jit {

bool equal_values(const fc::Value& a, const fc::Value& b);  // tensors by type, sizes and elements
bool equal_nodes(const Node& a, const Node& b);
size_t hash_node(const Node& n);

struct NodeHash {
  size_t operator()(const Node* n) const { return hash_node(*n); }
};
struct NodeEqual {
  bool operator()(const Node* a, const Node* b) const { return equal_nodes(*a, *b); }
};

}  // namespace fc::jit
