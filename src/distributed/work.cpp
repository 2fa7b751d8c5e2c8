// SPDX-License-Identifier: Apache-2.0
#include "distributed/work.h"

namespace fc::distributed {

void Work::wait(Duration timeout) {
  const auto end = timeout.count() > 0 ? Clock::now() + timeout : Clock::time_point::max();
  std::unique_lock lock(mutex_);
  while (!done_) {
    FC_CHECK_AS(distributed::DistError, Clock::now() < end, what_, " has not ended within ", seconds(timeout));
    ended_now_.wait_until(lock, std::min(end, Clock::now() + std::chrono::milliseconds(100)));
    if (done_) break;
    lock.unlock();
    check_interrupt();
    lock.lock();
  }
  if (error_) std::rethrow_exception(error_);
}

bool Work::done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

std::exception_ptr Work::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

void Work::then(std::function<void()> f) {
  {
    std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(f));
      return;
    }
  }
  f();
}

void Work::end(std::exception_ptr error, int source) {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    error_ = std::move(error);
    source_ = source;
    ended_ = Clock::now();
    callbacks.swap(callbacks_);
  }
  ended_now_.notify_all();
  for (auto& f : callbacks) f();
}

}  // namespace fc::distributed
