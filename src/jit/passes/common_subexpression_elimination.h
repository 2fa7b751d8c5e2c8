// SPDX-License-Identifier: Apache-2.0
// Of two nodes that compute the same, in one block or around it, the later goes, unless something could tell.
//   %p = aten::tanh(%x)
//   %q = aten::tanh(%x)      =>   %p = aten::tanh(%x)
//   %r = aten::mul(%p, %q)        %r = aten::mul(%p, %p)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool eliminate_common_subexpressions(Graph& g, PassContext& context);

}  // namespace fc::jit
