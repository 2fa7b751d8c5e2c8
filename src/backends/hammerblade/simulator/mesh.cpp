// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/mesh.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/watch.h"

namespace fc::hb::sim {

namespace {

constexpr size_t most_printed = 64 << 10;
// In the order in which the host writes them; the kernel pointer comes when all tiles have theirs.
constexpr const char* word_names[] = {"cuda_argc",
                                      "cuda_argv_ptr",
                                      "cuda_finish_ptr",
                                      "__bsg_x",
                                      "__bsg_y",
                                      "__bsg_id",
                                      "__bsg_grp_org_x",
                                      "__bsg_grp_org_y",
                                      "__bsg_grid_dim_x",
                                      "__bsg_grid_dim_y",
                                      "__bsg_tile_group_id_x",
                                      "__bsg_tile_group_id_y",
                                      "__bsg_tile_group_id",
                                      "__bsg_group_dim_x",
                                      "__bsg_group_dim_y"};
// A tile's configuration lies behind bit 17 of its 18-bit offset.
constexpr uint32_t config = 0x20000, freeze = 0, origin_x = 4, origin_y = 8;

}  // namespace

Mesh::Mesh(const Machine& machine, Dimension size, uint32_t dram, uint64_t dram_span)
    : machine_(machine), size_(size), dram_(dram), dram_span_(dram_span) {
  tiles.resize(size.area());
  for (uint32_t i = 0; i < size.area(); ++i) {
    tiles[i].index = i;
    tiles[i].x = i % size.x;
    tiles[i].y = i / size.x;
    tiles[i].s.credit_limit = static_cast<uint32_t>(machine.outstanding_requests);
  }
}

void Mesh::put(Program* program) {
  if (program_ == program) return;
  if (program_ && program_->written_end > program_->written_from)
    memcpy(program_->bytes.data() + (program_->written_from - program_->text()), dram(program_->written_from),
           program_->written_end - program_->written_from);
  program_ = program;
  stopped_ = false;  // what ended the last launch is said
  if (!program) return;
  memcpy(dram(program->text()), program->bytes.data(), program->bytes.size());
  const auto each = static_cast<size_t>(machine_.scratchpad_bytes);
  if (program->scratchpads.size() != tiles.size() * each) {
    program->scratchpads.clear();
    for (size_t i = 0; i < tiles.size(); ++i)
      program->scratchpads.insert(program->scratchpads.end(), program->variables.begin(), program->variables.end());
  }
  for (Tile& tile : tiles) {
    tile.scratch = program->scratchpads.data() + tile.index * each;
    tile.s = State();
    tile.s.credit_limit = static_cast<uint32_t>(machine_.outstanding_requests);
    tile.s.keep_flags = program->keeps_flags;
    tile.s.pc = program->text();
    tile.doing = Doing::Runs;
    tile.reserved = tile.in_kernel = tile.sent_barrier = false;
    tile.slot = -1;
  }
  pointer_at_ = program->symbol("cuda_kernel_ptr");
  for (size_t i = 0; i < std::size(word_names); ++i) words_at_[i] = program->symbol(word_names[i]);
}

void Mesh::forget(const Program* program) {
  if (program_ == program) program_ = nullptr;
}

Place Mesh::resolve(const Tile& from, uint32_t address) const {
  const auto scratchpad = static_cast<uint32_t>(machine_.scratchpad_bytes);
  if (address < scratchpad) return {Target::Own, from.index, address};
  if (address - uint64_t{dram_} < dram_span_ && address >= dram_) return {Target::Dram, 0, address};
  const auto tile_base = static_cast<uint32_t>(machine_.tile_address);
  const auto group_base = static_cast<uint32_t>(machine_.group_address);
  uint32_t x, y, offset;
  if ((address & 0xc0000000) == (tile_base & 0xc0000000)) {
    x = address >> 16 & 0x7f;
    y = address >> 23 & 0x7f;
    offset = address & 0xffff;
    if (x == host_word::x && y == host_word::y) return {Target::Host, 0, offset};
  } else if ((address & 0xe0000000) == (group_base & 0xe0000000)) {
    x = from.origin_x + (address >> 18 & 0x3f);
    y = from.origin_y + (address >> 24 & 0x1f);
    offset = address & 0x3ffff;
  } else {
    return {};
  }
  if (x >= size_.x || y >= size_.y) return {};
  if (offset < scratchpad) return {Target::Tile, y * size_.x + x, offset};
  if (offset >= config && offset < config + 12) return {Target::Config, y * size_.x + x, offset - config};
  return {};
}

bool Mesh::touchable(uint32_t address, uint32_t bytes, bool write) const {
  if (program_ && address - program_->text() < program_->bytes.size())
    return !write || (address >= program_->written_from && address + bytes <= program_->written_end);
  const uint8_t* valid = memory().valid();
  const uint32_t offset = address - dram_;
  return !valid || valid[offset >> 3] >= (offset & 7) + bytes;
}

uint32_t Mesh::read(const Place& at, uint32_t bytes) const {
  uint32_t value = 0;
  if (at.target == Target::Config) {
    const Tile& t = tiles[at.tile];
    return at.offset == freeze ? t.frozen : at.offset == origin_x ? t.origin_x : t.origin_y;
  }
  memcpy(&value, at.target == Target::Dram ? dram(at.offset) : tiles[at.tile].scratch + at.offset, bytes);
  return value;
}

void Mesh::write(const Place& at, uint32_t value, uint32_t bytes) {
  if (at.target == Target::Dram) {
    memcpy(dram(at.offset), &value, bytes);
    return;
  }
  Tile& tile = tiles[at.tile];
  if (at.target == Target::Config) {
    if (at.offset == freeze) tile.frozen = value & 1;
    else (at.offset == origin_x ? tile.origin_x : tile.origin_y) = value;
    return;
  }
  memcpy(tile.scratch + at.offset, &value, bytes);
  if (tile.reserved && (at.offset & ~3u) == tile.reservation) {
    tile.reserved = false;
    if (tile.doing == Doing::Sleeps) {
      tile.doing = Doing::Runs;
      woke = true;
      ++progress;
    }
  }
}

uint32_t Mesh::atomic(Op op, uint32_t address, uint32_t operand) {
  uint32_t old;
  memcpy(&old, dram(address), 4);
  const uint32_t now = op == Op::Amoswap ? operand : op == Op::Amoor ? old | operand : old + operand;
  if (now != old) ++progress;
  memcpy(dram(address), &now, 4);
  return old;
}

void Mesh::tell(const Tile& tile, uint32_t pc, const Place& at, Op op, uint32_t bytes, uint32_t before) const {
  const Kind kind = kind_of(op);
  uint32_t value = 0, tile_number = 0;
  memcpy(&value, dram(at.offset), bytes);
  if (tile.slot >= 0) {
    const Dimension group = slots_[static_cast<size_t>(tile.slot)].group;
    tile_number = (group.y * launch_.grid.x + group.x) * launch_.group.area() +
                  (tile.y - tile.origin_y) * launch_.group.x + (tile.x - tile.origin_x);
  }
  facula_hb_access_t told{};
  told.site = kSimulatedSite | uint64_t{program_->number} << 32 | pc;
  told.value = kind == Kind::Load ? before : value;
  told.before = kind == Kind::Load ? 0 : before;
  told.address = at.offset;
  told.tile = tile_number;
  told.bytes = static_cast<uint8_t>(bytes);
  told.kind = kind == Kind::Load ? FACULA_HB_LOAD : kind == Kind::Store ? FACULA_HB_STORE : FACULA_HB_ATOMIC;
  told.type = op == Op::Flw || op == Op::Fsw ? FACULA_HB_FLOAT : FACULA_HB_UNKNOWN;
  Watchers::get().tell(told);
}

bool Mesh::host_store(Tile& from, uint32_t offset, uint32_t value) {
  switch (offset & ~3u) {
    case host_word::finish:
      if (from.slot >= 0) {
        slots_[static_cast<size_t>(from.slot)].finished = true;
        just_finished_ = true;
        ++progress;
      }
      return true;
    case host_word::time: return true;
    case host_word::fail: {
      std::string said = from.printed.substr(from.printed.find_last_of('\n', from.printed.size() - 2) + 1);
      fault(from, "assertion", said.starts_with("assert failed") ? said : "calls bsg_fail at %1", from.s.pc);
      return true;
    }
    case host_word::out:
    case host_word::err:
      if (from.printed.size() < most_printed) {
        from.printed += static_cast<char>(value);
        if (from.printed.size() >= most_printed) from.printed += "\n… (cut: a tile may print 64 KiB in a launch)\n";
      }
      return true;
    case host_word::print_stat:
      if (on_stat) on_stat(watcher, from, value);
      return true;
    case host_word::saif_start & ~3u:
    case host_word::saif_end & ~3u:
      if (on_saif) on_saif(watcher, from, offset == host_word::saif_start);
      return true;
    default: return false;
  }
}

// ---- a launch -----------------------------------------------------------------------------------------------------

void Mesh::begin(const Launch& launch) {
  launch_ = launch;
  slots_.clear();
  for (uint32_t y = 0; y + launch.group.y <= size_.y; y += launch.group.y)
    for (uint32_t x = 0; x + launch.group.x <= size_.x; x += launch.group.x) slots_.push_back({{x, y}});
  next_group_ = active_ = 0;
  group_count_ = launch.grid.x * launch.grid.y;
  stopped_ = false;
  finding_.clear();
  status_ = 0;
  for (Tile& tile : tiles) {
    tile.printed.clear();
    tile.slot = -1;
    tile.sent_barrier = false;
    if (!program_->barrier.empty())
      memcpy(tile.scratch + program_->barrier_at, program_->barrier.data(), program_->barrier.size());
  }
}

void Mesh::words_of(const Slot& slot, std::vector<HostWord>& all, std::vector<HostWord>& last) {
  const uint32_t kernel = program_->symbol(launch_.kernel);
  const uint32_t finish =
      static_cast<uint32_t>(machine_.tile_address) | host_word::y << 23 | host_word::x << 16 | host_word::finish;
  for (uint32_t y = 0; y < launch_.group.y; ++y) {
    for (uint32_t x = 0; x < launch_.group.x; ++x) {
      Tile& tile = tile_at(slot.origin.x + x, slot.origin.y + y);
      const uint32_t values[] = {launch_.argc,
                                 launch_.argv,
                                 finish,
                                 x,
                                 y,
                                 y * launch_.group.x + x,
                                 slot.origin.x,
                                 slot.origin.y,
                                 launch_.grid.x,
                                 launch_.grid.y,
                                 slot.group.x,
                                 slot.group.y,
                                 slot.group.y * launch_.grid.x + slot.group.x,
                                 launch_.group.x,
                                 launch_.group.y};
      static_assert(std::size(values) == std::size(word_names));
      all.push_back({tile.index, config + origin_x, slot.origin.x});
      all.push_back({tile.index, config + origin_y, slot.origin.y});
      for (size_t i = 0; i < std::size(values); ++i) all.push_back({tile.index, words_at_[i], values[i]});
      last.push_back({tile.index, pointer_at_, kernel});
    }
  }
}

std::vector<HostWord> Mesh::next_groups() {
  std::vector<HostWord> all, last;
  for (size_t i = 0; i < slots_.size() && next_group_ < group_count_; ++i) {
    Slot& slot = slots_[i];
    if (slot.active) continue;
    slot.active = true;
    slot.finished = false;
    slot.at_barrier = 0;
    slot.group = {next_group_ % launch_.grid.x, next_group_ / launch_.grid.x};
    ++next_group_;
    ++active_;
    words_of(slot, all, last);
    for (uint32_t y = 0; y < launch_.group.y; ++y)
      for (uint32_t x = 0; x < launch_.group.x; ++x) {
        Tile& tile = tile_at(slot.origin.x + x, slot.origin.y + y);
        tile.slot = static_cast<int32_t>(i);
        tile.in_kernel = true;
        tile.instructions = 0;
      }
  }
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

void Mesh::settle() {
  for (Slot& slot : slots_) {
    if (!slot.active || !slot.finished) continue;
    bool back = true;
    for (uint32_t y = 0; back && y < launch_.group.y; ++y)
      for (uint32_t x = 0; back && x < launch_.group.x; ++x) {
        const Tile& tile = tile_at(slot.origin.x + x, slot.origin.y + y);
        back = !tile.in_kernel && tile.doing == Doing::Sleeps;
      }
    if (!back) continue;
    slot.active = false;
    --active_;
  }
}

// ---- what goes wrong ------------------------------------------------------------------------------------------------

std::vector<uint32_t> Mesh::calls(const Tile& tile, uint32_t pc) const {
  std::vector<uint32_t> pcs{pc};
  // Without frame pointers: words of the stack, and ra, that lie behind a call.
  const auto add = [&](uint32_t word) {
    const Instruction* call = program_->at(word - 4);
    if (call && call->kind == Kind::Jump && call->rd == 1 && pcs.back() != word && pcs.size() < 16) pcs.push_back(word);
  };
  if (!program_->holds(pc)) pcs.clear(), pcs.push_back(tile.s.x[1]);
  add(tile.s.x[1]);
  const auto top = static_cast<uint32_t>(machine_.scratchpad_bytes);
  for (uint32_t sp = tile.s.x[2] & ~3u; sp + 4 <= top; sp += 4) {
    uint32_t word;
    memcpy(&word, tile.scratch + sp, 4);
    add(word);
  }
  return pcs;
}

std::string Mesh::line(const Tile& tile, uint32_t pc) const {
  return program_->line_of(calls(tile, pc)) + format(" (pc %08x)", pc);
}

void Mesh::fault(const Tile& tile, const char* kind, const std::string& text, uint32_t pc) {
  if (stopped_) return;
  stopped_ = true;
  status_ = HB_MC_FAIL;
  const uint32_t x = tile.x - tile.origin_x, y = tile.y - tile.origin_y;
  finding_ = format("%s: tile (%u,%u) ", launch_.kernel, x, y);
  if (launch_.grid.area() > 1 && tile.slot >= 0) {
    const Dimension group = slots_[static_cast<size_t>(tile.slot)].group;
    finding_ += format("of group (%u,%u) ", group.x, group.y);
  }
  std::string said = text;
  if (const size_t at = said.find("%1"); at != std::string::npos) said.replace(at, 2, line(tile, pc));
  finding_ += said + " [" + kind + "; simulated]";
  if (debugger) debugger->fault(tile, finding_);
}

void Mesh::fault_of_access(const Tile& tile, uint32_t address, uint32_t bytes, bool write, uint32_t pc) {
  const char* does = write ? "writes" : "reads";
  if (address % bytes)
    return fault(tile, "misaligned access",
                 format("%s %u bytes at 0x%08x at %%1, which is not on a boundary of %u", does, bytes, address, bytes),
                 pc);
  const Place at = resolve(tile, address);
  std::string what;
  if (at.target == Target::Dram) {
    what = program_ && address - program_->text() < program_->bytes.size() ? "which is a constant"
           : address - dram_ < memory().text_bytes()                       ? "which belongs to the program's text"
                                                                           : memory().describe(address);
  } else if (at.target == Target::Own && address < 16) {
    what = "which is the null pointer";
  } else if (at.target == Target::Host) {
    what = "which is no word of the host";
  } else if ((address & 0xe0000000) == (static_cast<uint32_t>(machine_.group_address) & 0xe0000000) ||
             (address & 0xc0000000) == (static_cast<uint32_t>(machine_.tile_address) & 0xc0000000)) {
    what = format("which is in no tile's scratchpad: the mesh has %u x %u tiles of %lld bytes", size_.x, size_.y,
                  static_cast<long long>(machine_.scratchpad_bytes));
  } else {
    what = format("which nothing answers to: a scratchpad ends at 0x%llx, DRAM begins at 0x%08x",
                  static_cast<unsigned long long>(machine_.scratchpad_bytes), dram_);
  }
  fault(tile, what.find("freed") == std::string::npos ? "out of bounds" : "use after free",
        format("%s %u bytes at 0x%08x at %%1, %s", does, bytes, address, what.c_str()), pc);
}

bool Mesh::allows(const Tile& tile, const Place& at, uint32_t address, uint32_t bytes, bool write, bool atomic,
                  uint32_t pc) {
  if (stopped_) return false;
  if (atomic && (at.target == Target::Own || at.target == Target::Tile)) {
    fault(tile, "atomic on a scratchpad",
          format("does an atomic operation on 0x%08x at %%1, which is in a scratchpad: only DRAM has "
                 "them",
                 address),
          pc);
    return false;
  }
  if ((address & (bytes - 1)) || address < 16 || at.target == Target::Nowhere ||
      (at.target == Target::Host && (!write || !knows_word(at.offset))) ||
      (at.target == Target::Dram && !touchable(address, bytes, write))) {
    fault_of_access(tile, address, bytes, write, pc);
    return false;
  }
  if (write && at.target == Target::Dram && finished_early(tile)) {
    fault_of_ending(tile, pc);
    return false;
  }
  return true;
}

bool Mesh::allows_reservation(const Tile& tile, uint32_t address, uint32_t pc) {
  const Place at = resolve(tile, address);
  if (!(address & 3) && address >= 16 && at.target == Target::Own) return true;
  if (at.target == Target::Nowhere || (address & 3) || address < 16) {
    fault_of_access(tile, address, 4, false, pc);
  } else {
    fault(tile, "load-reserved elsewhere",
          format("reserves 0x%08x at %%1, which is not in its own scratchpad: nothing else can be waited for", address),
          pc);
  }
  return false;
}

bool Mesh::knows_word(uint32_t offset) {
  switch (offset & ~3u) {
    case host_word::finish:
    case host_word::time:
    case host_word::fail:
    case host_word::out:
    case host_word::err:
    case host_word::print_stat:
    case host_word::saif_start:
    case host_word::saif_end: return true;
    default: return false;
  }
}

void Mesh::fault_of_ending(const Tile& tile, uint32_t pc) {
  fault(tile, "missing final barrier",
        "ends without a barrier after writing at %1: the host takes tile 0's end for everybody's (end the kernel with "
        "g_barrier.sync())",
        pc);
}

void Mesh::fault_of_stack(const Tile& tile, uint32_t pc) {
  fault(tile, "scratchpad overflow",
        format("needs %lld bytes of stack and %u of variables at %%1, but the scratchpad has %lld",
               static_cast<long long>(machine_.scratchpad_bytes) - static_cast<int32_t>(tile.s.x[2]),
               program_->variables_end, static_cast<long long>(machine_.scratchpad_bytes)),
        pc);
}

bool Mesh::arrive(Tile& tile) {
  if (tile.slot < 0 || tile.sent_barrier) return false;
  tile.sent_barrier = true;
  Slot& slot = slots_[static_cast<size_t>(tile.slot)];
  if (++slot.at_barrier < launch_.group.area()) return false;
  slot.at_barrier = 0;
  ++progress;
  for (uint32_t y = 0; y < launch_.group.y; ++y)
    for (uint32_t x = 0; x < launch_.group.x; ++x) tile_at(slot.origin.x + x, slot.origin.y + y).sent_barrier = false;
  return true;
}

void Mesh::illegal(const Tile& tile, uint32_t pc) {
  uint32_t word = 0;
  if (program_->holds(pc) && !(pc & 3)) memcpy(&word, program_->bytes.data() + (pc - program_->text()), 4);
  else return fault(tile, "illegal instruction", format("jumps to 0x%08x, where no instruction is, from %%1", pc), pc);
  const Instruction whole = decode(word);
  std::string why = format("instruction 0x%08x", word);
  if (whole.op == Op::Mulh || whole.op == Op::Mulhu || whole.op == Op::Mulhsu)
    why = format("%s, which the core does not have (64-bit products and divisions by constants make it)",
                 name_of(whole.op));
  else if (whole.op == Op::Amoadd) why = "amoadd, which this machine does not have: amoswap and amoor only";
  else if ((word & 0x7f) == 0x2f)
    why = "an atomic operation that the caches do not have: amoswap, amoor and amoadd only";
  else if (whole.kind == Kind::Csr) why = format("a CSR that does not exist, 0x%03x", static_cast<unsigned>(whole.imm));
  else if (whole.op == Op::Ebreak)
    why = "ebreak: the compiler proved that this cannot be reached, or does something undefined";
  fault(tile, "illegal instruction", "runs " + why + ", at %1", pc);
}

std::string Mesh::who_waits() const {
  std::map<std::tuple<Doing, bool, uint32_t, uint32_t>, std::vector<const Tile*>> rows;
  for (const Tile& tile : tiles) {
    if (tile.slot < 0) continue;
    const bool sleeps = tile.in_kernel && tile.doing == Doing::Sleeps;
    rows[{tile.doing, tile.in_kernel, tile.in_kernel ? tile.s.pc : 0, sleeps ? tile.reservation : 0}].push_back(&tile);
  }
  std::string out;
  for (const auto& [key, list] : rows) {
    const Tile& first = *list.front();
    const bool one = list.size() == 1;
    std::string who;
    for (size_t i = 0; i < list.size() && i < 3; ++i)
      who += format("%s(%u,%u)", i ? ", " : "", list[i]->x - list[i]->origin_x, list[i]->y - list[i]->origin_y);
    if (list.size() > 3) who += format(" and %zu more", list.size() - 3);
    out += (one ? "\n  tile " : "\n  tiles ") + who + " ";
    const uint32_t word = first.reservation;
    const bool in_barrier = word - program_->barrier_at < program_->barrier.size();
    if (!first.in_kernel) {
      out += one ? "has ended" : "have ended";
      continue;
    }
    if (first.doing == Doing::AtBarrier || (first.doing == Doing::Sleeps && in_barrier)) {
      out += one ? "waits at a barrier" : "wait at a barrier";
    } else if (first.doing == Doing::Sleeps) {
      uint32_t value;
      memcpy(&value, first.scratch + word, 4);
      const std::string name = program_->name_at(word, true);
      out += format("%s for somebody to write the word at 0x%03x%s (it is %d)", one ? "sleeps" : "sleep", word,
                    name.empty() ? "" : (" (" + name + ")").c_str(), static_cast<int32_t>(value));
    } else {
      out += one ? "runs" : "run";
    }
    out += " at " + line(first, first.s.pc);
  }
  return out;
}

void Mesh::stuck() {
  if (stopped_) return;
  uint32_t ended = 0, total = 0;
  const Tile* waits = nullptr;
  for (const Tile& tile : tiles) {
    if (tile.slot < 0) continue;
    ++total;
    if (!tile.in_kernel) ++ended;
    else if (!waits &&
             (tile.doing == Doing::AtBarrier || tile.reservation - program_->barrier_at < program_->barrier.size()))
      waits = &tile;
  }
  if (waits && ended) {
    fault(*waits, "divergent barrier",
          format("waits at a barrier at %%1, which %u of the group's %u tiles never reach: they have ended", ended,
                 total),
          waits->s.pc);
  } else {
    stopped_ = true;
    finding_ =
        format("%s: every tile waits, and nobody writes what they wait for [deadlock; simulated]", launch_.kernel);
    if (debugger) debugger->fault(tiles.front(), finding_);
  }
  status_ = HB_MC_FAIL;
  finding_ += who_waits();
}

void Mesh::hang(double seconds) {
  if (stopped_) return;
  stopped_ = true;
  status_ = HB_MC_TIMEOUT;
  finding_ = format("%s: no tile has ended or been woken for %.3g seconds [hang; simulated]", launch_.kernel, seconds) +
             who_waits();
  if (debugger) debugger->fault(tiles.front(), finding_);
}

void Mesh::cancel(const char* why) {
  if (stopped_) return;
  stopped_ = true;
  status_ = HB_MC_FAIL;
  finding_ = format("%s: %s [ended; simulated]", launch_.kernel, why);
}

Outcome Mesh::outcome() {
  Outcome out;
  out.finding = finding_;
  out.status = status_;
  for (Tile& tile : tiles) {
    if (tile.printed.empty()) continue;
    const Dimension group = tile.slot >= 0 ? slots_[static_cast<size_t>(tile.slot)].group : Dimension{0, 0};
    out.prints.push_back({group, {tile.x - tile.origin_x, tile.y - tile.origin_y}, std::move(tile.printed)});
    tile.printed.clear();
  }
  return out;
}

}  // namespace fc::hb::sim
