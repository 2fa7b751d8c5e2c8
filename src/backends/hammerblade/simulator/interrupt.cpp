// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/interrupt.h"

#include <atomic>
#include <csignal>

namespace fc::hb::sim {

namespace {

std::atomic<bool> noticed{false};
struct sigaction before;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  noticed.store(true, std::memory_order_relaxed);
  if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
  else before.sa_handler(signal);
}

}  // namespace

NoticesInterrupts::NoticesInterrupts() {
  noticed.store(false, std::memory_order_relaxed);
  if (sigaction(SIGINT, nullptr, &before)) return;
  if (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) return;
  if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_interrupt) return;
  struct sigaction ours = before;
  ours.sa_flags = (before.sa_flags & ~SA_RESTART) | SA_SIGINFO;
  ours.sa_sigaction = on_interrupt;
  installed_ = sigaction(SIGINT, &ours, nullptr) == 0;
}

NoticesInterrupts::~NoticesInterrupts() {
  struct sigaction now;
  // Somebody may have chosen another handler meanwhile.
  if (installed_ && sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
      now.sa_sigaction == on_interrupt)
    sigaction(SIGINT, &before, nullptr);
}

bool take_interrupt() { return noticed.exchange(false, std::memory_order_relaxed); }

}  // namespace fc::hb::sim
