// SPDX-License-Identifier: Apache-2.0
#include "core/signals.h"

#include <pthread.h>

#include <initializer_list>

namespace fc {
namespace {

sigset_t held() {
  sigset_t set;
  sigfillset(&set);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGURG}) sigdelset(&set, s);
  return set;
}

}  // namespace

HoldSignals::HoldSignals() noexcept {
  const sigset_t set = held();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}
HoldSignals::~HoldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void hold_signals_on_worker() noexcept {
  static thread_local bool done = false;
  if (done) return;
  done = true;
  const sigset_t set = held();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace fc
