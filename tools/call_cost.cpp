// SPDX-License-Identifier: Apache-2.0
// What one operator call costs from C++: aten::add of two one-element tensors.
//   facula_call_cost time          nanoseconds per call, best of 500 runs
//   facula_call_cost observed      the same with an observer of all events that does nothing
//   facula_call_cost profiled      the same with the profiler on
//   facula_call_cost never N       N calls, no observer was ever there     (counted by callgrind)
//   facula_call_cost off N         N calls after an observer came and went
//   facula_call_cost graphs        of a 4x4 add: nanoseconds per call from C++ and per turn of a graph's loop, and of a
//                                  loop of int arithmetic with a branch; taken in turns
//   facula_call_cost call4 N, loop4 N, int N   N of these         (counted by callgrind)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "define/calls.h"
#include "dispatch/call.h"
#include "dispatch/observe.h"
#include "jit/ir/parse.h"
#include "jit/run/function.h"
#include "observe/recorder.h"
#include "runtime.h"

using namespace fc;

static void add_many(const Tensor& a, const Tensor& b, long n) {
  for (long i = 0; i < n; ++i) add(a, b);
}

struct Empty final : Observer {
  void see(const Event&) noexcept override {}
};

// A loop that adds x to its value in each turn, and one that adds k in every other turn.
static const char* add_loop = R"(graph(%n : int, %x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %s : Tensor):
      %more : Tensor = aten::add(%s, %x, %one)
      -> (%true, %more)
  return (%y)
)";
static const char* int_loop = R"(graph(%n : int, %k : int):
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

struct Graphs {
  Tensor x = full(Dims{4, 4}, 1.0, DType::Float32, Device{});
  Ref<jit::Function> add = make_ref<jit::Function>("add", jit::parse_graph(add_loop));
  Ref<jit::Function> integers = make_ref<jit::Function>("integers", jit::parse_graph(int_loop));

  void calls(long n) const {
    Tensor s = x;
    for (long i = 0; i < n; ++i) s = fc::add(s, x);
  }
  void loop(long n) const { (*add)({fc::Value(static_cast<int64_t>(n)), x}); }
  void branches(long n) const { (*integers)({fc::Value(static_cast<int64_t>(n)), fc::Value(3)}); }
};

static int graphs(const char* mode, long n) {
  const Graphs g;
  using Run = void (Graphs::*)(long) const;
  const std::pair<const char*, Run> runs[] = {
      {"call4", &Graphs::calls}, {"loop4", &Graphs::loop}, {"int", &Graphs::branches}};
  for (const auto& [name, run] : runs) (g.*run)(100);
  for (const auto& [name, run] : runs)
    if (!std::strcmp(mode, name)) return (g.*run)(n), 0;
  double best[3] = {1e9, 1e9, 1e9};
  for (int turn = 0; turn < 500; ++turn)
    for (size_t i = 0; i < 3; ++i) {
      auto start = std::chrono::steady_clock::now();
      (g.*runs[i].second)(n);
      std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
      best[i] = std::min(best[i], spent.count() / static_cast<double>(n));
    }
  for (size_t i = 0; i < 3; ++i) std::printf("%s %.1f\n", runs[i].first, best[i]);
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "time";
  long n = argc > 2 ? std::atol(argv[2]) : 2000;  // short runs: some are never interrupted
  initialise();
  for (const char* name : {"graphs", "call4", "loop4", "int"})
    if (!std::strcmp(mode, name)) return graphs(mode, n);
  Tensor a = full(IntSpan(Dims{1}), 1.0, DType::Float32, Device{});
  Tensor b = full(IntSpan(Dims{1}), 2.0, DType::Float32, Device{});
  add_many(a, b, 100);
  if (!std::strcmp(mode, "off")) {
    ObserveScope on(make_ref<Empty>(), {.kinds = kAllKinds});
    add_many(a, b, 100);
  }
  std::optional<ObserveScope> on;
  if (!std::strcmp(mode, "observed")) on.emplace(make_ref<Empty>(), WatchOptions{.kinds = kAllKinds});
  const auto recorder = make_ref<observe::Recorder>(observe::RecorderOptions{});
  const bool profiled = !std::strcmp(mode, "profiled");
  if (profiled) recorder->start();
  if (std::strcmp(mode, "time") != 0 && !on && !profiled) {
    add_many(a, b, n);
    return 0;
  }
  double best = 1e9;
  for (int run = 0; run < 500; ++run) {
    auto start = std::chrono::steady_clock::now();
    add_many(a, b, n);
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / static_cast<double>(n));
  }
  recorder->stop();
  std::printf("%.1f\n", best);
}
