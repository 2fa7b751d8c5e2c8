// SPDX-License-Identifier: Apache-2.0
// Numbers become tensors: int, float and bool values are typed Tensor, number constants are tensors without dimensions.
//   %1 : int = prim::Constant[value=2]()   =>   %1 : Long() = prim::Constant[value={2}]()
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool erase_number_types(Graph& g, PassContext& context);

}  // namespace fc::jit
