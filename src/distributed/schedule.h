// SPDX-License-Identifier: Apache-2.0
// What this process called in all of its groups while a schedule is recorded: when each call was made, begun and ended,
// and when the program waited for it. What a network model replays, and what says who waited for whom.
#pragma once
#include <string>
#include <vector>

#include "distributed/record.h"
#include "distributed/work.h"

namespace fc::distributed {

struct ScheduledCall {
  std::string group, engine;
  std::vector<int> ranks;  // of the group, in the default group
  Header header;           // sequence 0: send or recv
  int64_t bytes = 0;
  uint64_t called_ns = 0;  // of the monotonic clock
  Ref<Work> work;          // knows the rest
};
struct Schedule {
  uint64_t start_ns = 0, stop_ns = 0;
  uint64_t lost = 0;  // calls beyond the limit
  std::vector<ScheduledCall> calls;
};

// One schedule at a time, of the whole process; any thread. A second start throws, a stop without a start too.
void start_schedule(size_t limit);
Schedule stop_schedule();
bool schedule_is_recorded();  // one load
void note_call(ScheduledCall call);

}  // namespace fc::distributed
