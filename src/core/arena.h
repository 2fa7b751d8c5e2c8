// SPDX-License-Identifier: Apache-2.0
// Large blocks of the CPU's memory. Mappings of the system are split into ranges that fit and joined again when they
// are given back, so that what a forward pass leaves serves the gradients, whatever their sizes: the pages a program
// touches are hardly more than its largest need. The smallest free range that fits is taken, pages that were never
// touched last. Callable from any thread; safe across fork.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fc::arena {

struct Range {
  char* at = nullptr;
  size_t bytes = 0;
  // Of a free range, from `at` on, what may have pages. Only the last range of a mapping has more bytes than that.
  size_t touched = 0;
  Range *left = nullptr, *right = nullptr;    // neighbours in the mapping
  Range *before = nullptr, *after = nullptr;  // in the list of free ranges of about this size
  bool free = false;
};

struct Taken {
  Range* range;  // null: the system has no more
  bool fresh;    // some of its pages were never touched
};
Taken take(size_t bytes);
void give(Range* range) noexcept;
int64_t held();         // bytes of free ranges that may have pages
void clear() noexcept;  // every free range goes back to the system
void watch_forks();     // before core/use.h's: a fork that waits for kernels to end lets them have memory

}  // namespace fc::arena
