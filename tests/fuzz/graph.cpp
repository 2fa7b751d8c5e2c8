// SPDX-License-Identifier: Apache-2.0
// Any text is either a graph, or an error of ours that says where it is none. A graph prints and reads back the same,
// and every pass leaves a graph or throws.
#include "jit/ir/graph.h"

#include <cstdlib>

#include "core/error.h"
#include "fuzz.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/passes/pass.h"
#include "runtime.h"

void fc::fuzz::graph(std::string_view text) {
  initialise();
  Ref<jit::Graph> g;
  try {
    g = jit::parse_graph(text, true);
  } catch (const Error&) { return; }
  if (text.find_first_of("<{") == text.npos) {  // numbers of tensors are printed rounded
    const std::string printed = g->text();
    if (jit::parse_graph(printed, true)->copy()->inputs().size() != g->inputs().size()) std::abort();
  }
  for (const jit::Pass* p : jit::all_passes()) {
    Ref<jit::Graph> copy = g->copy();
    try {
      jit::run_pass(*copy, *p);
    } catch (const Error&) { continue; }
    jit::check(*copy);
  }
}
