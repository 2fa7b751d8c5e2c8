// SPDX-License-Identifier: Apache-2.0
// What calls of a graph run, seen and switched from Python. Plans are made without Python's lock: a watcher of passes
// takes it.
#include "casters.h"
#include "jit.h"
#include "jit/run/code.h"
#include "jit/run/executor.h"
#include "jit/run/explain.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

struct PlanHandle {
  Ref<const ExecutionPlan> plan;
};
struct CodeHandle {
  Ref<const Code> code;
};
struct ExecutorState {
  Ref<const ExecutionPlan> plan;
};
struct SpecHandle {};  // the key of the one plan that an executor has

template <class F>
auto unlocked(F&& f) {
  const py::ReleaseGil released;
  return f();
}

FusionStrategy strategy_from(const nb::sequence& list) {
  FusionStrategy out;
  for (nb::handle item : list) {
    const auto pair = nb::cast<nb::tuple>(item);
    FC_CHECK_AS(TypeError, nb::len(pair) == 2,
                "a fusion strategy is a list of pairs (\"STATIC\" or \"DYNAMIC\", depth)");
    const auto kind = nb::cast<std::string>(pair[0]);
    FC_CHECK_AS(ValueError, kind == "STATIC" || kind == "DYNAMIC",
                "FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: ", kind);
    out.emplace_back(kind == "STATIC" ? FusionBehaviour::Static : FusionBehaviour::Dynamic, nb::cast<int>(pair[1]));
  }
  return out;
}
nb::list strategy_to(const FusionStrategy& strategy) {
  nb::list out;
  for (const auto& [kind, n] : strategy)
    out.append(nb::make_tuple(kind == FusionBehaviour::Static ? "STATIC" : "DYNAMIC", n));
  return out;
}

}  // namespace

nb::object debug_state(const Function& f) {
  auto plan = unlocked([&] { return f.get_executor()->ready(); });
  FC_CHECK(plan, f.name(), ": there is no optimized plan yet: a plan is made of what the first call saw");
  return nb::cast(ExecutorState{std::move(plan)});
}

void bind_executor(nb::module_& m) {
  namespace set = executor_settings;
  nb::class_<SpecHandle>(m, "ArgumentSpec", "What a plan was made for.");
  nb::class_<CodeHandle>(m, "Code", "A graph as instructions.")
      .def("num_bailouts", [](const CodeHandle&) { return 0; })
      .def("request_bailout", [](const CodeHandle&, int64_t) {})
      .def("grad_executor_states", [](const CodeHandle&) { return nb::list(); })
      .def("differentiable_op_executor_states", [](const CodeHandle&) { return nb::list(); })
      .def("__str__", [](const CodeHandle& c) { return dump(*c.code); });
  nb::class_<PlanHandle>(m, "ExecutionPlan", "What a call runs.")
      .def_prop_ro("graph", [](const PlanHandle& p) { return GraphHandle{p.plan->graph}; })
      .def_prop_ro("code", [](const PlanHandle& p) { return CodeHandle{p.plan->code}; });
  nb::class_<ExecutorState>(m, "GraphExecutorState", "The plans of a function.")
      .def_prop_ro("graph", [](const ExecutorState&) { return nb::none(); })
      .def_prop_ro("fallback", [](const ExecutorState& s) { return PlanHandle{s.plan}; })
      .def_prop_ro("execution_plans", [](const ExecutorState& s) {
        nb::dict out;
        out[nb::cast(SpecHandle{})] = PlanHandle{s.plan};
        return out;
      });
  m.def("_last_executed_optimized_graph", [] {
    Ref<Graph> g = last_executed_optimized_graph();
    FC_CHECK(g, "no graph was executed on this thread");
    return GraphHandle{std::move(g)};
  });
  m.def("_jit_set_profiling_executor", set::set_profiling_executor);
  m.def("_jit_set_profiling_mode", set::set_profiling_mode);
  m.def("_jit_set_num_profiled_runs", set::set_num_profiled_runs);
  m.def("_jit_get_num_profiled_runs", set::num_profiled_runs);
  m.def("_jit_set_bailout_depth", [](int depth) {
    int before = 0;
    for (const auto& [kind, n] : set::set_fusion_strategy({{FusionBehaviour::Static, depth}})) before += n;
    return before;
  });
  m.def("_jit_set_fusion_strategy",
        [](const nb::sequence& s) { return strategy_to(set::set_fusion_strategy(strategy_from(s))); });
  m.def("_set_graph_executor_optimize", [](bool on) { set::set_optimize(on); });
  m.def(
      "_get_graph_executor_optimize",
      [](const nb::object& on) {
        const bool before = set::optimize();
        if (!on.is_none()) set::set_optimize(nb::cast<bool>(on));
        return before;
      },
      nb::arg("optimize") = nb::none());
  struct Switch {
    const char *set, *get;
    ExecutorSwitch which;
  };
  static constexpr Switch switches[] = {
      {"_debug_set_autodiff_subgraph_inlining", nullptr, ExecutorSwitch::AutodiffInlining},
      {"_jit_set_texpr_fuser_enabled", "_jit_texpr_fuser_enabled", ExecutorSwitch::TexprFuser},
      {"_jit_override_can_fuse_on_cpu", "_jit_can_fuse_on_cpu", ExecutorSwitch::FuseOnCpu},
      {"_jit_override_can_fuse_on_gpu", "_jit_can_fuse_on_gpu", ExecutorSwitch::FuseOnGpu},
      {"_jit_set_te_must_use_llvm_cpu", "_jit_get_te_must_use_llvm_cpu", ExecutorSwitch::MustUseLlvm},
  };
  for (const Switch& s : switches) {
    m.def(s.set, [&s](bool on) { set::set_switch(s.which, on); });
    if (s.get) m.def(s.get, [&s] { return set::is_on(s.which); });
  }
  m.def(
      "_jit_original_graph",
      [](const FunctionHandle& f) {
        return GraphHandle{unlocked([&] { return f.function->get_executor()->original(); })};
      },
      "The executor's own copy of a function's graph, from which all plans are made.");
  m.def(
      "_jit_explain", [](const FunctionHandle& f) { return unlocked([&] { return explain(*f.function); }); },
      "What calls of the function run and why, as text.");
}

}  // namespace fc::jit
