// SPDX-License-Identifier: Apache-2.0
// Running a function and recording what it does: the graph of a trace, cleaned as PyTorch cleans it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/trace/state.h"

namespace fc::jit::trace {

struct Request {
  std::vector<fc::Value> inputs;  // tensors, and lists, tuples and dicts of such
  std::function<fc::Value(const std::vector<fc::Value>&)> run;
  std::function<std::string(const Tensor&)> variable_name;
  std::vector<std::string> argument_names;  // used if there are enough
  bool strict = true, force_out_of_place = false;
  fc::Value
      self;  // an object of a module's class: its attributes are known, and calls of its submodules become methods
};
struct Result {
  Ref<Graph> graph;
  fc::Value output;
};
// Throws what `run` throws, and Error for what no graph can say; nothing of the trace is left then.
Result trace(const Request& r);

}  // namespace fc::jit::trace
