// SPDX-License-Identifier: Apache-2.0
// The host's cache over a backend's alloc and free. The backend is never called with the lock held: a backend written
// in Python needs the interpreter's lock, which another thread may hold while it waits for ours.
#include <algorithm>

#include "backends/plugin/backend.h"

namespace fc::plugin {
namespace {

void free_block(void* data, size_t bytes, void* backend) {
  static_cast<Backend*>(backend)->cache.release(data, bytes);
}

}  // namespace

void* CachingAllocator::from_cache(const Key& key) {
  std::lock_guard lock(mutex_);
  auto it = cache_.find(key);
  if (it == cache_.end() || it->second.empty()) return nullptr;
  void* data = it->second.back();
  it->second.pop_back();
  stats_[key.device].cached -= static_cast<int64_t>(key.bytes);
  return data;
}

Block CachingAllocator::allocate(size_t bytes, Device device) {
  if (bytes == 0) return {};
  backend_of(device);  // the number must exist
  const int index = index_of(device);
  const bool exact = backend_.c.flags & FC_BACKEND_EXACT_MEMORY;
  FC_CHECK_AS(OutOfMemoryError, bytes <= size_t{1} << 47, "backend '", backend_.name, "', device ", index,
              ": tried to allocate ", bytes, " bytes");
  const Key key{exact ? bytes : rounded_bytes(bytes), current_stream(device), index};
  void* data = exact ? nullptr : from_cache(key);
  bool fresh = !data;
  if (fresh) {
    std::string what = str("alloc of ", key.bytes, " bytes");
    CallScope s(backend_, index);
    int status = backend_.c.alloc(backend_.c.self, &s.context, key.bytes, &data);
    if (status == FC_OUT_OF_MEMORY) {
      empty(index);
      status = backend_.c.alloc(backend_.c.self, &s.context, key.bytes, &data);
    }
    s.check(status, what);
    if (!data) s.fail(FC_OUT_OF_MEMORY, what + ", which returned no memory");
  }
  try {
    std::lock_guard lock(mutex_);
    MemoryStats& m = stats_[index];
    live_[data] = {key, bytes};
    m.current += static_cast<int64_t>(bytes);
    m.peak = std::max(m.peak, m.current);
    m.total += static_cast<int64_t>(bytes);
    m.allocations += 1;
    m.from_system += fresh;
  } catch (...) {
    give_back(data, key);
    throw;
  }
  return {data, free_block, &backend_};
}

void CachingAllocator::release(void* data, size_t bytes) noexcept {
  Key key;
  try {
    std::lock_guard lock(mutex_);
    auto it = live_.find(data);
    if (it == live_.end()) return;
    key = it->second;
    live_.erase(it);
    MemoryStats& m = stats_[key.device];
    m.current -= static_cast<int64_t>(bytes);
    if (!(backend_.c.flags & FC_BACKEND_EXACT_MEMORY)) {
      cache_[key].push_back(data);
      m.cached += static_cast<int64_t>(key.bytes);
      return;
    }
  } catch (const std::bad_alloc&) {}  // nothing to note it in
  give_back(data, key);
}

void CachingAllocator::give_back(void* data, const Key& key) noexcept {
  CallScope s(backend_, key.device);
  if (backend_.c.free(backend_.c.self, &s.context, data, key.bytes) == FC_OK) return;
  try {
    warn(str("backend '", backend_.name, "', device ", key.device, ", free of ", key.bytes, " bytes: ", s.message()));
  } catch (...) {}  // a warning that became an error: there is nobody to throw it to
}

void CachingAllocator::empty(int device) {
  for (;;) {
    void* data = nullptr;
    Key found;
    {
      std::lock_guard lock(mutex_);
      for (auto& [key, list] : cache_) {
        if (key.device != device || list.empty()) continue;
        data = list.back();
        found = key;
        list.pop_back();
        stats_[device].cached -= static_cast<int64_t>(key.bytes);
        break;
      }
    }
    if (!data) return;
    give_back(data, found);
  }
}

MemoryStats CachingAllocator::stats(int device) {
  std::lock_guard lock(mutex_);
  return stats_[device];
}

void CachingAllocator::reset_peak(int device) {
  std::lock_guard lock(mutex_);
  stats_[device].peak = stats_[device].current;
}

std::vector<MemoryBlock> CachingAllocator::snapshot(int device) {
  std::lock_guard lock(mutex_);
  std::vector<MemoryBlock> out;
  for (auto& [data, live] : live_)
    if (live.device == device) out.push_back({data, live.bytes, live.requested, live.stream});
  for (auto& [key, list] : cache_)
    if (key.device == device)
      for (void* data : list) out.push_back({data, key.bytes, 0, key.stream});
  return out;
}

}  // namespace fc::plugin
