// SPDX-License-Identifier: Apache-2.0
// torch._C's names of TorchScript, bound when the first of them is asked for: import pays for none of it.
#include "jit.h"

#include <algorithm>

#include "casters.h"
#include "core/type.h"
#include "jit_tree.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

constexpr std::string_view names[] = {
    "Graph",
    "Node",
    "Value",
    "Block",
    "Use",
    "AliasDb",
    "Attribute",
    "parse_ir",
    "SourceRange",
    "parse_type_comment",
    "CompilationUnit",
    "GraphFunction",
    "ScriptFunction",
    "JITException",
    "_create_function_from_graph",
    "TracingState",
    "ScriptModule",
    "ScriptMethod",
    "_create_module",
    "_tracer_warn_use_python",
    "_set_tracing_state",
    "_get_value_trace",
    "_set_value_trace",
    "_create_graph_by_tracing",
    "_create_function_from_trace",
    "_create_function_from_trace_with_dict",
    "ErrorReport",
    "merge_type_from_type_comment",
    "_resolve_type_from_object",
    "ArgumentSpec",
    "Code",
    "ExecutionPlan",
    "GraphExecutorState",
    "_last_executed_optimized_graph",
    "_set_graph_executor_optimize",
    "_get_graph_executor_optimize",
    "_debug_set_autodiff_subgraph_inlining",
};

bool is_ours(std::string_view name) {
  return name.starts_with("_jit_") || name.ends_with("Type") || std::ranges::find(names, name) != std::end(names);
}

}  // namespace

fc::Value to_value(nb::handle o) {
  PyObject* p = o.ptr();
  if (p == Py_None) return {};
  if (PyBool_Check(p)) return p == Py_True;
  if (py::is_tensor(p)) return py::tensor_of(p);
  if (PyLong_Check(p)) return py::to_int(p);
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyComplex_Check(p)) return py::to_scalar(p);
  if (PyUnicode_Check(p)) return py::utf8(p);
  if (py::is_dtype(p)) return static_cast<int64_t>(py::to_dtype(p));
  if (py::is_layout(p)) return static_cast<int64_t>(py::to_layout(p));
  if (py::is_memory_format(p)) return static_cast<int64_t>(py::to_memory_format(p));
  if (py::is_device(p)) return py::to_device(p);
  if (PyTuple_Check(p) || PyList_Check(p)) {
    if (Py_EnterRecursiveCall(" while making a constant")) throw nb::python_error();
    std::vector<fc::Value> items;
    try {
      nb::object fixed = nb::steal(PySequence_Tuple(p));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fixed.ptr()); ++i)
        items.push_back(to_value(PyTuple_GET_ITEM(fixed.ptr(), i)));
    } catch (...) {
      Py_LeaveRecursiveCall();
      throw;
    }
    Py_LeaveRecursiveCall();
    if (PyTuple_Check(p)) return make_tuple(std::move(items));
    FC_CHECK_AS(TypeError, !items.empty(), "an empty list does not tell the type of its items");
    return make_list(std::move(items));
  }
  if (PyDict_Check(p)) {
    FC_CHECK_AS(TypeError, PyDict_GET_SIZE(p) > 0, "an empty dict does not tell the types of its items");
    std::vector<std::pair<fc::Value, fc::Value>> entries;
    nb::object fixed = nb::steal(PyDict_Copy(p));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(fixed.ptr(), &at, &key, &value);)
      entries.emplace_back(to_value(key), to_value(value));
    return make_dict(std::move(entries));
  }
  raise<TypeError>("no constant can be a ", Py_TYPE(p)->tp_name);
}

void bind_jit_later(nb::module_& m) {
  m.def(
      "__getattr__",
      [](nb::handle name) -> nb::object {
        nb::module_ self = nb::module_::import_("facula._C");
        static bool bound = false;
        if (PyUnicode_Check(name.ptr()) && py::utf8(name.ptr()) == "Future") {
          bind_future(self);
          return nb::getattr(self, name);
        }
        if (PyUnicode_Check(name.ptr()) && !bound && is_ours(py::utf8(name.ptr()))) {
          bound = true;
          bind_future(self);
          bind_types(self);
          bind_graph(self);
          bind_python_op(self);
          bind_passes(self);
          bind_run(self);
          bind_trace(self);
          bind_modules(self);
          bind_trees(self);
          bind_script(self);
          bind_archives(self);

          bind_executor(self);
          return nb::getattr(self, name);
        }
        PyErr_Format(PyExc_AttributeError, "module '%U' has no attribute '%S'", nb::str("facula._C").ptr(), name.ptr());
        throw nb::python_error();
      },
      nb::arg("name"));
}

}  // namespace fc::jit
