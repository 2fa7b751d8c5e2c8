// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/emulator/emulator.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "backends/hammerblade/emulator/check.h"
#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/compile.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/lines.h"
#include "backends/hammerblade/runtime/scratch.h"
#include "backends/hammerblade/runtime/watch.h"

extern "C" [[noreturn]] void hb_emul_finish(void);  // device_calls.cpp

namespace fc::hb {

namespace {

// A tile's 64 KiB: copies of variables, an inaccessible page that ends a stack, the stack, the tile's record.
constexpr size_t variables_room = 8192, guard = 4096, stack_offset = variables_room + guard;
constexpr uint64_t row_stride = uint64_t{1} << 23;
constexpr size_t runtimes_room = 8192;  // of the stack: the C library prints floats

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

unsigned processors() {
  if (const char* text = getenv("FACULA_HB_THREADS")) {
    char* end;
    long n = strtol(text, &end, 10);
    if (*text && !*end && n >= 1 && n <= 256) return static_cast<unsigned>(n);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  return static_cast<unsigned>(std::clamp(CPU_COUNT(&set), 1, 64));
}

}  // namespace

Emulator& Emulator::get() {
  static auto* engine = new Emulator;  // helpers wait in it until the process ends
  return *engine;
}

Emulator::Emulator() : processors_(processors()) {
  workers_.emplace_back();
  wave_ = std::make_unique<Wave>();
  pthread_atfork(nullptr, nullptr, &Emulator::after_fork);
}

void Emulator::after_fork() {
  Emulator& e = get();
  // Threads are gone, and so is whoever held a lock.
  new (&e.running_) std::mutex;
  new (&e.watch_) std::mutex;
  e.watched_ = nullptr;
  e.open_ = nullptr;
  e.active_ = 0;
  e.helpers_started_ = false;
  e.watchdog_started_ = e.watchdog_asleep_ = false;
  while (e.workers_.size() > 1) e.workers_.pop_back();
}

bool Emulator::is_tile_address(uintptr_t a) const {
  uintptr_t offset = a - reinterpret_cast<uintptr_t>(base_);
  return base_ && offset < mapped_.y * row_stride && offset % row_stride < (uint64_t{mapped_.x} << 16);
}

Tile* Emulator::tile_at(uintptr_t a) const {
  if (!is_tile_address(a)) return nullptr;
  auto* block = reinterpret_cast<hb_emul_tile_t*>((a | (HB_EMUL_TILE_BYTES - 1)) + 1 - HB_EMUL_BLOCK_BYTES);
  return static_cast<Tile*>(block->tile);
}

Tile* Emulator::current() {
  Emulator& e = get();
  return e.tile_at(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
}

void Emulator::set_machine(const Machine& machine, Dimension mesh) {
  std::lock_guard lock(running_);
  scratchpad_bytes_ = static_cast<size_t>(machine.scratchpad_bytes);
  const auto tile_address = static_cast<uint64_t>(machine.tile_address);
  if (mesh.x <= mapped_.x && mesh.y <= mapped_.y) {
    mesh_ = mesh;
    return;
  }
  constexpr Dimension most{64, 32};  // what fits the machine file's ranges
  if (!base_) {
    uint64_t span = most.y * row_stride;
    base_ = reinterpret_cast<uint8_t*>(reserve(span, {tile_address, 0x40000000, 0x30000000, 0x20000000, 0x10000000}));
    if (!base_)
      throw Error(HB_MC_NOMEM, format("this process has no free addresses at 0x%llx for the tiles' scratchpads",
                                      static_cast<unsigned long long>(tile_address)));
  }
  Dimension want{std::max(mesh.x, mapped_.x), std::max(mesh.y, mapped_.y)};
  std::vector<std::unique_ptr<Tile>> tiles(want.area());
  for (uint32_t y = 0; y < want.y; ++y) {
    for (uint32_t x = 0; x < want.x; ++x) {
      std::unique_ptr<Tile>& tile = tiles[y * want.x + x];
      if (x < mapped_.x && y < mapped_.y) {
        tile = std::move(tiles_[y * mapped_.x + x]);
        continue;
      }
      uint8_t* at = tile_base(x, y);
      if (mprotect(at, variables_room, PROT_READ | PROT_WRITE) ||
          mprotect(at + stack_offset, HB_EMUL_TILE_BYTES - stack_offset, PROT_READ | PROT_WRITE)) {
        for (uint32_t i = 0; i < mapped_.area(); ++i)  // as it was
          tiles_[i] = std::move(tiles[i / mapped_.x * want.x + i % mapped_.x]);
        throw Error(HB_MC_NOMEM, format("the system gives no memory for a tile: %s", strerror(errno)));
      }
      tile = std::make_unique<Tile>();
      tile->base = at;
      tile->place = {x, y};
      tile->block = reinterpret_cast<hb_emul_tile_t*>(at + HB_EMUL_TILE_BYTES - HB_EMUL_BLOCK_BYTES);
      tile->block->tile = tile.get();
      for (const Library* library : libraries_) library->reset(at + library->copy_offset);
    }
  }
  tiles_ = std::move(tiles);
  mapped_ = want;
  mesh_ = mesh;
}

std::unique_ptr<Image> Emulator::prepare(const std::string& program, Mode mode) {
  const bool check = mode == Mode::Check;
  std::unique_ptr<Library> library;
  if (program.ends_with(".so")) {
    const std::string file = check ? check_name(program) : program;
    if (check && access(file.c_str(), R_OK))
      throw Error(HB_MC_NOTFOUND, format("%s: check mode needs %s beside it, the same kernels compiled for check mode",
                                         program.c_str(), file.c_str()));
    library = std::make_unique<Library>(file, check);
  } else {
    static std::atomic<int> count = 0;
    const std::string file = format("%s/%d%s.so", scratch_folder().c_str(), ++count, check ? ".check" : "");
    compile({program}, file, mode);
    library = std::make_unique<Library>(file, check, true);
  }
  add_library(*library);
  return library;
}

void Emulator::set(const std::string& name, const std::string& value) {
  throw Error(HB_MC_INVALID, format("the engine 'emul' has no setting %s (%s was asked for): it has the modes fast and "
                                    "check",
                                    name.c_str(), value.c_str()));
}

void Emulator::add_library(Library& library) {
  std::lock_guard lock(running_);
  size_t bytes = library.variable_bytes(), offset = 0;
  if (bytes > std::min(scratchpad_bytes_, variables_room))
    throw Error(HB_MC_NOMEM, format("%s: its variables take %zu bytes, the scratchpad of a tile has %zu (constants are "
                                    "better const; large tables belong into DRAM)",
                                    library.path().c_str(), bytes, scratchpad_bytes_));
  if (bytes) {  // first fit between the other libraries' copies
    std::vector<std::pair<size_t, size_t>> taken;
    for (const Library* other : libraries_)
      if (other->variable_bytes()) taken.emplace_back(other->copy_offset, other->variable_bytes());
    std::sort(taken.begin(), taken.end());
    for (auto [at, size] : taken) {
      if (offset + bytes <= at) break;
      offset = (at + size + 15) / 16 * 16;
    }
    if (offset + bytes > variables_room)
      throw Error(HB_MC_NOMEM,
                  library.path() + ": the variables of all loaded kernel libraries do not fit a scratchpad");
  }
  library.copy_offset = offset;
  for (const auto& tile : tiles_) library.reset(tile->base + offset);
  libraries_.push_back(&library);
}

void Emulator::release(std::unique_ptr<Image> image) {
  std::lock_guard lock(running_);
  std::erase(libraries_, static_cast<Library*>(image.get()));
}

// ---- one launch ---------------------------------------------------------------------------------------------------

Outcome Emulator::run(const Launch& launch) {
  if (current()) throw Error(HB_MC_INVALID, "a kernel cannot launch a kernel");
  std::lock_guard lock(running_);
  const bool check = launch.mode == Mode::Check;
  options_ = {check, launch.seed, launch.watchdog_seconds, scratchpad_bytes_,
              check && Watchers::get().accesses_wanted()};
  Outcome outcome;
  const int64_t began = now_ns();
  run_launch(launch, outcome);
  outcome.nanoseconds = static_cast<uint64_t>(now_ns() - began);
  return outcome;
}

void Emulator::run_launch(const Launch& launch, Outcome& outcome) {
  uint32_t across = mesh_.x / launch.group.x, down = mesh_.y / launch.group.y, slots = across * down;
  uint64_t groups = uint64_t{launch.grid.x} * launch.grid.y;
  if (options_.check) {
    if (!checker_) checker_ = std::make_unique<Checker>();
    checker_->begin_launch(options_);
  }
  install_signals();
  ++launches_;
  Wave& wave = *wave_;
  wave.launch = &launch;
  wave.library = static_cast<const Library*>(launch.image);
  wave.kernel = wave.library->find(launch.kernel);
  for (uint64_t done = 0; done < groups; done += slots) {
    auto now = static_cast<uint32_t>(std::min<uint64_t>(slots, groups - done));
    wave.tiles.clear();
    while (wave.groups.size() < now) wave.groups.emplace_back();
    for (uint32_t g = 0; g < now; ++g) {
      Group& group = wave.groups[g];
      group.state = 0;
      group.met[0] = group.met[1] = 0;
      group.first = static_cast<uint32_t>(wave.tiles.size());
      group.size = launch.group.area();
      group.id = {static_cast<uint32_t>((done + g) % launch.grid.x), static_cast<uint32_t>((done + g) / launch.grid.x)};
      Dimension origin{g % across * launch.group.x, g / across * launch.group.y};
      for (uint32_t y = 0; y < launch.group.y; ++y) {
        for (uint32_t x = 0; x < launch.group.x; ++x) {
          Tile& tile = *tiles_[(origin.y + y) * mapped_.x + origin.x + x];
          tile.wave = &wave;
          tile.group = &group;
          tile.index = static_cast<uint32_t>(wave.tiles.size());
          tile.state = TileState::Unstarted;
          hb_emul_tile_t& block = *tile.block;
          auto word = [](uint32_t n) { return static_cast<int>(n); };
          block.x = word(x);
          block.y = word(y);
          block.id = word(y * launch.group.x + x);
          block.group_origin_x = word(origin.x);
          block.group_origin_y = word(origin.y);
          block.grid_dim_x = word(launch.grid.x);
          block.grid_dim_y = word(launch.grid.y);
          block.group_id_x = word(group.id.x);
          block.group_id_y = word(group.id.y);
          block.group_id = word(group.id.y * launch.grid.x + group.id.x);
          block.group_dim_x = word(launch.group.x);
          block.group_dim_y = word(launch.group.y);
          block.reduction_buffer = launch.reduction_buffer;
          wave.tiles.push_back(&tile);
        }
      }
    }
    run_wave(wave);
    for (Tile* tile : wave.tiles) {
      if (tile->printed.empty()) continue;
      outcome.prints.push_back({tile->group->id,
                                {static_cast<uint32_t>(tile->block->x), static_cast<uint32_t>(tile->block->y)},
                                std::exchange(tile->printed, {})});
    }
    if (wave.finding) {
      outcome.finding = explain(*wave.finding, wave);
      outcome.status = wave.finding->kind == "hang" ? HB_MC_TIMEOUT : HB_MC_FAIL;
      wave.finding.reset();
      return;
    }
  }
}

void Emulator::run_wave(Wave& wave) {
  // Neighbours in a worker's share, as far from others' as can be: what tiles compute with mostly lies in their order,
  // and two processors that go through neighbouring pieces in step wait for each other's lines of the cache.
  const auto count = static_cast<uint32_t>(wave.tiles.size());
  wave.shares.resize(std::min<size_t>(processors_, count));
  for (uint32_t i = 0, parts = static_cast<uint32_t>(wave.shares.size()); i < parts; ++i) {
    wave.shares[i].next = static_cast<uint32_t>(uint64_t{count} * i / parts);
    wave.shares[i].end = static_cast<uint32_t>(uint64_t{count} * (i + 1) / parts);
  }
  wave.stop = false;
  Worker& caller = workers_.front();
  caller.thread = pthread_self();
  {
    std::lock_guard lock(watch_);
    watched_ = &wave;
  }
  if (!watchdog_started_) start_watchdog();
  if (watchdog_asleep_.load(std::memory_order_relaxed)) {
    watchdog_wake_.fetch_add(1);
    watchdog_wake_.notify_one();
  }
  if (options_.check) {
    checker_->begin_wave(wave);
    work_checked(caller, wave);
  } else {
    open_ = &wave;
    work(caller, wave);
    open_ = nullptr;
    for (int spins = 0; uint32_t busy = active_.load(); ++spins) {
      if (spins < 4000) pause();
      else active_.wait(busy);
    }
  }
  wave.library->restore();  // for whoever loads it once more
  std::lock_guard lock(watch_);
  watched_ = nullptr;
}

void Emulator::start(Worker& worker, Tile& tile) {
  tile.worker = &worker;
  tile.in_runtime = true;
  tile.barrier = 0;
  tile.word = nullptr;
  tile.used_up = false;
  fc::hb::prepare(&tile.context, tile.base + stack_offset, tile.block, &Emulator::tile_main, &tile);
  tile.wave->progress.fetch_add(1, std::memory_order_relaxed);
}

void Emulator::tile_main(void* argument) {
  auto& tile = *static_cast<Tile*>(argument);
  arrived(&tile.context, &tile.worker->context);
  tile.entry_sp = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const Wave& wave = *tile.wave;
  tile.in_runtime = false;
  wave.kernel->call(reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(wave.launch->argv)));
  hb_emul_finish();
}

void Emulator::resume(Worker& worker, Tile& tile) {
  const Library& library = *tile.wave->library;
  uint8_t* copy = tile.base + library.copy_offset;
  bool variables = library.variable_bytes();
  if (variables) library.put(copy);
  tile.state = TileState::Running;
  worker.beats.store(worker.beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  worker.current.store(&tile, std::memory_order_relaxed);
  if (options_.check) checked_tile = tile.check.get();
  switch_to(&worker.context, &tile.context);
  checked_tile = nullptr;
  if (options_.watched) {  // its last store is made
    tile.check->told.settle();
    Watchers::get().flush();
  }
  worker.current.store(nullptr, std::memory_order_relaxed);
  if (tile.used_up) report_used_up(tile);
  if (variables) library.fetch(copy);
}

std::string Emulator::line_of(uint64_t site) const { return locate({static_cast<uintptr_t>(site)}); }

void Emulator::need_room(Tile& tile, uintptr_t pc) {
  if (reinterpret_cast<uint8_t*>(__builtin_frame_address(0)) - tile.base >= ptrdiff_t{stack_offset + runtimes_room})
    return;
  tile.in_runtime = tile.used_up = true;  // said by whoever has a stack
  tile.pc = pc;
  leave(tile, TileState::GivenUp);
}

void Emulator::leave(Tile& tile, TileState state) {
  tile.state = state;
  switch_to(&tile.context, &tile.worker->context);
}

// The calling thread and helpers alike: start tiles while there are any, then go round those that wait.
void Emulator::work(Worker& worker, Wave& wave) {
  auto count = static_cast<uint32_t>(wave.tiles.size());
  std::vector<Tile*>& mine = worker.tiles;
  mine.clear();
  bool caller = &worker == &workers_.front();
  this_worker = &worker;
  // Libraries with variables have one place for them all.
  bool alone = wave.library->variable_bytes() != 0;
  int64_t began = 0;
  bool woken = false;
  size_t used_up = 0;  // shares, from this worker's on
  auto next_tile = [&] {
    for (; used_up < wave.shares.size(); ++used_up) {
      Share& share = wave.shares[(worker.number + used_up) % wave.shares.size()];
      if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
      if (const uint32_t i = share.next.fetch_add(1); i < share.end) return i;
    }
    return count;
  };
  for (int idle = 0; !wave.stop.load(std::memory_order_relaxed);) {
    const uint32_t i = next_tile();
    if (i < count) {
      if (caller && i == 0) began = now_ns();
      start(worker, *wave.tiles[i]);
      resume(worker, *wave.tiles[i]);
      if (wave.tiles[i]->state != TileState::Done) mine.push_back(wave.tiles[i]);
      // Helpers cost some microseconds to wake: only for work that lasts longer. Much work is seen by the first tile;
      // its caches are cold, so about less the next three tell.
      if (caller && !alone && !woken && (i == 0 || i == 3)) {
        const int64_t now = now_ns(), left = (now - began) / (i ? 3 : 1) * (count - 1 - i);
        woken = left > (i ? 20000 : 200000);
        if (woken) wake_helpers();
        began = now;
      }
      continue;
    }
    if (mine.empty()) break;
    uint32_t change = wave.change.load();
    bool moved = false, polls = false;
    size_t kept = 0;
    for (Tile* tile : mine) {
      bool at_barrier = tile->state == TileState::AtBarrier;
      if (!wave.stop.load(std::memory_order_relaxed) &&
          !(at_barrier && Group::passed(tile->group->state) == tile->barrier)) {
        bool waited = tile->state == TileState::Waiting;
        resume(worker, *tile);
        polls |= tile->state == TileState::Waiting;
        moved |= !waited || tile->state != TileState::Waiting;
      }
      if (tile->state != TileState::Done) mine[kept++] = tile;
    }
    mine.resize(kept);
    if (moved || kept == 0) {
      idle = 0;
    } else if (polls) {
      if (++idle > 100) sched_yield();
    } else if (++idle < 2000) {
      pause();
    } else {
      wave.sleepers.fetch_add(1);
      if (!wave.stop) wave.change.wait(change);
      wave.sleepers.fetch_sub(1);
    }
  }
}

// One tile after the other as the seed has it. A tile that polls is asked again; when all do and nobody writes, they
// wait for each other.
void Emulator::work_checked(Worker& worker, Wave& wave) {
  this_worker = &worker;
  std::vector<Tile*> ready(wave.tiles.begin(), wave.tiles.end()), waiting;
  uint64_t fruitless = 0;
  uint32_t change = wave.change;
  while (!wave.stop && !(ready.empty() && waiting.empty())) {
    if (wave.change != change || ready.empty()) {  // a barrier was passed
      change = wave.change;
      std::erase_if(waiting, [&](Tile* tile) {
        if (Group::passed(tile->group->state) == tile->barrier) return false;
        ready.push_back(tile);
        return true;
      });
      if (ready.empty()) {  // the barrier's own count has seen everything else
        Finding finding;
        finding.kind = "deadlock";
        finding.text = "no tile can go on";
        finding.who_waits = true;
        report(wave, std::move(finding));
        break;
      }
    }
    size_t pick = checker_->choose(ready.size());
    Tile* tile = ready[pick];
    if (tile->state == TileState::Unstarted) {
      start(worker, *tile);
      checker_->start(*tile);
    }
    uint64_t writes = tile->check->writes;
    resume(worker, *tile);
    fruitless = tile->state == TileState::Waiting && tile->check->writes == writes ? fruitless + 1 : 0;
    if (tile->state == TileState::AtBarrier || tile->state == TileState::Done || tile->state == TileState::GivenUp) {
      ready.erase(ready.begin() + static_cast<ptrdiff_t>(pick));
      if (tile->state == TileState::AtBarrier) waiting.push_back(tile);
    }
    if (fruitless > 64 * ready.size() + 1000) {
      Finding finding;
      finding.kind = "deadlock";
      finding.text = "every tile waits, and nobody writes what they wait for";
      finding.who_waits = true;
      report(wave, std::move(finding));
    }
  }
}

std::string Group::met_words() const {
  return met[0] ? format("; barrier %u, some tiles had passed at %%1, others at %%2", met_barrier) : "";
}

void Emulator::barrier(Tile& tile, uintptr_t pc) {
  Group& group = *tile.group;
  Wave& wave = *tile.wave;
  tile.in_runtime = true;
  tile.pc = pc;
  if (options_.check) checker_->at_barrier(tile);
  uint64_t before = group.state.fetch_add(1);
  tile.barrier = Group::passed(before);
  uint32_t arrived = Group::arrived(before) + 1, ended = Group::ended(before);
  if (arrived == group.size) {
    if (options_.check) checker_->barrier_passed(wave, group);
    group.state.store(((before >> 32) + 1) << 32);
    wave.progress.fetch_add(1, std::memory_order_relaxed);
    wave.change.fetch_add(1);
    if (wave.sleepers.load()) wave.change.notify_all();
  } else {
    if (ended && arrived + ended == group.size) {
      Finding finding;
      finding.kind = "divergent barrier";
      finding.x = tile.block->x;
      finding.y = tile.block->y;
      finding.group = group.id;
      const bool met = group.met[0];
      finding.pcs = {met ? group.met[0] : pc};
      finding.others = {group.met[1]};
      finding.text = format("waits at barrier %u%s, which %u of the group's %u tiles never reach: they have ended",
                            tile.barrier + 1, met ? "" : " at %1", ended, group.size) +
                     group.met_words();
      finding.who_waits = true;
      tile.state = TileState::AtBarrier;
      report(wave, std::move(finding));
    }
    leave(tile, TileState::AtBarrier);
  }
  tile.in_runtime = false;
}

// ---- helpers --------------------------------------------------------------------------------------------------------

void Emulator::wake_helpers() {
  if (!helpers_started_) start_helpers();
  generation_.fetch_add(1);
  generation_.notify_all();
}

void Emulator::start_helpers() {
  helpers_started_ = true;
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
  sigdelset(&all, SIGRTMAX - 2);  // the watchdog's
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::lock_guard lock(watch_);
  while (workers_.size() < processors_) {
    Worker& worker = workers_.emplace_back();
    worker.number = workers_.size() - 1;
    try {
      std::thread([this, &worker] { helper(worker); }).detach();
    } catch (const std::system_error&) {  // no more threads: fewer do
      workers_.pop_back();
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Emulator::helper(Worker& worker) {
  worker.thread = pthread_self();
  use_alternate_stack();
  uint32_t seen = 0;
  for (;;) {
    uint32_t now = generation_.load();
    for (int spins = 0; now == seen && spins < 10000; ++spins, now = generation_.load()) pause();
    if (now == seen) {
      generation_.wait(seen);
      continue;
    }
    seen = now;
    active_.fetch_add(1);  // before looking: the launch ends when nobody is in it
    if (Wave* wave = open_.load()) work(worker, *wave);
    if (active_.fetch_sub(1) == 1) active_.notify_all();
  }
}

}  // namespace fc::hb
