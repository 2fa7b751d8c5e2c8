// SPDX-License-Identifier: Apache-2.0
// torch._C._jit_pass_*: a function for each row of the table of passes, passes written in Python, logs.
#include "casters.h"
#include "jit.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/passes/canonicalize.h"
#include "jit/passes/pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/subgraph_rewrite.h"
#include "jit/run/interpreter.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

// A pass whose function is Python's; kept for ever, as its row is.
bool run_python(Graph& g, PassContext& context) {
  nb::object changed = nb::borrow<nb::object>(static_cast<PyObject*>(context.pass().data))(GraphHandle{Ref<Graph>(&g)});
  check(g);  // whatever it did, the graph is still one
  const int truth = PyObject_IsTrue(changed.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

}  // namespace

void bind_passes(nb::module_& m) {
  for (const Pass& p : pass_table()) {
    if (!p.python) continue;
    const std::string_view name = p.python;
    if (name == "_jit_pass_peephole") {
      m.def(
          p.python,
          [&p](const GraphHandle& g, bool without_shapes) {
            PassContext settings(p);
            settings.shapes = !without_shapes;
            const Pass* one = &p;
            return run_passes(*g.graph, {&one, 1}, &settings);
          },
          nb::arg("graph"), nb::arg("disable_shape_peepholes") = false);
    } else if (name == "_jit_pass_peephole_list_idioms") {
      m.def(
          p.python,
          [&p](const GraphHandle& g, bool lengths) {
            PassContext settings(p);
            settings.lengths = lengths;
            const Pass* one = &p;
            return run_passes(*g.graph, {&one, 1}, &settings);
          },
          nb::arg("graph"), nb::arg("refine_list_len") = false);
    } else if (name == "_jit_pass_create_autodiff_subgraphs") {
      m.def(
          p.python,
          [&p](const GraphHandle& g, nb::handle threshold) {
            PassContext settings(p);
            if (!threshold.is_none()) settings.smallest = nb::cast<size_t>(threshold);
            const Pass* one = &p;
            run_passes(*g.graph, {&one, 1}, &settings);
          },
          nb::arg("graph"), nb::arg("threshold") = nb::none());
    } else if (name == "_jit_pass_lint") {
      m.def(p.python, [](const GraphHandle& g) { check(*g.graph); });
    } else {
      m.def(p.python, [&p](const GraphHandle& g) { return run_pass(*g.graph, p); });
    }
  }
  m.def(
      "_jit_run_pass",
      [](const GraphHandle& g, const std::string& name) {
        const Pass* p = find_pass(name);
        FC_CHECK_AS(ValueError, p, "there is no pass ", name);
        return run_pass(*g.graph, *p);
      },
      nb::arg("graph"), nb::arg("name"), "Runs a pass by its name: one of the table, a library's, or Python's.");
  m.def("_jit_passes", [] {
    nb::list out;
    for (const Pass* p : all_passes()) out.append(nb::make_tuple(p->name, p->file, p->python));
    return out;
  });
  m.def(
      "_jit_add_pass",
      [](const std::string& name, nb::callable run) {
        Pass p{name.c_str(), name.c_str(), nullptr, run_python};
        p.data = run.ptr();
        const std::string title = "After " + name + ": ";
        p.after = title.c_str();
        add_pass(p);
        run.release();
      },
      nb::arg("name"), nb::arg("run"), "Adds a pass: run(graph) says whether it changed the graph.");
  m.def("_jit_run_profiling_insensitive_optimizations",
        [](const GraphHandle& g) { return run_passes(*g.graph, profiling_insensitive_pipeline()); });
  m.def(
      "_jit_watch_passes",
      [](nb::handle watcher) {
        if (watcher.is_none()) return watch_passes({});
        auto held = std::make_shared<py::PyHolder>(nb::borrow(watcher));
        watch_passes([held](const Pass& p, const std::string& before, const std::string& after, double seconds) {
          held->get()(p.name, before, after, seconds);
        });
      },
      nb::arg("watcher").none());
  m.def(
      "_jit_pass_canonicalize",
      [](const GraphHandle& g, bool keep) { return GraphHandle{canonicalize(*g.graph, keep)}; }, nb::arg("graph"),
      nb::arg("keep_unique_names") = true);
  m.def(
      "_jit_pass_custom_pattern_based_rewrite_graph",
      [](const std::string& pattern, const std::string& replacement, const GraphHandle& g, nb::handle) {
        rewrite_pattern(*g.graph, *parse_graph(pattern), *parse_graph(replacement));
      },
      nb::arg("pattern"), nb::arg("fused_node_name"), nb::arg("g"), nb::arg("value_name_pairs") = nb::tuple(),
      "Replaces what looks like the pattern by the other graph, both as text.");
  m.def("_jit_set_num_interop_threads", set_interop_threads);
  m.def("_jit_get_num_interop_threads", interop_threads);
  m.def("_jit_check_after_passes", [](bool on) { check_after_passes(on); });
  m.def("_jit_set_logging_option", [](const std::string& option) { set_log_option(option); });
  m.def("_jit_get_logging_option", [] { return log_option(); });
  m.def("_jit_set_logging_stream", [](const std::string& name) { set_log_stream(name); });
}

}  // namespace fc::jit
