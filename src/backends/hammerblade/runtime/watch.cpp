// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/watch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"

namespace fc::hb {

namespace {
constexpr size_t batch = 8192;
}  // namespace

Watchers& Watchers::get() {
  static auto* watchers = new Watchers;  // launches may still run at exit
  return *watchers;
}

long Watchers::add(const facula_hb_watcher_t& given) {
  if (given.size < offsetof(facula_hb_watcher_t, accesses))
    throw Error(HB_MC_INVALID, format("a watcher of %u bytes: facula_hb_watcher_t has %zu (set its size)", given.size,
                                      sizeof(facula_hb_watcher_t)));
  facula_hb_watcher_t watcher{};
  memcpy(&watcher, &given, std::min<size_t>(given.size, sizeof watcher));
  std::lock_guard lock(mutex_);
  rows_.push_back({++last_, watcher});
  refresh();
  return last_;
}

void Watchers::remove(long number) {
  std::lock_guard lock(mutex_);
  std::erase_if(rows_, [&](const Row& row) { return row.number == number; });
  refresh();
}

void Watchers::refresh() {
  any_ = !rows_.empty();
  accesses_ = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.watcher.accesses; });
  if (!accesses_) gathered_ = {};
}

void Watchers::load_from_environment() {
  const char* path = getenv("FACULA_HB_WATCH");
  if (!path || !*path) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(HB_MC_NOTFOUND, format("FACULA_HB_WATCH=%s cannot be loaded: %s", path, dlerror()));
  auto* entry = reinterpret_cast<int (*)(void)>(dlsym(library, FACULA_HB_WATCH_ENTRY));
  if (!entry) throw Error(HB_MC_INVALID, format("FACULA_HB_WATCH=%s has no %s", path, FACULA_HB_WATCH_ENTRY));
  if (const int status = entry())
    throw Error(HB_MC_FAIL, format("FACULA_HB_WATCH=%s: %s returned %d", path, FACULA_HB_WATCH_ENTRY, status));
}

void Watchers::memory(const facula_hb_memory_t& event) {
  for (const Row& row : rows_)
    if (row.watcher.memory) row.watcher.memory(row.watcher.context, &event);
}

void Watchers::launch_begins(const facula_hb_launch_t& launch, uint32_t packet, uint32_t packet_bytes) {
  packet_ = packet, packet_bytes_ = packet_bytes;
  lost_ = 0;
  gathered_.clear();
  for (const Row& row : rows_)
    if (row.watcher.launch) row.watcher.launch(row.watcher.context, &launch);
}

void Watchers::launch_ended(facula_hb_launch_t launch) {
  flush();
  launch.lost = lost_;
  for (const Row& row : rows_)
    if (row.watcher.launch) row.watcher.launch(row.watcher.context, &launch);
}

void Watchers::grow(const facula_hb_access_t& a) noexcept {
  try {
    gathered_.reserve(std::max(batch, gathered_.size() * 2));
    gathered_.push_back(a);
  } catch (const std::bad_alloc&) { ++lost_; }
}

void Watchers::flush() {
  if (gathered_.empty()) return;
  for (const Row& row : rows_)
    if (row.watcher.accesses) row.watcher.accesses(row.watcher.context, gathered_.data(), gathered_.size());
  gathered_.clear();
  if (gathered_.capacity() > 64 * batch) gathered_ = {};
}

}  // namespace fc::hb
