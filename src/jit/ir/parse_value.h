// SPDX-License-Identifier: Apache-2.0
// Attributes and constants from text.
#pragma once
#include "jit/ir/attributes.h"
#include "jit/ir/lexer.h"

namespace fc::jit {

struct ValueContext {
  bool tensor_constants;  // <Tensor> and {2} are taken
  TypeRef declared;       // of the constant; null: not known
};

Attribute::Content parse_attribute(Lexer& lexer, const ValueContext& context);
TypeRef parse_type_here(Lexer& lexer);

}  // namespace fc::jit
