// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/functional.h"

#include <chrono>
#include <cstring>

#include "backends/hammerblade/runtime/watch.h"
#include "backends/hammerblade/simulator/interrupt.h"

namespace fc::hb::sim {

namespace {

constexpr uint32_t turn = 4096;  // instructions until the next tile gets its turn

enum class End : uint8_t { Turn, Waits, Stopped };

class Runner {
 public:
  explicit Runner(Mesh& mesh)
      : mesh_(mesh), program_(*mesh.program()), scratchpad_(static_cast<uint32_t>(mesh.machine().scratchpad_bytes)) {}

  End run(Tile& tile, uint32_t most) {
    State& s = tile.s;
    uint32_t n = 0;
    End end = End::Turn;
    for (; n < most; ++n) {
      if (mesh_.debugger && !mesh_.debugger->before(tile, tile.instructions + n)) break;
      const Instruction* const i = program_.at(s.pc);
      if (!i) {
        mesh_.illegal(tile, s.pc);
        end = End::Stopped;
        break;
      }
      if (!step(tile, *i, &end)) break;
    }
    tile.instructions += n;
    return end;
  }

 private:
  bool step(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    switch (i.kind) {
      case Kind::Load: return load(tile, i, end);
      case Kind::Store: return store(tile, i, end);
      case Kind::Reserve: return reserve(tile, i, end);
      case Kind::Atomic: return atomic(tile, i, end);
      case Kind::Fence: s.pc += 4; return true;
      case Kind::Barrier: return barrier(tile, i, end);
      case Kind::Other: return other(tile, i, end);
      case Kind::Jump: {
        execute(i, s);
        const Instruction* const there = program_.at(s.pc);
        if (there && there->marks) {
          if (there->marks & at_return) tile.in_kernel = false, ++mesh_.progress;
          if (there->marks & at_double) mesh_.used_double = true;
        }
        return true;
      }
      default:
        if (!execute(i, s)) return other(tile, i, end);
        if ((i.uses & moves_stack) && static_cast<int32_t>(s.x[2]) < static_cast<int32_t>(program_.variables_end)) {
          mesh_.fault_of_stack(tile, s.pc - 4);
          return stop(end);
        }
        return true;
    }
  }

  static bool stop(End* end) {
    *end = End::Stopped;
    return false;
  }

  bool load(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    const uint32_t address = s.x[i.rs1] + static_cast<uint32_t>(i.imm), bytes = bytes_of(i.op);
    uint32_t value = 0;
    if (address - 16 < scratchpad_ - 16 && !(address & (bytes - 1))) {
      memcpy(&value, tile.scratch + address, bytes);
    } else {
      const Place at = mesh_.resolve(tile, address);
      if ((address & (bytes - 1)) || address < 16 || at.target == Target::Nowhere || at.target == Target::Host ||
          (at.target == Target::Dram && !mesh_.touchable(address, bytes, false))) {
        mesh_.fault_of_access(tile, address, bytes, false, s.pc);
        return stop(end);
      }
      value = mesh_.read(at, bytes);
      if (mesh_.watched && at.target == Target::Dram) mesh_.tell(tile, s.pc, at, i.op, bytes, value);
    }
    value = extended(i.op, value);
    if (i.op == Op::Flw) s.f[i.rd] = value;
    else if (i.rd) s.x[i.rd] = value;
    s.pc += 4;
    return true;
  }

  bool store(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    const uint32_t address = s.x[i.rs1] + static_cast<uint32_t>(i.imm), bytes = bytes_of(i.op);
    const uint32_t value = i.op == Op::Fsw ? s.f[i.rs2] : s.x[i.rs2];
    if (address - 16 < scratchpad_ - 16 && !(address & (bytes - 1)) && !tile.reserved) {
      memcpy(tile.scratch + address, &value, bytes);
      s.pc += 4;
      return true;
    }
    const Place at = mesh_.resolve(tile, address);
    if ((address & (bytes - 1)) || address < 16 || at.target == Target::Nowhere ||
        (at.target == Target::Dram && !mesh_.touchable(address, bytes, true)) ||
        (at.target == Target::Host && !mesh_.host_store(tile, at.offset, value))) {
      mesh_.fault_of_access(tile, address, bytes, true, s.pc);
      return stop(end);
    }
    if (at.target != Target::Host) {
      if (at.target == Target::Dram && mesh_.finished_early(tile)) {
        mesh_.fault_of_ending(tile, s.pc);
        return stop(end);
      }
      const bool told = mesh_.watched && at.target == Target::Dram;
      const uint32_t before = told ? mesh_.read(at, bytes) : 0;
      mesh_.write(at, value, bytes);
      if (told) mesh_.tell(tile, s.pc, at, i.op, bytes, before);
    }
    s.pc += 4;
    return !mesh_.stopped() || stop(end);
  }

  bool reserve(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    const uint32_t address = s.x[i.rs1];
    if (address & 3 || address - 16 >= scratchpad_ - 16) {
      if (mesh_.resolve(tile, address).target == Target::Nowhere || address & 3) {
        mesh_.fault_of_access(tile, address, 4, false, s.pc);
      } else {
        mesh_.fault(tile, "load-reserved elsewhere",
                    format("reserves 0x%08x at %%1, which is not in its own scratchpad: nothing else can be waited for",
                           address),
                    s.pc);
      }
      return stop(end);
    }
    if (i.op == Op::LrAq && tile.reserved) {
      tile.doing = Doing::Sleeps;
      *end = End::Waits;
      return false;
    }
    if (i.op == Op::Lr) {
      tile.reserved = true;
      tile.reservation = address;
    }
    uint32_t value;
    memcpy(&value, tile.scratch + address, 4);
    if (i.rd) s.x[i.rd] = value;
    s.pc += 4;
    return true;
  }

  bool atomic(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    const uint32_t address = s.x[i.rs1];
    const Place at = mesh_.resolve(tile, address);
    if (at.target == Target::Own || at.target == Target::Tile) {
      mesh_.fault(
          tile, "atomic on a scratchpad",
          format("does an atomic operation on 0x%08x at %%1, which is in a scratchpad: only DRAM has them", address),
          s.pc);
      return stop(end);
    }
    if (address & 3 || at.target != Target::Dram || !mesh_.touchable(address, 4, true)) {
      mesh_.fault_of_access(tile, address, 4, true, s.pc);
      return stop(end);
    }
    const uint32_t old = mesh_.atomic(i.op, address, s.x[i.rs2]);
    if (mesh_.watched) mesh_.tell(tile, s.pc, at, i.op, 4, old);
    const bool same = i.op != Op::Amoadd && old == s.x[i.rs2];
    if (i.rd) s.x[i.rd] = old;
    s.pc += 4;
    if (!same) return true;
    *end = End::Turn;  // a lock that somebody else holds: let him go on
    return false;
  }

  bool barrier(Tile& tile, const Instruction& i, End* end) {
    State& s = tile.s;
    if (i.op == Op::Barsend) {
      s.pc += 4;
      if (mesh_.arrive(tile)) {
        for (Tile& other : mesh_.tiles)
          if (other.slot == tile.slot && other.doing == Doing::AtBarrier) {
            other.doing = Doing::Runs;
            other.s.pc += 4;
            mesh_.woke = true;
          }
      }
      return true;
    }
    if (!tile.sent_barrier) {  // everybody has come
      s.pc += 4;
      return true;
    }
    tile.doing = Doing::AtBarrier;
    *end = End::Waits;
    return false;
  }

  bool other(Tile& tile, const Instruction& i, End* end) {
    if (i.op == Op::FenceI) {
      tile.s.pc += 4;
      return true;
    }
    mesh_.illegal(tile, tile.s.pc);
    return stop(end);
  }

  Mesh& mesh_;
  Program& program_;
  const uint32_t scratchpad_;
};

}  // namespace

void write_words(Mesh& mesh, const std::vector<HostWord>& words) {
  for (const HostWord& word : words) {
    const bool config = word.offset >= 0x20000;
    mesh.write({config ? Target::Config : Target::Tile, word.tile, config ? word.offset - 0x20000 : word.offset},
               word.value, 4);
  }
}

uint64_t run_functional(Mesh& mesh, double watchdog_seconds) {
  using Clock = std::chrono::steady_clock;
  Runner runner(mesh);
  uint64_t done = 0, seen = mesh.progress;
  auto since = Clock::now();
  for (uint32_t rounds = 1;; ++rounds) {
    bool any = false;
    for (Tile& tile : mesh.tiles) {
      if (tile.doing != Doing::Runs) continue;
      any = true;
      const uint64_t before = tile.instructions;
      const End end = runner.run(tile, turn);
      done += tile.instructions - before;
      if (mesh.watched) Watchers::get().flush();
      if (end == End::Stopped || mesh.stopped()) return done;
    }
    if (!any) return done;
    if (take_interrupt()) {
      mesh.cancel("interrupted");
      return done;
    }
    if (rounds % 64) continue;
    if (mesh.progress != seen) {
      seen = mesh.progress;
      since = Clock::now();
    } else if (watchdog_seconds > 0 && std::chrono::duration<double>(Clock::now() - since).count() > watchdog_seconds) {
      mesh.hang(watchdog_seconds);
      return done;
    }
  }
}

}  // namespace fc::hb::sim
