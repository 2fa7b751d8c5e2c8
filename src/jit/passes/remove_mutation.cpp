// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/remove_mutation.h"

#include "dispatch/operator.h"
#include "jit/ir/alias.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

// A value that nobody else can see before `n` changes it: it was made by the node right here, is read by nothing in
// between, and shares no memory.
class Mutations {
 public:
  Mutations(Graph& g, PassContext& context) : graph_(g), context_(context) { forget(); }

  bool lists() {
    bool changed = false;
    for (Node *n = walk_first(*graph_.block()), *next = nullptr; n; n = next) {
      next = walk_next(n, *graph_.block());
      if (!is_any(n->kind(), aten_append, aten_insert, aten__set_item) || n->num_inputs() < 2) continue;
      Node* made = n->input(0)->node();
      if (!made->is(prim_ListConstruct) || !owned(n, n->input(0)) || !context_.allowed()) continue;
      if (n->is(aten_append)) {
        made->add_input(n->input(1));
      } else {
        auto i = constant_int(n->input(1));
        const auto size = static_cast<int64_t>(made->num_inputs());
        if (!i || n->num_inputs() != 3) continue;
        const int64_t at = *i < 0 ? *i + size : *i;
        if (at < 0 || at >= size) continue;
        if (n->is(aten_insert)) made->insert_input(static_cast<size_t>(at), n->input(2));
        else made->replace_input(static_cast<size_t>(at), n->input(2));
      }
      // The list stands where it was complete.
      made->move_before(n);
      Value* list = made->output(0);
      if (n->num_outputs() == 1) n->output(0)->replace_uses_with(list);
      n->destroy();
      forget();
      changed = true;
    }
    return changed;
  }

  bool tensors() {
    bool changed = false;
    for (Node *n = walk_first(*graph_.block()), *next = nullptr; n; n = next) {
      next = walk_next(n, *graph_.block());
      const Operator* op = n->kind().space() == "aten" ? n->find_operator() : nullptr;
      if (!op || !op->is_in_place || n->num_outputs() != 1 || !n->kind().text().ends_with('_')) continue;
      Value* self = n->input(0);
      if (!self->type()->is(TypeKind::Tensor) || !owned(n, self)) continue;
      const std::string_view text = n->kind().text();
      const Symbol plain = Symbol::of(text.substr(0, text.size() - 1));
      Node* made = graph_.create(plain, 1);
      for (Value* v : n->inputs()) made->add_input(v);
      made->copy_metadata(*n);
      made->insert_before(n);
      if (!made->find_operator() || !context_.allowed()) {
        made->destroy();
        continue;
      }
      Value* result = made->output(0);
      result->set_type(n->output(0)->type());
      n->output(0)->replace_uses_with(result);
      self->replace_uses_after_with(n, result);
      n->destroy();
      forget();
      changed = true;
    }
    return changed;
  }

 private:
  AliasDb& aliases() {
    if (!aliases_) aliases_ = std::make_unique<AliasDb>(graph_);
    return *aliases_;
  }
  void forget() { aliases_.reset(); }

  bool owned(Node* n, Value* v) {
    Node* made = v->node();
    if (made->owning_block() != n->owning_block() || made->is(prim_Param) || made->is(prim_Constant)) return false;
    // It is memory of its own: no result of a view, no part of a container.
    for (const Value* in : made->inputs())
      if (aliases().may_alias(v, in)) return false;
    if (aliases().has_wildcard(v)) return false;
    for (const Value* in : graph_.inputs())
      if (aliases().may_alias(v, in)) return false;
    // Nobody reads it, and nothing that shares it, before it is changed.
    for (const Use& u : v->uses())
      if (u.user != n && !u.user->is_after(n)) return false;
    return aliases().could_move_before(made, n) || made->next() == n;
  }

  Graph& graph_;
  PassContext& context_;
  std::unique_ptr<AliasDb> aliases_;
};

}  // namespace

bool remove_list_mutation(Graph& g, PassContext& context) { return Mutations(g, context).lists(); }

bool remove_tensor_mutation(Graph& g, PassContext& context) { return Mutations(g, context).tensors(); }

bool remove_mutation(Graph& g, PassContext& context) {
  const bool lists = remove_list_mutation(g, context);
  return remove_tensor_mutation(g, context) || lists;
}

}  // namespace fc::jit
