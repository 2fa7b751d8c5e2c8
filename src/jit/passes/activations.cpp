// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/activations.h"

#include <algorithm>
#include <array>

#include "jit/ir/alias.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

constexpr std::array<std::string_view, 15> names = {
    "aten::hardsigmoid", "aten::hardtanh", "aten::hardswish", "aten::relu", "aten::relu6",
    "aten::leaky_relu",  "aten::silu",     "aten::sigmoid",   "aten::tanh", "aten::elu",
    "aten::selu",        "aten::celu",     "aten::rrelu",     "aten::mish", "aten::threshold"};

bool is_activation(std::string_view name) { return std::ranges::find(names, name) != names.end(); }

void replace(Node* n, std::string_view name) {
  Graph& g = n->graph();
  std::vector<Value*> inputs = n->inputs();
  Node* made = g.create(Symbol::of(name), inputs)->insert_before(n);
  made->copy_metadata(*n);
  made->output()->copy_metadata(*n->output(0));
  n->output(0)->replace_uses_with(made->output());
  n->destroy();
}

}  // namespace

bool activations_functional(Graph& g, PassContext& context) {
  bool changed = false;
  std::unique_ptr<AliasDb> aliases;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const std::string_view name = n->kind().text();
    if (!name.ends_with('_') || !is_activation(name.substr(0, name.size() - 1)) || n->num_outputs() != 1) continue;
    // Who reads the overwritten tensor itself would see the old numbers.
    Value* self = n->input(0);
    bool read = false;
    for (const Use& u : self->uses()) read = read || (u.user != n && u.user->is_after(n));
    if (!aliases) aliases = std::make_unique<AliasDb>(g);
    std::vector<Value*> outputs = g.outputs();
    if (read || aliases->may_contain_alias(g.inputs(), {&self, 1}) || !context.allowed()) continue;
    replace(n, name.substr(0, name.size() - 1));
    aliases.reset();
    changed = true;
  }
  return changed;
}

bool activations_in_place(Graph& g, PassContext& context) {
  bool changed = false;
  std::unique_ptr<AliasDb> aliases;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const std::string_view name = n->kind().text();
    if (!is_activation(name) || n->num_outputs() != 1 || n->num_inputs() == 0) continue;
    Value* self = n->input(0);
    if (self->uses().size() != 1 || self->node()->is(prim_Param) || self->node()->is(prim_Constant)) continue;
    if (!aliases) aliases = std::make_unique<AliasDb>(g);
    if (aliases->escapes_scope({&self, 1}) || aliases->has_writers(self) || !context.allowed()) continue;
    // Same type, or the result would not fit: only where it is known.
    const TensorFacts* f = self->type()->facts();
    if (!f || !f->dtype || !is_floating(*f->dtype)) continue;
    replace(n, std::string(name) + "_");
    aliases.reset();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
