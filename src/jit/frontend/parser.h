// SPDX-License-Identifier: Apache-2.0
// Text of the language as trees, the same that Python's own parser leads to. Throws located errors; depth is bounded.
#pragma once
#include <string>
#include <vector>

#include "jit/frontend/tree.h"

namespace fc::jit {

std::vector<TreeRef> parse_program(Ref<Source> source);  // functions and classes, one after the other
TreeRef parse_expression(Ref<Source> source);            // and nothing behind it
TreeRef parse_type_comment(const std::string& text);     // "# type: (int, Tensor) -> Tensor" as a Decl
// The parameters of `decl` with the types of a comment; `method`: the comment does not speak of self.
TreeRef merge_type_comment(const Tree& decl, const Tree& comment, bool method);

}  // namespace fc::jit
