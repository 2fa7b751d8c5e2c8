// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace fc::hb {

namespace {

constexpr uint64_t alignment = 64, red_zone = 64, step = 32 << 20, page = 4096;
constexpr uint64_t quarantine_most = 16 << 20, give_back = 8 << 20;

uint64_t rounded(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

uintptr_t reserve(uint64_t bytes, std::initializer_list<uint64_t> candidates) {
  for (uint64_t at : candidates) {
    void* p = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) continue;
    if (reinterpret_cast<uintptr_t>(p) == at) return at;
    munmap(p, bytes);  // a system that does not know the flag takes the address for a hint
  }
  return 0;
}

Memory& memory() {
  static auto* all = new Memory;  // never taken down: kernels may still be asked about at exit
  return *all;
}

void Memory::open(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!base_) {
    uint64_t room = (uint64_t{1} << 32) - address;
    base_ = reserve(room, {address});
    // The address sanitizer needs what lies above 2 GiB for itself; the tiles have theirs below 0x50000000.
    for (uint64_t smaller = 0x2f000000; !base_ && smaller >= 0x0bc00000; smaller /= 2)
      base_ = reserve(room = smaller, {0x50000000, 0x10000000});
    if (!base_)
      throw Error(HB_MC_NOMEM,
                  format("this process has no %llu bytes of free addresses below 4 GiB for device memory "
                         "(the machine has it at 0x%llx; ulimit -v, or other libraries, may forbid it)",
                         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address)));
    span_ = room;
    limit_ = std::min(bytes, span_ - page);  // the address behind the last byte is one too
    text_ = std::min<uint64_t>(16 << 20, rounded(limit_ / 4, page));
    give(base_ + text_, limit_ - text_);
    return;
  }
  uint64_t limit = std::min(bytes, span_ - page);
  if (limit > limit_) {
    give(base_ + limit_, limit - limit_);
  } else if (limit < limit_) {
    auto last = free_.empty() ? free_.end() : std::prev(free_.end());
    if (last == free_.end() || last->first > base_ + limit || last->first + last->second != base_ + limit_)
      throw Error(HB_MC_BUSY, "device memory that is in use lies beyond the new machine's DRAM: free it first");
    uint64_t start = last->first;
    free_by_span_.erase({last->second, start});
    free_.erase(last);
    if (start < base_ + limit) {
      free_[start] = base_ + limit - start;
      free_by_span_.insert({base_ + limit - start, start});
    }
  }
  limit_ = limit;
}

void Memory::require_text() {
  std::lock_guard lock(mutex_);
  commit(base_ + text_);
}

void Memory::set_check(bool on) {
  std::lock_guard lock(mutex_);
  check_ = on;
  if (!on || valid_) return;
  void* p = mmap(nullptr, span_ / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    check_ = false;
    throw Error(HB_MC_NOMEM, format("check mode needs %llu bytes of addresses for its map of valid memory: %s",
                                    static_cast<unsigned long long>(span_ / 8), strerror(errno)));
  }
  valid_ = static_cast<uint8_t*>(p);
  for (const auto& [address, block] : live_) mark(address, block.size, true);
}

void Memory::mark(uint64_t address, uint64_t size, bool on) {
  if (!valid_) return;
  uint8_t* at = valid_ + (address - base_) / 8;
  memset(at, on ? 8 : 0, size / 8);
  if (size % 8) at[size / 8] = on ? static_cast<uint8_t>(size % 8) : 0;
}

void Memory::give(uint64_t start, uint64_t span) {
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == start + span) {
    span += next->second;
    free_by_span_.erase({next->second, next->first});
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == start) {
      free_by_span_.erase({before->second, before->first});
      start = before->first;
      span += before->second;
      free_.erase(before);
    }
  }
  free_[start] = span;
  free_by_span_.insert({span, start});
}

uint64_t Memory::take(uint64_t span) {
  auto it = free_by_span_.lower_bound({span, 0});
  if (it == free_by_span_.end()) return 0;
  auto [whole, start] = *it;
  free_by_span_.erase(it);
  free_.erase(start);
  if (whole > span) {
    free_[start + span] = whole - span;
    free_by_span_.insert({whole - span, start + span});
  }
  return start;
}

void Memory::commit(uint64_t end) {
  if (end <= base_ + committed_) return;
  uint64_t to = std::min(rounded(end - base_, step), rounded(span_, page));
  if (mprotect(reinterpret_cast<void*>(base_ + committed_), to - committed_, PROT_READ | PROT_WRITE))
    throw Error(HB_MC_NOMEM, format("the system gives no memory for the device: %s", strerror(errno)));
  // Fewer, larger pages where the system has them; a wish.
  madvise(reinterpret_cast<void*>(base_ + committed_), to - committed_, MADV_HUGEPAGE);
  committed_ = to;
}

bool Memory::empty_quarantine() {
  if (quarantine_.empty()) return false;
  for (uint64_t address : quarantine_) {
    Block block = quarantined_.at(address);
    quarantined_.erase(address);
    give(block.start, block.span);
  }
  quarantine_.clear();
  quarantine_bytes_ = 0;
  return true;
}

Eva Memory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  uint64_t size = std::max<uint64_t>(bytes, 1), zone = check_ ? red_zone : 0;
  uint64_t span = size <= limit_ ? rounded(size + 2 * zone, alignment) : ~uint64_t{0};
  uint64_t start = take(span);
  if (!start && empty_quarantine()) start = take(span);
  if (!start) {
    uint64_t left = 0;
    for (const auto& piece : free_) left += piece.second;
    uint64_t largest = free_by_span_.empty() ? 0 : free_by_span_.rbegin()->first;
    throw Error(
        HB_MC_NOMEM,
        format("out of device memory: %llu bytes were asked for, %llu of %llu are free, the largest piece has %llu",
               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(left),
               static_cast<unsigned long long>(limit_), static_cast<unsigned long long>(largest)));
  }
  try {
    commit(start + span);
  } catch (...) {
    give(start, span);
    throw;
  }
  uint64_t address = start + zone;
  live_[address] = {size, start, span};
  mark(address, size, true);
  // What a kernel reads before anybody wrote it is not a number there.
  if (check_) memset(reinterpret_cast<void*>(address), 0xff, size);
  ++counters_.allocations;
  counters_.bytes += size;
  counters_.peak = std::max(counters_.peak, counters_.bytes);
  return static_cast<Eva>(address);
}

void Memory::release(Eva address) {
  std::lock_guard lock(mutex_);
  auto it = live_.find(address);
  if (it == live_.end())
    throw Error(HB_MC_INVALID, format("0x%08x was freed, but is not the start of an allocated block%s", address,
                                      quarantined_.count(address) ? ": it was freed before" : ""));
  Block block = it->second;
  live_.erase(it);
  ++counters_.frees;
  counters_.bytes -= block.size;
  mark(address, block.size, false);
  if (block.span >= give_back)  // nobody holds it for later: the system gets the pages back
    madvise(reinterpret_cast<void*>(rounded(block.start, page)), block.span / page * page - page, MADV_DONTNEED);
  if (!check_) return give(block.start, block.span);
  quarantined_[address] = block;
  quarantine_.push_back(address);
  quarantine_bytes_ += block.span;
  while (quarantine_bytes_ > std::min(quarantine_most, limit_ / 8)) {
    uint64_t oldest = quarantine_.front();
    Block freed = quarantined_.at(oldest);
    quarantine_.pop_front();
    quarantined_.erase(oldest);
    quarantine_bytes_ -= freed.span;
    give(freed.start, freed.span);
  }
}

std::string Memory::describe(uintptr_t address) const {
  std::lock_guard lock(mutex_);
  if (address < base_ || address >= base_ + span_) {
    if (address < page) return "which is a null pointer";
    return "which is no device memory (a pointer of the host?)";
  }
  auto near = [&](const std::map<uint64_t, Block>& blocks, bool freed) -> std::string {
    auto after = blocks.upper_bound(address);
    const char* word = freed ? "freed " : "";
    if (after != blocks.begin()) {
      auto [start, block] = *std::prev(after);
      uint64_t end = start + block.size;
      if (address < end)
        return format("%llu bytes into the %s%llu bytes at 0x%08llx", static_cast<unsigned long long>(address - start),
                      word, static_cast<unsigned long long>(block.size), static_cast<unsigned long long>(start));
      if (!freed && address - end < 4096)
        return format("%llu bytes past the end of the %llu bytes at 0x%08llx",
                      static_cast<unsigned long long>(address - end), static_cast<unsigned long long>(block.size),
                      static_cast<unsigned long long>(start));
    }
    if (!freed && after != blocks.end() && after->first - address <= 4096)
      return format("%llu bytes before the %llu bytes at 0x%08llx",
                    static_cast<unsigned long long>(after->first - address),
                    static_cast<unsigned long long>(after->second.size), static_cast<unsigned long long>(after->first));
    return "";
  };
  std::string found = near(quarantined_, true);
  if (found.empty()) found = near(live_, false);
  return found.empty() ? "which is not allocated" : found;
}

void Memory::require(Eva address, uint64_t bytes, const char* what) const {
  {
    std::lock_guard lock(mutex_);
    auto after = live_.upper_bound(address);
    if (after != live_.begin()) {
      auto [start, block] = *std::prev(after);
      uint64_t offset = address - start;
      if (offset <= block.size && bytes <= block.size - offset) return;
    }
    if (!bytes) return;
  }
  throw Error(HB_MC_INVALID, format("%s of %llu bytes at 0x%08x, %s", what, static_cast<unsigned long long>(bytes),
                                    address, describe(address).c_str()));
}

Memory::Counters Memory::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace fc::hb
