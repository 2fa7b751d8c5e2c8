// SPDX-License-Identifier: Apache-2.0
// What a profile saw of tensors is forgotten: inputs of the graph and outputs of nodes, in all blocks, become plain
// Tensors. Facts may be used behind a guard only.
//   %a : Float(2, 3, device=cpu) = aten::relu(%x)   =>   %a : Tensor = aten::relu(%x)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool clear_profiling(Graph& g, PassContext& context);

}  // namespace fc::jit
