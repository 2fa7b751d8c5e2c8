// SPDX-License-Identifier: Apache-2.0
#include "distributed/work.h"

#include "dispatch/observe.h"

namespace fc::distributed {

namespace {

struct WaitTimes {  // when a wait began and ended, also where it throws
  explicit WaitTimes(Work::Times& times, std::mutex& mutex) : times(times), mutex(mutex), from(monotonic_ns()) {}
  ~WaitTimes() {
    const uint64_t now = monotonic_ns();
    std::lock_guard lock(mutex);
    if (!times.wait_from) times.wait_from = from, times.wait_to = now;
  }
  Work::Times& times;
  std::mutex& mutex;
  const uint64_t from;
};

}  // namespace

void Work::wait(Duration timeout) {
  const auto end = timeout.count() > 0 ? Clock::now() + timeout : Clock::time_point::max();
  const WaitTimes waited(times_, mutex_);
  std::optional<RangeScope> range;
  if (!done()) range.emplace("wait", what_);
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

void Work::begin() {
  std::lock_guard lock(mutex_);
  times_.begun = monotonic_ns();
}

Work::Times Work::times() const {
  std::lock_guard lock(mutex_);
  return times_;
}

Clock::duration Work::took() const {
  const Times t = times();
  return std::chrono::nanoseconds(t.ended && t.begun ? t.ended - t.begun : 0);
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
    times_.ended = monotonic_ns();
    callbacks.swap(callbacks_);
  }
  ended_now_.notify_all();
  for (auto& f : callbacks) f();
}

}  // namespace fc::distributed
