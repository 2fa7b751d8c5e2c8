// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/create_autodiff_subgraphs.h"

#include <algorithm>

#include "dispatch/operator.h"
#include "jit/ir/alias.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/passes/subgraph.h"

namespace fc::jit {
namespace {

constexpr size_t kWorthKeeping = 5;  // of inline_autodiff_subgraphs

constexpr std::string_view differentiable[] = {
#define OPERATOR(name) name,
#include "jit/passes/differentiable.def"
#undef OPERATOR
};

bool complete(const Value* v) {
  const TensorFacts* f = v->type()->is(TypeKind::Tensor) ? v->type()->facts() : nullptr;
  auto known = [](const auto& list) {
    return list && std::ranges::all_of(*list, [](const auto& s) { return s && *s >= 0; });
  };
  return f && f->dtype && f->device && known(f->sizes) && known(f->strides);
}

// Outputs of a group that share memory with one of its inputs: gradients of such pairs would not meet. Their nodes go
// behind the group again.
bool give_back_views(Graph& g, Node* group) {
  const Ref<Graph> kept(&subgraph_of(*group));
  Graph& sub = *kept;
  AliasDb aliases(sub);
  for (size_t i = 0; i < group->num_outputs(); ++i) {
    Node* n = sub.outputs()[i]->node();
    if (n->is(prim_Param) || n->owning_block() != sub.block()) continue;
    const bool shared =
        std::ranges::any_of(sub.inputs(), [&](const Value* in) { return aliases.may_alias(sub.outputs()[i], in); });
    if (!shared) continue;
    // Only what nothing else in the group reads can go.
    const auto returned = [&](const Use& u) { return u.user == sub.return_node(); };
    if (!std::ranges::all_of(n->output(0)->uses().copy(), returned) || n->num_outputs() != 1) continue;
    Graph::ValueMap map;
    for (Value* v : n->inputs()) {
      if (v->node()->is(prim_Constant)) {
        InsertAt behind(group->next());
        map[v] = g.insert(g.create_clone(v->node(), map))->output();
      } else if (v->node()->is(prim_Param)) {
        map[v] = group->input(v->offset());
      } else {
        const auto outputs = sub.outputs();
        const auto at = static_cast<size_t>(std::ranges::find(outputs, v) - outputs.begin());
        if (at == outputs.size()) {
          sub.register_output(v);
          group->add_output()->copy_metadata(*v);
        }
        map[v] = group->output(at);
      }
    }
    InsertAt behind(group->next());
    Node* copy = g.insert(g.create_clone(n, map));
    group->output(i)->replace_uses_with(copy->output());
    group->erase_output(i);
    sub.block()->erase_output(i);
    n->destroy();
    return true;
  }
  return false;
}

}  // namespace

bool is_differentiable(const Node& n) {
  if (is_any(n.kind(), prim_Constant, prim_AutogradZero, prim_ConstantChunk, prim_profile)) return true;
  if (n.is(prim_GradOf))
    return std::ranges::all_of(n.block(0)->nodes(), [](const Node* i) { return is_differentiable(*i); });
  const Operator* op = n.find_operator();
  if (!op) return false;
  if (n.is(aten_dropout) && n.num_inputs() == 3) return constant_bool(n.input(2)).value_or(false);
  if (op->name() == "aten::expand")
    return n.num_inputs() == 3 && complete(n.input(0)) && constant_of(n.input(1)) && constant_of(n.input(2));
  return std::ranges::binary_search(differentiable, op->name());
}

std::vector<Node*> create_autodiff_subgraphs(Graph& g, size_t smallest) {
  AliasDb aliases(g);
  std::vector<Node*> groups = make_groups(g, prim_DifferentiableGraph, smallest, aliases, is_differentiable, true);
  std::vector<Node*> out;
  for (Node* group : groups) {
    while (give_back_views(g, group)) {}
    if (operations_of(subgraph_of(*group)) < smallest) dissolve_group(group);
    else out.push_back(group);
  }
  return out;
}

bool create_autodiff_subgraphs(Graph& g, PassContext& context) {
  return context.allowed() && !create_autodiff_subgraphs(g, context.smallest).empty();
}

bool inline_autodiff_subgraphs(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!n->is(prim_DifferentiableGraph) || operations_of(subgraph_of(*n)) >= kWorthKeeping || !context.allowed())
      continue;
    dissolve_group(n);
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
