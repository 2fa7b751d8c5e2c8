// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/constant_propagation.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "jit/ir/alias.h"
#include "jit/ir/equal.h"
#include "jit/ir/print.h"
#include "jit/ir/walk.h"
#include "jit/passes/evaluate.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

std::string header(const Node& n) {  // without attributes
  std::string out;
  for (const Value* v : n.outputs()) out += str(out.empty() ? "" : ", ", "%", v->name(), " : ", graph_text(v->type()));
  out += str(" = ", n.kind(), "(");
  for (size_t i = 0; i < n.num_inputs(); ++i) out += str(i ? ", " : "", "%", n.input(i)->name());
  return out + ")";
}

class Propagator {
 public:
  Propagator(Graph& g, PassContext& context, bool all_types) : graph_(g), context_(context) {
    if (all_types) aliases_ = std::make_unique<AliasDb>(g);
  }

  bool run() {
    struct Frame {
      Block* block;
      Node* next;
      Node* inside;
      size_t child;
    };
    std::vector<Frame> stack{{graph_.block(), graph_.block()->first(), nullptr, 0}};
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.inside) {
        if (f.child < f.inside->blocks().size()) {
          Block* b = f.inside->block(f.child++);
          stack.push_back({b, b->first(), nullptr, 0});
          continue;
        }
        Node* n = f.inside;
        f.inside = nullptr;
        if (n->is(prim_If)) merge_if_outputs(n);
        else if (n->is(prim_Loop)) drop_unchanged_outputs(n);
        continue;
      }
      if (f.next == f.block->end()) {
        stack.pop_back();
        continue;
      }
      Node* n = f.next;
      f.next = n->next();
      bool constants = true;
      for (size_t i = 0; i < n->num_inputs(); ++i) constants = constants && n->input(i)->node()->is(prim_Constant);
      if (n->is(prim_If) && constants && constant_bool(n->input(0)) && context_.allowed()) {
        f.next = splice(n, n->block(*constant_bool(n->input(0)) ? 0 : 1));
      } else if (n->is(prim_Loop) && never_runs(n) && context_.allowed()) {
        context_.update("Removing unexecuted loop: ", context_.wants_updates() ? node_text(*n) : "",
                        "\ntripcount: ", header(*n->input(0)->node()),
                        " and start_cond: ", header(*n->input(1)->node()));
        for (size_t i = 0; i < n->num_outputs(); ++i) n->output(i)->replace_uses_with(n->input(i + 2));
        n->destroy();
        changed_ = true;
      } else if (!n->blocks().empty()) {
        f.inside = n;
        f.child = 0;
      } else if (constants && supported(n) && context_.allowed()) {
        fold(n);
      }
    }
    return changed_;
  }

 private:
  bool supported(Node* n) {
    if (is_any(n->kind(), prim_Closure, prim_Constant, prim_AutogradZero, prim_Uninitialized, prim_Guard, prim_profile,
               prim_profile_ivalue, prim_unchecked_unwrap_optional, prim_awaitable, prim_AutogradAdd))
      return false;
    if (aliases_) {
      if (aliases_->has_writers(n)) return false;
    } else {
      for (size_t i = 0; i < n->num_inputs(); ++i)
        if (alias_type(n->input(i)->type())) return false;
      for (const Value* v : n->outputs())
        if (alias_type(v->type())) return false;
    }
    return !n->has_side_effects() && !n->is_nondeterministic();
  }

  void fold(Node* n) {
    auto results = evaluate_constant_node(*n);
    if (!results) return;
    changed_ = true;
    InsertAt here(n);
    for (size_t i = 0; i < results->size(); ++i) {
      Value* made = graph_.try_insert_constant((*results)[i]);
      if (!made) continue;  // no constant holds it
      context_.update("Folding %", n->output(i)->name(), " with ", header(*made->node()));
      // A list of tensors does not tell that there might have been a None.
      if ((*results)[i].is_none() || !is_subtype(made->type(), n->output(i)->type()))
        made->set_type(n->output(i)->type());
      n->output(i)->replace_uses_with(made);
    }
  }

  // A block's nodes in place of its node; the first of what stands there now.
  Node* splice(Node* n, Block* body) {
    Node* first = body->empty() ? n->next() : body->first();
    while (!body->empty()) body->first()->move_before(n);
    for (size_t i = 0; i < n->num_outputs(); ++i) n->output(i)->replace_uses_with(body->output(i));
    n->destroy();
    changed_ = true;
    return first;
  }

  static bool never_runs(const Node* n) {
    return constant_int(n->input(0)).value_or(1) <= 0 || !constant_bool(n->input(1)).value_or(true);
  }

  void merge_if_outputs(Node* n) {
    Block *yes = n->block(0), *no = n->block(1);
    auto replace = [&](size_t i, Value* v) {
      n->output(i)->replace_uses_with(v);
      n->erase_output(i);
      yes->erase_output(i);
      no->erase_output(i);
      changed_ = true;
    };
    for (size_t i = 0; i < n->num_outputs();) {
      Value *a = yes->output(i), *b = no->output(i);
      if (a == b) {
        replace(i, a);
        continue;
      }
      auto constant = constant_of(a);
      if (constant && b->node()->is(prim_Constant) && equal_nodes(*a->node(), *b->node())) {
        InsertAt here(n);
        if (Value* made = graph_.try_insert_constant(*constant)) {
          made->set_type(a->type());
          replace(i, made);
          continue;
        }
      }
      ++i;
    }
  }

  void drop_unchanged_outputs(Node* n) {
    Block* body = n->block(0);
    for (size_t i = n->num_outputs(); i-- > 0;) {
      if (body->inputs()[i + 1] != body->output(i + 1)) continue;
      Value* given = n->input(i + 2);
      n->output(i)->replace_uses_with(given);
      body->inputs()[i + 1]->replace_uses_with(given);
      n->erase_output(i);
      n->remove_input(i + 2);
      body->erase_output(i + 1);
      body->erase_input(i + 1);
      changed_ = true;
    }
  }

  Graph& graph_;
  PassContext& context_;
  std::unique_ptr<AliasDb> aliases_;
  bool changed_ = false;
};

bool propagate(Graph& g, PassContext& context, bool all_types) {
  const bool changed = Propagator(g, context, all_types).run();
  if (changed) context.run("EliminateDeadCode", g);
  return changed;
}

}  // namespace

bool propagate_constants(Graph& g, PassContext& context) { return propagate(g, context, true); }

bool propagate_constants_of_immutable_types(Graph& g, PassContext& context) { return propagate(g, context, false); }

}  // namespace fc::jit
