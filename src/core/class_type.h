// SPDX-License-Identifier: Apache-2.0
// What is known of a class, an interface or an enum beside its name. A ClassInfo lives as long as its type, for ever
// (new_class_type makes both). It grows while the class is compiled, by one thread; afterwards any thread may read it.
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
    Ref<RefCounted> function = {};  // what runs: a jit::Function (jit/run/function.h); of an interface's method null
    bool is_static = false;         // called without self
  };
  struct Property {
    std::string name, getter, setter;  // methods' names; no setter: ""
  };

  bool is_module = false;
  std::vector<Attribute> attributes;                     // of a class: the slots of its instances, in this order
  std::vector<std::pair<std::string, Value>> constants;  // of a class; of an enum its names and values
  std::vector<Signature> methods;                        // of a class those that are compiled; of an interface all
  std::vector<Property> properties;
  std::vector<std::string> class_attributes;  // names of what Python's class has itself: no object has it here
  std::vector<std::string> forward_hooks, forward_pre_hooks;  // methods' names, in the order in which they run
  std::string doc;

  int find_attribute(std::string_view name) const;  // index, or -1
  const Signature* find_method(std::string_view name) const;
  const Value* find_constant(std::string_view name) const;  // null: none
  const Property* find_property(std::string_view name) const;
  // Adds one, or gives the one of that name its type again; throws TypeError if it had another. Its index.
  size_t add_attribute(std::string_view name, TypeRef type, Role role = Role::Plain);
};

// A new type, and a ClassInfo for it: a Class (module or not) or an Interface.
TypeRef new_class_type(std::string_view qualified_name, bool is_module = false);
TypeRef new_interface_type(std::string_view qualified_name, bool is_module = false);

// Values of a named tuple's fields that have one, by name: set when the type is made, kept for ever.
void set_field_defaults(TypeRef named_tuple, std::vector<std::pair<std::string, Value>> defaults);
const std::vector<std::pair<std::string, Value>>& field_defaults(TypeRef named_tuple);

// Whether the class or interface `type` has every method of `interface`, each callable where the interface's is.
bool provides(TypeRef type, TypeRef interface, std::string* why_not = nullptr);

}  // namespace fc
