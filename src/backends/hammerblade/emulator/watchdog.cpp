// SPDX-License-Identifier: Apache-2.0
// Signals: kernels that touch what they must not end their launch instead of the process, and tiles that loop are
// interrupted by the watchdog.
#include <sys/mman.h>
#include <ucontext.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "backends/hammerblade/emulator/emulator.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/memory.h"

namespace fc::hb {

thread_local Worker* this_worker = nullptr;

namespace {

constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction before[NSIG];

int poke_signal() { return SIGRTMAX - 2; }

uintptr_t pc_of(const ucontext_t& c) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(c.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return c.uc_mcontext.pc;
#else
  (void)c;
  return 0;
#endif
}

uintptr_t sp_of(const ucontext_t& c) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(c.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return c.uc_mcontext.sp;
#else
  (void)c;
  return 0;
#endif
}

}  // namespace

// A stack that ran over has no room for the handler.
void use_alternate_stack() {
  struct Stack {
    void* memory = nullptr;
    ~Stack() {
      if (!memory) return;
      stack_t off{};
      off.ss_flags = SS_DISABLE;
      sigaltstack(&off, nullptr);
      munmap(memory, 65536);
    }
  };
  thread_local Stack own;
  if (own.memory) return;
  stack_t now{};
  if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
  void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = 65536;
  if (sigaltstack(&stack, nullptr) == 0) own.memory = memory;
  else munmap(memory, 65536);
}

void Emulator::install_signals() {
  use_alternate_stack();
  if (signals_installed_) return;
  signals_installed_ = true;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = &Emulator::on_fault;
  for (int fault : faults) sigaction(fault, &action, &before[fault]);
  // Runs on the tile's own stack: the tile goes on from there later.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  action.sa_sigaction = &Emulator::on_poke;
  sigaction(poke_signal(), &action, nullptr);
}

void Emulator::on_fault(int signal, siginfo_t* info, void* context) {
  auto& c = *static_cast<ucontext_t*>(context);
  uintptr_t pc = pc_of(c), address = reinterpret_cast<uintptr_t>(info->si_addr);
  Tile* tile = this_worker ? this_worker->current.load(std::memory_order_relaxed) : nullptr;
  // One that is giving up for want of stack may not even have room to leave.
  if (!tile || (tile->in_runtime && !tile->used_up) ||
      (tile->state != TileState::Running && tile->state != TileState::GivenUp)) {
    sigaction(signal, &before[signal], nullptr);  // not ours: the instruction runs again under whoever was there before
    return;
  }
  tile->in_runtime = true;
  Finding finding;
  finding.kind = "fault";
  finding.pcs = {tile->used_up ? tile->pc : pc + 1};
  uintptr_t own = reinterpret_cast<uintptr_t>(tile->base);
  if (signal == SIGFPE) {
    finding.text = "divides an integer by zero, or overflows, at %1";
  } else if (signal == SIGILL) {
    finding.text = "runs an instruction that does not exist at %1";
  } else if (address - own < HB_EMUL_TILE_BYTES || sp_of(c) - own >= HB_EMUL_TILE_BYTES) {
    finding.kind = "scratchpad overflow";
    finding.text = "has used up its stack at %1";
  } else {
    finding.text = format("touches address 0x%08llx at %%1, %s", static_cast<unsigned long long>(address),
                          memory().describe(address).c_str());
  }
  get().fail(*tile, std::move(finding));
}

namespace {

// Where a kernel is that was interrupted, as the address after its instruction. It may be in what answers for it, whose
// return address is the first on the stack that is one of the kernel's code.
uintptr_t place_in_kernel(const Library& library, const Tile& tile, const ucontext_t& c) {
  if (library.holds_code(pc_of(c))) return pc_of(c) + 1;
  const auto end = reinterpret_cast<uintptr_t>(tile.block);
  for (uintptr_t at = (sp_of(c) + 7) / 8 * 8; at + 8 <= end; at += 8)
    if (const uintptr_t word = *reinterpret_cast<const uintptr_t*>(at); library.holds_code(word)) return word;
  return pc_of(c) + 1;
}

}  // namespace

void Emulator::on_poke(int, siginfo_t*, void* context) {
  auto& c = *static_cast<ucontext_t*>(context);
  Tile* tile = get().tile_at(sp_of(c));
  if (!tile || tile->in_runtime || tile->state != TileState::Running) return;
  int kept = errno;
  tile->in_runtime = true;
  tile->pc = place_in_kernel(*tile->wave->library, *tile, c);
  get().leave(*tile, TileState::Ready);
  tile->in_runtime = false;
  errno = kept;
}

void Emulator::poke(Worker& worker) {
  if (worker.current.load(std::memory_order_relaxed)) pthread_kill(worker.thread, poke_signal());
}

void Emulator::start_watchdog() {
  watchdog_started_ = true;
  sigset_t all, kept;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &kept);
  try {
    std::thread([this] { watch(); }).detach();
  } catch (const std::system_error&) {
    watchdog_started_ = false;  // no thread left: the next launch tries again
  }
  pthread_sigmask(SIG_SETMASK, &kept, nullptr);
}

void Emulator::watch() {
  uint64_t launch = 0, progress = 0, since = 0;  // since: polls without progress
  for (uint32_t quiet = 0;; ++quiet) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::unique_lock lock(watch_);
    if (watched_) {
      quiet = 0;
      if (launch != launches_) {
        launch = launches_;
        since = 0;
      }
      look_after(*watched_, &progress, &since);
    } else if (quiet > 50) {  // nothing to do for a second
      uint32_t wake = watchdog_wake_.load();
      watchdog_asleep_ = true;
      lock.unlock();
      watchdog_wake_.wait(wake);
      watchdog_asleep_ = false;
      quiet = 0;
    }
  }
}

void Emulator::look_after(Wave& wave, uint64_t* progress, uint64_t* since) {
  if (wave.progress != *progress) {
    *progress = wave.progress;
    *since = 0;
  }
  ++*since;
  bool stop = wave.stop;
  if (!stop && options_.watchdog_seconds > 0 && static_cast<double>(*since) * 0.020 > options_.watchdog_seconds) {
    Finding finding;
    finding.kind = "hang";
    finding.text = format("no tile has ended or passed a barrier for %.3g seconds", options_.watchdog_seconds);
    finding.who_waits = true;
    report(wave, std::move(finding));
    stop = true;
  }
  for (Worker& worker : workers_) {
    uint64_t beats = worker.beats;
    // Interrupted so that its other tiles come to run: what it waits for in a loop may be theirs to write.
    // In check mode the seed alone decides who runs.
    if (stop || (!options_.check && beats == worker.seen_beats && *since > 1)) poke(worker);
    worker.seen_beats = beats;
  }
}

}  // namespace fc::hb
