// SPDX-License-Identifier: Apache-2.0
// All that is known of tensors is forgotten, in all types of all values.
//   %a : Float(2, 3)[] = my::op(%x)   =>   %a : Tensor[] = my::op(%x)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool erase_shape_information(Graph& g, PassContext& context);

}  // namespace fc::jit
