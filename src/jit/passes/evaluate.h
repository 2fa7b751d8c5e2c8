// SPDX-License-Identifier: Apache-2.0
// What a node without blocks gives for constant inputs, computed now.
#pragma once
#include <optional>
#include <vector>

#include "core/value.h"

namespace fc::jit {
class Node;

// Empty: it cannot be computed before the graph runs, it throws, or a result requires a gradient. Runs without
// gradients and outside of the program's modes.
std::optional<std::vector<fc::Value>> evaluate_constant_node(const Node& n);

}  // namespace fc::jit
