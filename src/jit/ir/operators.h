// SPDX-License-Identifier: Apache-2.0
// Operators as nodes name them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/type.h"
#include "jit/ir/symbol.h"

namespace fc {
class Arg;
class Operator;
struct Schema;
struct Parameter;
struct AliasInfo;
}  // namespace fc
namespace fc::jit {
class Value;

// All overloads of a kind, in order of definition. Any thread may call.
std::vector<Operator*> graph_overloads(Symbol kind);
TypeRef formal_type(const Parameter& p);  // as a graph sees it
AliasInfo marks_of(const Parameter& p);   // what a call does with the memory of an argument or result
// What an operator is given for a dtype, layout or memory format, which graphs hold as numbers; throws for no such.
Arg argument_of(Kind kind, int64_t number);
bool accepts(const Schema& s, std::span<Value* const> actual, std::string* why = nullptr);

}  // namespace fc::jit
