// SPDX-License-Identifier: Apache-2.0
// Activations in place and not, for other passes and for memory: relu_ of a tensor becomes relu and back. The second
// form works in place only where nobody else sees what is overwritten.
//   %b : Tensor = aten::relu_(%a)   =>   %b : Tensor = aten::relu(%a)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool activations_functional(Graph& g, PassContext& context);
bool activations_in_place(Graph& g, PassContext& context);

}  // namespace fc::jit
