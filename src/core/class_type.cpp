// SPDX-License-Identifier: Apache-2.0
#include "core/class_type.h"

#include <map>
#include <mutex>

#include "core/format.h"

namespace fc {
namespace {

// An interface's method may be called with what it names, and gives what it names.
bool stands_for(const ClassInfo::Signature& has, const ClassInfo::Signature& wanted) {
  if (has.parameters.size() != wanted.parameters.size()) return false;
  for (size_t i = 0; i < has.parameters.size(); ++i)
    if (has.parameters[i].first != wanted.parameters[i].first ||
        !is_subtype(wanted.parameters[i].second, has.parameters[i].second))
      return false;
  return is_subtype(has.result, wanted.result);
}

std::string signature_text(TypeRef of, const ClassInfo::Signature& s) {
  std::string out = str(s.name, '(', schema_text(of), " self");
  for (const auto& [name, type] : s.parameters) out += str(", ", schema_text(type), ' ', name);
  return str(out, ") -> ", schema_text(s.result));
}

}  // namespace

int ClassInfo::find_attribute(std::string_view name) const {
  for (size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].name == name) return static_cast<int>(i);
  return -1;
}

const ClassInfo::Signature* ClassInfo::find_method(std::string_view name) const {
  for (const Signature& s : methods)
    if (s.name == name) return &s;
  return nullptr;
}

const Value* ClassInfo::find_constant(std::string_view name) const {
  for (const auto& [own, value] : constants)
    if (own == name) return &value;
  return nullptr;
}

const ClassInfo::Property* ClassInfo::find_property(std::string_view name) const {
  for (const Property& p : properties)
    if (p.name == name) return &p;
  return nullptr;
}

size_t ClassInfo::add_attribute(std::string_view name, TypeRef type, Role role) {
  if (const int at = find_attribute(name); at >= 0) {
    const Attribute& own = attributes[static_cast<size_t>(at)];
    FC_CHECK_AS(TypeError, own.type == type && own.role == role, "attribute '", name, "' is a ",
                annotation_text(own.type), " already, it cannot be a ", annotation_text(type));
    return static_cast<size_t>(at);
  }
  attributes.push_back({std::string(name), type, role});
  return attributes.size() - 1;
}

static TypeRef new_type(TypeKind kind, std::string_view name, bool is_module) {
  auto* info = new ClassInfo;  // for ever, as the type
  info->is_module = is_module;
  return make_class_type(kind, name, info);
}
TypeRef new_class_type(std::string_view name, bool is_module) { return new_type(TypeKind::Class, name, is_module); }
TypeRef new_interface_type(std::string_view name, bool is_module) {
  return new_type(TypeKind::Interface, name, is_module);
}

namespace {
using Defaults = std::vector<std::pair<std::string, Value>>;
struct FieldDefaults {
  std::mutex mutex;
  std::map<TypeRef, Defaults> of;  // entries stay where they are
};
FieldDefaults& all_field_defaults() {
  static auto& all = *new FieldDefaults;
  return all;
}
}  // namespace

void set_field_defaults(TypeRef t, Defaults defaults) {
  FieldDefaults& all = all_field_defaults();
  const std::lock_guard lock(all.mutex);
  if (!defaults.empty()) all.of.try_emplace(t, std::move(defaults));
}
const Defaults& field_defaults(TypeRef t) {
  static const auto& none = *new Defaults;
  FieldDefaults& all = all_field_defaults();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(t);
  return found == all.of.end() ? none : found->second;
}

bool provides(TypeRef type, TypeRef interface, std::string* why_not) {
  auto no = [&](const auto&... parts) {
    if (why_not) *why_not += str(parts...);
    return false;
  };
  const ClassInfo *has = type->class_info(), *wanted = interface->class_info();
  if (!has || !wanted) return no("nothing is known of the methods of ", type->name(), " or ", interface->name());
  if (has->is_module != wanted->is_module)
    return no("Class '", type->name(), "' is ", has->is_module ? "" : "not ", "a module, and interface '",
              interface->name(), "' is ", wanted->is_module ? "" : "not ", "one of modules");
  for (const ClassInfo::Signature& method : wanted->methods) {
    const ClassInfo::Signature* own = has->find_method(method.name);
    if (!own)
      return no("Class '", type->name(), "' does not have method '", method.name, "' but '", interface->name(),
                "' does.\n");
    if (!stands_for(*own, method))
      return no("Method on class '", type->name(), "' (1) is not compatible with interface '", interface->name(),
                "' (2)\n  (1) ", signature_text(type, *own), "\n  (2) ", signature_text(interface, method), '\n');
  }
  return true;
}

}  // namespace fc
