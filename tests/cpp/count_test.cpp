// SPDX-License-Identifier: Apache-2.0
// What a call costs, in things that can be counted: operators called, kernels run, nodes recorded, storages taken,
// objects from the heap. The numbers are exact, so they show on a noisy machine what a clock does not; they change only
// when somebody changes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "autograd/autograd.h"
#include "backends/plugin/plugin.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "dispatch/observe.h"
#include "facula/backend.hpp"
#include "jit/ir/parse.h"
#include "jit/run/function.h"
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

// Behind the backend contract: a family (the null device claims all), and operators by name.
class Named final : public facula::backend::Backend {
 public:
  using Backend::Backend;
  std::string describe(fc_context&) override { return "named"; }
  void* alloc(fc_context&, size_t bytes) override { return std::aligned_alloc(64, bytes); }
  void free(fc_context&, void* data, size_t) override { std::free(data); }
  void copy_bytes(fc_context&, void* dst, const void* src, size_t bytes, fc_copy_kind, bool) override {
    std::memcpy(dst, src, bytes);
  }
  void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) override { std::memset(data, value, bytes); }
  void synchronise(fc_context&) override {}
  const char* const* operators() override {
    static const char* const names[] = {"aten::relu", "aten::relu_", "aten::addmm", nullptr};
    return names;
  }
  bool run_operator(fc_context&, const char*, const fc_value*, int, fc_value*, int) override { return true; }
};

TEST_F(Count, HeapIsNotTouchedByBackends) {
  auto heap_of = [](const auto& f) {
    for (int i = 0; i < 3; ++i) f();
    int64_t before = heap;
    f();
    return heap - before;
  };
  const Tensor x = empty_tensor(Dims{4, 4}, DType::Float32, parse_device("null"));
  EXPECT_EQ(heap_of([&] { add(x, x); }), 0);
  EXPECT_EQ(heap_of([&] { mm(x, x); }), 0);
  EXPECT_EQ(heap_of([&] { sum(x); }), 0);
  fc_backend b{};
  b.size = sizeof b;
  facula::backend::fill<Named>(&host_services(), &b, "named");
  const Tensor y = empty_tensor(Dims{4, 4}, DType::Float32, {static_cast<int8_t>(register_backend(b, "test")), 0});
  EXPECT_EQ(heap_of([&] { call<"aten::relu", Tensor>(y); }), 0);
  EXPECT_EQ(heap_of([&] { call<"aten::relu_", Tensor>(y); }), 0);
  EXPECT_EQ(heap_of([&] { call<"aten::addmm", Tensor>(y, y, y, Scalar(2.0), Scalar(1)); }), 0);
}
#endif

#ifdef FC_COUNTS_HEAP
TEST_F(Count, HeapOfTheTurnsOfALoop) {
  const auto f = make_ref<jit::Function>("f", jit::parse_graph(R"(graph(%n : int, %x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %y : Tensor, %c : int = prim::Loop(%n, %true, %x, %one)
    block0(%i : int, %s : Tensor, %a : int):
      %more : Tensor = aten::add(%s, %x, %one)
      %b : int = aten::mul(%a, %two)
      -> (%true, %more, %b)
  return (%y)
)"));
  auto heap_of = [&](int64_t turns) {
    const int64_t before = heap;
    (*f)({Value(turns), Value(m)});
    return heap - before;
  };
  for (int call = 0; call < 2; ++call) heap_of(50);  // one is profiled, one makes the plan
  EXPECT_EQ(heap_of(10), heap_of(1000));
}
#endif

}  // namespace
}  // namespace fc
