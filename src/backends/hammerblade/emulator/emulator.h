// SPDX-License-Identifier: Apache-2.0
// The engine that emulates: kernels are native code, compiled for this processor, without cycles.
//
// Every tile is a fiber on a stack of its own (fiber.h). Fast mode: the calling thread and a pool of helpers take tiles
// as they come; a tile that reaches a barrier switches to the next one, so 128 tiles need no thread each. Check mode:
// one thread, a schedule that a seed decides, kernels whose every access is looked at (check.h). A watchdog interrupts
// tiles that wait on memory in a loop of their own, and ends launches in which nothing moves any more.
//
// One launch runs at a time; others wait. Helpers and watchdog do not survive fork: a child starts its own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/hammerblade/emulator/fiber.h"
#include "backends/hammerblade/runtime/engine.h"
#include "backends/hammerblade/runtime/library.h"

namespace fc::hb {

class Checker;
struct CheckTile;
struct Worker;
struct Wave;

enum class TileState : uint8_t { Unstarted, Running, Ready, AtBarrier, Waiting, Done, GivenUp };

struct Group {
  // Tiles that arrived at the barrier, tiles that ended, and the barriers passed: 16, 16 and 32 bits.
  std::atomic<uint64_t> state{0};
  uint32_t first = 0, size = 0;  // of the wave's tiles
  Dimension id;
  // In check mode: the first barrier that tiles passed at two places, which is allowed, and seldom meant.
  uintptr_t met[2] = {};
  uint32_t met_barrier = 0;
  std::string met_words() const;  // for a finding, with the places as %1 and %2; "" if there was none

  static uint32_t arrived(uint64_t s) { return s & 0xffff; }
  static uint32_t ended(uint64_t s) { return s >> 16 & 0xffff; }
  static uint32_t passed(uint64_t s) { return static_cast<uint32_t>(s >> 32); }
};

struct Tile {
  Context context;
  uint8_t* base = nullptr;  // of its 64 KiB
  hb_emul_tile_t* block = nullptr;
  Dimension place;  // in the mesh
  Worker* worker = nullptr;
  Wave* wave = nullptr;
  Group* group = nullptr;
  uint32_t index = 0;  // in the wave
  TileState state = TileState::Unstarted;
  volatile bool in_runtime = false;    // cannot be interrupted: it is not in the kernel
  uint32_t barrier = 0;                // the one it waits at, counted from 0
  uintptr_t pc = 0;                    // where it waits or was interrupted
  bool used_up = false;                // it has given up for want of stack, at `pc`
  const volatile int* word = nullptr;  // what it waits for to become `value`
  int value = 0;
  uintptr_t entry_sp = 0;
  std::string printed;
  std::unique_ptr<CheckTile> check;
};

// What went wrong, as it is known in the tile; lines are looked up when the launch has ended.
struct Finding {
  std::string kind, text;  // text may say %1 and %2 for the lines of `pcs` and `others`
  int x = -1, y = -1;      // the tile in its group; -1: the launch as a whole
  Dimension group;
  std::vector<uintptr_t> pcs, others;  // innermost first
  std::string file;                    // known without looking
  int line = 0;
  bool who_waits = false;  // add what every tile waits for
};

// Tiles that one worker starts, in order; when it has no more, it goes on with others' shares.
struct alignas(64) Share {
  std::atomic<uint32_t> next{0};
  uint32_t end = 0;
};

struct Wave {
  const Launch* launch = nullptr;
  const Library* library = nullptr;  // the launch's image, and the kernel in it
  const hb_emul_kernel_t* kernel = nullptr;
  std::vector<Tile*> tiles;
  std::deque<Group> groups;
  std::deque<Share> shares;  // of the workers
  // What every tile writes, in lines of the cache apart from what every tile reads.
  alignas(64) std::atomic<uint64_t> progress{0};  // tiles started, ended, barriers passed
  alignas(64) std::atomic<uint32_t> change{0}, sleepers{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::unique_ptr<Finding> finding;  // the first
};

struct alignas(128) Worker {  // no line of the cache is two workers'
  Context context;
  size_t number = 0;  // 0: the thread that launches
  pthread_t thread{};
  std::atomic<Tile*> current{nullptr};
  std::atomic<uint64_t> beats{0};  // tiles resumed
  uint64_t seen_beats = 0;         // the watchdog's
  std::vector<Tile*> tiles;
};

class Emulator final : public Engine {
 public:
  static Emulator& get();

  // Tiles for a mesh of that size. Throws Error when the process has no room at their addresses.
  void set_machine(const Machine&, Dimension mesh) override;
  std::unique_ptr<Image> prepare(const std::string& program, Mode) override;  // a Library
  void release(std::unique_ptr<Image>) override;
  Outcome run(const Launch&) override;
  std::string line_of(uint64_t site) const override;
  [[noreturn]] void set(const std::string& name, const std::string& value) override;

  Dimension mesh() const { return mesh_; }
  struct Options {  // of the launch under way
    bool check = false;
    uint32_t seed = 1;
    double watchdog_seconds = 60;
    size_t scratchpad_bytes = 4096;
    bool watched = false;  // accesses are told (runtime/watch.h)
  };

  // ---- called on a tile's stack -----------------------------------------------------------------------------------
  static Tile* current();  // null: not on a tile's stack
  void barrier(Tile&, uintptr_t pc);
  void leave(Tile&, TileState);
  [[noreturn]] void fail(Tile&, Finding);
  // What the runtime needs of a tile's stack, to say what went wrong there, must be left of it; else the launch ends.
  void need_room(Tile&, uintptr_t pc);
  void report(Wave&, Finding);  // the first counts; the launch ends
  uint8_t* tile_base(uint32_t x, uint32_t y) const { return base_ + (uint64_t{y} << 23) + (uint64_t{x} << 16); }
  bool is_tile_address(uintptr_t a) const;
  Tile* tile_at(uintptr_t a) const;  // whose 64 KiB it is in, or null
  const Options& options() const { return options_; }
  Checker* checker() const { return checker_.get(); }

 private:
  Emulator();
  void add_library(Library&);  // its variables in every tile; throws when they do not fit the scratchpad
  void run_launch(const Launch&, Outcome&);
  void run_wave(Wave&);
  void work(Worker&, Wave&);
  void work_checked(Worker&, Wave&);
  void start(Worker&, Tile&);
  void resume(Worker&, Tile&);
  void wake_helpers();
  void start_helpers();
  void helper(Worker&);
  void start_watchdog();
  void watch();
  void look_after(Wave&, uint64_t* progress, uint64_t* since);
  void poke(Worker&);
  void report_used_up(Tile&);
  std::string explain(const Finding&, const Wave&) const;
  std::string who_waits(const Wave&) const;
  static void tile_main(void* tile);
  static void on_poke(int, siginfo_t*, void*);
  static void on_fault(int, siginfo_t*, void*);
  static void after_fork();
  void install_signals();

  std::mutex running_;  // one launch at a time
  Options options_;
  Dimension mesh_{0, 0}, mapped_{0, 0};
  uint8_t* base_ = nullptr;
  std::vector<std::unique_ptr<Tile>> tiles_;  // of the mapped mesh, row by row
  std::vector<Library*> libraries_;
  size_t scratchpad_bytes_ = 4096;
  std::unique_ptr<Wave> wave_;
  std::unique_ptr<Checker> checker_;

  std::deque<Worker> workers_;  // the caller first
  const unsigned processors_;   // the most workers
  std::atomic<Wave*> open_{nullptr};
  std::atomic<uint32_t> generation_{0}, active_{0};
  bool helpers_started_ = false, signals_installed_ = false;
  std::mutex watch_;  // held while somebody is poked, so that the thread still exists
  Wave* watched_ = nullptr;
  std::atomic<bool> watchdog_started_{false}, watchdog_asleep_{false};
  std::atomic<uint32_t> watchdog_wake_{0};
  std::atomic<uint64_t> launches_{0};
};

void use_alternate_stack();  // of the calling thread, for faults

// Whose tiles this thread ran last: a stack pointer that ran away no longer says it.
extern thread_local Worker* this_worker __attribute__((tls_model("initial-exec")));

}  // namespace fc::hb
