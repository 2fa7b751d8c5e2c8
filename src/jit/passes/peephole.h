// SPDX-License-Identifier: Apache-2.0
// Small rewrites of a node and those it reads (the parts of peephole_*.h, in order), then dead code. Rules that trust
// static shapes are left out if context.shapes is off.
//   %t = aten::t(%x)
//   %u = aten::t(%t)        =>   %y = aten::relu(%x)
//   %y = aten::relu(%u)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool peephole(Graph& g, PassContext& context);

}  // namespace fc::jit
