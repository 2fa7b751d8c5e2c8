// SPDX-License-Identifier: Apache-2.0
// Compiles trees of the language into graphs: define() declares functions, whose graphs are made (to_ir) when they are
// first asked for. What a function reads by name is asked of its resolver. Of one thread at a time for each unit: the
// bindings hold Python's lock.
#pragma once
#include "jit/frontend/sugared.h"
#include "jit/frontend/tree.h"

namespace fc::jit {

// Of methods: what `self` stands for.
class SelfValue : public RefCounted {
 public:
  virtual SugaredRef make(Value* v) const = 0;
  virtual TypeRef type() const = 0;
};
Ref<SelfValue> plain_self(TypeRef cls);  // an object of a class

using Defaults = std::vector<std::pair<std::string, fc::Value>>;  // of parameters, by name

struct Definition {
  TreeRef def;
  Ref<Resolver> resolver;
  Defaults defaults;
  Ref<SelfValue> self;  // null: a function
};

// A function that is compiled when it is asked for; nobody's yet.
Ref<Function> make_function(std::string qualified_name, Definition d);
// The signature alone, without compiling the body.
Schema signature_of(const Definition& d);
void to_ir(Function& f, const Definition& d);
// The passes behind it: what makes a graph of loads and stores one of values, folded and pooled.
void finish_graph(Graph& g);

// What a tree says of itself: the literal that an expression is, of that type unless it is null, and those that
// parameters have. Throws located errors.
fc::Value literal_of(const Tree& e, TypeRef type, Resolver& names);
Defaults literal_defaults(const Tree& def, Resolver& names);

// Text: functions and classes of a unit, each of which sees the others and torch's operators. Whatever is thrown, the
// unit has nothing of it.
void define_source(CompilationUnit& unit, const std::string& prefix, Ref<Source> source, Ref<Resolver> resolver);
// A resolver that knows torch, math and the functions of a unit; `prefix`: of their names.
Ref<Resolver> unit_resolver(Ref<CompilationUnit> unit, std::string prefix);

}  // namespace fc::jit
