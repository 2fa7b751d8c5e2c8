// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/types.h"

#include <algorithm>

#include "jit/frontend/match.h"
#include "jit/frontend/parser.h"

namespace fc::jit {
namespace {

using enum TypeKind;

TypeRef simple_by_name(std::string_view name) {
  constexpr std::pair<std::string_view, TypeKind> names[] = {
      {"Tensor", Tensor},    {"int", Int},           {"float", Float},   {"bool", Bool},
      {"complex", Complex},  {"str", String},        {"Device", Device}, {"Generator", Generator},
      {"Stream", Stream},    {"number", Number},     {"None", None},     {"NoneType", None},
      {"Any", Any},          {"Capsule", Capsule},   {"list", AnyList},  {"tuple", AnyTuple},
      {"Storage", Storage},  {"Function", Function}, {"dtype", Int},     {"Layout", Int},
      {"MemoryFormat", Int},
  };
  for (const auto& [n, k] : names)
    if (n == name) return simple_type(k);
  return nullptr;
}

// "torch.Tensor" of a chain of names; "" of anything else
std::string dotted(const Tree& e) {
  std::vector<const Tree*> parts;
  const Tree* t = &e;
  for (; t->is(Syntax::Select); t = &t->part(0)) parts.push_back(&t->part(1));
  if (!t->is(Syntax::Variable)) return {};
  std::string out = t->name();
  for (size_t i = parts.size(); i-- > 0;) out += "." + parts[i]->name();
  return out;
}

TypeRef by_name(const std::string& name, const SourceRange& at, Resolver& names) {
  std::string_view own = name;
  for (std::string_view module : {"torch.", "typing."})
    if (own.starts_with(module)) own.remove_prefix(module.size());
  if (own == "device") own = "Device";
  if (TypeRef t = own == name || own.find('.') == own.npos ? simple_by_name(own) : nullptr) return t;
  return names.resolve_type(name, at);
}

TypeRef subscripted(const Tree& e, Resolver& names) {
  std::string name = dotted(e.part(0));
  const auto items = e.part(1).parts();
  if (const size_t dot = name.rfind('.'); dot != name.npos) name.erase(0, dot + 1);
  const auto take = [&](size_t n) {
    if (items.size() != n) fail(e.range(), " expected exactly ", n, " element type but found ", items.size());
    std::vector<TypeRef> out;
    for (const TreeRef& i : items) out.push_back(type_of_expression(*i, names));
    return out;
  };
  if (name == "Optional") return optional_type(take(1)[0]);
  if (name == "List" || name == "list") return list_type(take(1)[0]);
  if (name == "Future") return future_type(take(1)[0]);
  if (name == "Await" || name == "_Await") return await_type(take(1)[0]);
  if (name == "RRef") return rref_type(take(1)[0]);
  if (name == "Final" || name == "Annotated") return type_of_expression(*items[0], names);
  if (name == "Dict" || name == "dict") {
    const auto t = take(2);
    if (!t[0]->is(Int) && !t[0]->is(Bool) && !t[0]->is(Float) && !t[0]->is(Complex) && !t[0]->is(Tensor) &&
        !t[0]->is(Device) && !t[0]->is(String) && !t[0]->is(Enum))
      fail(e.range(), "Cannot create dict for key type '", type_name(t[0]),
           "', only int, float, complex, Tensor, device and string keys are supported");
    return dict_type(t[0], t[1]);
  }
  if (name == "Tuple" || name == "tuple") {
    if (items.size() == 1 && items[0]->is(Syntax::TupleLiteral) && items[0]->part(0).empty()) return tuple_type({});
    return tuple_type(take(items.size()));
  }
  if (name == "Union") return union_type(take(items.size()));
  if (name.starts_with("BroadcastingList")) return list_type(take(1)[0]);
  fail(e.part(0).range(), "Unknown type constructor ", name);
}

}  // namespace

TypeRef type_of_expression(const Tree& e, Resolver& names) {
  switch (e.kind()) {
    case Syntax::None: return simple_type(None);
    case Syntax::Variable:
    case Syntax::Select: {
      const std::string name = dotted(e);
      if (!name.empty())
        if (TypeRef t = by_name(name, e.range(), names)) return t;
      fail(e.range(), "Unknown type name '", name, "'");
    }
    case Syntax::Subscript: return subscripted(e, names);
    case Syntax::BitOr: {
      return union_type({type_of_expression(e.part(0), names), type_of_expression(e.part(1), names)});
    }
    case Syntax::StringLiteral: {
      try {
        return type_of_expression(*parse_expression(make_ref<Source>(e.part(0).text())), names);
      } catch (const SourceError&) { fail(e.range(), "Unknown type name '", e.part(0).text(), "'"); }
    }
    default: fail(e.range(), "Expression of type ", to_string(e.kind()), " cannot be used in a type expression");
  }
}

TypeRef annotated_type(const Tree& option, Resolver& names, bool* inferred, int* length) {
  if (option.is(Syntax::Option) && option.empty()) {
    if (inferred) *inferred = true;
    return tensor_type();
  }
  const Tree& e = option.is(Syntax::Option) ? *option.content() : option;
  for (const Tree* t = &e; length && t->is(Syntax::Subscript);) {  // BroadcastingList2[int], or an optional of one
    std::string name = dotted(t->part(0));
    if (const size_t dot = name.rfind('.'); dot != name.npos) name.erase(0, dot + 1);
    constexpr std::string_view broadcasting = "BroadcastingList";
    if (name.starts_with(broadcasting) && name.size() == broadcasting.size() + 1) *length = name.back() - '0';
    if (name != "Optional" || t->part(1).empty()) break;
    t = &t->part(1).part(0);
  }
  return type_of_expression(e, names);
}

Parameter make_parameter(std::string name, TypeRef type) {
  Parameter p;
  // What the matcher of kernels reads is told for kinds that a kernel takes; functions of graphs have none.
  TypeRef t = type;
  if (t->is(Optional)) {
    p.type.optional = true;
    t = t->item();
  }
  if (t->is(List)) {
    p.type.list = true;
    p.type.length = static_cast<int8_t>(t->length());
    t = t->item();
    if (t->is(Optional)) {
      p.type.optional_item = true;
      t = t->item();
    }
  }
  switch (t->kind()) {
    case Tensor: p.type.kind = Kind::Tensor; break;
    case Int: p.type.kind = Kind::Int; break;
    case Float: p.type.kind = Kind::Float; break;
    case Bool: p.type.kind = Kind::Bool; break;
    case Number: p.type.kind = Kind::Scalar; break;
    case String: p.type.kind = Kind::Str; break;
    case Device: p.type.kind = Kind::Device; break;
    default: p.type = FlatType{Kind::Any}; break;
  }
  p.name = std::move(name);
  p.whole_type = type;
  return p;
}

}  // namespace fc::jit
