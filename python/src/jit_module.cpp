// SPDX-License-Identifier: Apache-2.0
// Objects of TorchScript's classes, modules first, and their methods, as Python sees them.
#include "casters.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "jit.h"
#include "jit/files/print_code.h"
#include "jit/run/function.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

struct MethodHandle {
  ObjectHandle owner;
  Ref<Function> function;
};

ClassInfo& class_of(const ObjectHandle& o) { return *o.get().type->class_info(); }

size_t index_of(const ObjectHandle& o, const std::string& name) {
  const int at = class_of(o).find_attribute(name);
  FC_CHECK_AS(AttributeError, at >= 0, "'", o.get().type->name(), "' object has no attribute '", name, "'");
  return static_cast<size_t>(at);
}

ObjectHandle new_module(const std::string& qualified_name) {
  CompilationUnit& unit = *python_unit();
  std::string name = qualified_name;
  while (unit.find_type(name)) name = unit.mangle(qualified_name);
  const TypeRef type = new_class_type(name, true);
  unit.register_type(type);
  return {fc::Value(Tag::Instance, make_ref<Instance>(type, 0))};
}

// A new attribute of the object's class, which no other object has yet.
void add_attribute(const ObjectHandle& o, const std::string& name, nb::handle value, const std::string& role,
                   nb::handle type) {
  using Role = ClassInfo::Role;
  const Role kind = role == "parameter" ? Role::Parameter : role == "buffer" ? Role::Buffer : Role::Plain;
  TypeRef t;
  fc::Value v;
  if (nb::isinstance<ObjectHandle>(value)) {
    v = nb::cast<ObjectHandle>(value).object;
    t = static_cast<Instance*>(v.box())->type;
  } else {
    t = type.is_none() ? nullptr : nb::cast<TypeHandle>(type).type;
    v = t ? from_python(value, t) : to_value(value);
    if (!t) t = type_of(v)->unshaped();
  }
  class_of(o).add_attribute(name, t, kind);
  o.get().slots.push_back(std::move(v));
}

void set_attribute(const ObjectHandle& o, const std::string& name, nb::handle value) {
  const size_t at = index_of(o, name);
  o.get().slots[at] = from_python(value, class_of(o).attributes[at].type);
}

nb::list attributes_of(const ObjectHandle& o) {
  nb::list out;
  const auto& all = class_of(o).attributes;
  for (size_t i = 0; i < all.size(); ++i)
    out.append(nb::make_tuple(all[i].name, o.get().slots[i].tag() == Tag::Instance     ? "module"
                                           : all[i].role == ClassInfo::Role::Parameter ? "parameter"
                                           : all[i].role == ClassInfo::Role::Buffer    ? "buffer"
                                                                                       : "attribute"));
  return out;
}

MethodHandle get_method(const ObjectHandle& o, const std::string& name) {
  Function* f = find_method(o.get().type, name);
  FC_CHECK_AS(AttributeError, f, "'", o.get().type->name(), "' object has no method '", name, "'");
  return {o, Ref<Function>(f)};
}

void add_traced_method(const ObjectHandle& o, const std::string& name, Ref<Graph> g) {
  const TypeRef type = o.get().type;
  add_method(type, make_ref<Function>(std::string(type->name()) + "." + name, std::move(g)));
}

fc::Value deep_copy(const fc::Value& v) {  // of a module: its tensors are new ones, its class the same
  if (v.tag() == Tag::Tensor && v.tensor().defined())
    return from_python(nb::module_::import_("copy").attr("deepcopy")(nb::steal(py::wrap(Tensor(v.tensor())))),
                       tensor_type());
  if (v.tag() != Tag::Instance) return v;
  const Instance& o = *static_cast<Instance*>(v.box());
  auto copy = make_ref<Instance>(o.type, o.slots.size());
  for (size_t i = 0; i < o.slots.size(); ++i) copy->slots[i] = deep_copy(o.slots[i]);
  return fc::Value(Tag::Instance, std::move(copy));
}

}  // namespace

Ref<CompilationUnit> python_unit() {
  static auto& unit = *new Ref<CompilationUnit>(make_ref<CompilationUnit>());
  return unit;
}

void bind_modules(nb::module_& m) {
  nb::class_<MethodHandle>(m, "ScriptMethod", "A method of an object, with the object.")
      .def("__call__",
           [](const MethodHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
             nb::list all;
             all.append(nb::cast(f.owner));
             for (nb::handle a : args) all.append(a);
             return invoke_script_function_from_python(*f.function, nb::borrow<nb::args>(nb::tuple(all)), kwargs);
           })
      .def(
          "_takes",
          [](const MethodHandle& f, const nb::args& args, const nb::kwargs& kwargs) {
            nb::list all;
            all.append(nb::cast(f.owner));
            for (nb::handle a : args) all.append(a);
            return takes_arguments(*f.function, nb::borrow<nb::args>(nb::tuple(all)), kwargs);
          },
          "Whether a call with these arguments fits the signature.")
      .def_prop_ro("name", [](const MethodHandle& f) { return std::string(f.function->name()); })
      .def_prop_ro("qualified_name", [](const MethodHandle& f) { return f.function->qualified_name(); })
      .def_prop_ro("owner", [](const MethodHandle& f) { return f.owner; })
      .def_prop_ro("inlined_graph", [](const MethodHandle& f) { return inlined(f.function->graph()); })
      .def_prop_ro("code", [](const MethodHandle& f) { return code_of(*f.function, true).text; })
      .def_prop_ro("code_with_constants",
                   [](const MethodHandle& f) {
                     const ShownCode shown = code_of(*f.function, true);
                     nb::dict constants;
                     for (size_t i = 0; i < shown.constants.size(); ++i)
                       constants[str("c", i).c_str()] = to_python(shown.constants[i]);
                     return nb::make_tuple(shown.text, constants);
                   })
      .def_prop_ro("graph", [](const MethodHandle& f) { return GraphHandle{Ref<Graph>(&f.function->graph())}; })
      .def_prop_ro(
          "schema", [](const MethodHandle& f) { return &f.function->schema(); }, nb::rv_policy::reference_internal)
      .def("__repr__",
           [](const MethodHandle& f) { return "<torch.ScriptMethod " + f.function->qualified_name() + ">"; });
  nb::class_<ObjectHandle>(m, "ScriptModule", "An object of a module's class.")
      .def("_register_attribute", &add_attribute, nb::arg("name"), nb::arg("value").none(),
           nb::arg("role") = "attribute", nb::arg("type").none() = nb::none())
      .def("getattr",
           [](const ObjectHandle& o, const std::string& n) { return to_python(o.get().slots[index_of(o, n)]); })
      .def("setattr", &set_attribute, nb::arg("name"), nb::arg("value").none())
      .def("hasattr", [](const ObjectHandle& o, const std::string& n) { return class_of(o).find_attribute(n) >= 0; })
      .def("_attribute_type",
           [](const ObjectHandle& o, const std::string& n) {
             return type_object(class_of(o).attributes[index_of(o, n)].type);
           })
      .def("_attributes", &attributes_of, "(name, parameter, buffer, module or attribute) of each")
      .def("_type", [](const ObjectHandle& o) { return type_object(o.get().type); })
      .def_prop_ro("qualified_name", [](const ObjectHandle& o) { return std::string(o.get().type->name()); })
      .def("_method_names",
           [](const ObjectHandle& o) {
             nb::list out;
             for (const ClassInfo::Signature& s : class_of(o).methods) out.append(s.name);
             return out;
           })
      .def("_has_method",
           [](const ObjectHandle& o, const std::string& n) { return class_of(o).find_method(n) != nullptr; })
      .def("_get_method", &get_method)
      .def(
          "_forget_code", [](const ObjectHandle& o, const std::string& n) { get_method(o, n).function->forget_code(); },
          "After its graph was changed.")
      .def("_deepcopy", [](const ObjectHandle& o) { return ObjectHandle{deep_copy(o.object)}; })
      .def(
          "_create_method_from_trace",
          [](const ObjectHandle& o, const std::string& name, nb::handle func, const nb::tuple& inputs,
             nb::handle lookup, bool strict, bool force, const std::vector<std::string>& names, bool) {
            add_traced_method(o, name, trace_function(func, inputs, {lookup, strict, force, names}, o.object).graph);
          },
          nb::arg("name"), nb::arg("func"), nb::arg("input_tuple"), nb::arg("var_lookup_fn").none(), nb::arg("strict"),
          nb::arg("force_outplace"), nb::arg("argument_names") = std::vector<std::string>(),
          nb::arg("store_inputs") = true)
      .def(
          "_create_method_from_trace_with_dict",
          [](const ObjectHandle& o, const std::string& name, nb::handle func, const nb::dict& inputs, nb::handle lookup,
             bool strict, bool force, const std::vector<std::string>& names, bool) {
            add_traced_method(o, name, trace_function(func, inputs, {lookup, strict, force, names}, o.object).graph);
          },
          nb::arg("name"), nb::arg("func"), nb::arg("input_dict"), nb::arg("var_lookup_fn").none(), nb::arg("strict"),
          nb::arg("force_outplace"), nb::arg("argument_names") = std::vector<std::string>(),
          nb::arg("store_inputs") = true)
      .def("__eq__",
           [](const ObjectHandle& a, nb::handle b) {
             return nb::isinstance<ObjectHandle>(b) && nb::cast<ObjectHandle>(b).object.box() == a.object.box();
           })
      .def("__hash__", [](const ObjectHandle& a) { return reinterpret_cast<size_t>(a.object.box()) >> 4; });
  m.def("_create_module", &new_module, nb::arg("qualified_name"));
}

}  // namespace fc::jit
