// SPDX-License-Identifier: Apache-2.0
// The plan that is made of what a profile saw.
#include <iterator>

#include "core/error.h"
#include "jit/log.h"
#include "jit/passes/create_autodiff_subgraphs.h"
#include "jit/passes/passes.h"
#include "jit/passes/subgraph.h"
#include "jit/run/executor.h"
#include "jit/run/guards.h"
#include "jit/run/profile.h"

namespace fc::jit {
namespace {

constexpr const char* source = "profiling_graph_executor_impl";  // of log lines
constexpr size_t kOperationsOfGroup = 2;

void dump(const Graph& g, std::string_view title) {
  if (logs(source, LogLevel::Debug)) [[unlikely]]
    log(source, LogLevel::Debug, str(title, g.text()));
}

// Behind each row of pre_autodiff_pipeline(), as PyTorch has them.
constexpr const char* after_pre_autodiff[] = {
    "After LowerGradOf, before specializeAutogradZero\n",
    "After specializeAutogradZero\n",
    "After RemoveExpands, before CanonicalizeOps\n",
    "After CanonicalizeOps, before EliminateDeadCode\n",
    "After EliminateDeadCode",
    "After PeepholeOptimize, before ConstantPropagation\n",
    nullptr,
    "After EliminateDeadCode, before EliminateCommonSubexpression\n",
    "After EliminateCommonSubexpression, before PeepholeOptimize\n",
    "After PeepholeOptimize, before ConstantPropagation\n",
    "After ConstantPropagation, before ConstantPooling\n",
    "After ConstantPooling, before UnrollLoops\n",
    "After UnrollLoops, before RemoveListMutation\n",
    "After RemoveListMutation, before PeepholeOptimize\n",
    "After PeepholeOptimize, before ConstantPropagation\n",
    "After ConstantPropagation, before EliminateCommonSubexpression\n",
    "After EliminateCommonSubexpression, before CheckInplace\n",
    "After CheckInplace (end of runPreAutodiffPassPipeline)\n",
};

void run_pre_autodiff_pass_pipeline(Graph& graph) {
  const auto passes = pre_autodiff_pipeline();
  FC_CHECK(passes.size() == std::size(after_pre_autodiff), "internal: a pass without its title");
  dump(graph, "Before InsertGuards (beginning of runPreAutodiffPassPipeline)\n");
  for (size_t i = 0; i < passes.size(); ++i) {
    run_passes(graph, passes.subspan(i, 1));
    if (after_pre_autodiff[i]) dump(graph, after_pre_autodiff[i]);
  }
}

void run_diff_graph_passes(Graph& graph, int depth) {
  std::vector<Node*> groups = create_autodiff_subgraphs(graph, kOperationsOfGroup);
  if (executor_settings::is_on(ExecutorSwitch::AutodiffInlining))  // those not worth a guard
    std::erase_if(groups, [](Node* group) {
      size_t operations = 0;
      for (const Node* n : subgraph_of(*group).block()->nodes())
        operations += !is_any(n->kind(), prim_Constant, prim_profile);
      const bool small = operations < kOperationsOfGroup;
      if (small) dissolve_group(group);
      return small;
    });
  dump(graph, "After CreateAutodiffSubgraphs\n");
  size_t i = 0;
  for (Node* group : groups) {
    dump(graph, str("Optimizing diff node ", i, " in "));
    if (guard_differentiable_graph(group, depth)) dump(graph, "After guardDifferentiableGraph:\n");
    if (logs(source, LogLevel::Debug)) log(source, LogLevel::Debug, str("Finished optimizing diff node ", i));
    ++i;
  }
  remove_profile_nodes(*graph.block(), false);
  run_pass(graph, *find_pass("EliminateCommonSubexpression"));  // constants that were copied into groups and back
  dump(graph, "After InlineAutodiffSubgraphs and Removing Profiling Nodes\n");
}

void fuse_tensor_exprs(Graph& graph) {
  run_pass(graph, *find_pass("EliminateDeadCode"));
  run_pass(graph, *find_pass("EliminateDeadCode"));
}

// Products stay one by one: BatchMM's are other bits than those of the first call.
void run_no_grad_optimizations(Graph& graph) {
  dump(graph, "After customPostPasses (beginning of runNoGradOptimizations)\n");
  dump(graph, "After customPrePasses, before LowerSimpleTuples\n");
  run_pass(graph, *find_pass("LowerSimpleTuples"));
  dump(graph, "After LowerSimpleTuples\n");
  remove_profile_nodes(*graph.block(), true);
  dump(graph, "After RemoveProfileNodesAndSpecializeTypes, before BatchMM\n");
  dump(graph, "After BatchMM, before Fusion\n");
  fuse_tensor_exprs(graph);
  dump(graph, "After Fusion, before customPostPasses\n");
  dump(graph, "After customPostPasses, before RemoveTensorTypeSpecializations \n");
  run_pass(graph, *find_pass("EraseShapeInformation"));
  dump(graph, "After RemoveTensorTypeSpecializations\n");
  if (logs(source, LogLevel::Debug)) log(source, LogLevel::Debug, "End of runNoGradOptimizations");
}

}  // namespace

[[gnu::noinline]] void run_profiling_optimizations(Graph& graph, int remaining_bailout_depth) {
  dump(graph, "Before runProfilingOptimizations:\n");
  run_pre_autodiff_pass_pipeline(graph);
  if (any_requires_grad(*graph.block())) run_diff_graph_passes(graph, remaining_bailout_depth - 1);
  else run_no_grad_optimizations(graph);
  run_pass(graph, *find_pass("EliminateDeadCode"));
  add_if_then_else(*graph.block());
  dump(graph, "After runProfilingOptimizations:\n");
}

}  // namespace fc::jit
