// SPDX-License-Identifier: Apache-2.0
// A call that a process group carries out: it ends once, with or without an error. Any thread may wait and ask.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

#include "distributed/store.h"

namespace fc::distributed {

class Work : public RefCounted {
 public:
  explicit Work(std::string what) : what_(std::move(what)) {}

  // Waits until the end; throws the call's error, an interrupt, or StoreError's kin when `timeout` (0: none) is over
  // earlier, which leaves the call under way.
  void wait(Duration timeout = Duration(0));
  bool done() const;
  std::exception_ptr error() const;  // null while it runs, and without one
  int source() const { return source_; }
  const std::string& what() const { return what_; }
  Clock::duration took() const;
  struct Times {  // nanoseconds of the monotonic clock; 0: not yet, or never
    uint64_t begun = 0, ended = 0;
    uint64_t wait_from = 0, wait_to = 0;  // of the first wait
  };
  Times times() const;
  // Called once at the end, on the thread that ends it, or now if it has; may be any code, and must not throw.
  void then(std::function<void()> f);

  void begin();
  void end(std::exception_ptr error, int source = -1);

 private:
  const std::string what_;
  mutable std::mutex mutex_;
  std::condition_variable ended_now_;
  bool done_ = false;
  std::exception_ptr error_;
  int source_ = -1;
  Times times_;
  std::vector<std::function<void()>> callbacks_;
};

}  // namespace fc::distributed
