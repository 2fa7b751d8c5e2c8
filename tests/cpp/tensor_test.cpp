// SPDX-License-Identifier: Apache-2.0
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "autograd/autograd.h"
#include "core/half.h"
#include "core/threads.h"
#include "define/calls.h"
#include "runtime.h"

namespace fc {
namespace {

class TensorTest : public ::testing::Test {
 protected:
  void SetUp() override { initialise(); }
};

TEST_F(TensorTest, SizesAreChecked) {
  EXPECT_THROW(empty_tensor(Dims{-1}, DType::Float32, {}), Error);
  EXPECT_THROW(empty_tensor(Dims{INT64_MAX, 2}, DType::Float32, {}), Error);
  EXPECT_THROW(empty_tensor(Dims{INT64_MAX}, DType::Float64, {}), Error);
  // Extents stay bounded where nothing is stored, too: offsets in bytes are computed from them all over.
  EXPECT_EQ(empty_tensor(Dims{INT64_MAX / 64, 0}, DType::Float32, {}).numel(), 0);
  EXPECT_THROW(empty_tensor(Dims{INT64_MAX, 0, INT64_MAX}, DType::Float32, {}), Error);
  EXPECT_THROW(empty_tensor(Dims(65, 1), DType::Float32, {}), Error);
  EXPECT_EQ(empty_tensor(Dims(64, 1), DType::Float32, {}).dim(), 64);
}

TEST_F(TensorTest, ContiguityFlags) {
  Tensor t = empty_tensor(Dims{2, 3, 4, 5}, DType::Float32, {}, MemoryFormat::ChannelsLast);
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(t.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(t.impl().is_dense());
  EXPECT_FALSE(make_view(t, Dims{2, 3}, Dims{60, 2}, 0).impl().is_dense());
}

TEST_F(TensorTest, ViewsShareTheVersionCounterAndDataDoesNot) {
  Tensor t = zeros(Dims{4}, DType::Float32, {});
  Tensor v = select(t, 0, 1), data = autograd::data_of(t);
  uint32_t before = t.impl().version();
  fill_(v, 3);
  EXPECT_EQ(t.impl().version(), before + 1);
  fill_(data, 4);
  EXPECT_EQ(t.impl().version(), before + 1);
}

TEST_F(TensorTest, MemoryIsCountedAndReused) {
  MemoryStats before = cpu_memory_stats();
  {
    Tensor t = empty_tensor(Dims{1000}, DType::Float32, {});
    EXPECT_EQ(cpu_memory_stats().current - before.current, 4000);
  }
  EXPECT_EQ(cpu_memory_stats().current, before.current);
  EXPECT_EQ(cpu_memory_stats().allocations - before.allocations, 1);
}

TEST_F(TensorTest, AFailedAllocationThrowsAndLeaksNothing) {
  MemoryStats before = cpu_memory_stats();
  fail_cpu_allocation(2);
  Tensor a = empty_tensor(Dims{10}, DType::Float32, {});
  EXPECT_THROW(add(a, a), Error);
  fail_cpu_allocation(0);
  a.reset();
  EXPECT_EQ(cpu_memory_stats().current, before.current);
}

TEST_F(TensorTest, HalfConversionsRoundToNearestEven) {
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float f = half_to_float(static_cast<uint16_t>(h));
    if (f == f) { EXPECT_EQ(float_to_half(f), h); }
    float b = bfloat_to_float(static_cast<uint16_t>(h));
    if (b == b) { EXPECT_EQ(float_to_bfloat(b), h); }
  }
}

TEST_F(TensorTest, ParallelForCoversTheRangeAndCarriesExceptions) {
  std::vector<int> hits(100000, 0);
  parallel_for(0, 100000, 100, [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) ++hits[static_cast<size_t>(i)];
  });
  for (int h : hits) ASSERT_EQ(h, 1);
  EXPECT_THROW(parallel_for(0, 1000, 1, [](int64_t, int64_t) { raise<ValueError>("inside"); }), ValueError);
}

// Beside other work the others come late: the caller then runs small loops by itself for a while, large ones never.
TEST_F(TensorTest, SmallLoopsDoNotWaitForThreadsThatComeLate) {
  const int before = num_threads();
  set_num_threads(2);
  const auto here = std::this_thread::get_id();
  auto threads = [&](int64_t n, int late_ms) {
    std::mutex mutex;
    std::vector<std::pair<int64_t, bool>> parts;  // where it began, whether the caller ran it
    parallel_for(0, n, 10, [&](int64_t from, int64_t) {
      const bool mine = std::this_thread::get_id() == here;
      if (!mine) std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
      std::lock_guard lock(mutex);
      parts.emplace_back(from, mine);
    });
    std::ranges::sort(parts);
    return parts;
  };
  const std::vector<std::pair<int64_t, bool>> together = {{0, true}, {50, false}}, alone = {{0, true}, {50, true}};
  for (int tries = 0; tries < 10 && threads(100, 0) != together; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it was late before
  for (int i = 0; i < 9; ++i) threads(1000, 5);
  EXPECT_EQ(threads(100, 0), alone);
  EXPECT_EQ(threads(1000, 0)[1].second, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(threads(100, 0), together);
  set_num_threads(before);
}

TEST_F(TensorTest, AMillionNodesRunAndDieWithoutRecursion) {
  Tensor x = full(Dims{1}, 1.0, DType::Float32, {});
  autograd::set_requires_grad(x, true);
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = mul(y, 1.0);
  autograd::backward(y);
  EXPECT_EQ(*autograd::grad_of(x).data_as<float>(), 1.0f);
}

TEST_F(TensorTest, ThreadsRunBackwardOverOneGraph) {
  Tensor x = full(Dims{8}, 2.0, DType::Float32, {});
  autograd::set_requires_grad(x, true);
  Tensor shared = mul(x, x);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) autograd::backward(mul(shared, 1.0), ones_like(x), true);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(*autograd::grad_of(x).data_as<float>(), 4.0f * 4 * 50);
}

TEST_F(TensorTest, WorkersTakeOverTheThreadsState) {
  GradMode off(false);
  ThreadState snapshot = thread_state();
  bool seen = true;
  std::thread([&] {
    StateScope scope(snapshot);
    seen = grad_enabled();
  }).join();
  EXPECT_FALSE(seen);
}

TEST_F(TensorTest, IntegersOf2To63AndMoreStayWhole) {
  const uint64_t big = UINT64_MAX - 1;
  Tensor t = full(Dims{2}, Scalar(big), DType::UInt64, {});
  EXPECT_EQ(t.data_as<uint64_t>()[1], big);
  Scalar s = call<"aten::_local_scalar_dense", Scalar>(select(t, 0, 0));
  EXPECT_TRUE(s.is_unsigned());
  EXPECT_EQ(s.bits(), big);
  EXPECT_EQ(to_string(s), "18446744073709551614");
  EXPECT_EQ(s.to_double(), 0x1p64);
  EXPECT_THROW(s.to_int(), Error);
  EXPECT_FALSE(fits(s, DType::Int64));
  EXPECT_FALSE(Scalar(uint64_t{5}).is_unsigned());  // what fits into int64 is one
}

// Exact costs: they change only when somebody changes them.
TEST_F(TensorTest, CountsOfAllocations) {
  Tensor a = zeros(Dims{3}, DType::Float32, {});
  auto count = [](auto&& f) {
    int64_t before = cpu_memory_stats().allocations;
    f();
    return cpu_memory_stats().allocations - before;
  };
  EXPECT_EQ(count([&] { add(a, a); }), 1);
  EXPECT_EQ(count([&] { add(a, 2.0); }), 1);
  EXPECT_EQ(count([&] { add_(a, a); }), 0);
  EXPECT_EQ(count([&] { transpose(view(a, Dims{1, 3}), 0, 1); }), 0);
}

}  // namespace
}  // namespace fc
