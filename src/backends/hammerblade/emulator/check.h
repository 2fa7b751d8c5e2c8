// SPDX-License-Identifier: Apache-2.0
// Check mode: every access of a kernel is looked at before it happens.
//
// Kernels are compiled with -fsanitize=thread, whose calls before loads, stores and atomics end in instrument.cpp
// instead of the sanitizer's library. An access must lie in allocated device memory, the tile's own stack and
// variables, another tile's through a remote pointer, or the library's constants; on a word boundary where it has
// words. Races are found by vector clocks (FastTrack, PLDI 2009): a barrier orders all tiles of a group, an amo with
// acquire or release the tiles that meet at its word; of the readers of a word the last two are remembered.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backends/hammerblade/emulator/engine.h"

namespace fc::hb {

struct Cell;

using Clock = std::vector<uint32_t>;  // by tile of the wave

struct CheckTile {
  Clock clock, fence, inbox;  // now; at the last fence; what came with words written into its scratchpad
  uint32_t budget = 0;        // accesses until another tile gets its turn
  uint32_t depth = 0;
  uintptr_t calls[64] = {};
  uintptr_t lowest_sp = 0;
  uintptr_t wrote_pc = 0;  // the first write to DRAM since the last barrier
};

class Checker {
 public:
  Checker();
  ~Checker();
  void begin_launch(const Engine::Options& options);
  void begin_wave(Wave& wave);
  void start(Tile&);
  size_t choose(size_t n);  // the schedule: which of n tiles is next
  uint64_t writes() const { return writes_; }

  // On the tile's stack.
  void at_barrier(Tile&);
  void barrier_passed(Wave&, Group&);
  void ended(Tile&);
  void access(Tile&, uintptr_t address, uint32_t size, bool write, uintptr_t pc);
  void atomic_access(Tile&, uintptr_t address, uint32_t size, uintptr_t pc);
  void synchronise(Tile&, uintptr_t address, bool acquire, bool release);
  void fence(Tile&);
  void received(Tile&);  // a word of its scratchpad had the value it waited for
  void entered(Tile&, uintptr_t call_pc, uintptr_t sp, uintptr_t here);
  void left(Tile&);
  void turn(Tile&);  // counts an access; another tile may get its turn

 private:
  [[noreturn]] void found(Tile&, const char* kind, const std::string& text, uintptr_t pc, uintptr_t other = 0);
  void elsewhere(Tile&, uintptr_t address, uint32_t size, bool write, uintptr_t pc);
  void look_at_word(Tile&, Cell&, uint32_t mask, bool write, uintptr_t pc, uintptr_t address);
  [[noreturn]] void race(Tile&, uint64_t stamp, const char* theirs, const char* ours, uintptr_t other_pc, uintptr_t pc,
                         uintptr_t address);
  uint32_t random();
  uint32_t next_budget();

  Engine::Options options_;
  Cell* cells_ = nullptr;
  uint64_t cells_bytes_ = 0;
  uint64_t launch_ = 0, writes_ = 0, random_ = 1;
  std::unordered_map<uintptr_t, Clock> words_;  // what an amo's word carries
};

}  // namespace fc::hb
