// SPDX-License-Identifier: Apache-2.0
// The caching CPU allocator. Sizes are rounded to classes (four per power of two), so a block serves every request
// of its class. Classes up to 64 KiB are kept per thread without a lock; larger ones in one locked table, because
// fresh pages cost more than the lock (64 MiB: 36 ms fresh, 5 ms reused). What is cached is bounded.
#include "core/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <mutex>

#include "core/error.h"

namespace fc {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmallLimit = 64 << 10;
constexpr size_t kHugePage = 2 << 20;
constexpr int kSmallClasses = 44;
constexpr int kLargeClasses = 4 * 48;
constexpr int kPerThread = 32;  // blocks kept per small class and thread

#if defined(__SANITIZE_ADDRESS__)
bool cache_on = false;
#else
bool cache_on = true;
#endif

struct Counters {
  int64_t current, peak, total, allocations, cached, from_system;
} stats;
int64_t fail_after = 0;

int64_t add(int64_t& counter, int64_t v) { return __atomic_add_fetch(&counter, v, __ATOMIC_RELAXED); }
int64_t load(const int64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

struct Class {
  int index;
  size_t bytes;
};
// Class of a request: 64-byte steps are merged into quarters of a power of two.
Class class_of(size_t bytes) {
  if (bytes <= 4 * kAlign) {
    size_t i = (bytes + kAlign - 1) / kAlign;
    return {static_cast<int>(i) - 1, i * kAlign};
  }
  int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log+1)
  size_t step = size_t{1} << (log - 2);
  size_t quarter = (bytes - (size_t{1} << log) + step - 1) / step;  // 1..4
  return {4 + (log - 8) * 4 + static_cast<int>(quarter) - 1, (size_t{1} << log) + quarter * step};
}

void* from_system(size_t bytes) {
  add(stats.from_system, 1);
  size_t align = bytes >= kHugePage ? kHugePage : kAlign;
  void* p = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (p && bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

struct Chain {  // free blocks of one class, linked through their first word
  void* head = nullptr;
  int count = 0;
  void push(void* p) {
    *static_cast<void**>(p) = head;
    head = p;
    ++count;
  }
  void* pop() {
    void* p = head;
    if (p) {
      head = *static_cast<void**>(p);
      --count;
    }
    return p;
  }
};

void release_chain(Chain& c, size_t bytes) {
  while (void* p = c.pop()) {
    add(stats.cached, -static_cast<int64_t>(bytes));
    std::free(p);
  }
}

struct ThreadCache {
  Chain chains[kSmallClasses];
  size_t sizes[kSmallClasses] = {};
  bool alive = true;
  void clear() {
    for (int i = 0; i < kSmallClasses; ++i) release_chain(chains[i], sizes[i]);
  }
  ~ThreadCache() {
    clear();
    alive = false;  // blocks freed later on this thread go straight to the system
  }
};
thread_local ThreadCache thread_cache;

struct LargeCache {
  std::mutex mutex;
  Chain chains[kLargeClasses];
  size_t sizes[kLargeClasses] = {};
  int64_t held = 0;
  int64_t limit = 0;
};
LargeCache& large_cache() {
  static LargeCache& c = *[] {
    auto* cache = new LargeCache;  // never destroyed: storages may outlive every static object
    cache->limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 4;
    return cache;
  }();
  return c;
}

void* take(Class c) {
  if (cache_on) {
    void* p = nullptr;
    if (c.bytes <= kSmallLimit) {
      if (thread_cache.alive) p = thread_cache.chains[c.index].pop();
    } else {
      LargeCache& large = large_cache();
      std::lock_guard lock(large.mutex);
      p = large.chains[c.index].pop();
      if (p) large.held -= static_cast<int64_t>(c.bytes);
    }
    if (p) {
      add(stats.cached, -static_cast<int64_t>(c.bytes));
      return p;
    }
  }
  void* p = from_system(c.bytes);
  if (!p) {  // give back what is cached, then try once more
    empty_cpu_cache();
    p = from_system(c.bytes);
  }
  return p;
}

void give(void* p, Class c) {
  if (cache_on && c.bytes <= kSmallLimit && thread_cache.alive) {
    Chain& chain = thread_cache.chains[c.index];
    if (chain.count < kPerThread) {
      thread_cache.sizes[c.index] = c.bytes;
      chain.push(p);
      add(stats.cached, static_cast<int64_t>(c.bytes));
      return;
    }
  } else if (cache_on && c.bytes > kSmallLimit) {
    LargeCache& large = large_cache();
    std::lock_guard lock(large.mutex);
    if (large.held + static_cast<int64_t>(c.bytes) <= large.limit) {
      large.sizes[c.index] = c.bytes;
      large.chains[c.index].push(p);
      large.held += static_cast<int64_t>(c.bytes);
      add(stats.cached, static_cast<int64_t>(c.bytes));
      return;
    }
  }
  std::free(p);
}

void free_block(void* data, size_t bytes, void*) {
  add(stats.current, -static_cast<int64_t>(bytes));
  give(data, class_of(bytes));
}

[[noreturn, gnu::cold, gnu::noinline]] void out_of_memory(size_t bytes) {
  raise<Error>("[enforce fail at alloc_cpu] DefaultCPUAllocator: not enough memory: you tried to allocate ", bytes,
               " bytes.");
}

class CpuAllocator final : public Allocator {
 public:
  Block allocate(size_t bytes, Device) override {
    if (bytes == 0) return {};
    if (bytes > (size_t{1} << 47)) out_of_memory(bytes);
    if (load(fail_after) > 0 && add(fail_after, -1) == 0) out_of_memory(bytes);
    void* p = take(class_of(bytes));
    if (!p) out_of_memory(bytes);
    add(stats.allocations, 1);
    add(stats.total, static_cast<int64_t>(bytes));
    int64_t now = add(stats.current, static_cast<int64_t>(bytes));
    int64_t peak = load(stats.peak);
    while (now > peak &&
           !__atomic_compare_exchange_n(&stats.peak, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return {p, free_block, nullptr};
  }
};

constinit CpuAllocator the_cpu_allocator;
constinit Allocator* allocators[kMaxDeviceTypes] = {&the_cpu_allocator};

}  // namespace

size_t rounded_bytes(size_t bytes) { return class_of(bytes).bytes; }

Allocator& cpu_allocator() { return the_cpu_allocator; }

MemoryStats cpu_memory_stats() {
  return {load(stats.current),     load(stats.peak),   load(stats.total),
          load(stats.allocations), load(stats.cached), load(stats.from_system)};
}

void reset_cpu_peak() { __atomic_store_n(&stats.peak, load(stats.current), __ATOMIC_RELAXED); }

void empty_cpu_cache() {
  if (thread_cache.alive) thread_cache.clear();
  LargeCache& large = large_cache();
  std::lock_guard lock(large.mutex);
  for (int i = 0; i < kLargeClasses; ++i) release_chain(large.chains[i], large.sizes[i]);
  large.held = 0;
}

void set_cpu_cache(bool on) {
  cache_on = on;
  if (!on) empty_cpu_cache();
}

void fail_cpu_allocation(int64_t n) { __atomic_store_n(&fail_after, n, __ATOMIC_RELAXED); }

Allocator* allocator_for(int device_type) { return allocators[device_type]; }
void set_allocator(int device_type, Allocator* allocator) { allocators[device_type] = allocator; }

}  // namespace fc
