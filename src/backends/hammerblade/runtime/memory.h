// SPDX-License-Identifier: Apache-2.0
// Device memory: a window of this process's addresses below 4 GiB, so that a
// pointer into it is a 32-bit device address. DRAM starts where the machine's address map says if the process has that
// free (else elsewhere below 4 GiB); the tiles' 64 KiB lie at their global addresses.
//
// The allocator is exact: nothing is cached, a block has the size that was asked for. In check mode blocks have red
// zones, freed ones stay in quarantine until room is needed, and a map of valid bytes tells what may be touched.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace fc::hb {

using Eva = uint32_t;

class Memory {
 public:
  // Takes the window; later calls change the size that may be used. Throws Error.
  void open(uint64_t address, uint64_t bytes);
  void set_check(bool on);  // for blocks allocated from now on

  Eva allocate(uint64_t bytes);
  void release(Eva);
  // A range of live memory, or Error saying what the address is.
  void require(Eva address, uint64_t bytes, const char* what) const;

  uintptr_t base() const { return base_; }
  // From the first byte on, never allocated: a program's text lies there.
  uint64_t text_bytes() const { return text_; }
  void require_text();  // it can be written from now on
  uint64_t span() const { return span_; }
  // One byte for eight of the window: how many of them, from the first, may be touched.
  const uint8_t* valid() const { return valid_; }
  // "… is 4 bytes past the end of the 64 bytes at 0x80001000", for a report.
  std::string describe(uintptr_t address) const;

  struct Counters {
    uint64_t allocations = 0, frees = 0, bytes = 0, peak = 0;
  };
  Counters counters() const;

 private:
  struct Block {
    uint64_t size, start, span;  // asked for; with red zones
  };
  uint64_t take(uint64_t span);
  void give(uint64_t start, uint64_t span);
  void commit(uint64_t end);
  void mark(uint64_t address, uint64_t size, bool on);
  bool empty_quarantine();

  mutable std::mutex mutex_;
  uintptr_t base_ = 0;
  uint64_t span_ = 0, limit_ = 0, committed_ = 0, text_ = 0;
  bool check_ = false;
  uint8_t* valid_ = nullptr;
  std::map<uint64_t, uint64_t> free_;                     // start -> span, as addresses
  std::set<std::pair<uint64_t, uint64_t>> free_by_span_;  // (span, start)
  std::map<uint64_t, Block> live_, quarantined_;          // by the block's address
  std::deque<uint64_t> quarantine_;
  uint64_t quarantine_bytes_ = 0;
  Counters counters_;
};

Memory& memory();  // the process's device memory

// Reserves addresses that nothing uses, inaccessible; the first candidate that is free, or 0.
uintptr_t reserve(uint64_t bytes, std::initializer_list<uint64_t> candidates);

}  // namespace fc::hb
