// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/constant_pooling.h"

#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/ir/equal.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {

bool pool_constants(Graph& g, PassContext& context) {
  AliasDb aliases(g);
  std::unordered_set<Node*, NodeHash, NodeEqual> known;
  bool changed = false;
  // Moved to the front, constants are behind the walk; it never meets them again.
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!n->is(prim_Constant)) continue;
    auto [found, fresh] = known.insert(n);
    if (fresh) {
      if (n != g.block()->first()) {
        n->move_before(g.block()->first());
        changed = true;
      }
      continue;
    }
    Node* before = *found;
    const auto *a = n->get<Tensor>(attr_value), *b = before->get<Tensor>(attr_value);
    const bool same = a && b && &a->impl() == &b->impl();
    if (!same && !aliases.safe_to_alias(n->outputs(), before->outputs())) continue;
    if (!context.allowed()) continue;
    n->replace_uses_with(before);
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
