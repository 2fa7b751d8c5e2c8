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

#include "backends/hammerblade/emulator/emulator.h"
#include "backends/hammerblade/include/host/facula_hb.h"

namespace fc::hb {

// Who touched a word of DRAM last: the writer and two readers, each as a stamp, and where in the kernel library.
struct Cell {
  uint64_t write, read[2];
  uint32_t write_pc, read_pc;
};

// A stamp: 16 bits of the launch, 11 of the tile, 1 for an atomic, 4 for the bytes of the word, 32 of the tile's clock.
namespace stamp {
constexpr uint64_t most_launches = 0xffff;
constexpr uint64_t whole_word = uint64_t{0xf} << 32, by_atomic = uint64_t{1} << 36;
constexpr uint64_t make(uint64_t launch, uint32_t tile, uint32_t clock) {
  return launch << 48 | uint64_t{tile} << 37 | clock;
}
constexpr uint64_t launch(uint64_t s) { return s >> 48; }
constexpr uint32_t tile(uint64_t s) { return s >> 37 & 0x7ff; }
constexpr uint32_t mask(uint64_t s) { return s >> 32 & 0xf; }
constexpr uint32_t clock(uint64_t s) { return static_cast<uint32_t>(s); }
}  // namespace stamp

using Clock = std::vector<uint32_t>;  // by tile of the wave

// What a tile tells watchers: loads at once, a store when its value lies there.
struct Told {
  uint32_t tile = 0;                       // its number in the launch
  std::vector<facula_hb_access_t> stores;  // those that are being made

  void load(uintptr_t address, size_t size, uintptr_t pc) noexcept;
  void store_begins(uintptr_t address, size_t size, uintptr_t pc) noexcept;
  void settle() noexcept;
  void atomic(uintptr_t address, uint32_t size, uint64_t before, facula_hb_access_kind, uintptr_t pc) noexcept;
};

struct CheckTile {
  Tile* tile = nullptr;
  Told told;
  uintptr_t library = 0;          // where the kernel library begins
  uintptr_t stack = 0, room = 0;  // the lowest address of its stack that the scratchpad has, and the bytes from there
  uint64_t now = 0;               // its stamp, without bytes
  uint64_t launch_floor = 0;      // stamps below are of earlier launches
  uint64_t mine = 0;              // its stamps' upper bits
  Clock clock, fence, inbox;      // now; at the last fence; what came with words written into its scratchpad
  uint64_t writes = 0;            // to anything but its stack
  uint32_t budget = 0;            // accesses until another tile gets its turn
  uint32_t depth = 0;
  uintptr_t calls[64] = {};
  uintptr_t wrote_pc = 0;  // the first write to DRAM since the last barrier
};

// Where DRAM and what is known of it lie. Plain variables, like the next one: every access asks for them.
struct Window {
  uintptr_t base = 0;
  uint64_t span = 0;
  const uint8_t* valid = nullptr;
  Cell* cells = nullptr;
  bool watched = false;  // accesses are told
};
extern Window checked_window;

// The tile that this thread runs in check mode; null otherwise.
extern thread_local CheckTile* checked_tile __attribute__((tls_model("initial-exec")));

class Checker {
 public:
  Checker();
  ~Checker();
  void begin_launch(const Emulator::Options& options);
  void begin_wave(Wave& wave);
  void start(Tile&);
  size_t choose(size_t n);  // the schedule: which of n tiles is next

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
  void turn(Tile&, uintptr_t pc);  // counts an access made at pc; another tile may get its turn

 private:
  [[noreturn]] void found(Tile&, const char* kind, const std::string& text, uintptr_t pc, uintptr_t other = 0);
  void elsewhere(Tile&, uintptr_t address, uint32_t size, bool write, uintptr_t pc);
  void look_at_word(Tile&, Cell&, uint32_t mask, bool write, uintptr_t pc, uintptr_t address);
  [[noreturn]] void race(Tile&, uint64_t stamp, const char* theirs, const char* ours, uintptr_t other_pc, uintptr_t pc,
                         uintptr_t address);
  void advance(Tile&);  // its clock
  uint32_t random();
  uint32_t next_budget();

  Emulator::Options options_;
  uint64_t cells_bytes_ = 0;
  uint64_t launch_ = 0, random_ = 1;
  std::unordered_map<uintptr_t, Clock> words_;  // what an amo's word carries
};

}  // namespace fc::hb
