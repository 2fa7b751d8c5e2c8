// SPDX-License-Identifier: Apache-2.0
// A gradient that is needed only if something flows back becomes an explicit question. Nodes of the top block.
//   %d = prim::GradOf[name="mul"](%g)           %c : int = prim::AutogradAnyNonZero(%g)
//     block0():                                 %d : Tensor = prim::If(%c)
//       %m = aten::mul(%g, %b)            =>      block0():
//       -> (%m)                                     %m : Tensor = aten::mul(%g, %b)
//                                                   -> (%m)
//                                                 block1():
//                                                   %z : Tensor = prim::AutogradZero()
//                                                   -> (%z)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool lower_grad_of(Graph& g, PassContext& context);

}  // namespace fc::jit
