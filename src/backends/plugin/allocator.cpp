// SPDX-License-Identifier: Apache-2.0
// The host's cache over a backend's alloc and free. The backend is never called with the lock held: a backend written
// in Python needs the interpreter's lock, which another thread may hold while it waits for ours.
#include <algorithm>

#include "backends/plugin/backend.h"

namespace fc::plugin {
namespace {

void free_block(void* data, size_t bytes, void* backend) {
  static_cast<Backend*>(backend)->allocator.release(data, bytes);
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
  int index = std::max<int>(device.index, 0);
  FC_CHECK_AS(OutOfMemoryError, bytes <= size_t{1} << 47, "backend '", backend_.name, "', device ", index,
              ": tried to allocate ", bytes, " bytes");
  Key key{rounded_bytes(bytes), stream_of(backend_.device_type, index), index};
  void* data = from_cache(key);
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
    live_[data] = key;
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
    cache_[key].push_back(data);
    m.cached += static_cast<int64_t>(key.bytes);
    return;
  } catch (const std::bad_alloc&) {}
  give_back(data, key);  // nothing to note it in
}

void CachingAllocator::give_back(void* data, const Key& key) noexcept {
  CallScope s(backend_, key.device);
  backend_.c.free(backend_.c.self, &s.context, data, key.bytes);
}

int CachingAllocator::device_of(const void* data) {
  if (backend_.c.device_count == 1) return 0;
  std::lock_guard lock(mutex_);
  auto it = live_.upper_bound(data);
  if (it == live_.begin()) return 0;
  return std::prev(it)->second.device;
}

void CachingAllocator::empty(int device) {
  CallScope s(backend_, device);
  for (;;) {
    void* data = nullptr;
    size_t bytes = 0;
    {
      std::lock_guard lock(mutex_);
      for (auto& [key, list] : cache_) {
        if (key.device != device || list.empty()) continue;
        data = list.back();
        bytes = key.bytes;
        list.pop_back();
        stats_[device].cached -= static_cast<int64_t>(bytes);
        break;
      }
    }
    if (!data) return;
    if (backend_.c.free(backend_.c.self, &s.context, data, bytes) != FC_OK)
      warn(str("backend '", backend_.name, "', device ", device, ", free of ", bytes, " bytes: ", s.message()));
  }
}

MemoryStats CachingAllocator::stats(int device) {
  std::lock_guard lock(mutex_);
  return stats_[device];
}

}  // namespace fc::plugin
