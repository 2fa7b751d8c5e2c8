// SPDX-License-Identifier: Apache-2.0
// Modules while they are compiled. What Python knows of a class (facula.jit._modules.Shape: attributes, submodules,
// constants, functions) says what `self.x` means; methods are compiled when they are met.
#include "casters.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "jit.h"
#include "jit/frontend/emit.h"
#include "jit/frontend/match.h"
#include "jit/frontend/parser.h"
#include "jit_script.h"
#include "jit_tree.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

// modules(), named_parameters() and their like, as what can be iterated over: known when it is compiled.
struct ModuleIterator final : Sugared {
  explicit ModuleIterator(SugaredRef v) : value(std::move(v)) {}
  const SugaredRef value;
  std::string kind() const override { return "module method"; }
  SugaredRef call(const SourceRange& at, Graph&, Arguments args, Arguments named) override {
    if (!args.empty() || !named.empty()) fail(at, "methods that iterate over a module take no arguments here");
    return value;
  }
};

class ModuleValue final : public Sugared {
 public:
  ModuleValue(Value* self, nb::object shape) : self_(self), shape_(std::move(shape)) {}
  std::string kind() const override { return "module"; }
  Value* as_value(const SourceRange&, Graph&) override { return self_; }
  Value* object() const override { return self_; }
  SugaredRef of_object(Value* v) const override { return make_ref<ModuleValue>(v, shape()); }

  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (SugaredRef found = try_attr(at, g, name)) return found;
    fail(at, "Module '", class_name(), "' has no attribute '", name, "' ", hint(name));
  }
  bool has_attr(const SourceRange& at, Graph& g, const std::string& name) override {
    return try_attr(at, g, name) != nullptr;
  }
  void set_attr(const SourceRange& at, Graph& g, const std::string& name, Value* v) override {
    const ClassInfo& info = *self_->type()->class_info();
    if (info.find_attribute(name) < 0 && !info.find_property(name)) {
      fail(at, "Tried to set nonexistent attribute: ", name, ". Did you forget to initialize it in __init__()?");
    }
    SimpleValue(self_).set_attr(at, g, name, v);
  }

  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override {
    const nb::list before(shape().attr("pre_hooks")), after(shape().attr("hooks"));
    if (nb::len(before) == 0 && nb::len(after) == 0)
      return attr(at, g, "forward")->call(at, g, std::move(args), std::move(named));
    return call_with_hooks(before, after, at, g, std::move(args), std::move(named));
  }

  SugaredRef iter(const SourceRange& at, Graph& g) override {
    const std::string c = container();
    if (c == "list") return values(at, g);
    if (c == "dict" || c == "parameter dict") return keys(at, g);
    if (c == "parameters") return parameters(at, g);
    fail(at, "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable");
  }
  Value* len(const SourceRange& at, Graph& g) override {
    if (self_->type()->class_info()->find_method("__len__"))
      return MethodValue(self_, {"__len__"}).call(at, g, {}, {})->as_value(at, g);
    return iter(at, g)->len(at, g);
  }
  std::vector<SugaredRef> as_tuple(const SourceRange& at, Graph& g, std::optional<size_t>) override {
    if (container().empty()) fail(at, "module cannot be used as a tuple");
    return iter(at, g)->as_tuple(at, g);
  }
  SugaredRef as_tuple_value(const SourceRange& at, Graph& g) override {
    if (container() != "list") fail(at, "Only ModuleList or Sequential can be used as a tuple");
    return values(at, g);
  }
  SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint) override {
    const std::string c = container();
    if (c == "list" || c == "parameters") {
      const auto known = constant_of(index);
      if (!known && c == "list" && hint && hint->is(TypeKind::Interface)) return contained(at, g, index, hint);
      if (!known)
        fail(at,
             "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is "
             "only supported with integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is "
             "not a literal. Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'");
      return (c == "list" ? values(at, g) : parameters(at, g))->getitem(at, g, index);
    }
    if (c == "dict" || c == "parameter dict") {
      const auto known = constant_of(index);
      if (known && known->tag() == Tag::String) {
        const std::string key(known->arg().text());
        const nb::object members = shape().attr("members");
        Contents all = contents(at, g, members);
        size_t i = 0;
        for (nb::handle n : members) {
          if (nb::cast<std::string>(n) == key) return all.values[i];
          ++i;
        }
        fail(at, "Key Error, ", key);
      }
      if (c == "dict" && hint && hint->is(TypeKind::Interface)) return contained(at, g, index, hint);
      fail(at,
           "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For "
           "example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. Enumeration of ModuleDict is "
           "supported, e.g. 'for k, v in self.items(): out = v(inp)'");
    }
    fail(at, "Only ModuleList, Sequential, ModuleDict, ParameterList, and ParameterDict modules are subscriptable");
  }

 private:
  nb::object shape() const { return nb::borrow(shape_.get()); }
  std::string container() const { return nb::cast<std::string>(shape().attr("container")); }
  std::string hint(const std::string& name) const { return nb::cast<std::string>(shape().attr("hint")(name)); }
  std::string_view class_name() const {
    const std::string_view whole = self_->type()->name();
    return whole.substr(whole.rfind('.') + 1);
  }

  SugaredRef try_attr(const SourceRange& at, Graph& g, const std::string& name) {
    const ClassInfo& info = *self_->type()->class_info();
    if (info.find_method(name)) return make_ref<MethodValue>(self_, std::vector{name});
    if (info.find_attribute(name) >= 0) return member(g, name);
    if (const ClassInfo::Property* p = info.find_property(name))
      return MethodValue(self_, {p->getter}).call(at, g, {}, {});
    if (SugaredRef found = iterator(at, g, name)) return found;
    // ("constant", value), ("function", f), ("methods", names), ("python", f): what Python knows of it
    const nb::object found = shape().attr("look_up")(name, SourceRange(at));
    if (found.is_none()) return {};
    const nb::tuple pair = nb::borrow<nb::tuple>(found);
    const std::string what = nb::cast<std::string>(pair[0]);
    const nb::object payload = nb::borrow(pair[1]);
    if (what == "methods") return make_ref<MethodValue>(self_, nb::cast<std::vector<std::string>>(payload));
    if (what == "python" || what == "unused") return python_function(payload, self_, what == "unused");
    if (what == "list") {  // attributes by name, as they are now
      std::vector<Value*> items;
      for (nb::handle n : payload) items.push_back(member(g, nb::cast<std::string>(n))->as_value(at, g));
      return simple(g.insert(g.create_list(tensor_type(), items))->output());
    }
    return to_sugared(payload, g, at, what == "constant");
  }

  SugaredRef member(Graph& g, const std::string& name) const {
    const ClassInfo& info = *self_->type()->class_info();
    Value* v =
        insert_get_attribute(g, self_, name, info.attributes[static_cast<size_t>(info.find_attribute(name))].type);
    const nb::dict modules(shape().attr("modules"));
    if (!modules.contains(name.c_str())) return simple(v);
    return make_ref<ModuleValue>(v, nb::borrow(modules[name.c_str()]));
  }
  // What a container contains, with its names. All of it goes into the graph, and what is not used out of it again:
  // numbers of values follow from that.
  struct Contents {
    std::vector<SugaredRef> names, values;
  };
  Contents contents(const SourceRange& at, Graph& g, const nb::handle& names) const {
    Contents out;
    for (nb::handle n : names) {
      out.names.push_back(simple(insert_constant(g, py::utf8(n.ptr()), at)));
      out.values.push_back(member(g, nb::cast<std::string>(n)));
    }
    return out;
  }
  SugaredRef values(const SourceRange& at, Graph& g) const {
    return make_ref<TupleSugared>(contents(at, g, shape().attr("modules")).values);
  }
  SugaredRef parameters(const SourceRange& at, Graph& g) const {
    for (nb::handle n : shape().attr("members")) member(g, nb::cast<std::string>(n));
    return make_ref<TupleSugared>(contents(at, g, shape().attr("members")).values);
  }
  SugaredRef keys(const SourceRange& at, Graph& g) const {
    return make_ref<TupleSugared>(contents(at, g, shape().attr("members")).names);
  }
  static SugaredRef pairs(const SourceRange& at, Graph& g, SugaredRef a, SugaredRef b) {
    auto tree = make_ref<IterableTree>();
    tree->add(at, g, std::move(a));
    tree->add(at, g, std::move(b));
    return tree;
  }

  // keys(), items(), children() …
  SugaredRef iterator(const SourceRange& at, Graph& g, const std::string& name) const {
    const std::string c = container();
    if (c == "dict" || c == "parameter dict") {
      if (name == "keys") return make_ref<ModuleIterator>(keys(at, g));
      if (name == "values" || name == "items") {
        Contents all = contents(at, g, shape().attr("members"));
        SugaredRef found = make_ref<TupleSugared>(std::move(all.values));
        if (name == "items") found = pairs(at, g, make_ref<TupleSugared>(std::move(all.names)), std::move(found));
        return make_ref<ModuleIterator>(std::move(found));
      }
    }
    const bool named = name.starts_with("named_");
    const std::string what = named ? name.substr(6) : name;
    if (what != "children" && what != "modules" && what != "parameters" && what != "buffers") return {};
    std::vector<SugaredRef> names, found;
    collect(g, what, "", SugaredRef(const_cast<ModuleValue*>(this)), names, found, at);
    SugaredRef all = make_ref<TupleSugared>(std::move(found));
    if (!named) return make_ref<ModuleIterator>(std::move(all));
    return make_ref<ModuleIterator>(pairs(at, g, make_ref<TupleSugared>(std::move(names)), std::move(all)));
  }
  // Depth is that of the modules.
  static void collect(Graph& g, const std::string& what, const std::string& prefix, const SugaredRef& at_module,
                      std::vector<SugaredRef>& names, std::vector<SugaredRef>& found, const SourceRange& at) {
    const auto& m = static_cast<const ModuleValue&>(*at_module);
    const auto add = [&](const std::string& name, SugaredRef v) {
      names.push_back(simple(insert_constant(g, std::string_view(name), at)));
      found.push_back(std::move(v));
    };
    if (what == "modules") add(prefix, at_module);
    const auto inside = [&](const std::string& name) { return prefix.empty() ? name : prefix + "." + name; };
    if (what == "parameters" || what == "buffers") {
      const auto role = what == "parameters" ? ClassInfo::Role::Parameter : ClassInfo::Role::Buffer;
      for (const ClassInfo::Attribute& a : m.self_->type()->class_info()->attributes)
        if (a.role == role) add(inside(a.name), m.member(g, a.name));
    }
    for (auto [name, shape] : nb::dict(m.shape().attr("modules"))) {
      const std::string n = nb::cast<std::string>(name);
      SugaredRef child = m.member(g, n);
      if (what == "children") add(n, child);
      else collect(g, what, inside(n), child, names, found, at);
    }
  }

  SugaredRef contained(const SourceRange& at, Graph& g, Value* index, TypeRef interface) const {
    for (auto [name, sub] : nb::dict(shape().attr("modules"))) {
      const ClassInfo& info = *self_->type()->class_info();
      TypeRef t = info.attributes[static_cast<size_t>(info.find_attribute(nb::cast<std::string>(name)))].type;
      std::string why;
      if (!is_subtype(t, interface, &why))
        fail(at, "Attribute ", nb::cast<std::string>(name), " is not of annotated type ", type_name(interface), ": ",
             why);
    }
    Node* n = insert_node(g, Symbol::of("prim::ModuleContainerIndex"), std::vector{self_, index}, 1, at);
    n->output()->set_type(interface);
    return simple(n->output());
  }

  // Hooks are functions that take the module first: of the inputs, and of the inputs and the result.
  SugaredRef call_with_hooks(const nb::list& before, const nb::list& after, const SourceRange& at, Graph& g,
                             Arguments args, Arguments named) {
    if (!named.empty()) fail(at, "Keyword arguments are not supported in calls of modules that have hooks");
    const auto run = [&](nb::handle hook, Arguments with) {
      with.emplace(with.begin(), at, self_);
      return FunctionValue(nb::cast<FunctionHandle>(hook).function).call(at, g, std::move(with), {})->as_value(at, g);
    };
    std::vector<Value*> in;
    for (const NamedValue& a : args) in.push_back(a.in(g));
    Value* inputs = g.insert(g.create_tuple(in))->output();
    for (nb::handle hook : before) {
      Value* changed = run(hook, {NamedValue(at, inputs)});
      if (changed->type()->is(TypeKind::None)) continue;
      inputs =
          changed->type()->is(TypeKind::Tuple) ? changed : g.insert(g.create_tuple(std::vector{changed}))->output();
      args.clear();
      for (Value* v : unpack_tuple(g, inputs)) args.emplace_back(at, v);
    }
    Value* out = attr(at, g, "forward")->call(at, g, args, {})->as_value(at, g);
    for (nb::handle hook : after) {
      Value* changed = run(hook, {NamedValue(at, inputs), NamedValue(at, out)});
      if (!changed->type()->is(TypeKind::None)) out = changed;
    }
    return simple(out);
  }

  Value* self_;
  py::PyHolder shape_;
};

class ModuleSelf final : public SelfValue {
 public:
  ModuleSelf(TypeRef t, nb::object shape) : type_(t), shape_(std::move(shape)) {}
  SugaredRef make(Value* v) const override {
    v->set_type(type_);
    return make_ref<ModuleValue>(v, nb::borrow(shape_.get()));
  }
  TypeRef type() const override { return type_; }

 private:
  TypeRef type_;
  py::PyHolder shape_;
};

TypeRef type_of_shape(const nb::object& shape) { return nb::cast<TypeHandle>(shape.attr("type")).type; }

// Declares methods and compiles them; of a failure none stays.
void define_methods(TypeRef type, std::vector<Definition> all) {
  std::vector<Ref<Function>> made;
  try {
    for (Definition& d : all) {
      std::string name = str(type->name(), ".", d.def->name());
      Ref<Function> f = make_function(std::move(name), std::move(d));
      add_method(type, f);
      made.push_back(std::move(f));
    }
    for (const Ref<Function>& f : made) f->ensure_defined();
  } catch (...) {
    for (const Ref<Function>& f : made) remove_method(type, f->name());
    throw;
  }
}

// (tree, lookup, defaults) of a method
Definition definition(const nb::object& shape, const nb::tuple& stub) {
  Definition d{nb::cast<const TreeView&>(stub[0]).tree,
               python_resolver(nb::borrow(stub[1])),
               {},
               make_ref<ModuleSelf>(type_of_shape(shape), shape)};
  d.defaults = defaults_of(nb::borrow<nb::dict>(stub[2]), *d.def, *d.resolver);
  return d;
}

void create_methods(const nb::object& shape, const nb::list& stubs) {
  std::vector<Definition> all;
  for (nb::handle s : stubs) all.push_back(definition(shape, nb::borrow<nb::tuple>(s)));
  define_methods(type_of_shape(shape), std::move(all));
}

// A function that takes the module first; one of the graph's.
FunctionHandle create_hook(const nb::object& shape, const nb::tuple& stub) {
  Definition d = definition(shape, stub);
  std::string name = str(type_of_shape(shape)->name(), ".", d.def->name());
  Ref<Function> f = make_function(std::move(name), std::move(d));
  f->ensure_defined();
  return {std::move(f)};
}

void define_text(const nb::object& shape, const std::string& text, const nb::object& lookup) {
  const TypeRef type = type_of_shape(shape);
  std::vector<Definition> all;
  for (const TreeRef& def : parse_program(make_ref<Source>(text, "<string>"))) {
    if (!def->is(Syntax::Def)) fail(def->range(), "Expected a function of the module here");
    Definition d{def, python_resolver(lookup), {}, make_ref<ModuleSelf>(type, shape)};
    d.defaults = literal_defaults(*def, *d.resolver);
    all.push_back(std::move(d));
  }
  define_methods(type, std::move(all));
}

nb::object new_module_type(const std::string& qualified_name) {
  CompilationUnit& unit = *python_unit();
  std::string name = qualified_name;
  while (unit.find_type(name)) name = unit.mangle(qualified_name);
  const TypeRef type = new_class_type(name, true);
  unit.register_type(type);
  return type_object(type);
}

void add_attribute(const TypeHandle& t, const std::string& name, const TypeHandle& type, const std::string& role) {
  using Role = ClassInfo::Role;
  t.type->class_info()->add_attribute(name, type.type,
                                      role == "parameter" ? Role::Parameter
                                      : role == "buffer"  ? Role::Buffer
                                                          : Role::Plain);
}

ObjectHandle new_module(const TypeHandle& t, const nb::list& values) {
  const auto& attributes = t.type->class_info()->attributes;
  FC_CHECK(nb::len(values) == attributes.size(), "an object of ", t.type->name(), " has ", attributes.size(),
           " attributes, not ", nb::len(values));
  auto object = make_ref<Instance>(t.type, attributes.size());
  for (size_t i = 0; i < attributes.size(); ++i) object->slots[i] = from_python(values[i], attributes[i].type);
  return {fc::Value(Tag::Instance, std::move(object))};
}

}  // namespace

void bind_module_classes(nb::module_& m) {
  m.def("_jit_new_module_type", &new_module_type, nb::arg("qualified_name"));
  m.def("_jit_add_module_attribute", &add_attribute, nb::arg("type"), nb::arg("name"), nb::arg("attribute_type"),
        nb::arg("role"));
  m.def("_jit_new_module", &new_module, nb::arg("type"), nb::arg("values"));
  m.def("_jit_create_module_methods", &create_methods, nb::arg("shape"), nb::arg("stubs"));
  m.def("_jit_define_module_methods", &define_text, nb::arg("shape"), nb::arg("text"), nb::arg("rcb"));
  m.def("_jit_add_module_property",
        [](const TypeHandle& t, const std::string& name, const std::string& getter, const std::string& setter) {
          t.type->class_info()->properties.push_back({name, getter, setter});
        });
  m.def("_jit_create_hook", &create_hook, nb::arg("shape"), nb::arg("stub"));
  m.def("_jit_module_methods", [](const TypeHandle& t) {
    nb::list out;
    for (const ClassInfo::Signature& s : t.type->class_info()->methods) out.append(s.name);
    return out;
  });
  m.def(
      "_jit_try_infer_type",
      [](nb::handle value) -> nb::object {
        const nb::object inferred = nb::module_::import_("facula._C").attr("InferredType");
        try {
          return inferred(type_object(type_of(to_value(value))->unshaped()));
        } catch (const TypeError&) {
          return inferred(nb::str(
              str("Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or "
                  "outputs of traced functions, but instead got value of type ",
                  Py_TYPE(value.ptr())->tp_name, ".")
                  .c_str()));
        }
      },
      nb::arg("value").none());
}

}  // namespace fc::jit
