// SPDX-License-Identifier: Apache-2.0
// Reads types in any of their three spellings, for schemas and for graphs. Any thread may call.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/type.h"

namespace fc {

// What a schema says a value may share memory with: (a!), (a|b), (a -> *), on the value itself and on its items.
struct AliasInfo {
  std::vector<std::string> before;  // sets when the call begins, as written; "*" is whatever there is
  std::vector<std::string> after;   // sets afterwards, as a rule the same
  bool write = false;               // (a!): the call changes it
  std::vector<AliasInfo> items;     // Tensor(a!)[]: of a list, dict, tuple, future; empty: nothing is said of any
  bool empty() const { return before.empty() && items.empty(); }
  friend bool operator==(const AliasInfo&, const AliasInfo&) = default;
};
std::string to_string(const AliasInfo& a);  // "(a! -> *)" of the value itself; "" where nothing is said

struct TypeSyntaxError : ValueError {
  TypeSyntaxError(const std::string& what, size_t at) : ValueError(what), at(at) {}
  size_t at;  // in the text, of the character that does not fit
};

struct ClassNames {                                       // who knows classes by name
  virtual TypeRef find_class(std::string_view name) = 0;  // null: unknown here
 protected:
  ~ClassNames() = default;
};

struct TypeSyntax {
  bool schema = false;            // Tensor(a!) is a mark and int[2] has a length; else Tensor(2, 3) tells sizes
  ClassNames* classes = nullptr;  // null, or unknown to it: a class of that name only
};

// The type that begins at text[at]; leaves `at` behind it.
TypeRef parse_type(std::string_view text, size_t& at, const TypeSyntax& syntax, AliasInfo* alias = nullptr);
TypeRef parse_type(std::string_view text);  // nothing may follow

// A type without items by its name in any spelling; null if there is none.
TypeRef find_simple_type(std::string_view name);

}  // namespace fc
