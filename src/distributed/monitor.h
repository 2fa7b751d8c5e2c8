// SPDX-License-Identifier: Apache-2.0
// Looks after the processes of a run, on a thread of its own that needs neither Python nor the program: tells the store
// twice a second that this process is there, looks at the next rank's word, and hands out what this rank called last
// when another one asks. A rank that is not heard of for kSilence is dead or stopped: every group with it fails.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "distributed/record.h"

namespace fc::distributed {

class ProcessGroup;

class Monitor {
 public:
  static constexpr Duration kBeat = std::chrono::milliseconds(500), kSilence = std::chrono::seconds(8);

  // `store` is its own (a clone). `beats`: whether silence means anything.
  Monitor(Ref<Store> store, int rank, int size, bool beats);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  void watch(ProcessGroup* group);  // until `forget`, which waits while the group is being looked at
  void forget(ProcessGroup* group);
  // Asks the members of a group for what they called last and waits for the answers, at most `patience`.
  std::vector<std::optional<std::vector<Record>>> ask(const ProcessGroup& group, Duration patience);

 private:
  void run();
  void look();
  void answer(int64_t request);
  void fail_all(const std::string& why);
  void declare_dead(int rank, const std::string& why);

  Ref<Store> store_;
  const int rank_, size_, pid_;
  const bool beats_;
  int64_t beat_ = 0, requests_ = 0;
  int watched_;  // the rank whose word we look at
  std::string last_word_;
  Clock::time_point last_heard_, last_look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ProcessGroup*> groups_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace fc::distributed
