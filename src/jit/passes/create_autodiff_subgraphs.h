// SPDX-License-Identifier: Apache-2.0
// Puts stretches of operators that have a derivative as a graph into prim::DifferentiableGraph nodes, each of at least
// `smallest` operations (two). What only shares memory with an input of a group stays outside of it.
//   %p = aten::mul(%x, %y)          %r = prim::DifferentiableGraph_0(%y, %x)
//   %q = aten::tanh(%p)        =>   with prim::DifferentiableGraph_0 = graph(%y, %x):
//   %r = aten::add(%q, %y, %1)        … the three of them
// The other way: groups of fewer operations than that are nodes again.
#pragma once
#include <cstddef>
#include <vector>

namespace fc::jit {
class Graph;
class Node;
class PassContext;

// Whether TorchScript differentiates it: PyTorch's list (differentiable.def), with what a rule needs known.
bool is_differentiable(const Node& n);
std::vector<Node*> create_autodiff_subgraphs(Graph& g, size_t smallest);
bool create_autodiff_subgraphs(Graph& g, PassContext& context);
bool inline_autodiff_subgraphs(Graph& g, PassContext& context);

}  // namespace fc::jit
