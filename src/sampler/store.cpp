// SPDX-License-Identifier: Apache-2.0
#include "sampler/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fc::sampler {

namespace {
constexpr uint64_t kHeaderBytes = 4096, kMostBytes = 128 << 20, kStep = 1 << 20;
constexpr uint32_t kSlots = 1 << 18;
static_assert(sizeof(Header) <= kHeaderBytes);
}  // namespace

uint32_t hash(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b >> 32 | b << 32)) * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
  return static_cast<uint32_t>(h >> 32);
}

bool Store::open(const char* folder, uint32_t period_ns) {
  char path[4096];
  const int process = getpid();
  for (int turn = 0; file_ < 0 && turn < 1000; ++turn) {  // a process that replaces itself keeps its number
    snprintf(path, sizeof path, "%s/%d-%d.samples", folder, process, turn);
    file_ = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file_ < 0 && errno != EEXIST) return false;
  }
  if (const int high = fcntl(file_, F_DUPFD_CLOEXEC, kFirstFile); high >= 0) {
    close(file_);
    file_ = high;
  }
  void* mapped = mmap(nullptr, kMostBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  void* index = mmap(nullptr, kSlots * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED || index == MAP_FAILED || syscall(SYS_fallocate, file_, 0, 0, kStep) != 0) {
    unlink(path);
    return false;
  }
  base_ = static_cast<std::byte*>(mapped);
  madvise(base_, kStep, MADV_POPULATE_WRITE);  // page faults would be a sample's greatest cost
  index_ = static_cast<std::atomic<uint32_t>*>(index);
  header_ = static_cast<Header*>(mapped);
  header_->period_ns = period_ns;
  header_->process = static_cast<uint32_t>(process);
  header_->used = kHeaderBytes;
  header_->allocated = kStep;
  const ssize_t length = readlink("/proc/self/exe", header_->program, sizeof header_->program - 1);
  header_->program[length > 0 ? length : 0] = 0;
  memcpy(header_->magic, "FACSAMP1", 8);
  return true;
}

// A page that the disk has no room for would end the program: room is made before it is written to.
bool Store::grow(uint64_t to) {
  uint64_t from = header_->allocated.load();
  while (from < to) {
    if (from + kStep > kMostBytes) return false;
    if (syscall(SYS_fallocate, file_, 0, from, kStep) != 0) return false;
    madvise(base_ + from, kStep, MADV_POPULATE_WRITE);
    if (header_->allocated.compare_exchange_strong(from, from + kStep)) from += kStep;
  }
  return true;
}

uint32_t Store::find(Kind kind, uint32_t parent, uint32_t ref, uint64_t value) const {
  uint32_t slot = hash(value, uint64_t{parent} << 32 | ref) % kSlots;
  for (int probes = 0; probes < 64; ++probes, slot = (slot + 1) % kSlots) {
    const uint32_t id = index_[slot].load(std::memory_order_acquire);
    if (!id) return 0;
    const Record* r = at(id);
    if (r->value == value && r->parent == parent && r->ref == ref && r->kind == kind) return id;
  }
  return 0;
}

Record* Store::reserve(Kind kind, uint32_t parent, uint32_t ref, uint64_t value, size_t payload) {
  const uint64_t bytes = (sizeof(Record) + payload + 7) / 8 * 8;
  uint64_t start = header_->used.load();
  do {
    if (bytes / 8 > UINT16_MAX || !grow(start + bytes)) return nullptr;
  } while (!header_->used.compare_exchange_weak(start, start + bytes));
  auto* r = reinterpret_cast<Record*>(base_ + start);
  r->words = static_cast<uint16_t>(bytes / 8);
  r->kind = kind;
  r->parent = parent;
  r->ref = ref;
  r->value = value;
  return r;
}

uint32_t Store::publish(Record* r) {
  const auto id = static_cast<uint32_t>((reinterpret_cast<std::byte*>(r) - base_) / 8);
  uint32_t slot = hash(r->value, uint64_t{r->parent} << 32 | r->ref) % kSlots;
  for (int probes = 0; probes < 64; ++probes, slot = (slot + 1) % kSlots) {
    uint32_t none = 0;
    if (index_[slot].compare_exchange_strong(none, id, std::memory_order_acq_rel)) break;
  }
  return id;  // no slot nearby: the record counts all the same, the next sample makes another
}

uint32_t Store::find_or_add(Kind kind, uint32_t parent, uint32_t ref, uint64_t value) {
  if (const uint32_t id = find(kind, parent, ref, value)) return id;
  Record* r = reserve(kind, parent, ref, value);
  return r ? publish(r) : 0;
}

}  // namespace fc::sampler
