// SPDX-License-Identifier: Apache-2.0
// Which of several signatures a call means, by the types of its arguments, and the conversions that it takes. First
// without conversions, then with; errors name every candidate with its reason.
#pragma once
#include <span>

#include "dispatch/schema.h"
#include "jit/frontend/sugared.h"

namespace fc::jit {

struct MatchedCall {
  size_t which = 0;
  std::vector<Value*> inputs;
  std::vector<TypeRef> results;
  std::vector<std::string> result_names;  // of a named tuple; empty: none
};

// Throws a located error if none fits. `self` goes to the parameter of that name.
MatchedCall match_schemas(std::span<const Schema* const> schemas, const SourceRange& at, Graph& g,
                          const Arguments& args, const Arguments& named, const std::optional<NamedValue>& self = {});
MatchedCall match_schema(const Schema& s, const SourceRange& at, Graph& g, const Arguments& args,
                         const Arguments& named, const std::optional<NamedValue>& self = {});
// A call of an operator or of a function that the language defines for it.
Value* emit_builtin(const SourceRange& at, Graph& g, Symbol name, const Arguments& args, const Arguments& named = {},
                    const std::optional<NamedValue>& self = {});
// `v` as a `type` where an implicit conversion leads there; else itself.
Value* convert_to(const SourceRange& at, Graph& g, TypeRef type, Value* v, bool conversions);
// Values of a tuple; a constant tuple's too.
std::vector<Value*> unpack_tuple(Graph& g, Value* tuple);
Node* insert_node(Graph& g, Symbol kind, std::span<Value* const> in, size_t outputs, const SourceRange& at);
Value* insert_constant(Graph& g, const fc::Value& v, const SourceRange& at);
std::string type_name(TypeRef t);  // as error texts spell it
// Operators of a name in the order in which they are tried: results into given tensors after others.
std::vector<Operator*> candidates(Symbol name);
// Functions that the language itself defines, in the language: 1 + x, x.shape, torch.nn.functional's helpers
std::vector<Ref<Function>> language_functions(Symbol name);

}  // namespace fc::jit
