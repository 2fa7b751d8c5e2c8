// SPDX-License-Identifier: Apache-2.0
// All that a thread hands on to a worker of its own: layers and modes (ThreadState), how floating point rounds, and
// state that other parts keep per thread (current streams, hooks on saved tensors, Python's modes).
#pragma once
#include "dispatch/layers.h"

namespace fc {

struct ThreadLocalPart {
  void* (*capture)();         // on the thread that hands over: a copy, or null if there is nothing
  void (*enter)(void* copy);  // on a worker
  void (*leave)(void* copy);  // on the worker, at the end
  void (*release)(void* copy);
};
void add_thread_local_part(const ThreadLocalPart& part);  // at start-up; at most four
inline constexpr size_t kMaxThreadLocalParts = 4;
void hand_device_choices();  // once, at start-up: current devices and streams are such a part

class ThreadSnapshot {
 public:
  ThreadSnapshot();  // of the calling thread
  ~ThreadSnapshot();
  ThreadSnapshot(const ThreadSnapshot&) = delete;
  ThreadSnapshot& operator=(const ThreadSnapshot&) = delete;

 private:
  friend class WorkerScope;
  void release();
  ThreadState state_;
  uint64_t float_mode_;
  void* parts_[kMaxThreadLocalParts] = {};
};

// The calling thread works for the one that took the snapshot. For threads without such state of their own.
class WorkerScope {
 public:
  explicit WorkerScope(const ThreadSnapshot& from);
  ~WorkerScope();
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;

 private:
  void leave(size_t entered);
  const ThreadSnapshot& from_;
  StateScope state_;
  uint64_t float_mode_;
};

}  // namespace fc
