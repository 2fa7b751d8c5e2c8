// SPDX-License-Identifier: Apache-2.0
// One form for what fusers look for. A tensor constant without dimensions as second operand of add, sub, mul, div
// becomes a number; a chunk with constant arguments whose list is only taken apart becomes a node with as many
// outputs.
//   %l : Tensor[] = aten::chunk(%y, %2, %1)
//   %p, %q = prim::ListUnpack(%l)            =>   %p, %q = prim::ConstantChunk[chunks=2, dim=1](%y)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool canonicalize_fuser_ops(Graph& g, PassContext& context);

}  // namespace fc::jit
