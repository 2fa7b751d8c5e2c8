// SPDX-License-Identifier: Apache-2.0
// A lock of one byte for a handful of instructions: copying or swapping a reference. While it is held nothing waits and
// nothing of a user's runs; what was swapped out is dropped after it is let go, since a destructor may run anything.
#pragma once
#include <sched.h>

#include <cstdint>
#include <mutex>

namespace fc {

class SpinLock {
 public:
  void lock() noexcept {
    while (__atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE))
      [[unlikely]] while (__atomic_load_n(&held_, __ATOMIC_RELAXED)) sched_yield();
  }
  void unlock() noexcept { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }

 private:
  uint8_t held_ = 0;
};

}  // namespace fc
