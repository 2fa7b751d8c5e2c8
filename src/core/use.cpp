// SPDX-License-Identifier: Apache-2.0
#include "core/use.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace fc {
namespace {

// Uses are counted in several places, so that threads do not wait for one cache line.
constexpr uint32_t kStripes = 16;
struct alignas(64) Stripe {
  std::atomic<int64_t> open{0};
};
constinit Stripe stripes[kStripes];
std::atomic<bool> changing{false};
std::atomic<int> waiting{0};  // for uses to end: new ones let them have a turn
constinit std::atomic<uint32_t> next_stripe{0};

struct Here {
  uint32_t stripe = UINT32_MAX;
  bool open = false;
  bool changes = false;  // inside of a ChangeScope
};
constinit thread_local Here here [[gnu::tls_model("initial-exec")]];

void nap() {
  timespec t{0, 50'000};
  nanosleep(&t, nullptr);
}

// Sequentially consistent on both sides: a use that does not see the change is seen by it.
void open_here() {
  Here& h = here;
  if (h.stripe == UINT32_MAX) h.stripe = next_stripe.fetch_add(1, std::memory_order_relaxed) % kStripes;
  std::atomic<int64_t>& open = stripes[h.stripe].open;
  for (int naps = 0;;) {
    open.fetch_add(1);
    // The one who waits may in turn wait for this thread, so courtesy ends after ten milliseconds.
    const bool polite = waiting.load() > 0 && naps < 200;
    if ((!changing.load() && !polite) || h.changes) [[likely]]
      break;
    open.fetch_sub(1, std::memory_order_release);
    nap();
    ++naps;
  }
  h.open = true;
}

void close_here() {
  here.open = false;
  stripes[here.stripe].open.fetch_sub(1, std::memory_order_release);
  if (after_use) after_use();
}

bool others_use() {
  int64_t n = here.open ? -1 : 0;
  for (Stripe& s : stripes) n += s.open.load();
  return n > 0;
}

bool forks_alone = false;  // handlers of forks run one after another
void before_fork() {
  forks_alone = false;
  for (int naps = 0; naps < 20'000 && !forks_alone; ++naps) {  // a second, at most
    forks_alone = begin_change();
    if (!forks_alone) nap();
  }
}
void after_fork() {
  if (forks_alone) end_change();
}
void after_fork_in_child() {
  for (Stripe& s : stripes) s.open.store(0);
  if (here.open) stripes[here.stripe].open.store(1);
  waiting.store(0);
  changing.store(false);
}

}  // namespace

void (*after_use)() = nullptr;
void (*wait_to_change)() = nullptr;
bool in_use() { return here.open; }

bool UseScope::open() {
  if (here.open) return false;
  open_here();
  return true;
}
void UseScope::close() { close_here(); }

PauseUse::PauseUse() : paused_(here.open) {
  if (paused_) close_here();
}
PauseUse::~PauseUse() {
  if (paused_) open_here();
}

bool begin_change() {
  if (changing.exchange(true)) return false;
  if (!others_use()) return true;
  changing.store(false);
  return false;
}
void end_change() { changing.store(false); }

ChangeScope::ChangeScope() : opened_(wait_to_change && !here.open && !here.changes) {
  if (!opened_) return;
  wait_to_change();
  here.changes = true;
}
ChangeScope::~ChangeScope() {
  if (!opened_) return;
  here.changes = false;
  end_change();
}

WaitForUses::WaitForUses() { waiting.fetch_add(1); }
WaitForUses::~WaitForUses() { waiting.fetch_sub(1); }
void WaitForUses::wait() const {
  while (others_use() || changing.load()) nap();
}

void watch_forks() { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

}  // namespace fc
