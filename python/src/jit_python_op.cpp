// SPDX-License-Identifier: Apache-2.0
// prim::PythonOp: nodes that call a Python function, and what the interpreter asks to run them.
#include "casters.h"
#include "core/containers.h"
#include "jit.h"
#include "jit/run/nodes.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

// On whatever thread the graph runs. One result is a value, several are a tuple.
std::vector<fc::Value> call_python(RefCounted& attached, std::vector<fc::Value> arguments,
                                   std::span<const TypeRef> results) {
  const py::TakeGil gil;
  const auto& held = dynamic_cast<PythonOperation&>(attached);
  const size_t scalars = nb::len(held.scalars.get());
  nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments.size() + scalars)));
  size_t next = 0, fixed = 0;
  for (size_t i = 0; i < arguments.size() + scalars; ++i) {
    const bool constant = i < held.convention.size() ? held.convention[i] == 'c' : next == arguments.size();
    FC_CHECK(constant ? fixed < scalars : next < arguments.size(), "a Python node's arguments are not as '",
             held.convention, "' says");
    nb::object a = constant ? nb::borrow(nb::handle(held.scalars.get()[fixed++])) : to_python(arguments[next++]);
    PyTuple_SET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i), a.release().ptr());
  }
  nb::object made = nb::steal(PyObject_CallObject(held.function.get().ptr(), args.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  if (results.empty()) return {};
  if (results.size() == 1) return {from_python(made, results[0]->unshaped())};
  const fc::Value all = from_python(made, tuple_type({results.begin(), results.end()})->unshaped());
  return tuple_of(all).items;
}

const PythonOperation& operation(const NodeHandle& n) {
  const auto* held = dynamic_cast<const PythonOperation*>(n.get()->attached().get());
  FC_CHECK(held, n.get()->kind(), " has no Python function");
  return *held;
}

}  // namespace

Node* create_python_op(Graph& g, nb::object function, nb::object scalars, std::string convention) {
  Node* n = g.create(prim_PythonOp);
  const nb::object name = nb::getattr(function, "__name__", nb::str("function"));
  n->set(attr_python_name, nb::cast<std::string>(name));
  n->set_attached(make_ref<PythonOperation>(std::move(function), std::move(scalars), std::move(convention)));
  return n;
}

void bind_python_op(nb::module_& m) {
  python_hook = call_python;
  auto node = nb::borrow<nb::class_<NodeHandle>>(m.attr("Node"));
  node.def("pyobj", [](const NodeHandle& n) { return nb::borrow(operation(n).function.get()); })
      .def("scalar_args", [](const NodeHandle& n) { return nb::list(nb::borrow(operation(n).scalars.get())); })
      .def("cconv", [](const NodeHandle& n) { return operation(n).convention; });
  m.def(
      "_jit_create_python_op",
      [](const GraphHandle& g, nb::callable function, const nb::tuple& scalars, const std::string& convention) {
        return NodeHandle(create_python_op(*g.graph, function, scalars, convention));
      },
      nb::arg("graph"), nb::arg("function"), nb::arg("scalars") = nb::tuple(), nb::arg("convention") = "",
      "A node that calls the function; `convention` has a d for each of its inputs and a c for each scalar, in order.");
}

}  // namespace fc::jit
