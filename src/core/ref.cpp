// SPDX-License-Identifier: Apache-2.0
#include "core/ref.h"

namespace fc {
namespace {

constexpr int kDeepest = 32;  // deletions inside of one another; each takes a few hundred bytes of the stack, and more
                              // where it passes through Python objects
struct Dying {
  int depth = 0;
  RefCounted* waiting = nullptr;
};
constinit thread_local Dying dying [[gnu::tls_model("initial-exec")]];

}  // namespace

void delete_in_turn(RefCounted* o) noexcept {
  Dying& d = dying;
  if (d.depth == kDeepest) {
    o->next_dead_ = d.waiting;
    d.waiting = o;
    return;
  }
  ++d.depth;
  delete o;
  while (d.depth == 1 && d.waiting) {
    RefCounted* next = d.waiting;
    d.waiting = next->next_dead_;
    delete next;
  }
  --d.depth;
}

}  // namespace fc
