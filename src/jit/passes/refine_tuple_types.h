// SPDX-License-Identifier: Apache-2.0
// A tuple is typed by what it is made of, and what is taken out of it by the tuple.
//   %t : (Tensor, int) = prim::TupleConstruct(%x, %n)   =>   %t : (Float(2), int) = prim::TupleConstruct(%x, %n)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool refine_tuple_types(Graph& g, PassContext& context);

}  // namespace fc::jit
