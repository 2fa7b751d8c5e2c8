// SPDX-License-Identifier: Apache-2.0
// Second names of operators become first ones, so that later passes know one.
//   %y : Tensor = aten::absolute(%x)         =>   %y : Tensor = aten::abs(%x)
//   %z : Tensor = aten::rsub(%x, %y, %a)     =>   %z : Tensor = aten::sub(%y, %x, %a)     (of two tensors)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool normalize_ops(Graph& g, PassContext& context);

}  // namespace fc::jit
