// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/inliner.h"

#include "jit/ir/print.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/run/function.h"

namespace fc::jit {
namespace {

// The calls that led to a node of the callee, seen from where the callee is put: those that led to the call, the call
// itself, and those that led to the node within the callee.
class Sites {
 public:
  Sites(const Node& call, const Function& callee) : call_(call), name_(callee.name()) {}

  Ref<CallSite> from(const Ref<CallSite>& inner) {
    Ref<CallSite>& made = made_[inner.get()];
    if (made) return made;
    std::vector<const CallSite*> outer;
    for (const CallSite* s = call_.call_site().get(); s; s = s->callee.get()) outer.push_back(s);
    made = make_ref<CallSite>();
    made->function = name_;
    made->range = call_.range();
    made->callee = inner;
    for (size_t i = outer.size(); i-- > 0;) {
      auto around = make_ref<CallSite>();
      around->function = outer[i]->function;
      around->range = outer[i]->range;
      around->callee = std::move(made);
      made = std::move(around);
    }
    return made;
  }

 private:
  const Node& call_;
  std::string name_;
  std::unordered_map<const CallSite*, Ref<CallSite>> made_;
};

void put(Graph& g, Node* call, const Function& callee) {
  const Ref<Graph> held = callee.optimized_graph();
  const Graph& body = *held;
  InsertAt here(call);
  const size_t first = call->is(prim_CallFunction) ? 1 : 0;
  const std::vector<Value*> inputs = call->inputs();
  Node* before = call->prev();
  const std::vector<Value*> results = g.insert_graph(body, std::span(inputs).subspan(first));
  Sites sites(*call, callee);
  for (Node* n = before->next(); n != call; n = n->next()) {
    n->set_call_site(sites.from(n->call_site()));
    for (Block* b : n->blocks())
      for_each_node(*b, [&](Node* inner) { inner->set_call_site(sites.from(inner->call_site())); });
  }
  if (call->num_outputs() == 1) {
    Value* result = results.size() == 1 ? results[0] : g.insert(g.create_tuple(results))->output();
    if (call->output()->has_name()) result->set_name(call->output()->name());
    call->output()->replace_uses_with(result);
  }
  call->destroy();
}

}  // namespace

bool inline_calls(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const Function* callee = callee_of(*n);
    if (!callee || !context.allowed()) continue;
    context.update(n->is(prim_CallFunction) ? "Inlining function '" : "Inlining method '", callee->name(), "' to ",
                   node_line(*n));
    put(g, n, *callee);
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
