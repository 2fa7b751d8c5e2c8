// SPDX-License-Identifier: Apache-2.0
// Nodes that hold a graph (prim::DifferentiableGraph, prim::FunctionalGraph …): made of a node, grown by what feeds
// them, taken apart again. Constants are copied into the graph, everything else becomes an input of it.
#pragma once
#include <functional>
#include <vector>

#include "jit/ir/graph.h"

namespace fc::jit {

class AliasDb;

Graph& subgraph_of(const Node& group);
// A group of this kind in the place of `n`, which is gone.
Node* make_group(Node* n, Symbol kind, AliasDb& aliases);
// Takes `n`, which stands before the group and feeds nothing between them, into it; it is gone. A group of the same
// kind is dissolved into it.
void merge_into_group(Node* n, Node* group, AliasDb& aliases);
// The nodes of the group in its place; it is gone.
void dissolve_group(Node* group, AliasDb* aliases = nullptr);
size_t operations_of(const Graph& g);  // nodes that are no constants

// Makes groups of this kind wherever `accepts` says so, of at least `smallest` nodes each, in every block; blocks of
// nodes first. Nodes are moved where the aliases allow, which is not across a side effect; a group
// may hold one unless groups are split there.
// The groups, in no particular order; true through `changed` if there is one.
std::vector<Node*> make_groups(Graph& g, Symbol kind, size_t smallest, AliasDb& aliases,
                               const std::function<bool(const Node&)>& accepts, bool split_at_effects);

}  // namespace fc::jit
