// SPDX-License-Identifier: Apache-2.0
// Graphs from text: all that the printer prints, and what PyTorch's parse_ir takes. Nesting is read off `block0(…):`
// and `->`, never off the indentation, so it may be of any depth.
//
// What text leaves out is refused, unless `tensor_constants`: then <Tensor> and {2} are tensors of the declared type.
#pragma once
#include <string_view>
#include <unordered_map>

#include "jit/ir/graph.h"

namespace fc::jit {

// Throws ParseError, which names line and column and shows them; a graph that breaks a rule of check.h is refused too.
Ref<Graph> parse_graph(std::string_view text, bool tensor_constants = false);
// The same; `values` becomes what every name stood for last.
Ref<Graph> parse_graph(std::string_view text, std::unordered_map<std::string, Value*>& values, bool tensor_constants);

struct ParseError : Error {
  using Error::Error;
};

}  // namespace fc::jit
