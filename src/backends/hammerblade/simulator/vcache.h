// SPDX-License-Identifier: Apache-2.0
// One bank of the last-level cache: write-back, write-allocate, pseudo-tree LRU, one miss at a time. It knows which
// lines
// it holds; what is in them lies in device memory.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/hammerblade/runtime/machine.h"
#include "backends/hammerblade/simulator/dram.h"
#include "backends/hammerblade/simulator/network.h"

namespace fc::hb::sim {

class Vcache {
 public:
  Vcache(const Machine&, uint32_t number, uint32_t node, uint32_t channel);

  uint32_t number() const { return number_; }
  uint32_t node() const { return node_; }
  bool room() const { return requests_.size() < 4; }
  void put(const Packet& p) { requests_.push_back(p); }
  bool idle() const { return requests_.empty() && answers_.empty(); }
  uint64_t next() const;  // when something can happen, if nothing comes

  // Starts and ends requests. `perform` does one to memory and makes its answer; answers go out through `send`, which
  // says whether there was room.
  template <class Perform, class Send>
  void step(uint64_t now, Dram& dram, Perform&& perform, Send&& send) {
    if (!answers_.empty() && answers_.front().ready <= now) {
      if (send(answers_.front().packet)) answers_.pop_front();
      else ++stall_rsp;
    }
    if (requests_.empty() || busy_ > now) return;
    if (answers_.size() >= 4) return;
    const Packet& request = requests_.front();
    if (!lookup(request, now, dram)) return;  // the line is under way
    count(request);
    Packet answer;
    perform(request, answer);
    const uint64_t words = request.message == Message::Fetch ? request.bytes / 4 : 1;
    busy_ = now + words;
    answers_.push_back({answer, now + stages_ - 1 + words});
    requests_.pop_front();
  }
  void invalidate();

  uint64_t loads = 0, stores = 0, swaps = 0, ors = 0, adds = 0, miss_loads = 0, miss_stores = 0, miss_amos = 0,
           stall_miss = 0, stall_rsp = 0, dma_reads = 0, dma_writes = 0, busy_cycles = 0;

 private:
  struct Line {
    uint64_t tag = ~uint64_t{0};
    bool dirty = false;
  };
  struct Answer {
    Packet packet;
    uint64_t ready;
  };
  bool lookup(const Packet&, uint64_t now, Dram&);
  void count(const Packet&);
  uint32_t victim(uint32_t set) const;
  void touch(uint32_t set, uint32_t way);

  const uint32_t number_, node_, channel_, sets_, ways_, line_bytes_, banks_;
  const uint64_t stages_;
  std::vector<Line> lines_;
  std::vector<uint64_t> trees_;  // of each set, a bit for each inner node
  std::deque<Packet> requests_;
  std::deque<Answer> answers_;
  uint64_t busy_ = 0;
};

}  // namespace fc::hb::sim
