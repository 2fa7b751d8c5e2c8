// SPDX-License-Identifier: Apache-2.0
// What a call costs, in things that can be counted: operators called, kernels run, nodes recorded, storages taken,
// objects from the heap. The numbers are exact, so they show on a noisy machine what a clock does not; they change only
// when somebody changes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "autograd/autograd.h"
#include "define/calls.h"
#include "dispatch/observe.h"
#include "runtime.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which replace them too
#define FC_COUNTS_HEAP 1
static thread_local int64_t heap = 0;
void* operator new(size_t bytes) {
  ++heap;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif

namespace fc {
namespace {

struct Counts {
  int64_t calls = 0, kernels = 0, nodes = 0, storages = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend std::ostream& operator<<(std::ostream& o, const Counts& c) {
    return o << c.calls << " calls, " << c.kernels << " kernels, " << c.nodes << " nodes, " << c.storages
             << " storages";
  }
};

struct CountingObserver final : Observer {
  Counts counts;
  void see(const Event& e) noexcept override {
    if (e.phase == Event::Begin) ++(e.kind == EventKind::Call ? counts.calls : counts.kernels);
  }
};

template <class F>
Counts counts(const F& f) {
  auto observer = make_ref<CountingObserver>();
  const uint64_t nodes = autograd::peek_sequence();
  const int64_t storages = cpu_memory_stats().allocations;
  {
    ObserveScope scope(observer);
    f();
  }
  observer->counts.nodes = static_cast<int64_t>(autograd::peek_sequence() - nodes);
  observer->counts.storages = cpu_memory_stats().allocations - storages;
  return observer->counts;
}

class Count : public ::testing::Test {
 protected:
  void SetUp() override {
    initialise();
    m = full(Dims{4, 4}, 2.0, DType::Float32, {});
    v = full(Dims{4}, 3.0, DType::Float32, {});
    w = full(Dims{4, 4}, 1.0, DType::Float32, {});
    autograd::set_requires_grad(w, true);
    autograd::gradient_edge(w);  // a leaf's own node is made on first use
  }
  Tensor m, v, w;  // w requires a gradient
};

TEST_F(Count, Calls) {
  // calls, kernels, nodes, storages
  EXPECT_EQ(counts([&] { add(m, m); }), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(counts([&] { add(m, v); }), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(counts([&] { add(m, 2.0); }), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(counts([&] { add_(m, v); }), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts([&] { view(m, Dims{16}); }), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts([&] { select(m, 0, 1); }), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts([&] { transpose(m, 0, 1); }), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts([&] { mm(m, m); }), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(counts([&] { add(w, v); }), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(counts([&] { view(w, Dims{16}); }), (Counts{1, 1, 1, 0}));
  EXPECT_EQ(counts([&] { mm(m, w); }), (Counts{1, 1, 1, 1}));
  GradMode off(false);
  EXPECT_EQ(counts([&] { add(w, v); }), (Counts{1, 1, 0, 1}));
}

TEST_F(Count, Versions) {
  EXPECT_EQ(m.impl().version(), 0u);  // however it was filled
  add_(m, v);
  EXPECT_EQ(m.impl().version(), 1u);
  fill_(select(m, 0, 1), 5);
  EXPECT_EQ(m.impl().version(), 2u);
  const Tensor both[] = {m, m};
  EXPECT_EQ(cat(both).impl().version(), 0u);
}

#if defined(FC_COUNTS_HEAP)
TEST_F(Count, HeapIsNotTouchedOnceWarm) {
  auto heap_of = [](const auto& f) {
    for (int i = 0; i < 3; ++i) f();
    int64_t before = heap;
    f();
    return heap - before;
  };
  EXPECT_EQ(heap_of([&] { add(m, m); }), 0);
  EXPECT_EQ(heap_of([&] { add(m, v); }), 0);
  EXPECT_EQ(heap_of([&] { add_(m, v); }), 0);
  EXPECT_EQ(heap_of([&] { select(m, 0, 1); }), 0);
  EXPECT_EQ(heap_of([&] { transpose(m, 0, 1); }), 0);
  EXPECT_EQ(heap_of([&] { mm(m, m); }), 0);
  EXPECT_EQ(heap_of([&] { add(w, v); }), 0);  // recorded
  EXPECT_EQ(heap_of([&] { mul(w, v); }), 0);
  EXPECT_EQ(heap_of([&] { select(w, 0, 1); }), 0);
}
#endif

}  // namespace
}  // namespace fc
