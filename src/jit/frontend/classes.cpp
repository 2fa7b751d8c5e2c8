// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/classes.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "core/class_type.h"
#include "core/containers.h"
#include "jit/frontend/match.h"
#include "jit/frontend/types.h"

namespace fc::jit {
namespace {

using enum Syntax;

// Names of the source, and the class that is being defined under its own.
class ClassNames final : public Resolver {
 public:
  ClassNames(Ref<Resolver> names, std::string own, TypeRef type)
      : names_(std::move(names)), own_(std::move(own)), type_(type) {}
  SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) override {
    return name == own_ ? type_value(type_) : names_->resolve_value(name, g, at);
  }
  TypeRef resolve_type(const std::string& name, const SourceRange& at) override {
    return name == own_ ? type_ : names_->resolve_type(name, at);
  }

 private:
  const Ref<Resolver> names_;
  const std::string own_;
  const TypeRef type_;
};

class NameSpace final : public Sugared {
 public:
  NameSpace(Ref<Resolver> names, std::string dotted) : names_(std::move(names)), dotted_(std::move(dotted)) {}
  std::string kind() const override { return "namespace " + dotted_; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    const std::string full = dotted_ + "." + name;
    if (TypeRef t = names_->resolve_type(full, at)) return type_value(t);
    if (SugaredRef v = names_->resolve_value(full, g, at)) return v;
    return make_ref<NameSpace>(names_, full);
  }

 private:
  const Ref<Resolver> names_;
  const std::string dotted_;
};

class ConstantTable final : public Sugared {
 public:
  explicit ConstantTable(std::vector<fc::Value> constants) : constants_(std::move(constants)) {}
  std::string kind() const override { return "CONSTANTS"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    size_t i = 0;
    const char *begin = name.data() + 1, *end = name.data() + name.size();
    const bool number = name.starts_with('c') && std::from_chars(begin, end, i).ptr == end && begin != end;
    if (!number || i >= constants_.size()) fail(at, "there is no constant '", name, "'");
    return simple(insert_constant(g, constants_[i], at));
  }

 private:
  const std::vector<fc::Value> constants_;
};

const std::string* string_of(const Tree& e) { return e.is(StringLiteral) ? &e.part(0).text() : nullptr; }
// ["a", "b"]
std::vector<std::string> strings_of(const Tree& e) {
  std::vector<std::string> out;
  if (!e.is(ListLiteral)) fail(e.range(), "expected a list of strings");
  for (const TreeRef& i : e.part(0).parts()) {
    const std::string* s = string_of(*i);
    if (!s) fail(i->range(), "expected a string");
    out.push_back(*s);
  }
  return out;
}
std::string base_of(const Tree& cls) {
  const Tree* base = cls.part(1).content();
  if (!base) return "";
  if (!base->is(Variable)) fail(base->range(), "expected the name of a base class");
  return base->name();
}

// The assignments of a class's body: __parameters__, x : T, x : T = v, __annotations__["0"] = T
struct Member {
  std::string name;
  const Tree *type, *value;  // either may be null
  SourceRange at;
};
std::optional<Member> member_of(const Tree& s) {
  if (!s.is(Assign) || s.part(0).size() != 1) return {};
  const Tree& target = s.part(0).part(0);
  const Tree *value = s.part(1).content(), *type = s.part(2).content();
  if (target.is(Variable)) return Member{target.name(), type, value, s.range()};
  if (target.is(Subscript) && target.part(0).is(Variable) && target.part(0).name() == "__annotations__" && value) {
    const std::string* name = string_of(target.part(1).part(0));
    if (name) return Member{*name, value, nullptr, s.range()};
  }
  return {};
}

class Declaration {
 public:
  Declaration(CompilationUnit& unit, const std::string& name, const ClassDefinition& d)
      : unit_(unit), name_(name), d_(d), tree_(*d.tree) {}

  TypeRef run() {
    const std::string base = base_of(tree_);
    if (base == "NamedTuple") return named_tuple();
    if (base == "Enum") return enumeration();
    if (base == "Interface" || base == "ModuleInterface") return interface(base == "ModuleInterface");
    if (!base.empty() && base != "Module" && base != "object")
      fail(tree_.range(), "Torchscript does not support class inheritance.");
    return plain(base == "Module");
  }

 private:
  TypeRef registered(TypeRef t) {
    try {
      unit_.register_type(t);
    } catch (const SourceError&) { throw; } catch (const Error& e) {
      fail(tree_.range(), e.message());
    }
    return t;
  }

  TypeRef plain(bool module) {
    TypeRef t = registered(new_class_type(name_, module));
    try {
      body(t, *t->class_info());
    } catch (...) {
      forget_class(unit_, t);
      throw;
    }
    return t;
  }

  void body(TypeRef t, ClassInfo& info) {
    const Ref<Resolver> names = make_ref<ClassNames>(d_.names, tree_.name(), t);
    std::vector<std::string> parameters, buffers;
    std::vector<Member> members;
    for (const TreeRef& s : tree_.part(2).parts()) {
      if (s->is(Def)) {
        method(t, s, names);
        continue;
      }
      if (s->is(Pass) || (s->is(ExprStmt) && s->part(0).is(StringLiteral))) continue;
      const std::optional<Member> m = member_of(*s);
      if (!m) fail(s->range(), "Unexpected statement kind in class body");
      if (m->name == "__parameters__" && m->value) parameters = strings_of(*m->value);
      else if (m->name == "__buffers__" && m->value) buffers = strings_of(*m->value);
      else if (m->name == "__forward_hooks__" && m->value) info.forward_hooks = strings_of(*m->value);
      else if (m->name == "__forward_pre_hooks__" && m->value) info.forward_pre_hooks = strings_of(*m->value);
      else if (m->name == "__annotations__" || m->name == "__constants__") continue;
      else if (!m->type) fail(m->at, "Unexpected statement kind in class body");
      else members.push_back(*m);
    }
    for (const Member& m : members) {
      TypeRef type = type_of_expression(*m.type, *names);
      if (m.value) {  // x : Final[T] = v
        info.constants.emplace_back(m.name, literal_of(*m.value, type, *names));
        continue;
      }
      const auto listed = [&](const std::vector<std::string>& list) {
        return std::ranges::find(list, m.name) != list.end();
      };
      info.add_attribute(m.name, type,
                         listed(parameters) ? ClassInfo::Role::Parameter
                         : listed(buffers)  ? ClassInfo::Role::Buffer
                                            : ClassInfo::Role::Plain);
    }
    if (const Tree* properties = tree_.part(3).content())
      for (const TreeRef& p : properties->parts()) {
        const Tree* setter = p->part(2).content();
        method(t, TreeRef(&p->part(1)), names);
        if (setter) method(t, TreeRef(setter), names);
        info.properties.push_back({p->name(), p->part(1).name(), setter ? setter->name() : ""});
      }
    if (const Tree* assigns = tree_.part(4).content())
      for (const TreeRef& s : assigns->parts())
        if (const std::optional<Member> m = member_of(*s)) info.class_attributes.push_back(m->name);
  }

  void method(TypeRef t, const TreeRef& def, const Ref<Resolver>& names) {
    Definition d{def, names, {}, plain_self(t)};
    d.defaults = d_.defaults ? d_.defaults(*def, *names) : literal_defaults(*def, *names);
    try {
      add_method(t, make_function(name_ + "." + def->name(), std::move(d)));
    } catch (const SourceError&) { throw; } catch (const Error& e) {
      fail(def->range(), e.message());
    }
  }

  TypeRef interface(bool module) {
    TypeRef t = registered(new_interface_type(name_, module));
    try {
      const Ref<Resolver> names = make_ref<ClassNames>(d_.names, tree_.name(), t);
      for (const TreeRef& s : tree_.part(2).parts()) {
        if (!s->is(Def)) fail(s->range(), "interface declarations can only contain method definitions");
        const Tree& own = s->part(2);
        if (own.size() != 1 || !own.part(0).is(Pass))
          fail(s->range(), "interfaces declarations should contain 'pass' statement.");
        const Schema signature = signature_of(Definition{s, names, {}, plain_self(t)});
        ClassInfo::Signature m{
            s->name(), {}, signature.returns.empty() ? tensor_type() : signature.returns[0].whole_type};
        for (size_t i = 1; i < signature.parameters.size(); ++i)
          m.parameters.emplace_back(signature.parameters[i].name, signature.parameters[i].whole_type);
        t->class_info()->methods.push_back(std::move(m));
      }
    } catch (...) {
      forget_class(unit_, t);
      throw;
    }
    return t;
  }

  TypeRef named_tuple() {
    std::vector<std::string> fields;
    std::vector<TypeRef> items;
    Defaults defaults;
    for (const TreeRef& s : tree_.part(2).parts()) {
      const std::optional<Member> m = member_of(*s);
      if (!m || !m->type) fail(s->range(), "Unexpected statement kind in class body");
      if (std::ranges::find(fields, m->name) != fields.end()) fail(m->at, "field '", m->name, "' is there twice");
      TypeRef type = type_of_expression(*m->type, *d_.names);
      fields.push_back(m->name);
      items.push_back(type);
      if (m->value) defaults.emplace_back(m->name, literal_of(*m->value, type, *d_.names));
    }
    TypeRef t = named_tuple_type(name_, std::move(fields), std::move(items));
    set_field_defaults(t, std::move(defaults));
    return registered(t);
  }

  TypeRef enumeration() {
    auto info = std::make_unique<ClassInfo>();
    TypeRef values = nullptr;
    for (const TreeRef& s : tree_.part(2).parts()) {
      const std::optional<Member> m = member_of(*s);
      if (!m || !m->value || m->type)
        fail(s->range(), "Unexpected statement in Enum class body: Only enum attribute definitions are allowed.");
      if (info->find_constant(m->name)) fail(m->at, "enum member '", m->name, "' is there twice");
      fc::Value v = literal_of(*m->value, nullptr, *d_.names);
      TypeRef own = value_type(v);
      if (values && own != values) fail(m->at, "Enum class with varying value types are not supported.");
      values = own;
      info->constants.emplace_back(m->name, std::move(v));
    }
    if (!values) fail(tree_.range(), "No enum values defined for ", name_);
    return registered(make_class_type(TypeKind::Enum, name_, info.release(), {values}));  // for ever, as the type
  }

  CompilationUnit& unit_;
  const std::string& name_;
  const ClassDefinition& d_;
  const Tree& tree_;
};

}  // namespace

TypeRef declare_class(CompilationUnit& unit, const std::string& qualified_name, const ClassDefinition& d) {
  return Declaration(unit, qualified_name, d).run();
}

void compile_methods(TypeRef cls) {
  const ClassInfo* info = cls->class_info();
  if (!info || !cls->is(TypeKind::Class)) return;
  // __init__ tells the attributes. Compiling adds no methods.
  if (Function* init = find_method(cls, "__init__")) init->ensure_defined();
  for (const ClassInfo::Signature& m : info->methods)
    if (m.function) static_cast<Function*>(m.function.get())->ensure_defined();
}

void forget_class(CompilationUnit& unit, TypeRef t) {
  unit.remove_type(t);
  if (ClassInfo* info = t->class_info()) {
    info->methods.clear();
    info->properties.clear();
  }
}

SugaredRef name_space(Ref<Resolver> names, std::string dotted) {
  return make_ref<NameSpace>(std::move(names), std::move(dotted));
}
SugaredRef type_value(TypeRef t) {
  switch (t->kind()) {
    case TypeKind::Enum: return make_ref<EnumClass>(t);
    case TypeKind::Tuple: return make_ref<NamedTupleConstructor>(t);
    case TypeKind::Class: return make_ref<ClassValue>(t);
    default: return {};
  }
}
SugaredRef constant_table(std::vector<fc::Value> constants) { return make_ref<ConstantTable>(std::move(constants)); }

}  // namespace fc::jit
