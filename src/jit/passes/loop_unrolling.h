// SPDX-License-Identifier: Apache-2.0
// Loops that count, with small bodies: a constant count below 64 becomes straight code, another eight turns at once
// and a loop for the rest. The second form takes constant counts only.
//   %y = prim::Loop(%2, %true, %x)            %y1 = aten::relu(%x)
//     block0(%i : int, %a : Tensor):     =>   %y2 = aten::relu(%y1)
//       %b : Tensor = aten::relu(%a)
//       -> (%true, %b)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool unroll_loops(Graph& g, PassContext& context);
bool unroll_constant_loops(Graph& g, PassContext& context);

}  // namespace fc::jit
