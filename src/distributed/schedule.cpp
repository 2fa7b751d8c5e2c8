// SPDX-License-Identifier: Apache-2.0
#include "distributed/schedule.h"

#include <atomic>

namespace fc::distributed {
namespace {

std::atomic<bool> recorded{false};
std::mutex mutex;
size_t limit = 0;
Schedule& schedule() {
  static auto& s = *new Schedule;  // calls may end after static objects have
  return s;
}

}  // namespace

void start_schedule(size_t most) {
  std::lock_guard lock(mutex);
  FC_CHECK_AS(distributed::DistError, !recorded, "a schedule of this process is recorded already");
  schedule() = Schedule{monotonic_ns(), 0, 0, {}};
  limit = most;
  recorded = true;
}

Schedule stop_schedule() {
  std::lock_guard lock(mutex);
  FC_CHECK_AS(distributed::DistError, recorded, "no schedule of this process is recorded");
  recorded = false;
  schedule().stop_ns = monotonic_ns();
  return std::exchange(schedule(), {});
}

bool schedule_is_recorded() { return recorded.load(std::memory_order_relaxed); }

void note_call(ScheduledCall call) {
  std::lock_guard lock(mutex);
  if (!recorded) return;
  Schedule& s = schedule();
  if (s.calls.size() < limit) s.calls.push_back(std::move(call));
  else ++s.lost;
}

}  // namespace fc::distributed
