// SPDX-License-Identifier: Apache-2.0
// Operator signatures, in PyTorch's schema language:
//   add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
// A schema is the one statement about an operator from which argument parsing, error texts, alias rules, stubs and
// the TorchScript signature follow.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace fc {

class Type;
struct AliasInfo;

enum class Kind : uint8_t {
  Tensor,
  Scalar,  // any number
  Int,
  Float,
  Bool,
  Str,
  Device,
  DType,
  Layout,
  MemoryFormat,
  Generator,
  Any,  // TorchScript values that only the interpreter looks into
};

// What kernels and the matcher read of a parameter's type, without following pointers. core/type.h has the whole of it.
struct FlatType {
  Kind kind = Kind::Tensor;
  bool list = false;           // int[]
  int8_t length = 0;           // int[2]: a single int is accepted and repeated
  bool optional = false;       // the argument may be None
  bool optional_item = false;  // Tensor?[]
  friend bool operator==(const FlatType&, const FlatType&) = default;
};
std::string to_string(const FlatType& t);

// What a call does with a tensor, or with the tensors of a list. Marks of lists, dicts and other values concern nobody
// below TorchScript and are kept in Parameter::marks only.
struct Alias {
  char set = 0;        // 0: no alias
  bool write = false;  // (a!)
  bool all = false;    // (*): may alias anything
};

struct Parameter {
  std::string name;
  FlatType type;
  Alias alias;
  const Type* whole_type = nullptr;  // core/type.h; never null in a schema
  const AliasInfo* marks = nullptr;  // core/type_parse.h: as written; kept for ever; null: none
  bool keyword_only = false;
  bool has_default = false;
  Value default_value;

  void set_alias(char set, bool write);  // of the tensor, or of the tensors of the list
  void clear_alias();
};

struct Schema {
  std::string space;     // "aten"
  std::string name;      // "add_"
  std::string overload;  // "Tensor", or empty
  std::vector<Parameter> parameters;
  std::vector<Parameter> returns;  // name may be empty
  bool more_parameters = false;    // "...": any number of any type follow
  bool more_returns = false;

  std::string base_name() const { return space + "::" + name; }
  std::string full_name() const { return overload.empty() ? base_name() : base_name() + "." + overload; }
  int find(std::string_view parameter) const;  // index, or -1
  int find_alias(char set) const;              // the first parameter of this alias set, or -1
  size_t positional() const;                   // parameters that may be given by position
  bool mutates() const;                        // tensors
  bool is_out() const;                         // writes into keyword-only arguments
  bool is_in_place() const { return mutates() && !is_out(); }
  bool is_view() const;  // returns an alias of an argument without writing
};

// Throws ValueError with the position of the first character that does not fit. A missing namespace means aten.
Schema parse_schema(std::string_view text);
std::string to_string(const Schema& s);  // as PyTorch prints it; parse_schema(to_string(s)) gives s again
std::string dump(const Schema& s);       // for debuggers

}  // namespace fc
