// SPDX-License-Identifier: Apache-2.0
// Large blocks of the CPU's memory. Mappings of the system are split into ranges that fit and joined again when they
// are given back, so that what a forward pass leaves serves the gradients, whatever their sizes. The range that needs
// the fewest new pages is taken, of those the smallest; where holes are too small and new pages are needed all the
// same, as many pages of the holes go back to the system: a program's memory is hardly more than its largest need.
// Callable from any thread; safe across fork.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fc::arena {

struct Mapping;

struct Range {
  char* at = nullptr;
  size_t bytes = 0;
  Mapping* mapping = nullptr;
  Range *left = nullptr, *right = nullptr;    // neighbours in the mapping
  Range *before = nullptr, *after = nullptr;  // in the list of free ranges of about this size
  bool free = false;
};

struct Taken {
  Range* range;  // null: the system has no more
  bool fresh;    // it needs new pages
};
Taken take(size_t bytes);
void give(Range* range) noexcept;
int64_t held();         // bytes of free ranges that have pages, or somewhat more
void clear() noexcept;  // every free range goes back to the system; the largest need is counted anew
void watch_forks();     // before core/use.h's: a fork that waits for kernels to end lets them have memory

}  // namespace fc::arena
