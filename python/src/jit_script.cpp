// SPDX-License-Identifier: Apache-2.0
// The script compiler, asked from Python: what a name of a source means is what Python says of it.
#include "bind.h"
#include "casters.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "jit.h"
#include "jit/frontend/classes.h"
#include "jit/frontend/emit.h"
#include "jit/frontend/match.h"
#include "jit/frontend/types.h"
#include "jit/ir/operators.h"
#include "jit_script.h"
#include "jit_tree.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

nb::object recursive(const char* name) { return nb::module_::import_("facula.jit._recursive").attr(name); }
std::string type_text(nb::handle o) { return nb::cast<std::string>(nb::str(o.type().attr("__name__"))); }

// An object of Python that the language has no form for.
struct PythonValue : Sugared {
  explicit PythonValue(nb::object o) : object(std::move(o)) {}
  const nb::object object;
  std::string kind() const override { return str("python value of type '", type_text(object), "'"); }
  Value* as_value(const SourceRange& at, Graph&) override {
    fail(at, kind(),
         " cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider "
         "passing it in as an argument or use a local variable instead.");
  }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (!nb::hasattr(object, name.c_str())) fail(at, "object has no attribute ", name);
    return to_sugared(nb::getattr(object, name.c_str()), g, at, false);
  }
};
// A module: what it has is taken for constant.
struct PythonModule final : PythonValue {
  using PythonValue::PythonValue;
  std::string kind() const override { return "python module"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (!nb::hasattr(object, name.c_str()))
      fail(at, "module '", nb::cast<std::string>(nb::str(object.attr("__name__"))), "' has no attribute '", name, "'");
    return to_sugared(nb::getattr(object, name.c_str()), g, at, true);
  }
};
// torch.jit.is_scripting and its like: a call gives what is known when it is compiled.
struct KnownCall final : Sugared {
  explicit KnownCall(fc::Value v) : value(std::move(v)) {}
  const fc::Value value;
  std::string kind() const override { return "function"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments, Arguments) override {
    return simple(insert_constant(g, value, at));
  }
};

std::optional<fc::Value> plain_constant(nb::handle o) {
  PyObject* p = o.ptr();
  if (p == Py_None || PyBool_Check(p) || PyLong_CheckExact(p) || PyFloat_CheckExact(p) || PyComplex_CheckExact(p) ||
      PyUnicode_CheckExact(p) || py::is_dtype(p) || py::is_layout(p) || py::is_memory_format(p) || py::is_device(p))
    return to_value(o);
  return {};
}

// A function that stays Python: `^name[](…)`, with the types that its annotations say.
struct IgnoredFunction final : PythonValue {
  IgnoredFunction(nb::object o, Value* self, bool unused) : PythonValue(std::move(o)), self(self), unused(unused) {}
  Value* const self;
  const bool unused;  // a call raises
  std::string kind() const override { return "python function"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override {
    Compiling::at(at);
    const nb::tuple signature =
        nb::borrow<nb::tuple>(recursive("signature_of_python")(object, args.size() + named.size(), self != nullptr));
    Schema s;
    s.name = nb::cast<std::string>(nb::getattr(object, "__name__", nb::str("function")));
    for (nb::handle p : nb::borrow<nb::list>(signature[0])) {
      const nb::tuple one = nb::borrow<nb::tuple>(p);
      s.parameters.push_back(make_parameter(nb::cast<std::string>(one[0]), nb::cast<TypeHandle>(one[1]).type));
    }
    s.returns.push_back(make_parameter("", nb::cast<TypeHandle>(signature[1]).type));
    const MatchedCall m = match_schema(s, at, g, args, named);
    if (unused) {
      Value* why = g.insert_constant("This Python function is annotated to be ignored and cannot be run");
      insert_node(g, prim_RaiseException, std::vector{why, g.insert_constant({})}, 0, at);
      Node* never = insert_node(g, prim_Uninitialized, {}, 1, at);
      never->output()->set_type(m.results[0]);
      return simple(never->output());
    }
    Node* n = create_python_op(g, object, nb::tuple(), std::string(m.inputs.size() + (self ? 1 : 0), 'd'));
    n->set(Symbol::of("attr::ignored_name"), s.name);
    n->set_range(at);
    if (self) n->add_input(self);
    for (Value* v : m.inputs) n->add_input(v);
    n->output()->set_type(m.results[0]);
    g.insert(n);
    return simple(n->output());
  }
};

// facula.jit._dispatch.ByFlag
struct ChosenByFlag final : PythonValue {
  using PythonValue::PythonValue;
  std::string kind() const override { return "function"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override {
    const std::string flag = nb::cast<std::string>(object.attr("flag"));
    const auto index = nb::cast<size_t>(object.attr("index"));
    bool chosen = nb::cast<bool>(object.attr("default"));
    const auto known = [&](const NamedValue& v) {
      const auto c = v.value ? constant_of(v.value) : v.constant;
      if (!c || c->tag() != Tag::Bool)
        fail(at, flag, " must be a literal or a constant: it chooses the type of the result");
      return c->arg().boolean();
    };
    if (index < args.size()) chosen = known(args[index]);
    for (const NamedValue& v : named)
      if (v.name == flag) chosen = known(v);
    const nb::object f = object.attr(chosen ? "if_true" : "if_false");
    return to_sugared(f, g, at, false)->call(at, g, std::move(args), std::move(named));
  }
};

// A class of Python's, compiled: static methods are Python's functions.
struct PythonClass final : ClassValue {
  PythonClass(TypeRef t, nb::object o) : ClassValue(t), object(std::move(o)) {}
  const nb::object object;
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (name != "__new__" && nb::hasattr(object, name.c_str()))
      return to_sugared(nb::getattr(object, name.c_str()), g, at, false);
    return ClassValue::attr(at, g, name);
  }
};

}  // namespace

SugaredRef python_function(nb::object f, Value* self, bool unused) {
  return make_ref<IgnoredFunction>(std::move(f), self, unused);
}

SugaredRef to_sugared(const nb::object& o, Graph& g, const SourceRange& at, bool constant) {
  PyObject* p = o.ptr();
  if (constant) {
    if (auto v = plain_constant(o)) return simple(insert_constant(g, *v, at));
    if (PyTuple_Check(p)) {
      std::vector<SugaredRef> items;
      for (nb::handle i : nb::borrow<nb::tuple>(o)) items.push_back(to_sugared(nb::borrow(i), g, at, true));
      return make_ref<TupleSugared>(std::move(items));
    }
  }
  if (nb::isinstance<FunctionHandle>(o)) return make_ref<FunctionValue>(nb::cast<FunctionHandle>(o).function);
  if (PyModule_Check(p)) return make_ref<PythonModule>(o);
  if (nb::hasattr(o, "if_true") && nb::hasattr(o, "if_false")) return make_ref<ChosenByFlag>(o);
  if (py::is_dtype(p) || py::is_layout(p) || py::is_memory_format(p))
    return simple(insert_constant(g, to_value(o), at));
  // What the compiler knows by itself, an operator, or a function or class that is compiled now.
  const nb::object found = recursive("resolve")(o, SourceRange(at));
  if (PyUnicode_Check(found.ptr())) {
    const std::string name(py::utf8(found.ptr()));
    if (name == "prim::true") return make_ref<KnownCall>(fc::Value(true));
    if (name == "prim::false") return make_ref<KnownCall>(fc::Value(false));
    if (name.starts_with("exception ")) return make_ref<ExceptionValue>(name.substr(name.find(' ') + 1));
    if (name.starts_with("form ")) return make_ref<SpecialForm>(Symbol::of(name.substr(5)));
    if (name.starts_with("device")) return make_ref<BuiltinFunction>(Symbol::of("aten::device"));
    return make_ref<BuiltinFunction>(Symbol::of(name));
  }
  if (nb::isinstance<FunctionHandle>(found)) return make_ref<FunctionValue>(nb::cast<FunctionHandle>(found).function);
  if (PyList_Check(found.ptr())) {  // overloads
    std::vector<Ref<Function>> all;
    for (nb::handle f : found) all.push_back(nb::cast<FunctionHandle>(f).function);
    return make_ref<FunctionValue>(std::move(all));
  }
  if (nb::isinstance<TypeHandle>(found)) {
    TypeRef t = nb::cast<TypeHandle>(found).type;
    if (t->is(TypeKind::Class)) return make_ref<PythonClass>(t, o);
    if (SugaredRef v = type_value(t)) return v;
    return make_ref<PythonValue>(o);
  }
  if (!found.is_none() && found.ptr() != p) return to_sugared(found, g, at, true);
  if (const nb::object stays = recursive("stays_python")(o); !stays.is_none())
    return python_function(o, nullptr, nb::cast<std::string>(stays) == "unused");
  if (PyCFunction_Check(p))
    fail(at, "Python builtin ", py::utf8(nb::repr(o).ptr()), " is currently not supported in Torchscript");
  return make_ref<PythonValue>(o);
}

namespace {

class PythonResolver final : public Resolver {
 public:
  explicit PythonResolver(nb::object lookup) : lookup_(std::move(lookup)) {}
  SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) override {
    nb::object o;
    if (!find(name, o)) return {};
    return to_sugared(o, g, at, false);
  }
  TypeRef resolve_type(const std::string& name, const SourceRange& at) override {
    nb::object o;
    if (!find(name, o)) return nullptr;
    const nb::object t = recursive("resolve_type")(o, SourceRange(at));
    return nb::isinstance<TypeHandle>(t) ? nb::cast<TypeHandle>(t).type : nullptr;
  }

 private:
  bool find(const std::string& name, nb::object& out) {  // None is an answer too
    const nb::object found = recursive("look_up")(nb::borrow(lookup_.get()), name);
    nb::tuple pair = nb::borrow<nb::tuple>(found);
    out = nb::borrow(pair[1]);
    return nb::cast<bool>(pair[0]);
  }
  py::PyHolder lookup_;
};

}  // namespace

Ref<Resolver> python_resolver(nb::object lookup) { return make_ref<PythonResolver>(std::move(lookup)); }

std::vector<std::pair<std::string, fc::Value>> defaults_of(const nb::dict& given, const Tree& def, Resolver& names) {
  std::vector<std::pair<std::string, fc::Value>> out;
  for (const TreeRef& p : def.part(1).part(0).parts()) {
    const char* name = p->name().c_str();
    if (!given.contains(name)) continue;
    const nb::object value = nb::borrow(given[name]);
    if (PyList_Check(value.ptr()) || PyDict_Check(value.ptr()) || PySet_Check(value.ptr()))
      fail(def.range(),
           "Mutable default parameters are not supported because Python binds them to the function and they persist "
           "across function calls.\n As a workaround, make the default None and instantiate the default parameter "
           "within "
           "the body of the function. Found <class '",
           type_text(value), "'> on parameter ", name);
    int length = 0;
    TypeRef type = annotated_type(p->part(1), names, nullptr, &length);
    try {
      if (length > 0 && (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()))) {  // one for each
        nb::list all;
        for (int i = 0; i < length; ++i) all.append(value);
        out.emplace_back(name, from_python(all, type));
        continue;
      }
      out.emplace_back(name, from_python(value, type));
    } catch (const TypeError& e) {
      fail(def.range(), "Expected a default value of type ", type_name(type), " on parameter \"", name, "\".");
    }
  }
  return out;
}

namespace {

// torch.jit.script of a function.
// `declared` is told the function before it is compiled, so that calls of itself find it.
FunctionHandle script_compile_function(const std::string& name, const TreeView& def, const nb::object& lookup,
                                       const nb::dict& defaults, const nb::object& declared) {
  Definition d{def.tree, python_resolver(lookup), {}, {}};
  d.defaults = defaults_of(defaults, *d.def, *d.resolver);
  CompilationUnit& unit = *python_unit();
  Ref<Function> f = make_function(unit.find_function(name) ? unit.mangle(name) : name, std::move(d));
  unit.add_function(f);
  try {
    if (!declared.is_none()) declared(nb::cast(FunctionHandle{f}));
    f->ensure_defined();
  } catch (...) {
    unit.remove_function(f->qualified_name());
    throw;
  }
  return {f};
}

// One signature of a function that has several: the declaration of one, the body of another.
FunctionHandle script_compile_overload(const std::string& name, const TreeView& decl, const TreeView& def,
                                       const nb::object& lookup, const nb::dict& defaults) {
  std::vector<TreeRef> parts(def.tree->parts().begin(), def.tree->parts().end());
  if (parts[1]->part(0).size() != decl.tree->part(0).size())
    fail(decl.tree->range(), "Overload must have same number of parameters\n");
  parts[1] = decl.tree;
  TreeView whole;
  whole.tree = Tree::make(Syntax::Def, def.tree->range(), std::move(parts));
  return script_compile_function(name, whole, lookup, defaults, nb::none());
}

// torch.jit.script of a class: `declared` is told the type before its methods are compiled.
nb::object script_compile_class(const std::string& name, const TreeView& def, const nb::dict& defaults,
                                const nb::object& lookup, const nb::object& declared) {
  ClassDefinition d{def.tree, make_ref<PythonResolver>(lookup), [&](const Tree& method, Resolver& names) -> Defaults {
                      const char* own = method.name().c_str();
                      if (!defaults.contains(own)) return {};
                      return defaults_of(nb::cast<nb::dict>(defaults[own]), method, names);
                    }};
  CompilationUnit& unit = *python_unit();
  TypeRef type = declare_class(unit, unit.find_type(name) ? unit.mangle(name) : name, d);
  try {
    const nb::object made = type_object(type);
    declared(made);
    compile_methods(type);
    return made;
  } catch (...) {
    forget_class(unit, type);
    throw;
  }
}

// torch.jit.interface; an enum; a named tuple, whose fields are (name, type) with the values that some have
nb::object script_compile_interface(const std::string& name, const TreeView& def, const nb::object& lookup,
                                    bool is_module) {
  const SourceRange& at = def.tree->range();
  const TreeRef base = Tree::make(Syntax::Variable, at, {Tree::ident(at, is_module ? "ModuleInterface" : "Interface")});
  std::vector<TreeRef> parts(def.tree->parts().begin(), def.tree->parts().end());
  parts[1] = Tree::option(at, base);
  CompilationUnit& unit = *python_unit();
  return type_object(
      declare_class(unit, unit.find_type(name) ? unit.mangle(name) : name,
                    {Tree::make(Syntax::Class, at, std::move(parts)), make_ref<PythonResolver>(lookup)}));
}

nb::object make_named_tuple(const std::string& name, const nb::list& fields, const nb::dict& defaults) {
  std::vector<std::string> names;
  std::vector<TypeRef> types;
  Defaults values;
  for (nb::handle f : fields) {
    const auto pair = nb::cast<nb::tuple>(f);
    names.push_back(nb::cast<std::string>(pair[0]));
    types.push_back(nb::cast<TypeHandle>(pair[1]).type);
    if (defaults.contains(pair[0])) values.emplace_back(names.back(), from_python(defaults[pair[0]], types.back()));
  }
  TypeRef t = named_tuple_type(name, std::move(names), std::move(types));
  set_field_defaults(t, std::move(values));
  return type_object(t);
}

// Of text: the unit's functions and classes, what Python knows, and what text has by itself.
class TextResolver final : public Resolver {
 public:
  TextResolver(const Ref<CompilationUnit>& unit, nb::object lookup)
      : unit_(unit), own_(unit_resolver(unit, "")), python_(make_ref<PythonResolver>(std::move(lookup))) {}
  SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) override {
    if (unit_->find_function(name) || unit_->find_type(name)) return own_->resolve_value(name, g, at);
    SugaredRef found = python_->resolve_value(name, g, at);
    return found ? found : own_->resolve_value(name, g, at);
  }
  TypeRef resolve_type(const std::string& name, const SourceRange& at) override {
    TypeRef t = own_->resolve_type(name, at);
    return t ? t : python_->resolve_type(name, at);
  }

 private:
  Ref<CompilationUnit> unit_;
  Ref<Resolver> own_, python_;
};

void define_text(UnitHandle& u, const std::string& text, const nb::object& lookup) {
  define_source(*u.unit, "", make_ref<Source>(text, "<string>"), make_ref<TextResolver>(u.unit, lookup));
}

}  // namespace

void bind_script(nb::module_& m) {
  bind_module_classes(m);
  m.def("_jit_script_compile", &script_compile_function, nb::arg("qualname"), nb::arg("def_"), nb::arg("rcb"),
        nb::arg("defaults"), nb::arg("declared") = nb::none());
  m.def("_jit_script_compile_overload", &script_compile_overload, nb::arg("qualname"), nb::arg("overload_decl"),
        nb::arg("implementation_def"), nb::arg("rcb"), nb::arg("defaults"));
  m.def("_jit_script_class_compile", &script_compile_class, nb::arg("qualname"), nb::arg("class_def"),
        nb::arg("defaults"), nb::arg("rcb"), nb::arg("declared"));
  m.def("_jit_script_interface_compile", &script_compile_interface, nb::arg("qualname"), nb::arg("class_def"),
        nb::arg("rcb"), nb::arg("is_module_interface"));
  m.def("_jit_named_tuple", &make_named_tuple, nb::arg("name"), nb::arg("fields"), nb::arg("defaults"));
  m.def("_jit_object",
        [](nb::handle o, const TypeHandle& t) { return nb::cast(ObjectHandle{from_python(o, t.type)}); });
  m.def("_jit_define", &define_text, nb::arg("unit"), nb::arg("source"), nb::arg("rcb"));
  m.def("_jit_has_operator", [](const std::string& name) {
    return !graph_overloads(Symbol::of(name)).empty() || !language_functions(Symbol::of(name)).empty();
  });
  m.def("_jit_clear_function",
        [](const FunctionHandle& f) { python_unit()->remove_function(f.function->qualified_name()); });
  m.def("_resolve_type_from_object", [](const nb::object& o, const SourceRange& at, const nb::object&) -> nb::object {
    const nb::object t = recursive("resolve_type")(o, SourceRange(at));
    return t;
  });
}

}  // namespace fc::jit
