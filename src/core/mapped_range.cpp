// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace fc {

// Entries are used again and never freed: the handler walks their list at any time, without a lock.
struct MappedRange::Entry {
  std::atomic<uintptr_t> begin{0}, end{0};  // end 0: free
  char name[256] = "";
  Entry* next = nullptr;
};
const MappedRange::Entry* lost_range = nullptr;

namespace {

std::atomic<MappedRange::Entry*> entries{nullptr};
struct sigaction before;

void on_bus_error(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (info->si_code > 0) {  // a fault, not a signal that somebody sent
    for (auto* e = entries.load(std::memory_order_acquire); e; e = e->next) {
      const uintptr_t begin = e->begin.load(std::memory_order_acquire), end = e->end.load(std::memory_order_acquire);
      if (address < begin || address >= end) continue;
      const uintptr_t page = address & ~static_cast<uintptr_t>(getpagesize() - 1);
      void* zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
      if (zeros == MAP_FAILED) break;
      __atomic_store_n(&lost_range, e, __ATOMIC_RELEASE);
      for (const char* text : {"facula: the file ", static_cast<const char*>(e->name),
                               " became shorter while it was mapped: what is gone reads as zeros\n"})
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
      errno = error;
      return;
    }
  }
  // Not ours: the instruction runs again under whoever was there before, a signal that was sent is sent again.
  sigaction(signal, &before, nullptr);
  if (info->si_code <= 0) ::raise(signal);
  errno = error;
}

void take_bus_errors() {  // again when a program put a handler of its own in place meanwhile
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || now.sa_sigaction == on_bus_error) return;
  before = now;
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

std::string name_of(int fd) {
  char path[256];
  const ssize_t n = readlink(str("/proc/self/fd/", fd).c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "behind a tensor";
}

}  // namespace

MappedRange::MappedRange(void* begin, size_t bytes, int fd) {
  static std::mutex mutex;
  const std::string name = name_of(fd);
  std::lock_guard guard(mutex);
  take_bus_errors();
  Entry* e = entries.load(std::memory_order_relaxed);
  while (e && e->end.load(std::memory_order_relaxed) != 0) e = e->next;
  const bool fresh = !e;
  if (fresh) e = new Entry;
  const size_t length = std::min(name.size(), sizeof e->name - 1);
  std::memcpy(e->name, name.data(), length);
  e->name[length] = 0;
  e->begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
  e->end.store(reinterpret_cast<uintptr_t>(begin) + bytes, std::memory_order_release);
  if (fresh) {
    e->next = entries.load(std::memory_order_relaxed);
    entries.store(e, std::memory_order_release);
  }
  entry_ = e;
}
MappedRange::~MappedRange() {
  if (!entry_) return;
  entry_->begin.store(UINTPTR_MAX, std::memory_order_release);
  entry_->end.store(0, std::memory_order_release);
}
MappedRange::MappedRange(MappedRange&& o) noexcept : entry_(std::exchange(o.entry_, nullptr)) {}
MappedRange& MappedRange::operator=(MappedRange&& o) noexcept {
  std::swap(entry_, o.entry_);
  return *this;
}

void raise_lost_range() {
  const MappedRange::Entry* e = __atomic_exchange_n(&lost_range, nullptr, __ATOMIC_ACQ_REL);
  const std::string name = e ? e->name : "behind a tensor";
  raise<Error>("the file ", name, " became shorter while it was mapped: what is gone reads as zeros");
}

}  // namespace fc
