// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower_grad_of.h"

#include "jit/passes/pass.h"

namespace fc::jit {

bool lower_grad_of(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = g.block()->first(), *next = nullptr; n != g.block()->end(); n = next) {
    next = n->next();
    if (!n->is(prim_GradOf) || n->blocks().size() != 1 || !context.allowed()) continue;
    InsertAt here(n);
    std::vector<Value*> gradients = n->inputs();
    Node* any = g.insert(g.create(prim_AutogradAnyNonZero, gradients));
    any->output()->set_type(simple_type(TypeKind::Int));
    Value* cond = any->output();
    Node* branch = g.insert(g.create(prim_If, std::span<Value* const>(&cond, 1), n->num_outputs()));
    Block *some = branch->add_block(), *none = branch->add_block();
    Graph::ValueMap map;
    g.clone_into(some, n->block(0), map);
    {
      InsertAt inside(none);
      Value* zero = g.insert(g.create(prim_AutogradZero))->output();
      TensorFacts facts;
      facts.undefined = true;
      zero->set_type(tensor_type(facts));
      for (size_t i = 0; i < n->num_outputs(); ++i) none->register_output(zero);
    }
    for (size_t i = 0; i < n->num_outputs(); ++i) {
      branch->output(i)->copy_metadata(*n->output(i));
      n->output(i)->replace_uses_with(branch->output(i));
    }
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
