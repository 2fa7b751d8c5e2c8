// SPDX-License-Identifier: Apache-2.0
// Nodes as text; graphs print themselves (Graph::text).
#pragma once
#include "jit/ir/graph.h"

namespace fc::jit {

std::string node_text(const Node& n);  // with its blocks; a subgraph is <Graph>
std::string node_line(const Node& n);  // the first line of it, without its place in the source

}  // namespace fc::jit
