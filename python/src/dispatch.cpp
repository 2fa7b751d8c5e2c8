// SPDX-License-Identifier: Apache-2.0
// Operators by name, for torch.ops.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "call.h"
#include "dispatch/operator.h"

namespace nb = nanobind;

namespace facula {

void bind_dispatch(nb::module_& m) {
  nb::class_<Operator>(m, "Operator")
      .def_prop_ro("name", &Operator::name)
      .def_prop_ro("schema", [](const Operator& op) { return to_string(op.schema()); })
      .def("__call__", [](const Operator& op, nb::args args, nb::kwargs kwargs) {
        std::vector<PyObject*> all;
        for (nb::handle a : args) all.push_back(a.ptr());
        nb::list names;
        for (auto [k, v] : kwargs) {
          names.append(k);
          all.push_back(v.ptr());
        }
        nb::tuple kwnames(names);
        return nb::steal(py::check(py::call_boxed(op, all.data(), nb::len(args), nb::len(kwnames) ? kwnames.ptr() : nullptr)));
      });
  m.def("_find_operator", [](const std::string& name) { return find_operator(name); }, nb::rv_policy::reference);
  m.def("_overloads", [](const std::string& base) {
    std::vector<std::string> out;
    for (Operator* op : overloads(base)) out.push_back(op->schema().overload);
    return out;
  });
  m.def("_operator_names", [] {
    std::vector<std::string> out;
    for (Operator* op : all_operators()) out.push_back(op->name());
    return out;
  });
}

}  // namespace facula
