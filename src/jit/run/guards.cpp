// SPDX-License-Identifier: Apache-2.0
#include "jit/run/guards.h"

#include "jit/ir/walk.h"
#include "jit/passes/subgraph.h"
#include "jit/run/function.h"
#include "jit/run/profile.h"

namespace fc::jit {
namespace {

// The nodes of a group as a function that gives a tuple.
Ref<Function> fallback_function(const Graph& region, int depth) {
  Ref<Graph> g = region.copy();
  remove_profile_nodes(*g->block(), false);
  for (Value* v : g->inputs()) v->set_type(v->type()->unshaped());
  for_each_node(*g->block(), [](Node* n) {
    for (Value* v : n->outputs()) v->set_type(v->type()->unshaped());
    for (Block* b : n->blocks())
      for (Value* v : b->inputs()) v->set_type(v->type()->unshaped());
  });
  g->set_insert_point(g->block());
  const std::vector<Value*> outputs = g->outputs();
  Value* tuple = g->insert(g->create_tuple(outputs))->output();
  for (size_t i = outputs.size(); i-- > 0;) g->block()->erase_output(i);
  g->register_output(tuple);
  auto f = make_ref<Function>("fallback_function", std::move(g));
  f->set_depth(depth);
  return f;
}

const TypeRef* type_seen(const Value* v) {
  for (const Use& u : v->uses())
    if (u.user->is(prim_profile)) return u.user->get<TypeRef>(attr_profiled_type);
  return nullptr;
}

}  // namespace

void guard_group(Node* group, Symbol kind, std::span<const TypeRef> seen, std::span<const TypeRef> asked, int depth) {
  Graph& g = group->graph();
  const std::vector<Value*> inputs = group->inputs();
  Node* check = g.create(kind, 0);
  std::vector<TypeRef> types;
  std::vector<Value*> checked = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!seen[i]) continue;
    check->add_input(inputs[i]);
    types.push_back(asked[i]);
    checked[i] = check->add_output()->set_type(seen[i]);
  }
  check->set(attr_types, std::move(types));
  Value* ok = check->add_output()->set_type(simple_type(TypeKind::Bool));
  check->insert_before(group);
  Node* branch = g.create(prim_If, std::span<Value* const>(&ok, 1), 0);
  branch->insert_after(check);
  for (Value* v : group->outputs()) {
    Value* out = branch->add_output()->set_type(v->type()->unshaped());
    v->replace_uses_with(out);
  }
  Block* holds = branch->add_block();
  group->move_before(holds->return_node());
  for (size_t i = 0; i < inputs.size(); ++i) group->replace_input(i, checked[i]);
  for (Value* v : group->outputs()) holds->register_output(v);
  Block* otherwise = branch->add_block();
  {
    InsertAt here(otherwise);
    Value* f = insert_function(g, fallback_function(subgraph_of(*group), depth));
    f->node()->set_int(attr_fallback, 1);
    std::vector<Value*> operands{f};
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    std::vector<TypeRef> results;
    for (const Value* v : group->outputs()) results.push_back(v->type()->unshaped());
    Node* call = g.insert(g.create(prim_CallFunction, operands));
    call->output()->set_type(tuple_type(std::move(results)));
    Node* unpack = g.insert(g.create_tuple_unpack(call->output()));
    for (Value* v : unpack->outputs()) otherwise->register_output(v);
  }
}

bool guard_differentiable_graph(Node* group, int depth) {
  const std::vector<Value*> inputs = group->inputs();
  std::vector<TypeRef> seen(inputs.size()), asked(inputs.size());
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->type()->is(TypeKind::Tensor)) continue;
    const TypeRef* type = type_seen(subgraph_of(*group).inputs()[i]);
    const TensorFacts* facts = type ? (*type)->facts() : nullptr;
    if (!facts || !facts->requires_grad) {
      dissolve_group(group);
      return false;
    }
    TensorFacts only;
    only.requires_grad = facts->requires_grad;
    seen[i] = *type;
    asked[i] = tensor_type(only);
    inputs[i]->set_type(*type);
    any = true;
  }
  if (any) guard_group(group, prim_RequiresGradCheck, seen, asked, depth);
  return true;
}

void add_if_then_else(Block& top) {
  for (Node *n = walk_first(top), *next = nullptr; n; n = next) {
    next = walk_next(n, top);
    if (!n->is(prim_If) || n->num_outputs() != 1 || !n->block(0)->empty() || !n->block(1)->empty()) continue;
    Value* const operands[] = {n->input(), n->block(0)->output(0), n->block(1)->output(0)};
    Node* choice = n->graph().create(prim_IfThenElse, operands);
    choice->output()->copy_metadata(*n->output());
    choice->insert_before(n);
    n->replace_uses_with(choice);
    n->destroy();
  }
}

}  // namespace fc::jit
