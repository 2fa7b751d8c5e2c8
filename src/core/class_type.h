// SPDX-License-Identifier: Apache-2.0
// What is known of a class, an interface or an enum beside its name. A ClassInfo belongs to whoever made the type and
// lives as long as the type, which is for ever. It grows while the class is compiled, by one thread; afterwards any
// thread may read it.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/type.h"
#include "core/value.h"

namespace fc {

class ClassInfo {
 public:
  enum class Role : uint8_t { Plain, Parameter, Buffer };
  struct Attribute {
    std::string name;
    TypeRef type;
    Role role = Role::Plain;
  };
  struct Signature {  // without self
    std::string name;
    std::vector<std::pair<std::string, TypeRef>> parameters;
    TypeRef result;
  };

  bool is_module = false;
  std::vector<Attribute> attributes;                     // of a class: the slots of its instances, in this order
  std::vector<std::pair<std::string, Value>> constants;  // of a class; of an enum its names and values
  std::vector<Signature> methods;                        // of a class those that are compiled; of an interface all

  int find_attribute(std::string_view name) const;  // index, or -1
  const Signature* find_method(std::string_view name) const;
};

// Whether the class or interface `type` has every method of `interface`, each callable where the interface's is.
bool provides(TypeRef type, TypeRef interface, std::string* why_not = nullptr);

}  // namespace fc
