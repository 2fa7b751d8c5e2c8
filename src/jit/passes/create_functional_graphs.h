// SPDX-License-Identifier: Apache-2.0
// Puts stretches of six or more operators that change nothing, and whose results nobody changes or sees outside, into
// prim::FunctionalGraph nodes; the other pass makes them nodes again.
//   %a = aten::tanh(%x)             %f = prim::FunctionalGraph_0(%x)
//   … five more                =>   with prim::FunctionalGraph_0 = graph(%x):
//   %f = aten::exp(%e)                … the six of them
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool create_functional_graphs(Graph& g, PassContext& context);
bool inline_functional_graphs(Graph& g, PassContext& context);

}  // namespace fc::jit
