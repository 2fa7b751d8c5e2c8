// SPDX-License-Identifier: Apache-2.0
// The caching CPU allocator. Up to 64 KiB sizes are rounded to classes (four per power of two), so a block serves
// every request of its class, and kept per thread without a lock; larger blocks are ranges of core/arena.h, because
// fresh pages cost more than a lock (64 MiB: 36 ms fresh, 5 ms reused). What is cached is bounded.
#include "core/allocator.h"

#include <pthread.h>

#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "core/arena.h"
#include "core/error.h"
#include "core/small.h"

namespace fc {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmallLimit = 64 << 10;
constexpr int kSmallClasses = 44;
constexpr int kPerThread = 32;  // blocks kept per small class and thread
// Objects (core/small.h), by their size.
constexpr size_t kObjectStep = 32;
constexpr size_t kObjectClasses = 16;
constexpr int kObjectsPerThread = 256;

#if defined(__SANITIZE_ADDRESS__)
bool cache_on = false;
#else
bool cache_on = true;
#endif

struct {  // changed by every thread, so atomic; what a thread can count for itself is in its ThreadCache
  int64_t current, peak, from_system;
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
  return std::aligned_alloc(kAlign, bytes);
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

// What a thread keeps for itself. Other threads only read its counters.
struct ThreadCache {
  Chain blocks[kSmallClasses];
  size_t sizes[kSmallClasses] = {};
  Chain objects[kObjectClasses];
  int64_t cached = 0, total = 0, allocations = 0;
  ThreadCache *next = nullptr, *before = nullptr;

  static void count(int64_t& counter, int64_t v) { __atomic_store_n(&counter, counter + v, __ATOMIC_RELAXED); }
  void clear() {
    for (int i = 0; i < kSmallClasses; ++i)
      while (void* p = blocks[i].pop()) {
        count(cached, -static_cast<int64_t>(sizes[i]));
        std::free(p);
      }
    for (Chain& c : objects)
      while (void* p = c.pop()) ::operator delete(p);
  }
};

struct Threads {
  std::mutex mutex;
  ThreadCache* first = nullptr;
  int64_t total = 0, allocations = 0;  // of threads that ended
};
// Never destroyed: storages may outlive every static object. A fork waits for its lock: a thread that ends takes it
// whenever that may be, also after Python has joined it.
Threads& threads() {
  static Threads& t = *[] {
    pthread_atfork([] { threads().mutex.lock(); }, [] { threads().mutex.unlock(); }, [] { threads().mutex.unlock(); });
    return new Threads;
  }();
  return t;
}

constinit thread_local ThreadCache* cache_here [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local bool thread_ended = false;  // blocks freed later on this thread go straight to the system

struct EndOfThread {
  ~EndOfThread() {
    ThreadCache* c = std::exchange(cache_here, nullptr);
    thread_ended = true;
    c->clear();
    Threads& t = threads();
    std::lock_guard lock(t.mutex);
    t.total += c->total;
    t.allocations += c->allocations;
    (c->before ? c->before->next : t.first) = c->next;
    if (c->next) c->next->before = c->before;
    delete c;
  }
};

[[gnu::cold, gnu::noinline]] ThreadCache* start_cache() {
  if (thread_ended) return nullptr;
  auto* c = new ThreadCache;
  {
    Threads& t = threads();
    std::lock_guard lock(t.mutex);
    c->next = t.first;
    if (c->next) c->next->before = c;
    t.first = c;
  }
  cache_here = c;
  static thread_local EndOfThread end;
  (void)end;
  return c;
}
// Null once the thread has ended.
ThreadCache* this_cache() {
  ThreadCache* c = cache_here;
  return c ? c : start_cache();
}

void free_small(void* p, size_t bytes, void*) {
  add(stats.current, -static_cast<int64_t>(bytes));
  const Class c = class_of(bytes);
  ThreadCache* mine = cache_on ? this_cache() : nullptr;
  if (!mine || c.index >= kSmallClasses || mine->blocks[c.index].count == kPerThread) {
    std::free(p);
    return;
  }
  mine->sizes[c.index] = c.bytes;
  mine->blocks[c.index].push(p);
  ThreadCache::count(mine->cached, static_cast<int64_t>(c.bytes));
}

void free_range(void*, size_t bytes, void* range) {
  add(stats.current, -static_cast<int64_t>(bytes));
  arena::give(static_cast<arena::Range*>(range));
  if (!cache_on) arena::clear();
}

// Of a null block the system has no more.
Block take(size_t bytes, ThreadCache* mine) {
  if (bytes > kSmallLimit && cache_on) {
    const auto [range, fresh] = arena::take(bytes);
    if (fresh) add(stats.from_system, 1);
    return range ? Block{range->at, free_range, range} : Block{};
  }
  const Class c = class_of(bytes);
  if (void* p = mine && c.index < kSmallClasses ? mine->blocks[c.index].pop() : nullptr) {
    ThreadCache::count(mine->cached, -static_cast<int64_t>(c.bytes));
    return {p, free_small, nullptr};
  }
  return {from_system(c.bytes), free_small, nullptr};
}

[[noreturn, gnu::cold, gnu::noinline]] void out_of_memory(size_t bytes) {
  raise<Error>("[enforce fail at alloc_cpu] DefaultCPUAllocator: not enough memory: you tried to allocate ", bytes,
               " bytes.");
}

}  // namespace

constinit CpuAllocator the_cpu_allocator;

Block CpuAllocator::allocate(size_t bytes, Device) {
  if (bytes == 0) return {};
  if (bytes > (size_t{1} << 47)) out_of_memory(bytes);
  if (load(fail_after) > 0 && add(fail_after, -1) == 0) out_of_memory(bytes);
  ThreadCache* mine = this_cache();
  Block block = take(bytes, mine);
  if (!block.data) {  // give back what is cached, then try once more
    empty_cpu_cache();
    block = take(bytes, mine);
  }
  if (!block.data) out_of_memory(bytes);
  if (mine) {
    ThreadCache::count(mine->allocations, 1);
    ThreadCache::count(mine->total, static_cast<int64_t>(bytes));
  }
  int64_t now = add(stats.current, static_cast<int64_t>(bytes));
  int64_t peak = load(stats.peak);
  while (now > peak &&
         !__atomic_compare_exchange_n(&stats.peak, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  return block;
}

size_t rounded_bytes(size_t bytes) { return class_of(bytes).bytes; }

MemoryStats cpu_memory_stats() {
  MemoryStats s{.current = load(stats.current), .peak = load(stats.peak), .from_system = load(stats.from_system)};
  {
    Threads& t = threads();
    std::lock_guard lock(t.mutex);
    s.total = t.total;
    s.allocations = t.allocations;
    for (const ThreadCache* c = t.first; c; c = c->next) {
      s.total += load(c->total);
      s.allocations += load(c->allocations);
      s.cached += load(c->cached);
    }
  }
  s.cached += arena::held();
  return s;
}

void reset_cpu_peak() { __atomic_store_n(&stats.peak, load(stats.current), __ATOMIC_RELAXED); }

void empty_cpu_cache() {
  if (cache_here) cache_here->clear();
  arena::clear();
}

void set_cpu_cache(bool on) {
  cache_on = on;
  if (!on) empty_cpu_cache();
}

void fail_cpu_allocation(int64_t n) { __atomic_store_n(&fail_after, n, __ATOMIC_RELAXED); }

void* take_small(size_t bytes) {
  const size_t i = (bytes - 1) / kObjectStep;
  if (i < kObjectClasses) [[likely]] {
    if (ThreadCache* mine = this_cache())
      if (void* p = mine->objects[i].pop()) return p;
    bytes = (i + 1) * kObjectStep;
  }
  return ::operator new(bytes);
}

void give_small(void* p, size_t bytes) noexcept {
  const size_t i = (bytes - 1) / kObjectStep;
  if (i < kObjectClasses && cache_on) [[likely]]
    if (ThreadCache* mine = this_cache(); mine && mine->objects[i].count < kObjectsPerThread) {
      mine->objects[i].push(p);
      return;
    }
  ::operator delete(p);
}

}  // namespace fc
