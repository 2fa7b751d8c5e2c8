// SPDX-License-Identifier: Apache-2.0
// Visiting nodes with their blocks, in the order of the text, without recursion: blocks may be nested to any depth.
#pragma once
#include "jit/ir/graph.h"

namespace fc::jit {

// The node after `n` in the text's order, within `top`: its first block's first node if `into`, else what follows it.
// Null at the end. To destroy a node while walking, ask for the one after it first, with into = false.
inline Node* walk_next(const Node* n, const Block& top, bool into = true) {
  if (into)
    for (Block* b : n->blocks())
      if (!b->empty()) return b->first();
  for (;;) {
    Node* next = n->next();
    Block* b = n->owning_block();
    if (next != b->end()) return next;
    // The block is done: a later block of the node around it, or what follows that.
    for (;;) {
      if (b == &top) return nullptr;
      const Node* owner = b->owning_node();
      bool passed = false;
      Node* found = nullptr;
      for (Block* other : owner->blocks()) {
        if (passed && !other->empty()) {
          found = other->first();
          break;
        }
        if (other == b) passed = true;
      }
      if (found) return found;
      n = owner;
      break;
    }
  }
}
inline Node* walk_first(const Block& top) { return top.empty() ? nullptr : top.first(); }

// All nodes below `top`, each before its blocks; nothing but the current node may be destroyed meanwhile, and that only
// after its successor was taken.
template <class F>
void for_each_node(const Block& top, F&& f) {
  for (Node* n = walk_first(top); n; n = walk_next(n, top)) f(n);
}

// What happens on a walk: into a node, into each block of it, out of the block, out of the node. `enter` says whether
// to go into the node's blocks; `leave` comes for every node that was entered.
struct Visitor {
  virtual ~Visitor() = default;
  virtual bool enter(Node*) { return true; }
  virtual void enter_block(Block*) {}
  virtual void leave_block(Block*) {}
  virtual void leave(Node*) {}
};
void walk(Block& top, Visitor& v);

}  // namespace fc::jit
