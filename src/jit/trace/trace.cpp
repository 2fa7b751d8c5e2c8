// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/trace.h"

#include "jit/passes/pass.h"
#include "jit/trace/modules.h"

namespace fc::jit::trace {
Result trace(const Request& r) {
  auto state = make_ref<State>();
  state->strict = r.strict;
  state->force_out_of_place = r.force_out_of_place;
  Result out;
  {
    const Recording recording(state);
    Graph& g = *state->graph;
    if (r.self.tag() == Tag::Instance) know_module(*state, r.self);
    const bool named = r.argument_names.size() >= r.inputs.size();
    std::vector<fc::Value> inputs;
    for (size_t i = 0; i < r.inputs.size(); ++i) {
      Value* v = g.add_input(named ? std::string_view(r.argument_names[i]) : std::string_view());
      inputs.push_back(state->take_input(r.inputs[i], type_of(r.inputs[i]), v));
    }
    state->variable_name = r.variable_name;
    out.output = r.run(inputs);
    g.register_output(state->output_of(out.output, 1));
  }
  if (r.self.tag() == Tag::Instance) make_methods(*state->graph, r.self);
  else inline_modules(*state->graph);
  run_pass(*state->graph, *find_pass("NormalizeOps"));
  out.graph = state->graph;
  return out;
}

}  // namespace fc::jit::trace
