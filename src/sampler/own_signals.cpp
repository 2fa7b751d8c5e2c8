// SPDX-License-Identifier: Apache-2.0
#include "sampler/own_signals.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

namespace fc::sampler {

namespace {

// What the program wants done. Replaced while handlers read it, so the next ones go to other places.
struct Taken {
  static constexpr unsigned kPlaces = 16;
  std::atomic<Handler> ours{nullptr};
  std::atomic<unsigned> current{0};
  struct sigaction wanted[kPlaces] = {};
};

constinit std::atomic<pid_t> process{0};
constinit Taken taken[NSIG];  // used before constructors run

int real_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  static auto* real =
      reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(dlsym(RTLD_NEXT, "sigaction"));
  return real(number, action, before);
}

// Null where the C library has to answer. A child of vfork shares our memory but not our handlers.
Taken* find(int number) {
  if (number <= 0 || number >= NSIG || !taken[number].ours || getpid() != process) return nullptr;
  return &taken[number];
}

void exchange(Taken& t, const struct sigaction* action, struct sigaction* before) {
  const unsigned at = t.current;
  const struct sigaction was = t.wanted[at];
  if (action) {
    const unsigned next = (at + 1) % Taken::kPlaces;
    t.wanted[next] = *action;
    t.current = next;
  }
  if (before) *before = was;
}

}  // namespace

void take_signal(int number, Handler handler, const sigset_t& all) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  action.sa_mask = all;
  Taken& t = taken[number];
  if (real_sigaction(number, &action, &t.wanted[0]) != 0) return;
  process = getpid();
  t.ours = handler;
}

bool have_signal(int number) {
  struct sigaction now = {};
  return real_sigaction(number, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO &&
         now.sa_sigaction == taken[number].ours;
}

void hand_on(int number, siginfo_t* info, void* context) {
  Taken& t = taken[number];
  const struct sigaction wanted = t.wanted[t.current];
  const struct sigaction none = {};
  if (wanted.sa_handler == SIG_DFL || wanted.sa_handler == SIG_IGN) {
    // The system does not let a program ignore its own faults.
    const bool ends = wanted.sa_handler == SIG_DFL || info->si_code > 0;
    if (number == SIGURG || !ends) return;
    real_sigaction(number, &none, nullptr);
    raise(number);  // waits until this handler is left
    return;
  }
  if (wanted.sa_flags & SA_RESETHAND) exchange(t, &none, nullptr);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted.sa_mask, &before);
  if (wanted.sa_flags & SA_SIGINFO) wanted.sa_sigaction(number, info, context);
  else wanted.sa_handler(number);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void signals_of_child() { process = getpid(); }

}  // namespace fc::sampler

extern "C" __attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                                struct sigaction* before) {
  using namespace fc::sampler;
  Taken* t = find(number);
  if (!t) return real_sigaction(number, action, before);
  exchange(*t, action, before);
  return 0;
}

extern "C" __attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler) {
  using namespace fc::sampler;
  static auto* real = reinterpret_cast<sighandler_t (*)(int, sighandler_t)>(dlsym(RTLD_NEXT, "signal"));
  Taken* t = find(number);
  if (!t) return real(number, handler);
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  exchange(*t, &action, &before);
  return before.sa_handler;
}
