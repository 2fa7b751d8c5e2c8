// SPDX-License-Identifier: Apache-2.0
// Modules in a trace. While it goes on, every attribute of the module is a prim::TracedAttr, and the forward() of a
// submodule a block of a prim::TracedModuleForward. Afterwards each such block is a method of the submodule's class,
// and attributes are read by prim::GetAttr where they are used:
//
//    = prim::TracedModuleForward[scope="__module.fc"]()
//     block0():
//       %y : Float(…) = aten::linear(%x, %weight, %bias)
//       -> ()
//   =>
//   %fc : … = prim::GetAttr[name="fc"](%self)
//   %y : Tensor = prim::CallMethod[name="forward"](%fc, %x)
#pragma once
#include "jit/ir/graph.h"
#include "jit/trace/state.h"

namespace fc::jit::trace {

void know_module(State& s, const fc::Value& self);   // adds the input `self`; self's attributes are known then
void make_methods(Graph& g, const fc::Value& self);  // of all submodules that were called, and cleans all graphs
void inline_modules(Graph& g);                       // of a traced function: blocks are dissolved; cleans the graph

}  // namespace fc::jit::trace
