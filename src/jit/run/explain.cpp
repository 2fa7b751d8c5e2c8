// SPDX-License-Identifier: Apache-2.0
#include "jit/run/explain.h"

#include <cstdio>
#include <vector>

#include "core/format.h"
#include "jit/ir/walk.h"
#include "jit/passes/subgraph.h"
#include "jit/run/function.h"

namespace fc::jit {
namespace {

bool is_region(const Node& n) { return is_any(n.kind(), prim_DifferentiableGraph, prim_TensorExprGroup); }

// What is asked before a region runs: the node before the If around it.
std::string guard_of(const Node& region) {
  const Node* branch = region.owning_block()->owning_node();
  if (!branch || !branch->is(prim_If)) return "always";
  const Node* check = branch->input()->node();
  const auto* types = check->get<std::vector<TypeRef>>(attr_types);
  if (!types) return "always";
  std::string out = str(check->kind(), ": ");
  for (size_t i = 0; i < types->size(); ++i)
    out += str(i ? ", " : "", '%', check->input(i)->name(), " is ", graph_text((*types)[i]));
  return out;
}

const Function* fallback_of(const Node& region) {
  const Node* branch = region.owning_block()->owning_node();
  if (!branch || !branch->is(prim_If) || branch->blocks().size() != 2) return nullptr;
  for (const Node* n : branch->block(1)->nodes())
    if (n->is(prim_CallFunction)) return callee_of(*n);
  return nullptr;
}

std::string milliseconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", s * 1e3);
  return text;
}

struct Level {
  const Function* function;
  int deep;
};

}  // namespace

std::string explain(const Function& f) {
  std::string out;
  std::vector<Level> waiting{{&f, 0}};
  while (!waiting.empty()) {
    const auto [function, deep] = waiting.back();
    waiting.pop_back();
    const std::string margin(static_cast<size_t>(deep) * 2, ' ');
    const Ref<Executor> executor = function->get_executor();
    const Ref<const ExecutionPlan> plan = executor->latest();
    if (!plan) {
      out += str(margin, function->name(), ": not called yet, ", executor->depth(), " specialisations left\n");
      continue;
    }
    size_t nodes = 0, regions = 0;
    std::vector<Level> fallbacks;
    std::string lines;
    for_each_node(*plan->graph->block(), [&](Node* n) {
      nodes += !n->is(prim_Constant);
      if (!is_region(*n)) return;
      lines += str(margin, "  ", n->kind(), '_', regions++, ": ", operations_of(subgraph_of(*n)), " operators, if ",
                   guard_of(*n), '\n');
      if (const Function* other = fallback_of(*n)) fallbacks.push_back({other, deep + 1});
    });
    out += str(margin, function->name(), ": ", plan->kind, " plan of ", nodes, " nodes, made in ",
               milliseconds(plan->seconds), ", ", executor->depth(), " specialisations left\n", lines);
    if (regions == 0) {
      const std::string_view kind = plan->kind;
      out +=
          str(margin, "  no regions: ",
              kind == "Profiled"         ? "the calls so far looked at tensors; the next one makes a plan"
              : kind == "NoOpt"          ? "optimisation or profiling is switched off"
              : kind == "SimpleExecutor" ? "no specialisation is left, or the profiling executor is off"
                                         : "no two operators that depend on each other need gradients or may be fused",
              '\n');
    }
    waiting.insert(waiting.end(), fallbacks.rbegin(), fallbacks.rend());
  }
  return out;
}

}  // namespace fc::jit
