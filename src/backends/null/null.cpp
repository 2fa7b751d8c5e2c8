// SPDX-License-Identifier: Apache-2.0
// The null device: address space without memory, every call accepted, nothing computed. Programs dry-run on it; its
// counters say what a real device would have been asked to do. What is read back from it is zero.
#include <sys/mman.h>

#include <atomic>

#include "backends/plugin/plugin.h"
#include "facula/backend.hpp"

namespace fc {
namespace {

namespace fb = facula::backend;

enum Count {
  Allocated,
  ToDevice,
  ToHost,
  OnDevice,
  Filled,
  CopyCalls,
  MapCalls,
  ReduceCalls,
  MatmulCalls,
  GatherCalls,
  ScatterCalls,
  ScanCalls,
  SortCalls,
  RandomCalls,
  MatmulFlops,
  kCounts
};
constexpr const char* count_names[] = {"bytes_allocated", "bytes_to_device", "bytes_to_host", "bytes_on_device",
                                       "bytes_filled",    "copy_calls",      "map_calls",     "reduce_calls",
                                       "matmul_calls",    "gather_calls",    "scatter_calls", "scan_calls",
                                       "sort_calls",      "random_calls",    "matmul_flops",  nullptr};
static_assert(std::size(count_names) == kCounts + 1);

class Null final : public fb::Backend {
 public:
  using fb::Backend::Backend;

  std::string describe(fc_context&) override { return "no memory, no arithmetic: counts what it is asked"; }
  void* alloc(fc_context&, size_t bytes) override {
    void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    add(Allocated, bytes);
    return p;
  }
  void free(fc_context&, void* data, size_t bytes) override { munmap(data, bytes); }
  void copy_bytes(fc_context&, void* dst, const void*, size_t bytes, fc_copy_kind kind, bool) override {
    add(kind == FC_HOST_TO_DEVICE ? ToDevice : kind == FC_DEVICE_TO_HOST ? ToHost : OnDevice, bytes);
    if (kind == FC_DEVICE_TO_HOST) std::memset(dst, 0, bytes);
  }
  void fill_bytes(fc_context&, void*, uint8_t, size_t bytes) override { add(Filled, bytes); }
  void synchronise(fc_context&) override {}

  bool supports(const fc_query&) override { return true; }
  void copy(fc_context&, const fc_copy&) override { add(CopyCalls, 1); }
  void map(fc_context&, const fc_map&) override { add(MapCalls, 1); }
  void reduce(fc_context&, const fc_reduce&) override { add(ReduceCalls, 1); }
  void matmul(fc_context&, const fc_matmul& c) override {
    add(MatmulCalls, 1);
    add(MatmulFlops, static_cast<uint64_t>(2 * c.batch * c.m * c.n * c.k));
  }
  void gather(fc_context&, const fc_gather&) override { add(GatherCalls, 1); }
  void scatter(fc_context&, const fc_scatter&) override { add(ScatterCalls, 1); }
  void scan(fc_context&, const fc_scan&) override { add(ScanCalls, 1); }
  void sort(fc_context&, const fc_sort&) override { add(SortCalls, 1); }
  void random(fc_context&, const fc_random&) override { add(RandomCalls, 1); }

  const char* const* counter_names() override { return count_names; }
  void counters(fc_context&, uint64_t* values) override {
    for (int i = 0; i < kCounts; ++i) values[i] = counts_[i].load(std::memory_order_relaxed);
  }

 private:
  void add(Count c, uint64_t n) { counts_[c].fetch_add(n, std::memory_order_relaxed); }
  std::atomic<uint64_t> counts_[kCounts] = {};
};

}  // namespace

void register_null() {
  fc_backend b{};
  b.size = sizeof b;
  fb::fill<Null>(&host_services(), &b, "null");
  register_backend(b, "built in");
}

}  // namespace fc
