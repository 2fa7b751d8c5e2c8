// SPDX-License-Identifier: Apache-2.0
// Memory for storages. An allocator returns a block and the function that gives it back; it must be callable from
// any thread. The CPU allocator caches freed blocks (small ones per thread, large ones shared).
#pragma once
#include <facula/storage.h>

namespace fc {

class Allocator {
 public:
  // Throws OutOfMemoryError. bytes == 0 gives a null block.
  virtual Block allocate(size_t bytes, Device device) = 0;

 protected:
  ~Allocator() = default;  // allocators live as long as the process
};
class CpuAllocator final : public Allocator {
 public:
  Block allocate(size_t bytes, Device device) override;
};
extern CpuAllocator the_cpu_allocator;

struct MemoryStats {
  int64_t current = 0;  // requested bytes in live storages
  int64_t peak = 0;
  int64_t total = 0;        // requested bytes ever
  int64_t allocations = 0;  // storages ever
  int64_t cached = 0;       // bytes held for reuse
  int64_t from_system = 0;  // requests that the cache could not serve
};

size_t rounded_bytes(size_t bytes);  // what caches hand out for a request: four sizes per power of two

MemoryStats cpu_memory_stats();
void reset_cpu_peak();
void empty_cpu_cache();
void set_cpu_cache(bool on);  // off under AddressSanitizer, so that it sees every free
// Makes the n-th allocation from now fail (tests of out-of-memory paths); 0 switches it off.
void fail_cpu_allocation(int64_t n);

}  // namespace fc
