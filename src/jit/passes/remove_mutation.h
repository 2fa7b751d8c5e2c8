// SPDX-License-Identifier: Apache-2.0
// Changes of a list or tensor that nobody else can see become values: what is appended to a fresh list is part of it,
// add_ of a fresh tensor is add.
//   %l : Tensor[] = prim::ListConstruct(%x)
//   %m : Tensor[] = aten::append(%l, %y)       =>   %l : Tensor[] = prim::ListConstruct(%x, %y)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool remove_list_mutation(Graph& g, PassContext& context);
bool remove_tensor_mutation(Graph& g, PassContext& context);
bool remove_mutation(Graph& g, PassContext& context);  // both

}  // namespace fc::jit
