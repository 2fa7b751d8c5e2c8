// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/remove_expands.h"

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {

bool remove_expands(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!n->is(aten_expand) || n->num_inputs() != 3 || !constant_bool(n->input(2)).value_or(false)) continue;
    if (!context.allowed()) continue;
    n->output()->replace_uses_with(n->input(0));
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
