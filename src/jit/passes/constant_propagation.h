// SPDX-License-Identifier: Apache-2.0
// What depends on constants only is computed now; an If with a known condition becomes its block, a Loop that never
// runs what it was given. The second form looks at values of immutable types only and asks for no alias analysis.
//   %a : int = prim::Constant[value=2]()
//   %c : int = aten::mul(%a, %a)          =>   %7 : int = prim::Constant[value=4]()
//   %d : int = aten::add(%n, %c)               %d : int = aten::add(%n, %7)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool propagate_constants(Graph& g, PassContext& context);
bool propagate_constants_of_immutable_types(Graph& g, PassContext& context);

}  // namespace fc::jit
