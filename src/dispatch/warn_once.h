// SPDX-License-Identifier: Apache-2.0
// Warnings that come once in a process, as PyTorch's do. Any thread may call this.
#pragma once

#include <atomic>

#include "dispatch/operator.h"

namespace fc {

extern std::atomic<bool> warn_always;  // torch.set_warn_always: each time

// `said` is a static of the place that warns.
inline void warn_once(std::atomic<bool>& said, const char* message) {
  if (!said.exchange(true, std::memory_order_relaxed) || warn_always.load(std::memory_order_relaxed)) warn(message);
}

}  // namespace fc
