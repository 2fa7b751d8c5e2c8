// SPDX-License-Identifier: Apache-2.0
// Tuples that are made and taken apart in the graph go. The second form also flattens them in what blocks take and
// give, and throws where one cannot go.
//   %t : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
//   %p, %q = prim::TupleUnpack(%t)                         =>   %r = aten::add(%a, %b, %1)
//   %r = aten::add(%p, %q, %1)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool lower_simple_tuples(Graph& g, PassContext& context);
bool lower_all_tuples(Graph& g, PassContext& context);

}  // namespace fc::jit
