// SPDX-License-Identifier: Apache-2.0
// Classes, named tuples, enums and interfaces from their trees, as text and archives spell them:
//
//   class Net(Module):                      class Pair:          class Point(NamedTuple):
//     __parameters__ = ["w", ]                x : int              x : Tensor
//     __buffers__ = []                        def total(self)…     n : int = 3
//     w : Tensor
//     __annotations__["0"] = __torch__.Layer                     class Color(Enum):
//     def forward(self: __torch__.Net, …                           RED = 1
//
// A class of Python's has no annotations here: its attributes are what __init__ assigns to self. One thread at a time
// for each unit, as emit.h.
#pragma once
#include <functional>

#include "jit/frontend/emit.h"

namespace fc::jit {

struct ClassDefinition {
  TreeRef tree;         // a Syntax::Class
  Ref<Resolver> names;  // what its sources name, beside the class itself
  // Of a method's parameters; null: the literals that its text says.
  std::function<Defaults(const Tree& method, Resolver& names)> defaults = {};
};

// Registers a class, interface, enum or named tuple with the unit. A class's methods are known then, and compiled when
// they are first asked for. Throws if the name is taken.
TypeRef declare_class(CompilationUnit& unit, const std::string& qualified_name, const ClassDefinition& d);
// Compiles all methods, __init__ first. What it throws leaves the class as it is: forget_class() then.
void compile_methods(TypeRef cls);
// Of one whose compilation failed.
void forget_class(CompilationUnit& unit, TypeRef t);

// __torch__.a.b: what `names` knows under the whole dotted name, as a class or a function.
SugaredRef name_space(Ref<Resolver> names, std::string dotted);
// What a type is as a name of the source: a class, an enum, a named tuple to call.
SugaredRef type_value(TypeRef t);
// The constants of an archive: CONSTANTS.c0
SugaredRef constant_table(std::vector<fc::Value> constants);

}  // namespace fc::jit
