// SPDX-License-Identifier: Apache-2.0
#include "core/future.h"

#include <chrono>

#include "core/error.h"

namespace fc {

void Future::complete(Value v, std::exception_ptr error) {
  std::vector<std::unique_ptr<Callback>> callbacks;
  const Ref<Future> self(this);  // a callback may let go of the last reference
  {
    std::lock_guard lock(mutex_);
    FC_CHECK(!done_,
             "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed "
             "once.");
    value_ = std::move(v);
    error_ = std::move(error);
    __atomic_store_n(&done_, true, __ATOMIC_RELEASE);
    callbacks.swap(callbacks_);
    change_.notify_all();
  }
  for (auto& c : callbacks) c->done(*this);
}

void Future::set(Value v) { complete(std::move(v), nullptr); }
void Future::fail(std::exception_ptr error) { complete({}, std::move(error)); }

const Value& Future::value() const {
  FC_CHECK(done(), "Future.value() needs a future that is done: wait() waits for it");
  if (error_) std::rethrow_exception(error_);
  return value_;
}

std::exception_ptr Future::error() const {
  FC_CHECK(done(), "a future that is not done has no error yet");
  return error_;
}

bool Future::wait_for(int milliseconds) {
  if (done()) return true;
  std::unique_lock lock(mutex_);
  return change_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return done_; });
}

void Future::wait() {
  if (done()) return;
  std::unique_lock lock(mutex_);
  change_.wait(lock, [&] { return done_; });
}

void Future::when_done(std::unique_ptr<Callback> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback->done(*this);
}

}  // namespace fc
