// SPDX-License-Identifier: Apache-2.0
#include "dispatch/forward_level.h"

#include "dispatch/snapshot.h"

namespace fc {
namespace {

constinit thread_local bool on_this_thread = false;
char something;  // a part that is there has an address

}  // namespace

bool forward_level() { return on_this_thread; }
void set_forward_level(bool on) { on_this_thread = on; }

void hand_forward_level() {
  add_thread_local_part({
      .capture = []() -> void* { return on_this_thread ? &something : nullptr; },
      .enter = [](void*) { on_this_thread = true; },
      .leave = [](void*) { on_this_thread = false; },
      .release = [](void*) {},
  });
}

}  // namespace fc
