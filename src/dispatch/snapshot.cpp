// SPDX-License-Identifier: Apache-2.0
#include "dispatch/snapshot.h"

#include "core/cpu.h"
#include "core/error.h"

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
  for (size_t i = 0; i < count; ++i) parts_[i] = parts[i].capture();
}
ThreadSnapshot::~ThreadSnapshot() {
  for (size_t i = 0; i < count; ++i)
    if (parts_[i]) parts[i].release(parts_[i]);
}

WorkerScope::WorkerScope(const ThreadSnapshot& from) : from_(from), state_(from.state_), float_mode_(float_mode()) {
  set_float_mode(from.float_mode_);
  for (size_t i = 0; i < count; ++i)
    if (from_.parts_[i]) parts[i].enter(from_.parts_[i]);
}
WorkerScope::~WorkerScope() {
  for (size_t i = 0; i < count; ++i)
    if (from_.parts_[i]) parts[i].leave(from_.parts_[i]);
  set_float_mode(float_mode_);
}

}  // namespace fc
