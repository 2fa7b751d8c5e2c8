// SPDX-License-Identifier: Apache-2.0
// What one operator call costs from C++: aten::add of two one-element tensors.
//   facula_call_cost time          nanoseconds per call, best of 500 runs
//   facula_call_cost observed      the same with an observer of all events that does nothing
//   facula_call_cost profiled      the same with the profiler on
//   facula_call_cost never N       N calls, no observer was ever there     (counted by callgrind)
//   facula_call_cost off N         N calls after an observer came and went
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "define/calls.h"
#include "dispatch/call.h"
#include "dispatch/observe.h"
#include "observe/recorder.h"
#include "runtime.h"

using namespace fc;

static void add_many(const Tensor& a, const Tensor& b, long n) {
  for (long i = 0; i < n; ++i) add(a, b);
}

struct Empty final : Observer {
  void see(const Event&) noexcept override {}
};

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "time";
  long n = argc > 2 ? std::atol(argv[2]) : 2000;  // short runs: some are never interrupted
  initialise();
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
