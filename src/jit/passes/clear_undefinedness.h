// SPDX-License-Identifier: Apache-2.0
// Tensors and lists of tensors become plain ones: nobody may rely on a gradient's being absent.
//   %g : Tensor[Undefined] = my::grad(%x)   =>   %g : Tensor = my::grad(%x)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool clear_undefinedness(Graph& g, PassContext& context);

}  // namespace fc::jit
