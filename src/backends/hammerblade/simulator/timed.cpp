// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/timed.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "backends/hammerblade/runtime/watch.h"
#include "backends/hammerblade/simulator/interrupt.h"

namespace fc::hb::sim {

namespace {

constexpr uint32_t host_node = 0;
constexpr uint32_t config_offset = 0x20000;

constexpr const char* stall_names[] = {
#define X(name, text) text,
    HB_SIM_STALLS(X)
#undef X
};
constexpr const char* access_names[] = {
#define X(name) #name,
    HB_SIM_ACCESSES(X)
#undef X
};

Network::Shape shape_of(const Machine& m, Dimension size) {
  return {size.x,
          size.y + 3,
          static_cast<uint32_t>(m.ruche) < size.x ? static_cast<uint32_t>(m.ruche) : 0,
          static_cast<uint32_t>(m.input_fifo),
          static_cast<uint32_t>(m.core_fifo),
          static_cast<uint32_t>(m.hop_cycles)};
}

}  // namespace

const char* stall_name(size_t i) { return stall_names[i]; }
const char* issue_name(size_t i) { return i < op_count ? name_of(static_cast<Op>(i)) : access_names[i - op_count]; }

Timed::Timed(Mesh& mesh)
    : mesh_(mesh),
      m_(mesh.machine()),
      columns_(mesh.size().x),
      rows_(mesh.size().y + 3),
      dram_(m_),
      requests_(shape_of(m_, mesh.size()), false, *this),
      answers_(shape_of(m_, mesh.size()), true, *this),
      cores_(mesh.tiles.size()) {
  const auto banks = static_cast<uint32_t>(m_.vcache_banks), half = std::max(1u, banks / 2);
  for (uint32_t b = 0; b < banks; ++b) {  // half of them at the columns' northern ends, half at the southern ones
    const uint32_t x = static_cast<uint32_t>(uint64_t{b % half} * columns_ / half), row = b < half ? 1 : rows_ - 1;
    const auto channel = static_cast<uint32_t>(uint64_t{b} * static_cast<uint64_t>(m_.dram_channels) / banks);
    caches_.push_back(std::make_unique<Vcache>(m_, b, row * columns_ + x, channel));
  }
  words_ = (cores_.size() + 63) / 64;
  buckets_.resize(words_ * horizon);
  for (Core& core : cores_) core.icache.assign(static_cast<size_t>(m_.icache_bytes / m_.icache_block_bytes), 0);
}

Timed::~Timed() = default;

void Timed::forget_text() {
  for (Core& core : cores_) std::fill(core.icache.begin(), core.icache.end(), 0);
  for (auto& cache : caches_) cache->invalidate();
}

// ---- when cores look ------------------------------------------------------------------------------------------------

void Timed::schedule(uint32_t tile, uint64_t at) {
  Core& core = cores_[tile];
  core.parked = false;
  core.scheduled = at;
  if (at - now_ >= horizon) {
    later_.emplace_back(at, tile);
    std::push_heap(later_.begin(), later_.end(), std::greater<>());
    return;
  }
  buckets_[at % horizon * words_ + tile / 64] |= uint64_t{1} << (tile % 64);
  ++in_bucket_[at % horizon];
}

uint64_t Timed::next_cycle() {
  if (!requests_.idle() || !answers_.idle()) return now_ + 1;
  uint64_t at = ~uint64_t{0};
  if (next_word_ < words_to_write_.size() && host_outstanding_ < static_cast<uint64_t>(m_.credits))
    at = std::max(next_word_at_, now_ + 1);
  for (const Reply& reply : replies_) at = std::min(at, std::max(reply.at, now_ + 1));
  for (const auto& cache : caches_) at = std::min(at, std::max(cache->next(), now_ + 1));
  if (!later_.empty()) at = std::min(at, later_.front().first);
  for (uint64_t t = now_ + 1; t < now_ + horizon && t < at; ++t)
    if (in_bucket_[t % horizon]) return t;
  return at;
}

void Timed::account(Tile& tile, Core& core) {
  if (core.accounted >= now_) return;
  const uint64_t cycles = now_ - core.accounted;
  core.stats.stalled[static_cast<size_t>(core.reason)] += cycles;
  if (watcher_)
    watcher_->spent(tile.index, core.accounted, cycles, tile.s.pc,
                    static_cast<uint32_t>(issue_count + static_cast<size_t>(core.reason)));
  core.accounted = now_;
}

uint64_t Timed::instructions() const {
  uint64_t all = 0;
  for (const Core& core : cores_) all += core.stats.instructions;
  return all;
}

void Timed::account_all() {
  for (Tile& tile : mesh_.tiles) account(tile, cores_[tile.index]);
}

void Timed::wait(Core& core, Stall why) {
  core.reason = why;
  core.parked = true;
}

void Timed::again(uint32_t tile, Core& core, uint64_t at, Stall why) {
  core.reason = why;
  schedule(tile, at);
}

// ---- packets --------------------------------------------------------------------------------------------------------

void Timed::address(Packet& packet, const Place& at) const {
  uint32_t node = host_node;
  if (at.target == Target::Dram) {
    const uint32_t line = at.offset / static_cast<uint32_t>(m_.vcache_line_bytes);
    node = caches_[line % caches_.size()]->node();
  } else if (at.target != Target::Host) {
    node = node_of(mesh_.tiles[at.tile]);
  }
  packet.to = static_cast<uint16_t>(node);
  packet.x = static_cast<uint8_t>(node % columns_);
  packet.row = static_cast<uint8_t>(node / columns_);
  packet.target = static_cast<uint8_t>(at.target);
}

void Timed::tell(const Packet& request, const Place& at, uint32_t before) const {
  mesh_.tell(mesh_.tiles[request.from - 2 * columns_], request.pc, at, request.op, request.bytes, before);
}

// A request where it arrives: to memory, and its answer.
void Timed::perform(const Packet& request, Packet& answer) {
  const auto target = static_cast<Target>(request.target);
  const uint32_t tile = request.to >= 2 * columns_ ? request.to - 2 * columns_ : 0;
  const Place place{target, tile, request.address};
  answer = request;
  answer.to = request.from;
  answer.x = static_cast<uint8_t>(request.from % columns_);
  answer.row = static_cast<uint8_t>(request.from / columns_);
  answer.message = Message::Value;
  switch (request.message) {
    case Message::Load: {
      const uint32_t value = mesh_.read(place, request.bytes);
      answer.value = extended(request.op, value);
      if (mesh_.watched && target == Target::Dram) tell(request, place, value);
      break;
    }
    case Message::Atomic:
      answer.value = mesh_.atomic(request.op, request.address, request.value);
      if (mesh_.watched) tell(request, place, answer.value);
      break;
    case Message::Fetch: answer.message = Message::Fetched; break;
    default: {
      answer.message = Message::Credit;
      if (target == Target::Host) {
        mesh_.host_store(mesh_.tiles[request.from - 2 * columns_], request.address, request.value);
        break;
      }
      if (target == Target::Dram) {
        const uint32_t before = mesh_.watched ? mesh_.read(place, request.bytes) : 0;
        mesh_.write(place, request.value, request.bytes);
        if (mesh_.watched) tell(request, place, before);
        break;
      }
      Tile& to = mesh_.tiles[tile];
      const Doing before = to.doing;
      mesh_.write(place, request.value, request.bytes);
      if (before == Doing::Sleeps && to.doing == Doing::Runs) {
        started_at_ = request.from == host_node ? now_ : started_at_;
        if (cores_[tile].parked) schedule(tile, now_ + 1);
      }
    }
  }
}

bool Timed::take(bool answers, uint32_t node, const Packet& packet, uint64_t) {
  if (answers) {
    if (node == host_node) --host_outstanding_;
    else arrived(mesh_.tiles[node - 2 * columns_], packet);
    return true;
  }
  if (static_cast<Target>(packet.target) == Target::Dram) {
    const uint32_t line = packet.address / static_cast<uint32_t>(m_.vcache_line_bytes);
    Vcache& cache = *caches_[line % caches_.size()];
    if (!cache.room()) return false;
    cache.put(packet);
    return true;
  }
  Packet answer;
  perform(packet, answer);
  replies_.push_back({now_ + 1, node, answer});
  return true;
}

void Timed::arrived(Tile& tile, const Packet& p) {
  Core& core = cores_[tile.index];
  if (p.message == Message::Fetched) {
    core.fetching = 0;
    const auto block = static_cast<uint32_t>(m_.icache_block_bytes);
    core.icache[p.address / block % core.icache.size()] = p.address / block;
    if (core.parked && core.reason == Stall::ifetch_wait) {
      account(tile, core);
      again(tile.index, core, now_ + static_cast<uint64_t>(m_.icache_restart),
            Stall::icache_miss);  // the pipeline begins again
    }
    return;
  }
  --core.outstanding;
  if (p.message == Message::Value) {
    if (p.is_float) {
      tile.s.f[p.reg] = p.value;
      core.pending_f &= ~(1u << p.reg);
      core.ready_f[p.reg] = now_ + 1;
    } else {
      if (p.reg) tile.s.x[p.reg] = p.value;
      core.pending_x &= ~(1u << p.reg);
      core.ready_x[p.reg] = now_ + 1;
      if (p.op == Op::Amoswap || p.op == Op::Amoor || p.op == Op::Amoadd) core.acquiring = false;
    }
  }
  if (!core.parked || tile.doing != Doing::Runs) return;
  switch (core.reason) {
    case Stall::remote_credit: break;
    case Stall::fence:
    case Stall::amo_rl:
      if (core.outstanding) return;
      break;
    case Stall::amo_aq:
      if (core.acquiring) return;
      break;
    case Stall::ifetch_wait:
    case Stall::lr_aq:
    case Stall::barrier: return;
    default:
      if ((core.pending_x & core.waits_x) || (core.pending_f & core.waits_f)) return;
  }
  schedule(tile.index, now_ + 1);
}

void Timed::step_host() {
  if (next_word_ >= words_to_write_.size() || now_ < next_word_at_ ||
      host_outstanding_ >= static_cast<uint64_t>(m_.credits) || !requests_.can_send(host_node, now_))
    return;
  const HostWord& word = words_to_write_[next_word_++];
  const bool config = word.offset >= config_offset;
  Packet p;
  p.message = Message::Store;
  p.op = Op::Sw;
  p.from = host_node;
  p.address = config ? word.offset - config_offset : word.offset;
  p.value = word.value;
  address(p, {config ? Target::Config : Target::Tile, word.tile, p.address});
  requests_.send(host_node, p, now_);
  ++host_outstanding_;
  next_word_at_ = now_ + static_cast<uint64_t>(m_.word_cycles);
}

// ---- a core's cycle -------------------------------------------------------------------------------------------------

bool Timed::fetched(Tile& tile, Core& core, uint32_t pc) {
  const auto block = static_cast<uint32_t>(m_.icache_block_bytes);
  if (core.icache[pc / block % core.icache.size()] == pc / block) return true;
  if (!can_send(tile)) {
    again(tile.index, core, now_ + 1, Stall::remote_req);
    return false;
  }
  Packet p;
  p.message = Message::Fetch;
  p.op = Op::Lw;
  p.bytes = static_cast<uint8_t>(std::min(block, 128u));
  p.address = pc / block * block;
  p.from = static_cast<uint16_t>(node_of(tile));
  address(p, {Target::Dram, 0, p.address});
  requests_.send(p.from, p, now_);
  ++core.stats.misses;
  core.fetching = p.address;
  wait(core, Stall::ifetch_wait);
  return false;
}

bool Timed::operands_ready(Core& core, const Instruction& i) {
  uint32_t x = 0, f = 0;
  if (i.uses & reads_x1) x |= 1u << i.rs1;
  if (i.uses & reads_x2) x |= 1u << i.rs2;
  if (i.uses & reads_f1) f |= 1u << i.rs1;
  if (i.uses & reads_f2) f |= 1u << i.rs2;
  if (i.uses & reads_f3) f |= 1u << i.rs3;
  // A register that a load will still write cannot be written before.
  const uint32_t all_x = x | (i.uses & writes_x ? 1u << i.rd : 0), all_f = f | (i.uses & writes_f ? 1u << i.rd : 0);
  core.waits_x = all_x & core.pending_x;
  core.waits_f = all_f & core.pending_f;
  if (core.waits_x | core.waits_f) {
    wait(core, core.waits_x ? core.why_x[static_cast<size_t>(std::countr_zero(core.waits_x))]
                            : core.why_f[static_cast<size_t>(std::countr_zero(core.waits_f))]);
    return false;
  }
  uint64_t at = now_;
  Stall why = Stall::bypass;
  for (; x; x &= x - 1) {
    const auto r = static_cast<size_t>(std::countr_zero(x));
    if (core.ready_x[r] > at) at = core.ready_x[r], why = core.why_x[r];
  }
  for (; f; f &= f - 1) {
    const auto r = static_cast<size_t>(std::countr_zero(f));
    if (core.ready_f[r] > at) at = core.ready_f[r], why = core.why_f[r];
  }
  if (at == now_) return true;
  again(static_cast<uint32_t>(&core - cores_.data()), core, at, why);
  return false;
}

void Timed::spend(Tile& tile, Core& core, uint32_t pc, uint32_t issued) {
  ++core.stats.issued[issued];
  ++core.stats.instructions;
  if (watcher_) watcher_->spent(tile.index, now_, 1, pc, issued);
  core.accounted = now_ + 1;
}

bool Timed::remote(Tile& tile, Core& core, const Instruction& i, const Place& at, uint32_t address_of, uint32_t value) {
  if (core.outstanding >= tile.s.credit_limit) {
    wait(core, Stall::remote_credit);
    return false;
  }
  if (!can_send(tile)) {
    again(tile.index, core, now_ + 1, Stall::remote_req);
    return false;
  }
  Packet p;
  p.op = i.op;
  p.message = i.kind == Kind::Load ? Message::Load : i.kind == Kind::Store ? Message::Store : Message::Atomic;
  p.from = static_cast<uint16_t>(node_of(tile));
  p.address = at.offset;
  p.value = value;
  p.pc = tile.s.pc;
  p.reg = i.rd;
  p.bytes = static_cast<uint8_t>(bytes_of(i.op));
  p.is_float = i.op == Op::Flw;
  address(p, at);
  requests_.send(p.from, p, now_);
  ++core.outstanding;
  core.stats.bytes += at.target == Target::Dram ? p.bytes : 0;
  if (p.message == Message::Store) return true;
  Stall why = p.message == Message::Atomic ? Stall::depend_dram_amo
              : at.target == Target::Dram
                  ? (address_of == core.last_load + 4 ? Stall::depend_dram_seq_load : Stall::depend_dram_load)
              : (address_of & 0x40000000) ? Stall::depend_global_load
                                          : Stall::depend_group_load;
  if (at.target == Target::Dram) core.last_load = address_of;
  if (p.is_float) {
    core.pending_f |= 1u << i.rd;
    core.why_f[i.rd] = why;
  } else if (i.rd) {
    core.pending_x |= 1u << i.rd;
    core.why_x[i.rd] = why;
  }
  return true;
}

bool Timed::memory_access(Tile& tile, Core& core, const Instruction& i) {
  State& s = tile.s;
  const bool store = i.kind == Kind::Store, atomic = i.kind == Kind::Atomic;
  const uint32_t address_of = s.x[i.rs1] + (atomic ? 0 : static_cast<uint32_t>(i.imm)), bytes = bytes_of(i.op);
  const Place at = mesh_.resolve(tile, address_of);
  const uint32_t value = i.op == Op::Fsw ? s.f[i.rs2] : s.x[i.rs2];
  if (!mesh_.allows(tile, at, address_of, bytes, store || atomic, atomic, s.pc)) return false;
  const bool is_float = i.op == Op::Flw || i.op == Op::Fsw;
  if (at.target == Target::Own) {
    if (store) {
      mesh_.write(at, value, bytes);
    } else {
      const uint32_t loaded = extended(i.op, mesh_.read(at, bytes));
      if (is_float) {
        s.f[i.rd] = loaded;
        core.ready_f[i.rd] = now_ + static_cast<uint64_t>(m_.local_load_float);
        core.why_f[i.rd] = Stall::depend_local_load;
      } else if (i.rd) {
        s.x[i.rd] = loaded;
        core.ready_x[i.rd] = now_ + static_cast<uint64_t>(m_.local_load);
        core.why_x[i.rd] = Stall::depend_local_load;
      }
    }
  } else {
    if (atomic && (i.imm & 1) && core.outstanding) {  // release: what was written before has arrived
      wait(core, Stall::amo_rl);
      return false;
    }
    if (!remote(tile, core, i, at, address_of, value)) return false;
    if (atomic && (i.imm & 2)) core.acquiring = true;
  }
  uint32_t what = static_cast<uint32_t>(i.op);
  if (!atomic) {
    const auto base = static_cast<uint32_t>(op_count + (is_float ? static_cast<size_t>(Access::local_flw) : 0));
    if (at.target == Target::Own) what = base + store;
    else what = base + 2 + (store ? 3 : 0) + (at.target == Target::Dram ? 0 : (address_of & 0x40000000) ? 1 : 2);
  }
  spend(tile, core, s.pc, what);
  s.pc += 4;
  return true;
}

bool Timed::reserve(Tile& tile, Core& core, const Instruction& i) {
  State& s = tile.s;
  const uint32_t address_of = s.x[i.rs1];
  if (!mesh_.allows_reservation(tile, address_of, s.pc)) return false;
  if (i.op == Op::LrAq && tile.reserved) {
    tile.doing = Doing::Sleeps;
    wait(core, Stall::lr_aq);
    return false;
  }
  if (i.op == Op::Lr) {
    tile.reserved = true;
    tile.reservation = address_of;
  }
  uint32_t value;
  memcpy(&value, tile.scratch + address_of, 4);
  if (i.rd) {
    s.x[i.rd] = value;
    core.ready_x[i.rd] = now_ + static_cast<uint64_t>(m_.local_load);
    core.why_x[i.rd] = Stall::depend_local_load;
  }
  spend(tile, core, s.pc, static_cast<uint32_t>(i.op));
  s.pc += 4;
  return true;
}

bool Timed::barrier(Tile& tile, Core& core, const Instruction& i) {
  if (i.op == Op::Barsend) {
    spend(tile, core, tile.s.pc, static_cast<uint32_t>(i.op));
    tile.s.pc += 4;
    if (mesh_.arrive(tile)) {  // up the tree and down again: ruche links in x, one tile at a time in y
      const Dimension group = mesh_.group();
      const auto ruche = static_cast<uint32_t>(std::max<int64_t>(m_.ruche, 1));
      const uint64_t open = now_ + 2 + 2 * ((group.x - 1) / ruche + (group.x - 1) % ruche + group.y - 1);
      for (Tile& other : mesh_.tiles) {
        if (other.slot != tile.slot) continue;
        Core& its = cores_[other.index];
        its.barrier_open = open;
        if (other.doing != Doing::AtBarrier) continue;
        other.doing = Doing::Runs;
        if (its.parked) schedule(other.index, open);
      }
    }
    return true;
  }
  if (tile.sent_barrier) {
    tile.doing = Doing::AtBarrier;
    wait(core, Stall::barrier);
    return false;
  }
  if (now_ < core.barrier_open) {
    again(tile.index, core, core.barrier_open, Stall::barrier);
    return false;
  }
  spend(tile, core, tile.s.pc, static_cast<uint32_t>(i.op));
  tile.s.pc += 4;
  return true;
}

void Timed::finish_branch(Tile& tile, Core& core, const Instruction& i, uint32_t pc) {
  State& s = tile.s;
  int64_t bubbles = 0;
  if (i.kind == Kind::Branch) {
    const bool taken = s.pc != pc + 4;
    if (taken != (i.imm < 0)) {  // backward branches are predicted to be taken
      bubbles = m_.branch_miss;
      ++core.stats.branch_misses;
      ++core.stats.missed_branches[static_cast<size_t>(i.op) - static_cast<size_t>(Op::Beq)];
      core.reason = Stall::branch_miss;
    }
  } else {
    if (i.op == Op::Jalr && s.pc != core.predicted) {
      bubbles = m_.jump_miss;
      ++core.stats.jalr_misses;
      core.reason = Stall::jalr_miss;
    }
    if (i.rd) core.predicted = pc + 4;
    const Instruction* const there = mesh_.program()->at(s.pc);
    if (there && there->marks) {
      if (there->marks & at_return) tile.in_kernel = false, ++mesh_.progress;
      if (there->marks & at_double) mesh_.used_double = true;
    }
  }
  schedule(tile.index, now_ + 1 + static_cast<uint64_t>(bubbles));
}

void Timed::issue(Tile& tile, Core& core, const Instruction& i) {
  State& s = tile.s;
  switch (i.kind) {
    case Kind::Divide:
      if (core.divider_free > now_) return again(tile.index, core, core.divider_free, Stall::idiv_busy);
      break;
    case Kind::FloatDivide:
      if (core.float_divider_free > now_) return again(tile.index, core, core.float_divider_free, Stall::fdiv_busy);
      break;
    default: break;
  }
  const uint32_t pc = s.pc;
  if (!execute(i, s)) return mesh_.illegal(tile, pc);
  if ((i.uses & moves_stack) && static_cast<int32_t>(s.x[2]) < static_cast<int32_t>(mesh_.program()->variables_end))
    return mesh_.fault_of_stack(tile, pc);
  spend(tile, core, pc, static_cast<uint32_t>(i.op));
  uint64_t after = static_cast<uint64_t>(m_.alu);
  Stall why = Stall::bypass;
  switch (i.kind) {
    case Kind::Branch:
    case Kind::Jump:
      if (i.uses & writes_x) core.ready_x[i.rd] = now_ + 1;
      return finish_branch(tile, core, i, pc);
    case Kind::Multiply:
      after = static_cast<uint64_t>(m_.multiply);
      why = Stall::depend_imul;
      break;
    case Kind::Divide:
      after = static_cast<uint64_t>(m_.divide);
      core.divider_free = now_ + after;
      why = Stall::depend_idiv;
      break;
    case Kind::Float:
      after = static_cast<uint64_t>(i.op == Op::Fadd || i.op == Op::Fsub ? m_.float_add : m_.float_multiply);
      core.stats.flops += i.uses & reads_f3 ? 2 : i.op == Op::Fadd || i.op == Op::Fsub || i.op == Op::Fmul;
      break;
    case Kind::FloatDivide:
      after = static_cast<uint64_t>(m_.float_divide);
      core.float_divider_free = now_ + after;
      ++core.stats.flops;
      why = Stall::depend_fdiv;
      break;
    default: break;
  }
  if (i.uses & writes_x) core.ready_x[i.rd] = now_ + after, core.why_x[i.rd] = why;
  if (i.uses & writes_f) core.ready_f[i.rd] = now_ + after, core.why_f[i.rd] = why;
  schedule(tile.index, now_ + 1);
}

void Timed::tick(Tile& tile, Core& core) {
  account(tile, core);
  if (mesh_.debugger && !mesh_.debugger->before(tile, core.stats.instructions))
    return again(tile.index, core, now_ + 1, core.reason);
  const Instruction* const i = mesh_.program()->at(tile.s.pc);
  if (!i) return mesh_.illegal(tile, tile.s.pc);
  if (!fetched(tile, core, tile.s.pc) || !operands_ready(core, *i)) return;
  bool done = false;
  switch (i->kind) {
    case Kind::Load:
    case Kind::Store:
    case Kind::Atomic:
      if (core.acquiring) return wait(core, Stall::amo_aq);
      done = memory_access(tile, core, *i);
      break;
    case Kind::Reserve: done = reserve(tile, core, *i); break;
    case Kind::Barrier: done = barrier(tile, core, *i); break;
    case Kind::Fence:
      if (core.outstanding) return wait(core, Stall::fence);
      spend(tile, core, tile.s.pc, static_cast<uint32_t>(i->op));
      tile.s.pc += 4;
      done = true;
      break;
    case Kind::Other:
      if (i->op != Op::FenceI) return mesh_.illegal(tile, tile.s.pc);
      spend(tile, core, tile.s.pc, static_cast<uint32_t>(i->op));
      tile.s.pc += 4;
      done = true;
      break;
    default: return issue(tile, core, *i);
  }
  if (done) schedule(tile.index, now_ + 1);
}

// ---- a launch -------------------------------------------------------------------------------------------------------

bool Timed::run(double watchdog_seconds) {
  using Clock = std::chrono::steady_clock;
  began_at_ = started_at_ = finished_at_ = now_;
  for (Tile& tile : mesh_.tiles) {
    Core& core = cores_[tile.index];
    if (core.accounted < now_) core.accounted = now_;
  }
  uint64_t seen = mesh_.progress, looks = 0;
  auto since = Clock::now();
  words_to_write_ = mesh_.next_groups();
  next_word_ = 0;
  next_word_at_ = now_ + 1;
  while (!mesh_.stopped()) {
    const uint64_t next = next_cycle();
    if (next == ~uint64_t{0}) {  // nothing is under way
      account_all();
      mesh_.settle();
      if (mesh_.done()) return true;
      words_to_write_ = mesh_.next_groups();
      next_word_ = 0;
      next_word_at_ = now_ + 1;
      if (words_to_write_.empty()) return false;
      continue;
    }
    now_ = next;
    step_host();
    if (!replies_.empty()) {
      size_t kept = 0;
      for (Reply& reply : replies_) {
        if (reply.at <= now_ && answers_.can_send(reply.node, now_)) answers_.send(reply.node, reply.packet, now_);
        else replies_[kept++] = reply;
      }
      replies_.resize(kept);
    }
    answers_.step(now_);
    requests_.step(now_);
    for (auto& cache : caches_) {
      if (cache->idle()) continue;
      cache->step(
          now_, dram_,
          [this, &cache](const Packet& request, Packet& answer) {
            if (watcher_) watcher_->cached(cache->number(), now_, request);
            perform(request, answer);
          },
          [this, &cache](const Packet& answer) {
            if (!answers_.can_send(cache->node(), now_)) return false;
            answers_.send(cache->node(), answer, now_);
            return true;
          });
    }
    while (!later_.empty() && later_.front().first == now_) {
      std::pop_heap(later_.begin(), later_.end(), std::greater<>());
      const uint32_t tile = later_.back().second;
      later_.pop_back();
      if (cores_[tile].scheduled == now_) tick(mesh_.tiles[tile], cores_[tile]);
    }
    if (const size_t slot = now_ % horizon; in_bucket_[slot]) {
      in_bucket_[slot] = 0;
      for (size_t w = 0; w < words_; ++w) {
        uint64_t& word = buckets_[slot * words_ + w];
        while (word) {
          const auto bit = static_cast<uint32_t>(std::countr_zero(word));
          word &= word - 1;
          const auto tile = static_cast<uint32_t>(w * 64) + bit;
          tick(mesh_.tiles[tile], cores_[tile]);
        }
      }
    }
    if (mesh_.take_finished()) finished_at_ = now_;
    if (mesh_.watched && looks % 256 == 0) Watchers::get().flush();
    if (++looks % 65536) continue;
    if (take_interrupt()) mesh_.cancel("interrupted");
    if (watchdog_seconds > 0) {
      if (mesh_.progress != seen) {
        seen = mesh_.progress;
        since = Clock::now();
      } else if (std::chrono::duration<double>(Clock::now() - since).count() > watchdog_seconds) {
        mesh_.hang(watchdog_seconds);
      }
    }
  }
  account_all();
  return true;
}

}  // namespace fc::hb::sim
