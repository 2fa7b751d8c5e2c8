// SPDX-License-Identifier: Apache-2.0
// What a rank called last, kept for the moment when something goes wrong: in a group's memory, and as text that ranks
// send each other through the store.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <facula/dtype.h>

#include "distributed/store.h"

namespace fc::distributed {

// What all ranks of a collective must agree on.
struct Header {
  uint64_t sequence = 0;  // of collectives in the group, from 1
  std::string op;         // "all_reduce"
  DType dtype = DType::Undefined;
  int64_t count = 0;   // elements; -1: may differ between ranks
  std::string detail;  // reduction, root
  std::string where;   // "train.py:31", this rank's own

  bool agrees(const Header& o) const {
    return sequence == o.sequence && op == o.op && dtype == o.dtype && count == o.count && detail == o.detail;
  }
  uint32_t tag() const;      // of what must agree
  std::string text() const;  // "all_reduce(float32, 1000 elements, SUM) at train.py:31"
};

struct Record {
  Header header;
  enum State : char { Waiting = 'w', Running = 'r', Done = 'd', Failed = 'f' } state = Waiting;
  int64_t begun_us = 0, ended_us = 0;  // since the epoch
  int64_t bytes = 0;
};

class Recorder {  // the last kKept calls; for any thread
 public:
  static constexpr size_t kKept = 64;
  void add(const Record& record);
  void update(uint64_t sequence, Record::State state);
  std::vector<Record> last() const;
  std::string encode() const;
  static std::vector<Record> decode(const std::string& text);

 private:
  mutable std::mutex mutex_;
  std::deque<Record> records_;
};

// Why call `mine` did not end, from what the ranks of its group say they called last (nothing: no answer).
std::string explain(const Header& mine, int own_rank, const std::vector<std::optional<std::vector<Record>>>& ranks);

}  // namespace fc::distributed
