// SPDX-License-Identifier: Apache-2.0
// The host's cache over a backend's alloc and free. The backend is never called with the lock held: a backend written
// in Python needs the interpreter's lock, which another thread may hold while it waits for ours.
#include <algorithm>

#include "backends/plugin/backend.h"

namespace fc::plugin {

Block CachingAllocator::allocate(size_t bytes, Device device) {
  if (bytes == 0) return {};
  DeviceBlock* block = take(bytes, device);
  return {block->data,
          [](void*, size_t, void* context) {
            auto* mine = static_cast<DeviceBlock*>(context);
            static_cast<CachingAllocator*>(mine->backend.allocator)->release(mine);
          },
          block};
}

DeviceBlock* CachingAllocator::take(size_t bytes, Device device) {
  const int index = index_of(device);
  const bool exact = backend_.c.flags & FC_BACKEND_EXACT_MEMORY;
  FC_CHECK_AS(OutOfMemoryError, bytes <= size_t{1} << 47, "backend '", backend_.name, "', device ", index,
              ": tried to allocate ", bytes, " bytes");
  const Key key{exact ? bytes : rounded_bytes(bytes), current_stream(device), index};
  std::unique_lock lock(mutex_);
  DeviceBlock* block = from_cache(key);
  const bool fresh = !block;
  if (fresh) {
    lock.unlock();
    block = from_backend(key);
    lock.lock();
  }
  block->requested = bytes;
  block->last = nullptr;
  block->next = in_use_;
  if (in_use_) in_use_->last = block;
  in_use_ = block;
  MemoryStats& m = count(index);
  m.current += static_cast<int64_t>(bytes);
  m.peak = std::max(m.peak, m.current);
  m.total += static_cast<int64_t>(bytes);
  m.allocations += 1;
  m.from_system += fresh;
  return block;
}

DeviceBlock* CachingAllocator::from_cache(const Key& key) {
  auto it = cache_.find(key);
  if (it == cache_.end() || !it->second) return nullptr;
  DeviceBlock* block = it->second;
  it->second = block->next;
  count(key.device).cached -= static_cast<int64_t>(key.bytes);
  return block;
}

constexpr uintptr_t kDeviceAlignment = 64;  // as the contract asks for

DeviceBlock* CachingAllocator::from_backend(const Key& key) {
  auto block = std::make_unique<DeviceBlock>(DeviceBlock{.backend = backend_, .key = key, .data = nullptr});
  const std::string what = str("alloc of ", key.bytes, " bytes");
  CallScope s(backend_, key.device);
  int status = backend_.c.alloc(backend_.c.self, &s.context, key.bytes, &block->data);
  if (status == FC_OUT_OF_MEMORY) {
    empty(key.device);
    status = backend_.c.alloc(backend_.c.self, &s.context, key.bytes, &block->data);
  }
  s.check(status, what);
  if (!block->data) s.fail(FC_OUT_OF_MEMORY, what + ", which returned no memory");
  const auto address = reinterpret_cast<uintptr_t>(block->data);
  if (address % kDeviceAlignment != 0 || address > UINTPTR_MAX - key.bytes)
    s.fail(FC_ERROR, what + str(", which returned address ", address, ", no multiple of ", kDeviceAlignment));
  return block.release();
}

void CachingAllocator::release(DeviceBlock* block) noexcept {
  {
    std::lock_guard lock(mutex_);
    (block->last ? block->last->next : in_use_) = block->next;
    if (block->next) block->next->last = block->last;
    MemoryStats& m = count(block->key.device);
    m.current -= static_cast<int64_t>(block->requested);
    block->requested = 0;
    if (!(backend_.c.flags & FC_BACKEND_EXACT_MEMORY)) try {
        DeviceBlock*& first = cache_[block->key];
        block->next = first;
        first = block;
        m.cached += static_cast<int64_t>(block->key.bytes);
        return;
      } catch (const std::bad_alloc&) {}  // nothing to note it in
  }
  give_back(block);
}

void CachingAllocator::give_back(DeviceBlock* block) noexcept {
  const std::unique_ptr<DeviceBlock> ends(block);
  CallScope s(backend_, block->key.device);
  if (backend_.c.free(backend_.c.self, &s.context, block->data, block->key.bytes) == FC_OK) return;
  try {
    warn(str("backend '", backend_.name, "', device ", block->key.device, ", free of ", block->key.bytes,
             " bytes: ", s.message()));
  } catch (...) {}  // a warning that became an error: there is nobody to throw it to
}

void CachingAllocator::empty(int device) {
  for (;;) {
    DeviceBlock* block = nullptr;
    {
      std::lock_guard lock(mutex_);
      for (auto& [key, first] : cache_)
        if (key.device == device && first) {
          block = from_cache(key);
          break;
        }
    }
    if (!block) return;
    give_back(block);
  }
}

MemoryStats CachingAllocator::stats(int device) {
  std::lock_guard lock(mutex_);
  return count(device);
}

void CachingAllocator::reset_peak(int device) {
  std::lock_guard lock(mutex_);
  count(device).peak = count(device).current;
}

std::vector<MemoryBlock> CachingAllocator::snapshot(int device) {
  std::lock_guard lock(mutex_);
  std::vector<MemoryBlock> out;
  auto add = [&](const DeviceBlock* b) {
    for (; b; b = b->next)
      if (b->key.device == device) out.push_back({b->data, b->key.bytes, b->requested, b->key.stream});
  };
  add(in_use_);
  for (auto& [key, first] : cache_) add(first);
  return out;
}

}  // namespace fc::plugin
