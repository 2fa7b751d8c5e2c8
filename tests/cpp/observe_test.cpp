// SPDX-License-Identifier: Apache-2.0
#include "dispatch/observe.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "autograd/autograd.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "dispatch/route.h"
#include "runtime.h"

namespace fc {
namespace {

// Everything that is told, with copies of what ends with the event.
struct Log : Observer {
  struct Row {
    EventKind kind;
    Event::Phase phase;
    Path path;
    std::string name, text, error;
    uint64_t call_id, parent_id, forward_id, bytes, storage, thread;
    std::vector<float> first;  // of the first argument's elements
    size_t results;
    int64_t m;
  };
  void see(const Event& e) noexcept override {
    Row r{e.kind,
          e.phase,
          e.path,
          e.op ? e.op->name() : std::string(e.name),
          std::string(e.text),
          error_text(e),
          e.call_id,
          e.parent_id,
          e.forward_id,
          e.bytes,
          e.storage,
          Event::thread(),
          {},
          e.values().size(),
          e.m};
    if (!e.arguments().empty() && e.args[0].is_tensor() && e.args[0].tensor().dtype() == DType::Float32)
      r.first.assign(1, *e.args[0].tensor().data_as<float>());
    std::lock_guard lock(mutex);
    rows.push_back(std::move(r));
  }
  std::vector<Row> of(EventKind kind) const {
    std::vector<Row> out;
    for (const Row& r : rows)
      if (r.kind == kind) out.push_back(r);
    return out;
  }
  const Row* find(std::string_view name, EventKind kind, Event::Phase phase = Event::Begin) const {
    for (const Row& r : rows)
      if (r.name == name && r.kind == kind && r.phase == phase) return &r;
    return nullptr;
  }
  std::mutex mutex;
  std::vector<Row> rows;
};

class ObserveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    initialise();
    x_ = full(Dims{3}, 2.0, DType::Float32, {});
  }
  void TearDown() override { EXPECT_EQ(process_layers(), 0u) << "an observer was left behind"; }
  Tensor x_;
};

TEST_F(ObserveTest, OneIdJoinsCallKernelAndBackward) {
  autograd::set_requires_grad(x_, true);
  auto log = make_ref<Log>();
  Tensor y;
  {
    ObserveScope scope(log);
    y = call<"aten::sin", Tensor>(x_);
  }
  ASSERT_EQ(log->rows.size(), 4u);  // call, kernel, and their ends
  const uint64_t id = log->rows[0].call_id;
  for (const Log::Row& r : log->rows) {
    EXPECT_EQ(r.name, "aten::sin");
    EXPECT_EQ(r.call_id, id);
    EXPECT_EQ(r.parent_id, 0u);
    EXPECT_EQ(r.forward_id, 0u);
  }
  EXPECT_EQ(log->rows[1].kind, EventKind::Kernel);
  EXPECT_EQ(log->rows[1].phase, Event::Begin);
  EXPECT_EQ(log->rows[1].path, Path::Family);
  EXPECT_EQ(log->rows[3].phase, Event::End);
  EXPECT_EQ(log->rows[3].path, Path::Family);
  EXPECT_EQ(log->rows[3].results, 1u);
  EXPECT_EQ(autograd::grad_fn(y)->call_id, id);
  log->rows.clear();
  {
    ObserveScope scope(log, {.kinds = kAllKinds});
    autograd::backward(y, ones_like(y));
  }
  const auto* cos = log->find("aten::cos", EventKind::Kernel);  // sin's derivative
  ASSERT_TRUE(cos);
  EXPECT_EQ(cos->forward_id, id);
  EXPECT_NE(cos->call_id, id);
  const auto* node = log->find("SinBackward0", EventKind::Range);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->forward_id, id);
  EXPECT_EQ(cos->parent_id, node->call_id);
}

TEST_F(ObserveTest, ArgumentsBeforeAndAfter) {
  auto log = make_ref<Log>();
  {
    ObserveScope scope(log, {.kinds = kinds(EventKind::Kernel)});
    add_(x_, x_);
  }
  ASSERT_EQ(log->rows.size(), 2u);
  EXPECT_EQ(log->rows[0].first[0], 2.0f);
  EXPECT_EQ(log->rows[1].first[0], 4.0f);
}

TEST_F(ObserveTest, ACallThatFailsEndsWithItsError) {
  auto log = make_ref<Log>();
  {
    ObserveScope scope(log);
    EXPECT_THROW(add(x_, full(Dims{2}, 1.0, DType::Float32, {})), Error);
  }
  ASSERT_EQ(log->rows.size(), 8u);  // full and add
  EXPECT_EQ(log->rows.back().phase, Event::End);
  EXPECT_NE(log->rows.back().error.find("must match the size"), std::string::npos) << log->rows.back().error;
  EXPECT_EQ(log->rows.back().results, 0u);
  EXPECT_EQ(thread_state().call_id, 0u);
}

TEST_F(ObserveTest, ACompositeIsTheParentOfItsParts) {
  auto log = make_ref<Log>();
  {
    ObserveScope scope(log);
    call<"aten::softmax.int", Tensor>(x_, 0, std::optional<DType>());
  }
  const auto *whole = log->find("aten::softmax.int", EventKind::Call, Event::End),
             *part = log->find("aten::_softmax", EventKind::Call);
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(whole->path, Path::Composite);
  EXPECT_EQ(part->parent_id, whole->call_id);
  EXPECT_FALSE(log->find("aten::softmax.int", EventKind::Kernel));
}

TEST_F(ObserveTest, BeingWatchedDoesNotChangeWhichKernelRuns) {
  static int composites = 0, kernels = 0;
  static Operator& op = define("observe_test::both(Tensor a) -> Tensor");
  op.set_composite({[](void*, const Operator&, const Arg* a, Value* r) {
    ++composites;
    r[0] = Value(Tensor(a[0].tensor()));
  }});
  op.set_kernel(Device::CPU, {[](void*, const Operator&, const Arg* a, Value* r) {
                  ++kernels;
                  r[0] = Value(Tensor(a[0].tensor()));
                }});
  call_operator<Tensor>(op, x_);
  const int composites_before = composites, kernels_before = kernels;
  ObserveScope scope(make_ref<Log>());
  call_operator<Tensor>(op, x_);
  EXPECT_EQ(composites, 2 * composites_before);
  EXPECT_EQ(kernels, 2 * kernels_before);
}

TEST_F(ObserveTest, LaunchesLibraryCallsCopiesFillsAndMemory) {
  const Tensor a = full(Dims{128, 128}, 1.0, DType::Float32, {});
  auto log = make_ref<Log>();
  {
    ObserveScope scope(log, {.kinds = kAllKinds & ~kCalls});
    Tensor b = add(x_, x_);
    mm(a, a);
    zeros(Dims{100}, DType::Float64, {});
    copy_(b, x_);
  }
  const auto* map = log->find("map", EventKind::Launch);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->text, "add");
  EXPECT_EQ(map->bytes, 36u);
  EXPECT_NE(map->call_id, 0u);
  const auto* product = log->find("matmul", EventKind::Launch);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->m, 128);
  for (const Log::Row& r : log->of(EventKind::Library))  // where a library is installed
    if (r.name != "wait for threads") EXPECT_EQ(r.m, 128);
  ASSERT_TRUE(log->find("fill", EventKind::Fill));
  EXPECT_EQ(log->find("fill", EventKind::Fill)->bytes, 800u);
  ASSERT_TRUE(log->find("copy", EventKind::Copy));
  EXPECT_EQ(log->find("copy", EventKind::Copy)->bytes, 12u);
  const auto taken = log->of(EventKind::Allocate), freed = log->of(EventKind::Free);
  ASSERT_GE(taken.size(), 3u);
  EXPECT_EQ(taken.size(), freed.size());  // the results of mm and zeros are gone, and b
  EXPECT_EQ(taken[0].bytes, 12u);
  EXPECT_EQ(taken[0].phase, Event::Once);
  EXPECT_EQ(freed.back().storage, taken[0].storage);
}

TEST_F(ObserveTest, SeveralAtOnceAndInAnyOrder) {
  auto a = make_ref<Log>(), b = make_ref<Log>();
  const uint64_t first = start_observing(a), second = start_observing(b, {.kinds = kinds(EventKind::Call)});
  neg(x_);
  stop_observing(first);
  stop_observing(first);  // a second time: nothing
  neg(x_);
  stop_observing(second);
  neg(x_);
  EXPECT_EQ(a->rows.size(), 4u);
  EXPECT_EQ(b->rows.size(), 4u);
}

// Calls operators, and stops itself after a while.
struct Busy final : Log {
  Tensor x;
  uint64_t registration = 0;
  int limit = 1 << 30;
  void see(const Event& e) noexcept override {
    Log::see(e);
    neg(x);
    if (static_cast<int>(rows.size()) == limit) stop_observing(registration);
  }
};

TEST_F(ObserveTest, WhatAnObserverDoesIsNotSeen) {
  auto busy = make_ref<Busy>();
  busy->x = x_;
  auto other = make_ref<Log>();
  ObserveScope outer(other, {.kinds = kAllKinds}), inner(busy, {.kinds = kAllKinds});
  neg(x_);
  for (const Log* log : {static_cast<Log*>(busy.get()), other.get()}) EXPECT_EQ(log->of(EventKind::Call).size(), 2u);
}

TEST_F(ObserveTest, AnObserverMayStopItselfAndIsDropped) {
  auto busy = make_ref<Busy>();
  busy->x = x_;
  busy->limit = 3;
  busy->registration = start_observing(busy);
  neg(x_);
  EXPECT_EQ(busy->rows.size(), 3u);
  EXPECT_EQ(busy->use_count(), 1u);  // the registry's reference went with the event
}

TEST_F(ObserveTest, AnotherThreadsCallsBelongToTheProcess) {
  auto mine = make_ref<Log>(), all = make_ref<Log>();
  ObserveScope a(mine), b(all, {.where = Watch::Process});
  std::thread([&] { neg(x_); }).join();
  EXPECT_EQ(mine->rows.size(), 0u);
  ASSERT_EQ(all->rows.size(), 4u);
  EXPECT_NE(all->rows[0].thread, Event::thread());
  const ThreadState state = thread_state();
  std::thread([&] {  // one that works for this thread
    StateScope scope(state);
    neg(x_);
  })
      .join();
  EXPECT_EQ(mine->rows.size(), 4u);
}

TEST_F(ObserveTest, ComeAndGoWhileOthersCall) {
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      const Tensor x = full(Dims{3}, 1.0, DType::Float32, {});
      while (!done) neg(x);
    });
  size_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    auto log = make_ref<Log>();
    {
      ObserveScope scope(log, {.kinds = kAllKinds, .where = Watch::Process});
      neg(x_);
    }
    std::lock_guard lock(log->mutex);
    seen += log->rows.size();
  }
  done = true;
  for (std::thread& t : callers) t.join();
  EXPECT_GE(seen, 800u);
}

TEST_F(ObserveTest, TheChildOfAForkIsObservedIfAsked) {
  auto stays = make_ref<Log>(), goes_on = make_ref<Log>();
  ObserveScope a(stays), b(goes_on, {.children = true});
  const pid_t child = fork();
  if (child == 0) {
    neg(x_);
    _exit(stays->rows.empty() && goes_on->rows.size() == 4 && goes_on->rows[0].thread == Event::thread() &&
                  Event::thread() == static_cast<uint64_t>(getpid())
              ? 0
              : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  neg(x_);
  EXPECT_EQ(stays->rows.size(), 4u);
}

// Answers neg with its argument; goes on with everything else.
struct Positive final : Router {
  std::vector<std::string> asked;
  void route(const Operator& op, LayerSet below, const Arg* args, Value* results) override {
    asked.push_back(op.name());
    if (op.name() != "aten::neg") return redispatch(op, below, args, results);
    results[0] = Value(mul(args[0].tensor(), 1.0));  // not routed itself
  }
};

TEST_F(ObserveTest, ARouteAnswersInTheKernelsPlace) {
  autograd::set_requires_grad(x_, true);
  auto route = make_ref<Positive>();
  auto log = make_ref<Log>();
  Tensor y;
  {
    RouteScope scope(route);
    ObserveScope look(log);
    y = neg(x_);
    std::thread([&] { EXPECT_EQ(*neg(full(Dims{1}, 1.0, DType::Float32, {})).data_as<float>(), -1.0f); }).join();
  }
  EXPECT_EQ(*y.data_as<float>(), 2.0f);
  EXPECT_EQ(route->asked, std::vector<std::string>{"aten::neg"});
  EXPECT_EQ(log->find("aten::neg", EventKind::Call, Event::End)->path, Path::Layer);
  EXPECT_FALSE(log->find("aten::neg", EventKind::Kernel));
  EXPECT_TRUE(log->find("aten::mul.Scalar", EventKind::Kernel));  // what the route calls is observed
  autograd::backward(sum(y));
  EXPECT_EQ(*autograd::grad_of(x_).data_as<float>(), -1.0f);  // the operator's own derivative
  EXPECT_EQ(*neg(x_).data_as<float>(), -2.0f);
}

struct Lazy final : Router {
  void route(const Operator&, LayerSet, const Arg*, Value*) override {}
};

TEST_F(ObserveTest, ARouteThatNeitherGoesOnNorAnswersIsNamed) {
  RouteScope scope(make_ref<Lazy>(), Watch::Process);
  try {
    neg(x_);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "layer route gave no result for aten::neg: it must call redispatch or fill the results");
  }
}

TEST_F(ObserveTest, WaitingForThreadsHasAName) {
  const int before = num_threads();
  set_num_threads(2);
  auto log = make_ref<Log>();
  {
    ObserveScope look(log, {.kinds = kinds(EventKind::Library)});
    const auto here = std::this_thread::get_id();
    parallel_for(0, 1000, 10, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != here) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
  }
  set_num_threads(before);
  EXPECT_NE(log->find("wait for threads", EventKind::Library, Event::Begin), nullptr);
  EXPECT_NE(log->find("wait for threads", EventKind::Library, Event::End), nullptr);
}

}  // namespace
}  // namespace fc
