// SPDX-License-Identifier: Apache-2.0
// torch._C._jit_pass_*: a function for each row of the table of passes, passes written in Python, logs.
#include <algorithm>
#include <unordered_set>

#include "casters.h"
#include "core/class_type.h"
#include "core/type.h"
#include "jit.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/canonicalize.h"
#include "jit/passes/decompositions.h"
#include "jit/passes/pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/subgraph_rewrite.h"
#include "jit/run/function.h"
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

const Pass& row(const char* name) { return *find_pass(name); }

// Of a module's own methods, and of the modules it consists of.
template <class F>
void for_each_method(const fc::Value& module, F f) {
  const Instance& o = *static_cast<Instance*>(module.box());
  for (const ClassInfo::Signature& s : o.type->class_info()->methods)
    if (Function* method = find_method(o.type, s.name)) f(*method);
}
template <class F>
void for_each_method_below(const fc::Value& module, F f) {
  std::vector<fc::Value> left{module};
  std::unordered_set<const void*> seen;
  while (!left.empty()) {
    const fc::Value at = std::move(left.back());
    left.pop_back();
    if (!seen.insert(at.box()).second) continue;
    for_each_method(at, f);
    for (const fc::Value& v : static_cast<Instance*>(at.box())->slots)
      if (v.tag() == Tag::Instance) left.push_back(v);
  }
}

// The value that a chain of prim::GetAttr reads from the first input, and the tensor there.
const fc::Value* attribute_of(const Value* v, const Value* self, const fc::Value& module) {
  std::vector<const Node*> chain;
  for (; v != self; v = v->node()->input(0)) {
    if (!v->node()->is(prim_GetAttr)) return nullptr;
    chain.push_back(v->node());
  }
  const fc::Value* at = &module;
  for (auto n = chain.rbegin(); n != chain.rend(); ++n) {
    const auto* name = (*n)->get<std::string>(attr_name);
    if (at->tag() != Tag::Instance || !name) return nullptr;
    const Instance& o = *static_cast<Instance*>(at->box());
    const int slot = o.type->class_info()->find_attribute(*name);
    if (slot < 0) return nullptr;
    at = &o.slots[static_cast<size_t>(slot)];
  }
  return at;
}

// A copy of a method's graph whose tensors are inputs, and those tensors.
nb::object lower_graph(const GraphHandle& method, const ObjectHandle& module) {
  Ref<Graph> g = method.graph->copy();
  run_pass(*g, row("Inline"));
  FC_CHECK(!g->inputs().empty(), "the graph of a method takes the module first");
  Value* self = g->inputs()[0];
  nb::list tensors;
  std::unordered_map<const void*, Value*> inputs;  // by the tensor
  std::vector<Node*> reads;
  for_each_node(*g->block(), [&](Node* n) {
    if (n->is(prim_GetAttr)) reads.push_back(n);
  });
  for (Node* n : reads) {
    const fc::Value* v = attribute_of(n->output(), self, module.object);
    FC_CHECK(v, "only attributes of the module can become inputs: ", n->output()->name());
    if (v->tag() == Tag::Instance) continue;
    FC_CHECK(v->is_tensor() && v->tensor().defined(), "Unknown type ", annotation_text(n->output()->type()),
             " encountered in graph lowering. This type is not supported in ONNX export.");
    Value*& input = inputs[&v->tensor().impl()];
    if (!input) {
      input = g->add_input();
      input->set_type(type_of(*v));
      tensors.append(to_python(*v));
    }
    n->output()->replace_uses_with(input);
  }
  std::ranges::reverse(reads);
  for (Node* n : reads)
    if (!n->has_uses()) n->destroy();
  FC_CHECK(!self->has_uses(), "the module is used other than for its attributes");
  g->block()->erase_input(0);
  return nb::make_tuple(GraphHandle{g}, tensors);
}

void analyse_shapes(const GraphHandle& g, const nb::tuple& inputs) {
  const auto own = g.graph->inputs();
  FC_CHECK(own.size() == inputs.size(), "the graph takes ", own.size(), " inputs, not ", inputs.size());
  for (size_t i = 0; i < own.size(); ++i)
    if (py::is_tensor(inputs[i].ptr())) own[i]->set_type(type_of(to_value(inputs[i])));
  for (const char* name : {"PropagateShapes", "PropagateDTypes", "PropagateDevices"}) run_pass(*g.graph, row(name));
}

void remove_dropout_of(const ObjectHandle& module) {
  const Instance& o = module.get();
  const int training = o.type->class_info()->find_attribute("training");
  FC_CHECK(training < 0 || !o.slots[static_cast<size_t>(training)].raw_int(),
           "Dropout removal module in training mode is not yet supported");
  for_each_method(module.object, [](Function& f) {
    run_pass(f.graph(), row("removeDropout"));
    f.forget_code();
  });
}

void bind_module_passes(nb::module_& m) {
  m.def("_jit_pass_lower_graph", &lower_graph, "(the method's graph with the module's tensors as inputs, the tensors)");
  m.def(
      "_jit_pass_complete_shape_analysis",
      [](const GraphHandle& g, const nb::tuple& inputs, bool) { analyse_shapes(g, inputs); }, nb::arg("graph"),
      nb::arg("inputs"), nb::arg("with_grad"), "Types of the inputs from examples, and what follows for the results.");
  m.def("_jit_pass_remove_dropout", &remove_dropout_of, nb::arg("module"));
  m.def(
      "_jit_pass_custom_pattern_based_rewrite",
      [](const std::string& pattern, const std::string& replacement, const ObjectHandle& module) {
        const Ref<Graph> from = parse_graph(pattern), to = parse_graph(replacement);
        for_each_method_below(module.object, [&](Function& f) {
          if (rewrite_pattern(f.graph(), *from, *to)) f.forget_code();
        });
      },
      nb::arg("pattern"), nb::arg("fused_node_name"), nb::arg("module"));
  m.def("_jit_decomposition_graph_for_node", [](const NodeHandle& n) -> nb::object {
    const Ref<Graph> g = decomposition_of(*n.get());
    return g ? nb::cast(GraphHandle{g->copy()}) : nb::none();
  });
  m.def("_jit_register_decomposition_for_schema", [](nb::handle schema, const GraphHandle& g) {
    register_decomposition(nb::str(schema).c_str(), g.graph->copy());
  });
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
    } else if (name == "_jit_pass_optimize_frozen_graph") {
      m.def(
          p.python,
          [&p](const GraphHandle& g, bool numerics) { run_pass(*g.graph, numerics ? p : row("removeDropout")); },
          nb::arg("graph"), nb::arg("optimize_numerics") = true);
    } else if (name == "_jit_pass_lint") {
      m.def(p.python, [](const GraphHandle& g) { check(*g.graph); });
    } else {
      m.def(p.python, [&p](const GraphHandle& g) { return run_pass(*g.graph, p); });
    }
  }
  bind_module_passes(m);
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
