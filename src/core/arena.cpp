// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>

namespace fc::arena {
namespace {

constexpr size_t kStep = 4096;               // ranges are multiples of pages
constexpr size_t kLeast = 64 << 10;          // what a split leaves is worth keeping from here on
constexpr size_t kHugePage = 2 << 20;        // mappings are aligned to these and ask for them
constexpr size_t kMapping = 64 << 20;        // the least that is mapped at a time; untouched, it costs nothing
constexpr size_t kLargestMapping = 1 << 30;  // unless one block needs more
constexpr int kBins = 4 * 40;                // four per power of two, from kLeast on
constexpr int kLook = 64;                    // ranges of a bin that are compared

size_t rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// The bin of a size; every range of a later bin is larger.
int bin_of(size_t bytes) {
  if (bytes <= kLeast) return 0;
  const int log = static_cast<int>(std::bit_width(bytes)) - 1;
  const auto quarter = static_cast<int>((bytes >> (log - 2)) & 3);
  return std::min(4 * (log - std::countr_zero(kLeast)) + quarter, kBins - 1);
}

struct State {
  std::mutex mutex;
  Range* bins[kBins] = {};
  Range* spare = nullptr;  // records without a range
  size_t mapped = 0;
  int64_t held = 0;
  int64_t limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 4;

  Range* record() {
    if (!spare) return new Range;
    Range* r = spare;
    spare = r->after;
    return r;
  }
  void forget(Range* r) {
    r->after = spare;
    spare = r;
  }

  void insert(Range* r) {
    Range*& head = bins[bin_of(r->bytes)];
    r->free = true;
    r->before = nullptr;
    r->after = head;
    if (head) head->before = r;
    head = r;
    held += static_cast<int64_t>(r->touched);
  }
  void remove(Range* r) {
    (r->before ? r->before->after : bins[bin_of(r->bytes)]) = r->after;
    if (r->after) r->after->before = r->before;
    r->free = false;
    held -= static_cast<int64_t>(r->touched);
  }

  // The smallest free range that fits, of those that are looked at.
  Range* find(size_t bytes) {
    for (int bin = bin_of(bytes); bin < kBins; ++bin) {
      Range* best = nullptr;
      int looked = 0;
      for (Range* r = bins[bin]; r && (looked < kLook || !best); r = r->after, ++looked)
        if (r->bytes >= bytes && (!best || r->bytes < best->bytes)) best = r;
      if (best) return best;
    }
    return nullptr;
  }

  Range* map(size_t bytes) {
    Range* r = record();
    const size_t usual = std::max(rounded(std::min(mapped / 4, kLargestMapping), kHugePage), kMapping);
    for (size_t size : {std::max(rounded(bytes, kHugePage), usual), rounded(bytes, kHugePage)}) {
      void* p = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) continue;
      char* start = static_cast<char*>(p);
      char* aligned = start + (-reinterpret_cast<uintptr_t>(start) & (kHugePage - 1));
      if (aligned > start) munmap(start, static_cast<size_t>(aligned - start));
      if (size_t rest = static_cast<size_t>(start + kHugePage - aligned); rest > 0) munmap(aligned + size, rest);
      madvise(aligned, size, MADV_HUGEPAGE);
      mapped += size;
      *r = {.at = aligned, .bytes = size};
      insert(r);
      return r;
    }
    forget(r);
    return nullptr;
  }

  // Gives the addresses back; a free range stays if the system refuses.
  void unmap(Range* r) {
    if (munmap(r->at, r->bytes) != 0) return;
    remove(r);
    mapped -= r->bytes;
    if (r->left) r->left->right = nullptr;
    if (r->right) r->right->left = nullptr;
    forget(r);
  }

  void join(Range* left, Range* right) {  // both free and in no list
    left->touched = left->bytes + right->touched;
    left->bytes += right->bytes;
    left->right = right->right;
    if (left->right) left->right->left = left;
    forget(right);
  }
};

State& state() {
  static State& s = *new State;  // never destroyed: storages may outlive every static object
  return s;
}

}  // namespace

Taken take(size_t bytes) {
  const size_t size = rounded(bytes, kStep);
  State& s = state();
  std::lock_guard lock(s.mutex);
  Range* rest = s.record();  // first: it may throw
  Range* r = s.find(size);
  if (!r) r = s.map(size);
  if (!r) {
    s.forget(rest);
    return {nullptr, false};
  }
  s.remove(r);
  const bool fresh = r->touched < size;
  if (r->bytes - size >= kLeast) {
    *rest = {.at = r->at + size,
             .bytes = r->bytes - size,
             .touched = r->touched - std::min(r->touched, size),
             .left = r,
             .right = r->right};
    if (rest->right) rest->right->left = rest;
    r->right = rest;
    r->bytes = size;
    s.insert(rest);
  } else {
    s.forget(rest);
  }
  return {r, fresh};
}

void give(Range* r) noexcept {
  State& s = state();
  std::lock_guard lock(s.mutex);
  r->touched = r->bytes;
  if (Range* left = r->left; left && left->free) {
    s.remove(left);
    s.join(left, r);
    r = left;
  }
  if (Range* right = r->right; right && right->free) {
    s.remove(right);
    s.join(r, right);
  }
  s.insert(r);
  if (s.held > s.limit) s.unmap(r);
}

int64_t held() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.held;
}

void clear() noexcept {
  State& s = state();
  std::lock_guard lock(s.mutex);
  for (Range* head : s.bins)
    for (Range *r = head, *next = nullptr; r; r = next) {
      next = r->after;
      s.unmap(r);
    }
}

void watch_forks() {
  pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); }, [] { state().mutex.unlock(); });
}

}  // namespace fc::arena
