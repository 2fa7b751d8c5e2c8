// SPDX-License-Identifier: Apache-2.0
// Each constant stands once, at the front of the graph, the one that was found last first.
//   %y = prim::If(%c)                              %k : int = prim::Constant[value=1]()
//     block0():                                    %y = prim::If(%c)
//       %k : int = prim::Constant[value=1]()         block0():
//       -> (%k)                              =>        -> (%k)
//     block1():                                      block1():
//       %j : int = prim::Constant[value=1]()           -> (%k)
//       -> (%j)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool pool_constants(Graph& g, PassContext& context);

}  // namespace fc::jit
