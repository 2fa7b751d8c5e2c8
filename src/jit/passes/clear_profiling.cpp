// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/clear_profiling.h"

#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

bool forget(Value* v) {
  if (!v->type()->is(TypeKind::Tensor) || v->type() == tensor_type()) return false;
  v->set_type(tensor_type());
  return true;
}

}  // namespace

bool clear_profiling(Graph& g, PassContext&) {
  bool changed = false;
  for (Value* v : g.inputs()) changed |= forget(v);
  for_each_node(*g.block(), [&](Node* n) {
    for (Value* v : n->outputs()) changed |= forget(v);
  });
  return changed;
}

}  // namespace fc::jit
