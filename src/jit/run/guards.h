// SPDX-License-Identifier: Apache-2.0
// A region of a plan that holds only for what was seen: it is asked before, and beside it stands a call of the same
// nodes that assume nothing.
//
//   %a1 : T, %ok : bool = prim::TypeCheck[types=[T]](%a)
//   %r : Tensor = prim::If(%ok)
//     block0():
//       %g : Tensor = prim::DifferentiableGraph_0(%a1)
//       -> (%g)
//     block1():
//       %f : Function = prim::Constant[name="fallback_function", fallback=1]()
//       %t : (Tensor) = prim::CallFunction(%f, %a)
//       %o : Tensor = prim::TupleUnpack(%t)
//       -> (%o)
#pragma once
#include <span>

#include "jit/ir/graph.h"

namespace fc::jit {

// `seen`: for each input of the group its type, null for one that is not asked for. `asked`: what of it is asked. The
// function that is called otherwise has an executor of this depth.
void guard_group(Node* group, Symbol check, std::span<const TypeRef> seen, std::span<const TypeRef> asked, int depth);

// guardDifferentiableGraph: by which inputs require a gradient. A group of which that was not seen is taken apart;
// false.
bool guard_differentiable_graph(Node* group, int depth);

// An If of one output that only chooses becomes prim::IfThenElse.
void add_if_then_else(Block& b);

}  // namespace fc::jit
