// SPDX-License-Identifier: Apache-2.0
// Where a branch was taken because an int equals a constant, it is that constant: in the branch, and behind it if the
// other branch only raises. Conditions of conditions are followed.
//   %c : bool = aten::eq(%n, %one)           %c : bool = aten::eq(%n, %one)
//   prim::If(%c)                         =>  prim::If(%c)
//     block0():                                block0():
//       %a : int = aten::add(%n, %two)           %1 : int = prim::Constant[value=1]()
//                                                %a : int = aten::add(%1, %two)
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool refine_integer_values(Graph& g, PassContext& context);

}  // namespace fc::jit
