// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/specialize_autogradzero.h"

#include <algorithm>
#include <unordered_map>

#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

enum class State : uint8_t { Unknown, Zero, Nonzero };

}  // namespace

bool specialize_autogradzero(Graph& g, PassContext& context) {
  std::unordered_map<const Value*, State> states;
  for (const Value* v : g.inputs()) {
    const TensorFacts* f = v->type()->facts();
    if (f && f->undefined) states[v] = *f->undefined ? State::Zero : State::Nonzero;
  }
  bool changed = false;
  for (Node *n = g.block()->first(), *next = nullptr; n != g.block()->end(); n = next) {
    next = n->next();
    auto all = [&](State s) {
      const std::vector<Value*> inputs = n->inputs();
      return std::ranges::all_of(inputs, [&](const Value* v) { return states[v] == s; });
    };
    if (n->is(prim_AutogradZero)) {
      states[n->output(0)] = State::Zero;
    } else if (n->is(prim_AutogradAdd) && n->num_inputs() == 2) {
      for (size_t zero : {0, 1})
        if (states[n->input(zero)] == State::Zero && n->output(0)->has_uses() && context.allowed()) {
          states[n->output(0)] = states[n->input(1 - zero)];
          n->output(0)->replace_uses_with(n->input(1 - zero));
          changed = true;
        }
      if (all(State::Nonzero)) states[n->output(0)] = State::Nonzero;
    } else if (n->is(prim_GradOf) && n->blocks().size() == 1 && (all(State::Zero) || all(State::Nonzero))) {
      if (!context.allowed()) continue;
      Block* body = n->block(0);
      InsertAt here(n);
      if (all(State::Zero)) {
        TensorFacts facts;
        facts.undefined = true;
        Value* zero = g.insert(g.create(prim_AutogradZero))->output()->set_type(tensor_type(facts));
        states[zero] = State::Zero;
        for (Value* v : n->outputs()) v->replace_uses_with(zero);
      } else {
        while (!body->empty()) body->first()->move_before(n);
        for (size_t i = 0; i < n->num_outputs(); ++i) {
          states[body->output(i)] = State::Nonzero;
          n->output(i)->replace_uses_with(body->output(i));
        }
      }
      n->destroy();
      changed = true;
    }
  }
  return changed;
}

}  // namespace fc::jit
