// SPDX-License-Identifier: Apache-2.0
#include "core/class_type.h"

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
                "' does.");
    if (!stands_for(*own, method))
      return no("Method on class '", type->name(), "' (1) is not compatible with interface '", interface->name(),
                "' (2): method '", method.name, "'");
  }
  return true;
}

}  // namespace fc
