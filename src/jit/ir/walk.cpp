// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/walk.h"

namespace fc::jit {

void walk(Block& top, Visitor& v) {
  struct Frame {
    Block* block;
    Node* next;    // to be visited in it
    Node* inside;  // entered, its blocks are being walked
    size_t child;  // the next of them
  };
  std::vector<Frame> stack;
  auto push = [&](Block* b) {
    v.enter_block(b);
    stack.push_back({b, b->first(), nullptr, 0});
  };
  push(&top);
  while (!stack.empty()) {
    Frame& f = stack.back();
    if (f.inside) {
      if (f.child < f.inside->blocks().size()) {
        push(f.inside->block(f.child++));
        continue;
      }
      Node* n = f.inside;
      f.inside = nullptr;
      f.next = n->next();
      v.leave(n);
    } else if (f.next != f.block->end()) {
      Node* n = f.next;
      f.next = n->next();
      if (v.enter(n)) {
        f.inside = n;
        f.child = 0;
      }
    } else {
      Block* b = f.block;
      stack.pop_back();
      v.leave_block(b);
    }
  }
}

}  // namespace fc::jit
