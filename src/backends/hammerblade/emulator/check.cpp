// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/emulator/check.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/memory.h"

namespace fc::hb {

Window checked_window;
thread_local CheckTile* checked_tile = nullptr;

namespace {

void join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

Checker::Checker() {
  cells_bytes_ = memory().span() / 4 * sizeof(Cell);
  void* p = mmap(nullptr, cells_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error(HB_MC_NOMEM,
                format("check mode needs %llu bytes of addresses (not of memory) to find races: %s (ulimit -v?)",
                       static_cast<unsigned long long>(cells_bytes_), strerror(errno)));
  checked_window.cells = static_cast<Cell*>(p);
  madvise(p, cells_bytes_, MADV_HUGEPAGE);  // eight times the memory that kernels touch
}

Checker::~Checker() { munmap(checked_window.cells, cells_bytes_); }

void Checker::begin_launch(const Emulator::Options& options) {
  options_ = options;
  checked_window.base = memory().base();
  checked_window.span = memory().span();
  checked_window.valid = memory().valid();
  checked_window.watched = options.watched;
  random_ = options.seed * 0x9e3779b97f4a7c15ull + 1;
  if (++launch_ > stamp::most_launches) {  // stamps begin anew
    launch_ = 1;
    madvise(checked_window.cells, cells_bytes_, MADV_DONTNEED);
  }
}

void Checker::begin_wave(Wave& wave) {
  words_.clear();
  auto count = wave.tiles.size();
  for (Tile* tile : wave.tiles) {
    if (!tile->check) tile->check = std::make_unique<CheckTile>();
    tile->check->clock.assign(count, 0);
    tile->check->fence.assign(count, 0);
    tile->check->inbox.assign(count, 0);
    tile->check->tile = tile;
    tile->check->told.stores.clear();
    tile->check->told.tile =
        static_cast<uint32_t>(tile->block->group_id) * tile->group->size + static_cast<uint32_t>(tile->block->id);
    const uintptr_t variables = wave.library->variable_bytes();
    tile->check->room = options_.scratchpad_bytes - std::min<uintptr_t>(variables, options_.scratchpad_bytes);
    tile->check->stack = reinterpret_cast<uintptr_t>(tile->block) - tile->check->room;
    tile->check->library = wave.library->base();
    tile->check->launch_floor = launch_ << 48;
    tile->check->mine = stamp::make(launch_, tile->index, 0) >> 37;
    advance(*tile);
  }
}

void Checker::advance(Tile& tile) {
  tile.check->now = stamp::make(launch_, tile.index, ++tile.check->clock[tile.index]);
}

void Checker::start(Tile& tile) {
  CheckTile& c = *tile.check;
  c.budget = next_budget();
  c.depth = 0;
  c.wrote_pc = 0;
}

uint32_t Checker::random() {  // xorshift64*
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return static_cast<uint32_t>(random_ * 0x2545f4914f6cdd1dull >> 32);
}

size_t Checker::choose(size_t n) { return static_cast<size_t>(uint64_t{random()} * n >> 32); }

uint32_t Checker::next_budget() { return 1 + random() % 2048; }

void Checker::found(Tile& tile, const char* kind, const std::string& text, uintptr_t pc, uintptr_t other) {
  tile.in_runtime = true;
  const CheckTile& c = *tile.check;
  Finding finding;
  finding.kind = kind;
  finding.text = text;
  finding.pcs = {pc};
  for (uint32_t i = std::min<uint32_t>(c.depth, std::size(c.calls)); i-- > 0;) finding.pcs.push_back(c.calls[i]);
  if (other) finding.others = {other};
  Emulator::get().fail(tile, std::move(finding));
}

void Checker::race(Tile& tile, uint64_t seen, const char* theirs, const char* ours, uintptr_t other_pc, uintptr_t pc,
                   uintptr_t address) {
  const Tile& other = *tile.wave->tiles[stamp::tile(seen)];
  std::string whose = format("tile (%d,%d)", other.block->x, other.block->y);
  if (other.group != tile.group) whose += format(" of group (%u,%u)", other.group->id.x, other.group->id.y);
  uintptr_t base = tile.wave->library->base();
  found(tile, "race",
        format("%s the word at 0x%08llx (%s) at %%1, which %s %s%s; no barrier lies between", ours,
               static_cast<unsigned long long>(address), memory().describe(address).c_str(), whose.c_str(), theirs,
               other_pc ? " at %2" : ""),
        pc, other_pc ? base + other_pc : 0);
}

void Checker::look_at_word(Tile& tile, Cell& cell, uint32_t mask, bool write, uintptr_t pc, uintptr_t address) {
  const Clock& clock = tile.check->clock;
  uint32_t me = tile.index;
  // Does the stamp's access come before this one, whatever the schedule?
  auto before = [&](uint64_t seen) {
    return stamp::launch(seen) != launch_ || stamp::tile(seen) == me || stamp::clock(seen) <= clock[stamp::tile(seen)];
  };
  uint64_t now = tile.check->now | uint64_t{mask} << 32;
  auto at = static_cast<uint32_t>(pc - tile.check->library);
  if (!before(cell.write) && (stamp::mask(cell.write) & mask))
    race(tile, cell.write, "wrote", write ? "writes" : "reads", cell.write_pc, pc, address);
  if (!write) {
    if (before(cell.read[0])) {
      cell.read[0] = now;
      cell.read_pc = at;
    } else {
      cell.read[1] = now;
    }
    return;
  }
  for (int i = 0; i < 2; ++i)
    if (!before(cell.read[i]) && (stamp::mask(cell.read[i]) & mask))
      race(tile, cell.read[i], "read", "writes", i == 0 ? cell.read_pc : 0, pc, address);
  cell.write = now;
  cell.write_pc = at;
  if (mask == 0xf) cell.read[0] = cell.read[1] = 0;
}

void Checker::access(Tile& tile, uintptr_t address, uint32_t size, bool write, uintptr_t pc) {
  uintptr_t offset = address - memory().base();
  if (address & (size >= 4 ? 3 : size == 2 ? 1 : 0))
    found(tile, "misaligned access",
          format("%s %u bytes at 0x%08llx at %%1, which is not on a boundary of %d", write ? "writes" : "reads", size,
                 static_cast<unsigned long long>(address), size >= 4 ? 4 : 2),
          pc);
  if (offset >= memory().span()) return elsewhere(tile, address, size, write, pc);
  const uint8_t* valid = memory().valid();
  for (uintptr_t at = offset, end = offset + size; at < end; at = (at | 7) + 1) {
    if (valid[at >> 3] < std::min<uintptr_t>(end - (at & ~uintptr_t{7}), 8)) {
      uintptr_t bad = memory().base() + at;
      while (valid[(bad - memory().base()) >> 3] > (bad & 7)) ++bad;
      std::string what = memory().describe(bad);
      found(tile, what.find("freed") == std::string::npos ? "out of bounds" : "use after free",
            format("%s %u bytes at 0x%08llx at %%1, %s", write ? "writes" : "reads", size,
                   static_cast<unsigned long long>(address), what.c_str()),
            pc);
    }
  }
  if (write) {
    ++tile.check->writes;
    if (!tile.check->wrote_pc) tile.check->wrote_pc = pc;
  }
  for (uintptr_t word = offset & ~uintptr_t{3}, end = offset + size; word < end; word += 4) {
    uint32_t mask = size >= 4 ? 0xf : ((1u << size) - 1) << (offset & 3);
    look_at_word(tile, checked_window.cells[word >> 2], mask, write, pc, memory().base() + word);
  }
}

void Checker::elsewhere(Tile& tile, uintptr_t address, uint32_t size, bool write, uintptr_t pc) {
  Emulator& engine = Emulator::get();
  const Library& library = *tile.wave->library;
  uintptr_t own = reinterpret_cast<uintptr_t>(tile.base);
  if (address - own < HB_EMUL_TILE_BYTES) {  // its stack
    const CheckTile& c = *tile.check;
    if (address >= c.stack) return;
    found(tile, "scratchpad overflow",
          format("%s its stack at %%1, %zu bytes below its begin, but the scratchpad has %zu for it",
                 write ? "writes" : "reads", static_cast<size_t>(c.stack + c.room - address),
                 static_cast<size_t>(c.room)),
          pc);
  }
  if (library.is_variable(address)) {
    tile.check->writes += write;
    return;
  }
  if (engine.is_tile_address(address)) {
    if (!write) return;
    ++tile.check->writes;
    // What a fence put in order comes with the word.
    Tile& other = *engine.tile_at(address);
    if (other.wave == tile.wave && other.check && other.check->inbox.size() == tile.check->fence.size())
      join(other.check->inbox, tile.check->fence);
    return;
  }
  if (library.holds(address) && !write) return;
  std::string what = library.holds(address) ? "which is a constant" : memory().describe(address);
  found(tile, "out of bounds",
        format("%s %u bytes at 0x%08llx at %%1, %s", write ? "writes" : "reads", size,
               static_cast<unsigned long long>(address), what.c_str()),
        pc);
}

void Checker::atomic_access(Tile& tile, uintptr_t address, uint32_t size, uintptr_t pc) {
  if (address - memory().base() >= memory().span()) {
    if (Emulator::get().is_tile_address(address) || tile.wave->library->is_variable(address))
      found(tile, "atomic on a scratchpad",
            format("does an atomic operation on 0x%08llx at %%1, which is in a scratchpad: only DRAM has them",
                   static_cast<unsigned long long>(address)),
            pc);
    return elsewhere(tile, address, size, true, pc);
  }
  // Checked as an access, recorded as an atomic one: two of them do not race.
  uintptr_t offset = address - memory().base();
  Cell& cell = checked_window.cells[offset >> 2];
  if (cell.write & stamp::by_atomic) cell.write = 0;
  uintptr_t wrote = tile.check->wrote_pc;
  access(tile, address, size, true, pc);
  tile.check->wrote_pc = wrote;  // atomics are done at the cache, in order
  cell.write = tile.check->now | stamp::by_atomic | stamp::whole_word;
}

void Checker::synchronise(Tile& tile, uintptr_t address, bool acquire, bool release) {
  CheckTile& c = *tile.check;
  Clock& word = words_.try_emplace(address, c.clock.size(), 0u).first->second;
  if (acquire) join(c.clock, word);
  join(word, release ? c.clock : c.fence);
  if (release) advance(tile);
}

void Checker::fence(Tile& tile) {
  CheckTile& c = *tile.check;
  c.fence = c.clock;
  advance(tile);
}

void Checker::received(Tile& tile) { join(tile.check->clock, tile.check->inbox); }

void Checker::at_barrier(Tile& tile) { tile.check->wrote_pc = 0; }

void Checker::barrier_passed(Wave& wave, Group& group) {
  Clock all = wave.tiles[group.first]->check->clock;
  const uintptr_t pc = wave.tiles[group.first]->pc;
  for (uint32_t i = 1; i < group.size; ++i) {
    const Tile& tile = *wave.tiles[group.first + i];
    join(all, tile.check->clock);
    if (tile.pc == pc || group.met[0]) continue;
    group.met[0] = pc;
    group.met[1] = tile.pc;
    group.met_barrier = Group::passed(group.state) + 1;
  }
  for (uint32_t i = 0; i < group.size; ++i) {
    Tile& tile = *wave.tiles[group.first + i];
    tile.check->clock = all;
    advance(tile);
  }
}

void Checker::ended(Tile& tile) {
  // Tile 0's end is the launch's: what another wrote after its last barrier may not have arrived.
  if (tile.check->wrote_pc && tile.block->id != 0 && tile.group->size > 1)
    found(
        tile, "missing final barrier",
        "ends without a barrier after writing at %1: the host takes tile 0's end for everybody's (end the kernel with "
        "g_barrier.sync())",
        tile.check->wrote_pc);
}

void Checker::entered(Tile& tile, uintptr_t call_pc, uintptr_t sp, uintptr_t here) {
  CheckTile& c = *tile.check;
  if (c.depth < std::size(c.calls)) c.calls[c.depth] = call_pc;
  ++c.depth;
  size_t stack = tile.entry_sp > sp ? tile.entry_sp - sp : 0, variables = tile.wave->library->variable_bytes();
  if (stack + variables > options_.scratchpad_bytes) {
    found(tile, "scratchpad overflow",
          format("needs %zu bytes of stack and %zu of variables at %%1, but the scratchpad has %zu (counted on this "
                 "machine; "
                 "facula hb lint counts the chip's)",
                 stack, variables, options_.scratchpad_bytes),
          here);
  }
}

void Checker::left(Tile& tile) {
  if (tile.check->depth) --tile.check->depth;
}

void Checker::turn(Tile& tile, uintptr_t pc) {
  CheckTile& c = *tile.check;
  if (tile.wave->stop) {
    tile.pc = pc;
    return Emulator::get().leave(tile, TileState::GivenUp);
  }
  if (--c.budget) return;
  c.budget = next_budget();
  tile.pc = pc;
  Emulator::get().leave(tile, TileState::Ready);
}

}  // namespace fc::hb
