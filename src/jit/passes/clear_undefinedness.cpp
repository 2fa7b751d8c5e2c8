// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/clear_undefinedness.h"

#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

bool forget(Value* v) {
  TypeRef t = v->type(), plain = t->unshaped();
  const bool tensors = t->is(TypeKind::Tensor) || (t->is(TypeKind::List) && t->item()->is(TypeKind::Tensor));
  if (!tensors || t == plain) return false;
  v->set_type(plain);
  return true;
}

}  // namespace

bool clear_undefinedness(Graph& g, PassContext&) {
  bool changed = false;
  for (Value* v : g.inputs()) changed |= forget(v);
  for_each_node(*g.block(), [&](Node* n) {
    for (Value* v : n->outputs()) changed |= forget(v);
  });
  return changed;
}

}  // namespace fc::jit
