// SPDX-License-Identifier: Apache-2.0
#include "jit/run/executor.h"

#include <chrono>
#include <cstdio>

#include "core/error.h"
#include "jit/log.h"
#include "jit/passes/passes.h"
#include "jit/run/interpreter.h"
#include "jit/run/profile.h"

void c10::IValue::dump() const { std::fprintf(stderr, "%s\n", to_string(*this).c_str()); }

namespace fc::jit {
namespace {

constexpr const char* source = "profiling_graph_executor_impl";  // of log lines

struct Settings {
  std::mutex mutex;  // of the strategy
  std::atomic<bool> profiling_executor = true, profiling_mode = true, optimize = true;
  std::atomic<int> runs = 1;
  std::atomic<bool> switches[static_cast<size_t>(ExecutorSwitch::Count)] = {true, false, true, true, true};
  FusionStrategy strategy{{FusionBehaviour::Static, 2}, {FusionBehaviour::Dynamic, 10}};
};
Settings& settings() {
  static auto* s = new Settings;  // outlives whoever runs at exit
  return *s;
}

int whole_depth() {
  int depth = 0;
  for (const auto& [behaviour, n] : executor_settings::fusion_strategy()) depth += n;
  return depth;
}

thread_local Ref<Graph> last_executed;

void dump(const Graph& g, LogLevel level, std::string_view title) {
  if (logs(source, level)) [[unlikely]]
    log(source, level, str(title, '\n', g.text()));
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void check_strategy(const FusionStrategy& strategy) {
  int sum = 0;
  for (const auto& [behaviour, n] : strategy) {
    FC_CHECK(n >= 0 && n <= 1000, "fusion strategy: depth ", n, " is not between 0 and 1000");
    sum += n;
  }
  FC_CHECK(sum <= 1000, "fusion strategy: depths add up to ", sum, ", at most 1000 are taken");
}

}  // namespace

namespace executor_settings {
bool set_profiling_executor(bool on) { return settings().profiling_executor.exchange(on); }
bool set_profiling_mode(bool on) { return settings().profiling_mode.exchange(on); }
bool set_optimize(bool on) { return settings().optimize.exchange(on); }
int set_num_profiled_runs(int runs) {
  FC_CHECK(runs >= 0, "the number of profiled runs cannot be negative, and is ", runs);
  return settings().runs.exchange(runs);
}
FusionStrategy set_fusion_strategy(FusionStrategy strategy) {
  check_strategy(strategy);
  const std::lock_guard lock(settings().mutex);
  std::swap(settings().strategy, strategy);
  return strategy;
}
FusionStrategy fusion_strategy() {
  const std::lock_guard lock(settings().mutex);
  return settings().strategy;
}
int num_profiled_runs() { return settings().runs; }
bool profiling_mode() { return settings().profiling_mode; }
bool optimize() { return settings().optimize; }
bool set_switch(ExecutorSwitch s, bool on) { return settings().switches[static_cast<size_t>(s)].exchange(on); }
bool is_on(ExecutorSwitch s) { return settings().switches[static_cast<size_t>(s)]; }
}  // namespace executor_settings

Ref<Graph> last_executed_optimized_graph() { return last_executed; }

[[gnu::noinline]] void run_noopt_pass_pipeline(Graph& graph) {
  dump(graph, LogLevel::Debug, "Before LowerGradOf (beginning of runNooptPassPipeline)");
  run_passes(graph, noopt_pipeline().subspan(0, 1));
  dump(graph, LogLevel::Debug, "After LowerGradOf, before RemoveExpands");
  run_passes(graph, noopt_pipeline().subspan(1));
  dump(graph, LogLevel::Dump, "NoOpt Graph: ");
}

// 17 dumps around 16 passes.
[[gnu::noinline]] void run_profiling_insensitive_optimizations(Graph& graph) {
  const auto passes = profiling_insensitive_pipeline();
  dump(graph, LogLevel::Debug, "Before inlining (beginning of runProfilingInsensitiveOptimizations)");
  if (executor_settings::optimize()) run_pass(graph, *find_pass("Inline"));
  dump(graph, LogLevel::Debug, str("After inlining, before ", passes[0]->name));
  for (size_t i = 0; i < passes.size(); ++i) {
    run_passes(graph, passes.subspan(i, 1));
    dump(graph, LogLevel::Debug,
         i + 1 < passes.size() ? str("After ", passes[i]->name, ", before ", passes[i + 1]->name)
                               : str("After ", passes[i]->name, " (end of runProfilingInsensitiveOptimizations)"));
  }
}

Executor::Executor(Ref<Graph> original, std::string name, int depth)
    : original_(std::move(original)), name_(std::move(name)), depth_(depth < 0 ? whole_depth() : depth) {}
Executor::~Executor() = default;

[[gnu::noinline]] const ExecutionPlan& Executor::get_plan_for(const Stack& stack) {
  const ExecutionPlan* ready = ready_.load(std::memory_order_acquire);
  return ready ? *ready : get_optimized_plan_for(stack, depth_);
}

// The compiled graph as a plan. Where it is not the last one, `ready_` stays as it is.
const ExecutionPlan& Executor::keep(Ref<Graph> g, const char* kind, double begin) {
  auto plan = make_ref<ExecutionPlan>();
  plan->code = compile(*g, name_);
  plan->graph = std::move(g);
  plan->kind = kind;
  plan->seconds = now() - begin;
  if (record_ && plan->graph.get() == record_->graph().get()) {
    profiled_ = std::move(plan);
    return *profiled_;
  }
  plan_ = std::move(plan);
  ready_.store(plan_.get(), std::memory_order_release);
  return *plan_;
}

[[gnu::noinline]] const ExecutionPlan& Executor::get_optimized_plan_for(const Stack& /*stack*/,
                                                                        int remaining_bailout_depth) {
  const std::lock_guard lock(mutex_);
  if (const ExecutionPlan* ready = ready_.load(std::memory_order_acquire)) return *ready;
  const double begin = now();
  if (!record_) {
    Ref<Graph> copy = original_->copy();
    if (!executor_settings::optimize() || !executor_settings::profiling_mode()) {
      run_noopt_pass_pipeline(*copy);
      return keep(std::move(copy), "NoOpt", begin);
    }
    if (remaining_bailout_depth == 0 || !settings().profiling_executor) {
      run_profiling_insensitive_optimizations(*copy);
      dump(*copy, LogLevel::Dump, "Optimized SimpleExecutor Graph: ");
      return keep(std::move(copy), "SimpleExecutor", begin);
    }
    run_profiling_insensitive_optimizations(*copy);
    record_ = ProfilingRecord::instrument_graph(*copy, executor_settings::num_profiled_runs());
    if (logs("profiling_record", LogLevel::Dump))
      log("profiling_record", LogLevel::Dump, str("Instrumented Graph: \n", record_->graph()->text()));
    dump(*record_->graph(), LogLevel::Dump, "Profiled Graph: ");
    keep(record_->graph(), "Profiled", begin);
  }
  if (!record_->is_full()) return *profiled_;
  Ref<Graph> copy = record_->graph()->copy();
  remove_profile_counter(*copy->block());
  run_profiling_optimizations(*copy, remaining_bailout_depth);
  dump(*copy, LogLevel::Dump, "Optimized Graph: ");
  return keep(std::move(copy), "Optimized", begin);
}

[[gnu::noinline]] std::vector<fc::Value> Executor::run(Stack& stack) {
  if (logs(source, LogLevel::Debug)) [[unlikely]] {
    char text[64];
    std::snprintf(text, sizeof text, "Running ProfilingGraphExecutorImpl %p", static_cast<const void*>(this));
    log(source, LogLevel::Debug, text);
  }
  const ExecutionPlan& plan = get_plan_for(stack);
  const Ref<Graph> graph = plan.graph;
  std::vector<fc::Value> results = fc::jit::run(*plan.code, std::move(stack));
  last_executed = graph;
  return results;
}

Ref<const ExecutionPlan> Executor::latest() const {
  const std::lock_guard lock(mutex_);
  return plan_ ? Ref<const ExecutionPlan>(plan_) : Ref<const ExecutionPlan>(profiled_);
}

}  // namespace fc::jit
