// SPDX-License-Identifier: Apache-2.0
// Functions of graphs, called from Python.
#include <algorithm>

#include "casters.h"
#include "core/type.h"
#include "jit.h"
#include "jit/files/print_code.h"
#include "jit/run/code.h"
#include "jit/run/function.h"
#include "jit/run/interpreter.h"
#include "jit/trace/state.h"
#include "jit/passes/pass.h"
#include "jit/run/nodes.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

PyObject* script_error = nullptr;  // torch.jit.Error, kept for ever

// By position and by name, as the schema has them.
std::vector<fc::Value> bind_arguments(const Function& f, const nb::args& args, const nb::kwargs& kwargs) {
  const Schema& s = f.schema();
  const auto fail = [&](const auto&... parts) {
    raise<Error>(f.name(), "() ", parts..., ". Declaration: ", to_string(s));
  };
  const size_t n = s.parameters.size();
  if (args.size() > n) fail("expected at most ", n, " argument(s) but received ", args.size(), " argument(s)");
  const auto by_place = std::ranges::count(s.parameters, false, &Parameter::keyword_only);
  if (static_cast<size_t>(by_place) < args.size())
    raise<Error>(f.name(), "() takes ", by_place, " positional argument(s) but ", args.size(),
                 " was/were given.  Declaration: ", to_string(s));
  std::vector<fc::Value> out;
  size_t named = 0;
  for (size_t i = 0; i < n; ++i) {
    const Parameter& p = s.parameters[i];
    nb::handle given;
    if (i < args.size()) {
      given = args[i];
    } else if (kwargs.contains(p.name.c_str())) {
      given = kwargs[p.name.c_str()];
      ++named;
    } else if (p.has_default) {
      out.push_back(p.default_value);
      continue;
    } else {
      fail("is missing value for argument '", p.name, "'");
    }
    try {
      out.push_back(from_python(given, p.whole_type->unshaped()));
    } catch (const TypeError& e) {
      raise<Error>(f.name(), "() Expected a value of type '", annotation_text(p.whole_type), "' for argument '", p.name,
                   "' but instead found type '", Py_TYPE(given.ptr())->tp_name, "'.\nPosition: ", i,
                   "\nValue: ", py::utf8(nb::repr(given).ptr()), "\nDeclaration: ", to_string(s),
                   "\nCast error details: ", e.message());
    }
  }
  if (named != kwargs.size())
    for (auto [name, value] : kwargs)
      if (const int at = s.find(nb::cast<std::string>(name)); at < 0 || static_cast<size_t>(at) < args.size())
        fail(at < 0 ? "Unknown keyword argument '" : "got multiple values for argument '", nb::cast<std::string>(name),
             "'");
  return out;
}

[[gnu::noinline]] nb::object call(const FunctionHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
  return invoke_script_function_from_python(*f.function, args, kwargs);
}

// A call during a trace is one node of it; null: it is recorded operator by operator, as of an object that the trace
// does not know.
Value* record_call(trace::State& s, const Function& f, std::vector<fc::Value>& arguments) {
  const bool method = !arguments.empty() && arguments[0].tag() == Tag::Instance &&
                      find_method(static_cast<Instance*>(arguments[0].box())->type, f.name()) == &f;
  if (method && !s.knows(arguments[0])) return nullptr;
  Graph& g = *s.graph;
  f.add_defaults(arguments);
  std::vector<Value*> in;
  if (!method) {
    in.push_back(insert_function(g, Ref<Function>(const_cast<Function*>(&f))));
    s.locate(in[0]->node());
  }
  for (const fc::Value& a : arguments) in.push_back(s.value_of(a));
  Node* n = s.insert(g.create(method ? prim_CallMethod : prim_CallFunction, in));
  if (method) n->set(attr_name, std::string(f.name()));
  const auto& returns = f.schema().returns;
  n->output()->set_type(returns.empty() ? simple_type(TypeKind::None) : returns[0].whole_type->unshaped());
  return n->output();
}

// Runs the function without Python's lock. A trace that goes on gets the call as a node.
[[gnu::noinline]] fc::Value run_and_insert_call(const Function& f, Stack& stack) {
  trace::State* tracing = trace::active();
  Value* recorded = tracing ? record_call(*tracing, f, stack) : nullptr;
  std::optional<trace::Pause> pause;
  if (recorded) pause.emplace();
  fc::Value result;
  {
    const py::ReleaseGil released;
    result = f(std::move(stack));
  }
  pause.reset();
  if (recorded) tracing->set_value(result, recorded);
  return result;
}

void print_to_python(const std::string& line) {
  const py::TakeGil gil;
  PySys_FormatStdout("%s", line.c_str());
}

}  // namespace

void look_for_interrupt() {
  const py::TakeGil gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

bool takes_arguments(const Function& f, const nb::args& args, const nb::kwargs& kwargs) {
  try {
    bind_arguments(f, args, kwargs);
    return true;
  } catch (const Error&) { return false; }
}

[[gnu::noinline]] nb::object invoke_script_function_from_python(const Function& f, const nb::args& args,
                                                                const nb::kwargs& kwargs) {
  Stack stack = bind_arguments(f, args, kwargs);
  fc::Value result;
  try {
    result = run_and_insert_call(f, stack);
  } catch (const ScriptError& e) {
    if (!e.raised) throw;
    PyErr_SetString(script_error, e.message().c_str());
    throw nb::python_error();
  }
  return to_python(result);
}

GraphHandle inlined(const Graph& g) {
  Ref<Graph> copy = g.copy();
  run_pass(*copy, *find_pass("_jit_pass_inline"));
  return {std::move(copy)};
}

nb::object make_function(const std::string& qualified_name, Ref<Graph> graph) {
  return nb::cast(FunctionHandle{make_ref<Function>(qualified_name, std::move(graph))});
}

void bind_run(nb::module_& m) {
  check_interrupt = look_for_interrupt;
  print_hook = print_to_python;
  script_error =
      py::check(PyErr_NewExceptionWithDoc("torch.jit.Error", "What a graph raised.", PyExc_RuntimeError, nullptr));
  m.attr("JITException") = nb::handle(script_error);
  nb::class_<FunctionHandle>(m, "ScriptFunction", "A graph that can be called.")
      .def("__call__", &call)
      .def_prop_ro("name", [](const FunctionHandle& f) { return std::string(f.function->name()); })
      .def_prop_ro("qualified_name", [](const FunctionHandle& f) { return f.function->qualified_name(); })
      .def_prop_ro("graph", [](const FunctionHandle& f) { return GraphHandle{Ref<Graph>(&f.function->graph())}; })
      .def_prop_ro(
          "schema", [](const FunctionHandle& f) { return &f.function->schema(); }, nb::rv_policy::reference_internal)
      .def_prop_ro("inlined_graph", [](const FunctionHandle& f) { return inlined(f.function->graph()); })
      .def_prop_ro("code", [](const FunctionHandle& f) { return code_of(*f.function, false).text; })
      .def("save",
           [](const FunctionHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
             nb::module_::import_("facula.jit._serialization").attr("save")(f, *args, **kwargs);
           })
      .def("save_to_buffer",
           [](const FunctionHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
             return nb::module_::import_("facula.jit._serialization").attr("save_to_buffer")(f, *args, **kwargs);
           })
      .def("get_debug_state", [](const FunctionHandle& f) { return debug_state(*f.function); })
      .def(
          "graph_for",
          [](const FunctionHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
            const auto plan = [&] {
              const py::ReleaseGil released;
              return f.function->get_executor()->ready();
            };
            for (int i = 0; !plan() && i < 3; ++i) call(f, args, kwargs);
            const Ref<const ExecutionPlan> ready = plan();
            FC_CHECK(ready, f.function->name(), ": its plan is not made yet, as more runs are to be profiled");
            return GraphHandle{ready->graph->copy()};
          },
          "The graph that calls with such arguments run; the function is called until there is one.")
      .def("_debug_flush_compilation_cache", [](const FunctionHandle& f) { f.function->forget_code(); })
      .def(
          "_dump_code", [](const FunctionHandle& f) { return dump(*f.function->code()); },
          "Its instructions, one a line: kind, registers, and the operator.")
      .def("__repr__",
           [](const FunctionHandle& f) { return "<torch.ScriptFunction " + f.function->qualified_name() + ">"; });
  m.attr("GraphFunction") = m.attr("ScriptFunction");
  nb::class_<UnitHandle>(m, "CompilationUnit", "Functions by their qualified names.")
      .def(nb::init<>())
      .def(
          "create_function",
          [](UnitHandle& u, const std::string& name, const GraphHandle& g, bool shadow) {
            return FunctionHandle{u.unit->create_function(name, g.graph->copy(), shadow)};
          },
          nb::arg("qualified_name"), nb::arg("graph"), nb::arg("should_mangle") = false)
      .def("find_function",
           [](const UnitHandle& u, const std::string& name) -> nb::object {
             Ref<Function> f = u.unit->find_function(name);
             return f ? nb::cast(FunctionHandle{std::move(f)}) : nb::none();
           })
      .def("get_functions",
           [](const UnitHandle& u) {
             nb::list out;
             for (const Ref<Function>& f : u.unit->functions()) out.append(nb::cast(FunctionHandle{f}));
             return out;
           })
      .def("drop_all_functions", [](UnitHandle& u) { u.unit->drop_all_functions(); });
  m.def("_create_function_from_graph", [](const std::string& name, const GraphHandle& g) {
    return FunctionHandle{make_ref<Function>(name, g.graph->copy())};
  });
  m.def("_jit_interpret_graph", [](const GraphHandle& g, const nb::tuple& args) {
    return call({make_ref<Function>("graph", g.graph->copy())}, nb::borrow<nb::args>(args), nb::kwargs());
  });
}

}  // namespace fc::jit
