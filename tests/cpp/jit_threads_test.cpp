// SPDX-License-Identifier: Apache-2.0
// Eight threads parse graphs, run all passes over them and execute them, and share one function; under the thread
// sanitizer this says that they meet nowhere.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "jit/ir/parse.h"
#include "jit/passes/pass.h"
#include "jit/passes/passes.h"
#include "jit/run/function.h"
#include "runtime.h"

namespace fc::jit {
namespace {

constexpr const char* text = R"(graph(%n : int, %k : int):
  %zero : int = prim::Constant[value=0]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %s : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %c : int):
      %odd : int = aten::remainder(%i, %two)
      %is : bool = aten::eq(%odd, %zero)
      %d : int = prim::If(%is)
        block0():
          %a : int = aten::add(%c, %k)
          -> (%a)
        block1():
          -> (%c)
      -> (%true, %d)
  return (%s)
)";

TEST(JitThreads, ParseRewriteAndRun) {
  initialise();
  auto shared = make_ref<Function>("shared", parse_graph(text));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        Ref<Graph> g = parse_graph(text);
        run_passes(*g, profiling_insensitive_pipeline());
        run_passes(*g, inlining_pipeline());
        auto own = make_ref<Function>("own", g);
        right += (*own)({int64_t(10), t}).raw_int() == 5 * t;
        right += (*shared)({int64_t(6), t}).raw_int() == 3 * t;
        if (round == 2) shared->optimized_graph();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace fc::jit
