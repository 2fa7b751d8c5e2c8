// SPDX-License-Identifier: Apache-2.0
// What the files that bind TorchScript share: handles of graphs' parts, and values to and from Python.
#pragma once
#include <nanobind/nanobind.h>

#include "bind.h"
#include "core/containers.h"
#include "core/future.h"
#include "jit/ir/graph.h"
#include "jit/run/function.h"
#include "jit/trace/trace.h"
#include "jit/trace/state.h"

namespace fc::jit {

// Nodes, values and blocks belong to their graph; a handle keeps the graph and notices when its part is gone.
template <class T>
struct Handle {
  Ref<Graph> graph;
  T* part;
  uint64_t serial;
  Handle(T* p) : graph(&p->graph()), part(p), serial(p->serial()) {}
  T* get() const {
    FC_CHECK(part->serial() == serial, "this part of the graph was destroyed");
    return part;
  }
  bool operator==(const Handle& o) const { return part == o.part && serial == o.serial; }
};
using NodeHandle = Handle<Node>;
using ValueHandle = Handle<Value>;
using BlockHandle = Handle<Block>;
struct GraphHandle {
  Ref<Graph> graph;
};
// What is attached to a prim::PythonOp. Let go of on any thread.
struct PythonOperation final : RefCounted {
  PythonOperation(nanobind::object f, nanobind::object s, std::string c)
      : function(std::move(f)), scalars(std::move(s)), convention(std::move(c)) {}
  py::PyHolder function, scalars;
  std::string
      convention;  // 'd' for each input, 'c' for each scalar, in the order of the arguments; empty: inputs first
};
Node* create_python_op(Graph& g, nanobind::object function, nanobind::object scalars, std::string convention);

struct TypeHandle {
  TypeRef type;
};
struct StateHandle {
  Ref<trace::State> state;
};
struct ObjectHandle {
  fc::Value object;
  Instance& get() const { return *static_cast<Instance*>(object.box()); }
};
struct TraceOptions {
  nanobind::handle lookup;  // names a tensor as the running function does; or None
  bool strict, force_out_of_place;
  std::vector<std::string> argument_names;
};
struct FutureHandle {
  Ref<Future> future = make_ref<Future>();
};
struct UnitHandle {
  Ref<CompilationUnit> unit = make_ref<CompilationUnit>();
};
struct FunctionHandle {  // ScriptFunction
  Ref<Function> function;
};

nanobind::object type_object(TypeRef t);  // of the class that says its kind: ListType …
fc::Value to_value(nanobind::handle o);   // of any Python object that a constant can be; throws TypeError
// What an input of that type takes; throws TypeError. And back; lists, dicts and tuples are new ones.
fc::Value from_python(nanobind::handle o, TypeRef t, int depth = 0);
nanobind::object to_python(const fc::Value& v, int depth = 0);

void look_for_interrupt();  // throws what a signal's handler raised
bool is_future(nanobind::handle o);
fc::Value future_from_python(nanobind::handle o, TypeRef item);
nanobind::object future_to_python(Ref<Future> f);  // a torch.futures.Future of the same

// Traces a call of func with a tuple of inputs, or with a dict by name; `self` as in trace::Request.
trace::Result trace_function(nanobind::handle func, nanobind::handle inputs, const TraceOptions& o,
                             fc::Value self = {});
nanobind::object invoke_script_function_from_python(const Function& f, const nanobind::args& args,
                                                    const nanobind::kwargs& kwargs);
bool takes_arguments(const Function& f, const nanobind::args& args, const nanobind::kwargs& kwargs);
nanobind::object debug_state(const Function& f);  // of the plan that calls run; throws before there is one
GraphHandle inlined(const Graph& g);              // a copy with what is called in place of the calls
Ref<CompilationUnit> python_unit();               // where classes and functions of Python's go
nanobind::object make_function(const std::string& qualified_name, Ref<Graph> graph);  // a ScriptFunction

void bind_future(nanobind::module_& m);  // once; torch.futures asks for it alone
void bind_types(nanobind::module_& m);
void bind_python_op(nanobind::module_& m);  // after bind_graph
void bind_graph(nanobind::module_& m);
void bind_passes(nanobind::module_& m);
void bind_run(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_modules(nanobind::module_& m);
void bind_script(nanobind::module_& m);
void bind_archives(nanobind::module_& m);

void bind_executor(nanobind::module_& m);
void bind_jit_later(nanobind::module_& m);  // sets the module up to bind the rest when it is first asked for

}  // namespace fc::jit
