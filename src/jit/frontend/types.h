// SPDX-License-Identifier: Apache-2.0
// What a source says of types, and of a function's signature.
#pragma once
#include "dispatch/schema.h"
#include "jit/frontend/sugared.h"
#include "jit/frontend/tree.h"

namespace fc::jit {

// Throws a located error where the expression names no type.
TypeRef type_of_expression(const Tree& e, Resolver& names);
// The type for an annotation that is an option of a param; nothing: Tensor, `inferred`.
TypeRef annotated_type(const Tree& option, Resolver& names, bool* inferred = nullptr, int* length = nullptr);
Parameter make_parameter(std::string name, TypeRef type);

}  // namespace fc::jit
