// SPDX-License-Identifier: Apache-2.0
// Decides what a call of a function runs. The first call runs the graph of the profiling-insensitive passes with nodes
// that look at tensors (profile.h); later ones the plan that is made of what was seen. A plan that relies on it asks
// before, and where the answer is no it calls a function with the same nodes and an executor of its own, one level
// deeper; at the depth of the fusion strategy nothing is assumed any more.
// Any thread may call. Once a plan is ready it is found without a lock.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/run/code.h"

namespace c10 {
// The name under which debuggers look for a value: call ((c10::IValue *)stack._M_impl._M_start)->dump()
struct IValue : fc::Value {
  void dump() const;  // to stderr
};
static_assert(sizeof(IValue) == sizeof(fc::Value));
}  // namespace c10

namespace fc::jit {

class ProfilingRecord;
using Stack = std::vector<fc::Value>;

// How often one region is specialised, and for what, until it is run as it is.
enum class FusionBehaviour : uint8_t { Static, Dynamic };
using FusionStrategy = std::vector<std::pair<FusionBehaviour, int>>;

enum class ExecutorSwitch : uint8_t { TexprFuser, FuseOnCpu, FuseOnGpu, MustUseLlvm, AutodiffInlining, Count };

// Of the process, as PyTorch's switches are; read when a function's plan is made.
namespace executor_settings {
bool set_profiling_executor(bool on);  // false: the passes that look at nothing, in one step. These return what was.
bool set_profiling_mode(bool on);      // false: hardly any pass
bool set_optimize(bool on);
int set_num_profiled_runs(int runs);
FusionStrategy set_fusion_strategy(FusionStrategy strategy);
FusionStrategy fusion_strategy();
int num_profiled_runs();
bool profiling_mode();
bool optimize();
bool set_switch(ExecutorSwitch s, bool on);
bool is_on(ExecutorSwitch s);
}  // namespace executor_settings

struct ExecutionPlan final : RefCounted {
  Ref<Graph> graph;
  Ref<const Code> code;
  const char* kind;  // "NoOpt", "SimpleExecutor", "Profiled" or "Optimized"
  double seconds;    // that making it took
};

class Executor final : public RefCounted {
 public:
  Executor(Ref<Graph> original, std::string name, int depth = -1);  // depth -1: what the settings say
  ~Executor() override;

  // The plan for a call with these arguments.
  const ExecutionPlan& get_plan_for(const Stack& stack);
  std::vector<fc::Value> run(Stack& stack);

  const Ref<Graph>& original() const { return original_; }  // the executor's own copy, with numbers of its own
  Ref<const ExecutionPlan> ready() const { return Ref<const ExecutionPlan>(ready_.load(std::memory_order_acquire)); }
  Ref<const ExecutionPlan> latest() const;  // the profiled one while there is no other; null: none was made
  int depth() const { return depth_; }

 private:
  const ExecutionPlan& get_optimized_plan_for(const Stack& stack, int remaining_bailout_depth);
  const ExecutionPlan& keep(Ref<Graph> g, const char* kind, double begin);

  const Ref<Graph> original_;
  const std::string name_;
  int depth_;
  std::atomic<const ExecutionPlan*> ready_ = nullptr;
  mutable std::mutex mutex_;  // of what follows, and of making a plan
  Ref<ProfilingRecord> record_;
  Ref<ExecutionPlan> profiled_, plan_;
};

// The graph of the plan that this thread ran last; null: none.
Ref<Graph> last_executed_optimized_graph();

// The stages, as gdb finds them.
void run_noopt_pass_pipeline(Graph& graph);
void run_profiling_insensitive_optimizations(Graph& graph);
void run_profiling_optimizations(Graph& graph, int remaining_bailout_depth);

}  // namespace fc::jit
