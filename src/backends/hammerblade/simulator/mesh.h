// SPDX-License-Identifier: Apache-2.0
// The machine without time: tiles with their registers and scratchpads, addresses, the host's words, tile groups, and
// what goes wrong. The functional engine (functional.cpp) and the timed one (timed.h) run tiles on it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/hammerblade/runtime/engine.h"
#include "backends/hammerblade/runtime/machine.h"
#include "backends/hammerblade/simulator/debugger.h"
#include "backends/hammerblade/simulator/execute.h"
#include "backends/hammerblade/simulator/program.h"

namespace fc::hb::sim {

enum class Doing : uint8_t {
  Sleeps,  // lr.w.aq: until somebody writes the word
  Runs,
  AtBarrier,  // barrecv
};

struct Tile {
  State s;
  uint8_t* scratch = nullptr;
  uint32_t index = 0, x = 0, y = 0;
  uint32_t origin_x = 0, origin_y = 0;  // of its group
  int32_t slot = -1;                    // of the launch's; -1: it has no part in it
  Doing doing = Doing::Runs;
  bool reserved = false, in_kernel = false, frozen = false;
  uint32_t reservation = 0;  // offset in the scratchpad
  bool sent_barrier = false;
  uint64_t instructions = 0;
  std::string printed;
};

// Where an address leads.
enum class Target : uint8_t { Own, Tile, Dram, Host, Config, Nowhere };
struct Place {
  Target target = Target::Nowhere;
  uint32_t tile = 0, offset = 0;  // offset: in the scratchpad, of the host's word; in DRAM the address
};

// Tiles that one group after another runs on.
struct Slot {
  Dimension origin{0, 0}, group{0, 0};
  bool active = false, finished = false;
  uint32_t at_barrier = 0;  // of the hardware barrier
};

// A word that the host writes for a launch.
struct HostWord {
  uint32_t tile, offset, value;
};

namespace host_word {
constexpr uint32_t finish = 0xead0, time = 0xead4, fail = 0xead8, out = 0xeadc, err = 0xeee0, print_stat = 0x0d0c,
                   saif_start = 0xfff0, saif_end = 0xfff4;
constexpr uint32_t x = 127, y = 127;  // where no mesh has a tile
}  // namespace host_word

class Mesh {
 public:
  Mesh(const Machine&, Dimension size, uint32_t dram, uint64_t dram_span);

  const Machine& machine() const { return machine_; }
  Dimension size() const { return size_; }
  std::vector<Tile> tiles;
  Tile& tile_at(uint32_t x, uint32_t y) { return tiles[y * size_.x + x]; }

  // Which program's text lies in DRAM and whose variables in the tiles.
  Program* program() const { return program_; }
  void put(Program*);  // null: none
  void forget(const Program*);

  Place resolve(const Tile&, uint32_t address) const;
  // Whether a program may touch these bytes of DRAM.
  bool touchable(uint32_t address, uint32_t bytes, bool write) const;
  static uint8_t* dram(uint32_t address) { return reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address)); }
  uint32_t read(const Place&, uint32_t bytes) const;             // of a scratchpad, DRAM or a tile's configuration
  void write(const Place&, uint32_t value, uint32_t bytes);      // wakes who sleeps on it
  uint32_t atomic(Op, uint32_t address, uint32_t operand);       // on DRAM; returns what was there
  bool host_store(Tile& from, uint32_t offset, uint32_t value);  // false: there is no such word

  // ---- a launch
  void begin(const Launch&);
  // Groups on free slots: the words that the host writes for them, kernel pointers last. Empty: nothing to start.
  std::vector<HostWord> next_groups();
  bool done() const { return next_group_ == group_count_ && active_ == 0; }
  uint32_t running() const { return active_; }
  // The group's tiles are all back where they wait for kernels: the slot is free.
  void settle();

  // ---- what goes wrong: the first counts, and ends the launch
  void fault(const Tile&, const char* kind, const std::string& text, uint32_t pc);  // %1: the line
  void fault_of_access(const Tile&, uint32_t address, uint32_t bytes, bool write, uint32_t pc);
  void illegal(const Tile&, uint32_t pc);
  void stuck();  // nobody can go on
  void hang(double seconds);
  void cancel(const char* why);  // somebody outside wants it to end
  bool stopped() const { return stopped_; }
  Outcome outcome();  // prints and finding
  std::string who_waits() const;
  std::vector<uint32_t> calls(const Tile&, uint32_t pc) const;  // pc and return addresses, innermost first
  std::string line(const Tile&, uint32_t pc) const;
  const char* kernel() const { return launch_.kernel; }

  Debugger* debugger = nullptr;  // null: nobody looks

  bool watched = false;  // somebody wants to know of loads and stores (runtime/watch.h)
  // Tells one of DRAM, by the instruction at `pc`; a store or atomic when it was made, with what lay there before.
  void tell(const Tile&, uint32_t pc, const Place&, Op, uint32_t bytes, uint32_t before) const;
  bool woke = false;         // a write woke a tile: the engine looks, and clears it
  bool used_double = false;  // in this launch, in software
  uint64_t progress = 0;     // tiles woken and ended, words changed by atomics
  // After the host took the group for done, a tile of it still writes: it has ended without a barrier.
  bool finished_early(const Tile& tile) const {
    return tile.in_kernel && tile.slot >= 0 && slots_[static_cast<size_t>(tile.slot)].finished;
  }
  // Whether a tile may do that; false: it is a finding.
  bool allows(const Tile&, const Place&, uint32_t address, uint32_t bytes, bool write, bool atomic, uint32_t pc);
  static bool knows_word(uint32_t offset);  // of the host
  bool allows_reservation(const Tile&, uint32_t address, uint32_t pc);
  Dimension group() const { return launch_.group; }
  bool take_finished() { return std::exchange(just_finished_, false); }  // a group has ended
  void fault_of_ending(const Tile&, uint32_t pc);
  void fault_of_stack(const Tile&, uint32_t pc);
  // barsend and barrecv of the hardware's barrier. True: everybody has come.
  bool arrive(Tile&);
  // Who looks at statistics, and where tiles print theirs.
  void (*on_stat)(void* who, Tile&, uint32_t word) = nullptr;
  void (*on_saif)(void* who, Tile&, bool start) = nullptr;
  void* watcher = nullptr;

 private:
  void words_of(const Slot&, std::vector<HostWord>& all, std::vector<HostWord>& last);

  Machine machine_;
  Dimension size_;
  uint32_t dram_;
  uint64_t dram_span_;
  Program* program_ = nullptr;
  Launch launch_;
  uint32_t pointer_at_ = 0, next_group_ = 0, group_count_ = 0, active_ = 0;
  uint32_t words_at_[16] = {};
  std::deque<Slot> slots_;
  bool stopped_ = false, just_finished_ = false;
  std::string finding_;
  int status_ = 0;
};

}  // namespace fc::hb::sim
