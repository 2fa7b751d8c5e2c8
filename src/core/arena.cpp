// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

namespace fc::arena {
namespace {

constexpr size_t kStep = 4096;               // ranges are multiples of pages
constexpr size_t kLeast = 64 << 10;          // what a split leaves is worth keeping from here on
constexpr size_t kHugePage = 2 << 20;        // mappings are aligned to these and ask for them
constexpr size_t kMapping = 64 << 20;        // the least that is mapped at a time; untouched, it costs nothing
constexpr size_t kLargestMapping = 1 << 30;  // unless one block needs more
constexpr int kBins = 4 * 40;                // four per power of two, from kLeast on
constexpr int kLook = 64;                    // ranges of a bin that are compared
constexpr int64_t kSlack = 128;              // pages beyond the largest need: this part of it,
constexpr int64_t kLeastSlack = 16 << 20;    // and at least these bytes

size_t rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// The bin of a size; every range of a later bin is larger.
int bin_of(size_t bytes) {
  if (bytes <= kLeast) return 0;
  const int log = static_cast<int>(std::bit_width(bytes)) - 1;
  const auto quarter = static_cast<int>((bytes >> (log - 2)) & 3);
  return std::min(4 * (log - std::countr_zero(kLeast)) + quarter, kBins - 1);
}

}  // namespace

// Which huge pages of a mapping have memory.
struct Mapping {
  char* start;
  std::vector<bool> resident;
  int ranges = 1;

  size_t page(const char* p) const { return static_cast<size_t>(p - start) / kHugePage; }
  size_t missing(const char* at, size_t bytes) const {
    size_t count = 0;
    for (size_t i = page(at), last = page(at + bytes - 1); i <= last; ++i) count += !resident[i];
    return count;
  }
};

namespace {

struct State {
  std::mutex mutex;
  Range* bins[kBins] = {};
  Range* spare = nullptr;  // records without a range
  size_t mapped = 0;
  int64_t resident = 0, used = 0, most_used = 0;
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
  }
  void remove(Range* r) {
    (r->before ? r->before->after : bins[bin_of(r->bytes)]) = r->after;
    if (r->after) r->after->before = r->before;
    r->free = false;
  }
  int64_t held() const { return std::max<int64_t>(resident - used, 0); }

  // Of the free ranges that fit and are looked at, one that needs the fewest new pages; of those the smallest.
  Range* find(size_t bytes) {
    Range* best = nullptr;
    size_t least = SIZE_MAX;
    for (int bin = bin_of(bytes); bin < kBins && least > 0; ++bin) {
      int looked = 0;
      for (Range* r = bins[bin]; r && (looked < kLook || !best); r = r->after, ++looked) {
        if (r->bytes < bytes) continue;
        const size_t missing = r->mapping->missing(r->at, bytes);
        if (missing < least || (missing == least && r->bytes < best->bytes)) best = r, least = missing;
      }
    }
    return best;
  }

  // Every page of a range has memory from now on; whether one had none.
  bool touch(const Range* r) {
    Mapping& m = *r->mapping;
    const int64_t before = resident;
    for (size_t i = m.page(r->at), last = m.page(r->at + r->bytes - 1); i <= last; ++i)
      if (!m.resident[i]) m.resident[i] = true, resident += kHugePage;
    return resident > before;
  }

  // Gives pages of free ranges back, the largest ranges' first, until no more have memory than is allowed.
  void bound() {
    const int64_t allowed = most_used + std::max(most_used / kSlack, kLeastSlack);
    for (int bin = kBins; resident > allowed && bin-- > 0;)
      for (Range* r = bins[bin]; r && resident > allowed; r = r->after) {
        Mapping& m = *r->mapping;
        const size_t first = m.page(r->at + kHugePage - 1);
        for (size_t end = m.page(r->at + r->bytes); resident > allowed && end > first;) {
          // As many pages side by side as have memory, from the end.
          while (end > first && !m.resident[end - 1]) --end;
          size_t begin = end;
          for (; begin > first && m.resident[begin - 1] && resident > allowed; --begin) {
            m.resident[begin - 1] = false;
            resident -= kHugePage;
          }
          if (begin < end) madvise(m.start + begin * kHugePage, (end - begin) * kHugePage, MADV_DONTNEED);
          end = begin;
        }
      }
  }

  Range* map(size_t bytes) {
    const size_t usual = std::max(rounded(std::min(mapped / 4, kLargestMapping), kHugePage), kMapping),
                 least = rounded(bytes, kHugePage), most = std::max(least, usual);
    auto m = std::make_unique<Mapping>();  // what may throw comes first
    m->resident.resize(most / kHugePage);
    Range* r = record();
    for (size_t size : {most, least}) {
      void* p = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) continue;
      char* start = static_cast<char*>(p);
      char* aligned = start + (-reinterpret_cast<uintptr_t>(start) & (kHugePage - 1));
      if (aligned > start) munmap(start, static_cast<size_t>(aligned - start));
      if (size_t rest = static_cast<size_t>(start + kHugePage - aligned); rest > 0) munmap(aligned + size, rest);
      madvise(aligned, size, MADV_HUGEPAGE);
      mapped += size;
      m->start = aligned;
      m->resident.resize(size / kHugePage);
      *r = {.at = aligned, .bytes = size, .mapping = m.release()};
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
    Mapping* m = r->mapping;
    const bool last = --m->ranges == 0;
    // Pages that a neighbour shares stay counted until the whole mapping is gone.
    const size_t first = last ? 0 : m->page(r->at + kHugePage - 1),
                 end = last ? m->resident.size() : m->page(r->at + r->bytes);
    for (size_t i = first; i < end; ++i)
      if (m->resident[i]) m->resident[i] = false, resident -= kHugePage;
    if (last) delete m;
    if (r->left) r->left->right = nullptr;
    if (r->right) r->right->left = nullptr;
    forget(r);
  }

  void join(Range* left, Range* right) {  // both free and in no list
    left->bytes += right->bytes;
    left->right = right->right;
    if (left->right) left->right->left = left;
    --left->mapping->ranges;
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
  Range* r = s.find(size);
  if (!r) r = s.map(size);
  if (!r) return {nullptr, false};
  Range* rest = s.record();  // it may throw: r is still free
  s.remove(r);
  if (r->bytes - size >= kLeast) {
    *rest = {.at = r->at + size, .bytes = r->bytes - size, .mapping = r->mapping, .left = r, .right = r->right};
    if (rest->right) rest->right->left = rest;
    r->right = rest;
    r->bytes = size;
    ++r->mapping->ranges;
    s.insert(rest);
  } else {
    s.forget(rest);
  }
  s.used += static_cast<int64_t>(r->bytes);
  s.most_used = std::max(s.most_used, s.used);
  const bool fresh = s.touch(r);
  if (fresh) s.bound();
  return {r, fresh};
}

void give(Range* r) noexcept {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.used -= static_cast<int64_t>(r->bytes);
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
  if (s.held() > s.limit) s.unmap(r);
}

int64_t held() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.held();
}

void clear() noexcept {
  State& s = state();
  std::lock_guard lock(s.mutex);
  for (Range* head : s.bins)
    for (Range *r = head, *next = nullptr; r; r = next) {
      next = r->after;
      s.unmap(r);
    }
  s.most_used = s.used;
}

void watch_forks() {
  pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); }, [] { state().mutex.unlock(); });
}

}  // namespace fc::arena
