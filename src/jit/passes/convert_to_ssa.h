// SPDX-License-Identifier: Apache-2.0
// Variables become values: prim::Store and prim::Load go, and what a branch or a loop changes becomes its results.
// What leaves a loop or a function early (break, continue, return) becomes conditions.
//
//    = prim::Store[name="x"](%0)                   %x : int = prim::If(%c)
//    = prim::If(%c)                                  block0():
//     block0():                                        %2 : int = aten::neg(%0)
//       %2 : int = aten::neg(%0)                       -> (%2)
//        = prim::Store[name="x"](%2)                 block1():
//       -> ()                                          -> (%0)
//     block1(): -> ()
#pragma once
#include "jit/passes/pass.h"

namespace fc::jit {

bool convert_to_ssa(Graph& g, PassContext& c);
bool transform_exits(Graph& g, PassContext& c);  // exit_transforms.cpp: its last part
// A loop over a range that can also end early, as a loop with a condition and a counter.
bool canonicalize_modified_loops(Graph& g, PassContext& c);
// Results of branches and loops in the order in which they are used.
bool canonicalize_outputs(Graph& g, PassContext& c);

}  // namespace fc::jit
