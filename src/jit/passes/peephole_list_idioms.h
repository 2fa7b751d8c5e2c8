// SPDX-License-Identifier: Apache-2.0
// Lists that are made in the graph and never changed: their length, items, slices, sums, and what they are unpacked to.
//   %l : int[] = prim::ListConstruct(%a, %b)
//   %i : int = aten::__getitem__(%l, %0)      =>   (uses of %i read %a)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool peephole_lists(Graph& g, PassContext& context);

}  // namespace fc::jit
