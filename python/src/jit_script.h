// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of Python's objects: shared by the files that bind it. Under Python's lock.
#pragma once
#include <nanobind/nanobind.h>

#include "jit/frontend/emit.h"

namespace fc::jit {

// What an object means in a source; constant: one that nothing changes, so its value goes into the graph.
SugaredRef to_sugared(const nanobind::object& o, Graph& g, const SourceRange& at, bool constant);
// A resolver that asks a Python function `name -> object`.
Ref<Resolver> python_resolver(nanobind::object lookup);
// Defaults of a function's parameters as its annotations type them.
std::vector<std::pair<std::string, fc::Value>> defaults_of(const nanobind::dict& given, const Tree& def,
                                                           Resolver& names);
// A call of a Python function from the graph. `self`: of a method that stays Python, the module; unused: it raises.
SugaredRef python_function(nanobind::object f, Value* self, bool unused);

void bind_module_classes(nanobind::module_& m);

}  // namespace fc::jit
