// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/erase_shape_information.h"

#include "jit/ir/walk.h"

namespace fc::jit {

bool erase_shape_information(Graph& top, PassContext&) {
  bool changed = false;
  auto forget = [&](std::span<Value* const> values) {
    for (Value* v : values)
      if (TypeRef plain = v->type()->unshaped(); plain != v->type()) {
        v->set_type(plain);
        changed = true;
      }
  };
  std::vector<Graph*> waiting{&top};
  while (!waiting.empty()) {
    Graph& g = *waiting.back();
    waiting.pop_back();
    forget(g.inputs());
    for_each_node(*g.block(), [&](Node* n) {
      forget(n->outputs());
      for (Block* b : n->blocks()) forget(b->inputs());
      if (const auto* inner = n->get<Ref<Graph>>(attr_Subgraph)) waiting.push_back(inner->get());
    });
  }
  return changed;
}

}  // namespace fc::jit
