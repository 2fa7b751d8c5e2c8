// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/inline_fork_wait.h"

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {

bool inline_fork_wait(Graph& g, PassContext& context) {
  std::unordered_map<Value*, Value*> results;  // of a future
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    if (n->is(prim_fork) && n->num_outputs() == 1 && !results.contains(n->output(0)) && context.allowed()) {
      const auto* body = n->get<Ref<Graph>>(attr_Subgraph);
      if (body && (*body)->inputs().size() == n->num_inputs() && (*body)->outputs().size() == 1) {
        InsertAt here(n);
        Node* before = n->prev();
        std::vector<Value*> inputs = n->inputs();
        results[n->output(0)] = g.insert_graph(**body, inputs)[0];
        changed = true;
        next = before->next();  // what was put in may fork itself
        if (next == n) next = walk_next(n, *g.block());
        if (!n->has_uses()) {
          if (next == n) next = walk_next(n, *g.block(), false);
          n->destroy();
        }
        n = nullptr;
      }
    } else if (n->is(aten_wait) && n->num_inputs() == 1 && results.contains(n->input(0))) {
      next = walk_next(n, *g.block(), false);
      Value* future = n->input(0);
      n->output()->replace_uses_with(results[future]);
      n->destroy();
      if (!future->has_uses()) future->node()->destroy();
      continue;
    }
    if (n) next = walk_next(n, *g.block());
  }
  return changed;
}

}  // namespace fc::jit
