// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/decompositions.h"

#include <map>
#include <mutex>
#include <string>

#include "dispatch/operator.h"
#include "jit/ir/graph.h"
#include "jit/ir/parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

// Of the mean along dimensions, squares of what differs from it, divided by as many as are free.
constexpr const char* of_all = R"(graph(%x : Tensor, %unbiased : bool):
  %none : NoneType = prim::Constant()
  %yes : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %mean : Tensor = aten::mean(%x, %none)
  %off : Tensor = aten::sub(%x, %mean, %one)
  %square : Tensor = aten::mul(%off, %off)
  %sum : Tensor = aten::sum(%square, %none)
  %n : int = aten::numel(%x)
  %bound : int = aten::Int(%unbiased)
  %left : int = aten::sub(%n, %bound)
  %free : int = prim::max(%left, %zero)
  %y : Tensor = aten::div(%sum, %free)
  return (%y))";
constexpr const char* of_dims = R"(graph(%x : Tensor, %dim : int[]?, %correction : Scalar?, %keepdim : bool):
  %none : NoneType = prim::Constant()
  %yes : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %mean : Tensor = aten::mean(%x, %dim, %yes, %none)
  %off : Tensor = aten::sub(%x, %mean, %one)
  %square : Tensor = aten::mul(%off, %off)
  %sum : Tensor = aten::sum(%square, %dim, %keepdim, %none)
  %all : int = aten::numel(%x)
  %kept : int = aten::numel(%mean)
  %some : int = prim::max(%kept, %one)
  %n : int = aten::floordiv(%all, %some)
  %default : bool = aten::__is__(%correction, %none)
  %bound : float = prim::If(%default)
    block0():
      %1 : float = aten::Float(%one)
      -> (%1)
    block1():
      %given : Scalar = aten::_unwrap_optional(%correction)
      %2 : float = aten::Float(%given)
      -> (%2)
  %left : float = aten::sub(%n, %bound)
  %free : float = prim::max(%left, %zero)
  %y : Tensor = aten::div(%sum, %free)
  return (%y))";

struct Registry {
  std::mutex lock;
  std::map<std::string, Ref<Graph>, std::less<>> graphs;  // by the operator's full name
};
Registry& registry() {
  static auto* r = [] {
    auto* made = new Registry;
    made->graphs["aten::var"] = parse_graph(of_all);
    made->graphs["aten::var.correction"] = parse_graph(of_dims);
    return made;
  }();
  return *r;
}

}  // namespace

Ref<Graph> decomposition_of(const Node& n) {
  const Operator* op = n.find_operator();
  if (!op) return {};
  Registry& r = registry();
  std::lock_guard hold(r.lock);
  const auto found = r.graphs.find(op->name());
  return found == r.graphs.end() ? Ref<Graph>() : found->second;
}

void register_decomposition(std::string_view schema, Ref<Graph> g) {
  const Schema s = parse_schema(schema);
  FC_CHECK(s.parameters.size() == g->inputs().size() && s.returns.size() == g->outputs().size(),
           "a decomposition takes and gives what ", s.full_name(), " does");
  Registry& r = registry();
  std::lock_guard hold(r.lock);
  r.graphs[s.full_name()] = std::move(g);
}

bool run_decompositions(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const Ref<Graph> body = decomposition_of(*n);
    if (!body || body.get() == &g || body->inputs().size() != n->num_inputs() || !context.allowed()) continue;
    InsertAt here(n);
    const std::vector<Value*> out = g.insert_graph(*body, n->inputs());
    for (size_t i = 0; i < out.size(); ++i) n->output(i)->replace_uses_with(out[i]);
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
