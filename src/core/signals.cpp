// SPDX-License-Identifier: Apache-2.0
#include "core/signals.h"

#include <pthread.h>
#include <sys/mman.h>

#include <initializer_list>

namespace fc {
namespace {

sigset_t held() {
  sigset_t set;
  sigfillset(&set);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGURG}) sigdelset(&set, s);
  return set;
}

// Handlers of faults run on it: a library's kernel may have its stack in the heap.
class FaultStack {
 public:
  FaultStack() noexcept {
    stack_t now{};
    if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t own{};
    own.ss_sp = memory;
    own.ss_size = kBytes;
    if (sigaltstack(&own, nullptr) == 0) memory_ = memory;
    else munmap(memory, kBytes);
  }
  ~FaultStack() {
    if (!memory_) return;
    stack_t now{}, off{};
    off.ss_flags = SS_DISABLE;
    if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory_) sigaltstack(&off, nullptr);
    munmap(memory_, kBytes);
  }
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  static constexpr size_t kBytes = 65536;
  void* memory_ = nullptr;
};
void use_fault_stack() noexcept { static thread_local FaultStack own; }

}  // namespace

HoldSignals::HoldSignals() noexcept {
  use_fault_stack();
  const sigset_t set = held();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}
HoldSignals::~HoldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void hold_signals_on_worker() noexcept {
  static thread_local bool done = false;
  if (done) return;
  done = true;
  use_fault_stack();
  const sigset_t set = held();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace fc
