// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/canonicalize.h"

#include "jit/ir/walk.h"

namespace fc::jit {

Ref<Graph> canonicalize(const Graph& g, bool keep_names) {
  Ref<Graph> copy = g.copy();
  if (keep_names) return copy;
  auto forget = [](std::span<Value* const> values) {
    for (Value* v : values) v->set_name("");
  };
  forget(copy->inputs());
  for_each_node(*copy->block(), [&](Node* n) {
    forget(n->outputs());
    for (Block* b : n->blocks()) forget(b->inputs());
  });
  return copy;
}

}  // namespace fc::jit
