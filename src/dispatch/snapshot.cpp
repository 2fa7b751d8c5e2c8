// SPDX-License-Identifier: Apache-2.0
#include "dispatch/snapshot.h"

#include "core/device_record.h"
#include "core/error.h"
#include "core/instruction_set.h"

namespace fc {
namespace {

ThreadLocalPart parts[kMaxThreadLocalParts];
size_t count = 0;

}  // namespace

void add_thread_local_part(const ThreadLocalPart& part) {
  FC_CHECK(count < kMaxThreadLocalParts, "add_thread_local_part: no place is left");
  parts[count++] = part;
}

ThreadSnapshot::ThreadSnapshot() : state_(thread_state()), float_mode_(float_mode()) {
  try {
    for (size_t i = 0; i < count; ++i) parts_[i] = parts[i].capture();
  } catch (...) {
    release();
    throw;
  }
}
ThreadSnapshot::~ThreadSnapshot() { release(); }
void ThreadSnapshot::release() {
  for (size_t i = 0; i < count; ++i)
    if (parts_[i]) parts[i].release(parts_[i]);
}

WorkerScope::WorkerScope(const ThreadSnapshot& from) : from_(from), state_(from.state_), float_mode_(float_mode()) {
  size_t i = 0;
  try {
    for (; i < count; ++i)
      if (from_.parts_[i]) parts[i].enter(from_.parts_[i]);
  } catch (...) {
    leave(i);
    throw;
  }
  set_float_mode(from.float_mode_);
}
WorkerScope::~WorkerScope() {
  leave(count);
  set_float_mode(float_mode_);
}
void WorkerScope::leave(size_t entered) {
  for (size_t i = 0; i < entered; ++i)
    if (from_.parts_[i]) parts[i].leave(from_.parts_[i]);
}

void hand_device_choices() {
  add_thread_local_part({
      .capture = copy_device_choices,
      .enter = enter_device_choices,
      .leave = [](void*) { leave_device_choices(); },
      .release = drop_device_choices,
  });
}

}  // namespace fc
