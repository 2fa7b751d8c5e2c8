// SPDX-License-Identifier: Apache-2.0
#include "jit/files/print_code.h"

#include <algorithm>
#include <unordered_map>

#include "core/class_type.h"
#include "core/sparse.h"
#include "core/containers.h"
#include "core/format.h"
#include "define/calls.h"
#include "jit/files/body_printer.h"
#include "jit/ir/value_text.h"

namespace fc::jit {
namespace {

bool has_other_letters(const fc::Value& v) {  // beyond ASCII, in a string somewhere in it
  switch (v.tag()) {
    case Tag::String:
      return std::ranges::any_of(v.arg().text(), [](char c) { return static_cast<signed char>(c) < 0; });
    case Tag::Tuple: return std::ranges::any_of(tuple_of(v).items, has_other_letters);
    case Tag::List: return std::ranges::any_of(list_of(v).items, has_other_letters);
    case Tag::Dict:
      for (size_t at = dict_of(v).next(0); at != SIZE_MAX; at = dict_of(v).next(at + 1))
        if (has_other_letters(dict_of(v).key_at(at)) || has_other_letters(dict_of(v).value_at(at))) return true;
      return false;
    default: return false;
  }
}

bool is_named(TypeRef t) {
  using enum TypeKind;
  return t->is(Class) || t->is(Interface) || t->is(Enum) || (t->is(Tuple) && !t->name().empty());
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.dtype() == b.dtype() && a.device() == b.device() && !is_sparse(a) &&
         !is_sparse(b) && call<"aten::equal", bool>(a, b);
}

}  // namespace

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  return std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void Dependencies::add(TypeRef t) {
  if (is_named(t)) {
    if (known_.insert(t).second) items_.push_back({t, {}});
    return;
  }
  for (TypeRef i : t->items()) add(i);
}

void Dependencies::add(Ref<Function> f) {
  if (known_.insert(f.get()).second) items_.push_back({nullptr, std::move(f)});
}

CodePrinter::CodePrinter(std::vector<fc::Value>& constants, Dependencies& dependencies, bool importable)
    : constants_(constants), dependencies_(dependencies), importable_(importable) {}

void CodePrinter::function(const Function& f) { definition(f, 0, true); }
void CodePrinter::method(const Function& f) { definition(f, 0, false); }

std::string CodePrinter::name_of_type(TypeRef t) {
  dependencies_.add(t);
  return annotation_text(t);
}

std::string CodePrinter::constant(const fc::Value& v) {
  return value_text(v, [&](std::string& out, const fc::Value& part) {
    if (part.tag() == Tag::Tensor || part.tag() == Tag::Instance || has_other_letters(part)) {
      size_t i = 0;
      const auto is_known = [&](const fc::Value& other) {
        return part.tag() == Tag::Tensor && other.tag() == Tag::Tensor && same_tensor(part.tensor(), other.tensor());
      };
      while (i < constants_.size() && !is_known(constants_[i])) ++i;
      if (i == constants_.size()) constants_.push_back(part);
      out += str("CONSTANTS.c", i);
      return true;
    }
    if (part.tag() == Tag::Enum) {
      const auto& e = *static_cast<EnumBox*>(part.box());
      dependencies_.add(e.type);
      out += str(annotation_text(e.type), ".", e.name);
      return true;
    }
    if (part.tag() == Tag::Tuple && tuple_of(part).named) out += name_of_type(tuple_of(part).named);
    return false;
  });
}

void CodePrinter::definition(const Function& f, size_t level, bool typed_self) {
  BodyPrinter(*this, level).definition(f, typed_self);
}

void CodePrinter::class_declaration(TypeRef t) {
  const ClassInfo& info = *t->class_info();
  const auto quoted = [&](const char* what, const auto& names) {
    text_ += str("  ", what, " = [");
    for (const auto& n : names) text_ += str("\"", n, "\", ");
    text_ += "]\n";
  };
  if (info.is_module) {
    const auto of_role = [&](ClassInfo::Role role) {
      std::vector<std::string> names;
      for (const auto& a : info.attributes)
        if (a.role == role) names.push_back(a.name);
      return names;
    };
    quoted("__parameters__", of_role(ClassInfo::Role::Parameter));
    quoted("__buffers__", of_role(ClassInfo::Role::Buffer));
    if (!info.forward_pre_hooks.empty()) quoted("__forward_pre_hooks__", info.forward_pre_hooks);
    if (!info.forward_hooks.empty()) quoted("__forward_hooks__", info.forward_hooks);
  }
  for (size_t i = 0; i < info.attributes.size(); ++i) {
    const ClassInfo::Attribute& a = info.attributes[i];
    const std::string type = name_of_type(a.type);
    if (is_identifier(a.name)) {
      text_ += str("  ", a.name, " : ", type, "\n");
    } else {
      if (i == 0) text_ += "  __annotations__ = []\n";
      text_ += str("  __annotations__[\"", a.name, "\"] = ", type, "\n");
    }
  }
  for (const auto& [name, value] : info.constants)
    text_ += str("  ", name, " : Final[", annotation_text(type_of(value)->unshaped()), "] = ", constant(value), "\n");
  const auto is_hook = [&](const std::string& name) {
    return std::ranges::count(info.forward_hooks, name) || std::ranges::count(info.forward_pre_hooks, name);
  };
  std::vector<std::string> done;
  const auto print = [&](const std::string& name) {
    if (std::ranges::count(done, name)) return;
    done.push_back(name);
    if (const Function* f = find_method(t, name)) definition(*f, 1, true);
  };
  for (const ClassInfo::Signature& m : info.methods)
    if (!is_hook(m.name)) print(m.name);
  for (const std::string& hook : info.forward_hooks) print(hook);
  for (const std::string& hook : info.forward_pre_hooks) print(hook);
}

void CodePrinter::type(TypeRef t) {
  const std::string_view own = t->name().substr(t->name().rfind('.') + 1);
  text_ += str("class ", own);
  switch (t->kind()) {
    case TypeKind::Enum:
      text_ += "(Enum):\n";
      for (const auto& [name, value] : t->class_info()->constants) {
        const fc::Value& plain = value.tag() == Tag::Enum ? static_cast<EnumBox*>(value.box())->value : value;
        // A string stands in quotes as it is, a float with six digits: so PyTorch writes it.
        std::string text = plain.tag() == Tag::String ? str("\"", plain.arg().text(), "\"") : value_text(plain);
        text_ += str("  ", name, " = ", text, "\n");
      }
      return;
    case TypeKind::Tuple:
      text_ += "(NamedTuple):\n";
      for (size_t i = 0; i < t->items().size(); ++i)
        text_ += str("  ", t->field_names()[i], " : ", name_of_type(t->item(i)), "\n");
      return;
    case TypeKind::Interface:
      text_ += t->class_info()->is_module ? "(ModuleInterface):\n" : "(Interface):\n";
      for (const ClassInfo::Signature& m : t->class_info()->methods) {
        text_ += str("  def ", m.name, "(self");
        for (const auto& [name, type] : m.parameters) text_ += str(", ", name, ": ", name_of_type(type));
        text_ += str(") -> ", name_of_type(m.result), ":\n    pass\n");
      }
      return;
    default: text_ += t->class_info()->is_module ? "(Module):\n" : ":\n"; class_declaration(t);
  }
}

ShownCode code_of(const Function& f, bool is_method) {
  ShownCode out;
  Dependencies unused;
  CodePrinter printer(out.constants, unused, false);
  is_method ? printer.method(f) : printer.function(f);
  out.text = printer.text();
  return out;
}

}  // namespace fc::jit
