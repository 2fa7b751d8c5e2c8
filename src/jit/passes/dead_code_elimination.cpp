// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/dead_code_elimination.h"

#include <algorithm>
#include <memory>

#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit/ir/alias.h"
#include "jit/ir/operators.h"
#include "jit/ir/serials.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

// Loops within loops are walked until nothing new is live; from here on inwards all is taken for live.
constexpr size_t deepest_loop = 16;

class DeadCode {
 public:
  DeadCode(Graph& g, PassContext& context, bool use_aliases)
      : graph_(g), context_(context), use_aliases_(use_aliases) {}

  bool run() {
    // Nothing is written in most graphs, and then nobody asks who shares what.
    for_each_node(*graph_.block(), [&](Node* n) { note_effects(n); });
    for (Value* v : graph_.outputs()) make_live(v);
    mark_block(graph_.block());
    return sweep();
  }

 private:
  void note_effects(Node* n) {
    if (context_.effects || !(n->has_side_effects() || (!use_aliases_ && writes(n)))) return;
    for (Node* up = n; up && effects_.insert(up->serial());) up = up->owning_block()->owning_node();
  }

  static bool writes(const Node* n) {
    if (n->is(prim_SetAttr)) return true;
    const Operator* op = n->find_operator();
    return op && std::ranges::any_of(op->schema().parameters, [](const Parameter& p) {
             const AliasInfo marks = marks_of(p);
             return marks.write || std::ranges::any_of(marks.items, &AliasInfo::write);
           });
  }

  AliasDb& aliases() {
    if (!aliases_) aliases_ = std::make_unique<AliasDb>(graph_);
    return *aliases_;
  }

  void make_live(Value* v) {
    if (live_.insert(v->serial())) live_values_.push_back(v);
  }

  bool mark(Node* n) {
    if (!marked_.insert(n->serial())) return false;
    // With it what stands around it.
    for (Node* up = n; up; up = up->owning_block() ? up->owning_block()->owning_node() : nullptr) {
      if (up != n && !marked_.insert(up->serial())) break;
      for (Value* v : up->inputs()) make_live(v);
    }
    return true;
  }

  bool mark_if_live(Node* n) {
    for (Value* v : n->outputs())
      if (live_.contains(v->serial())) return mark(n);
    if (!use_aliases_ || marked_.contains(n->serial()) || !aliases().is_mutable(n)) return false;
    return aliases().writes_to_alias(n, live_values_) && mark(n);
  }

  bool has_effect(Node* n) {
    return effects_.contains(n->serial()) ||
           (use_aliases_ && aliases().is_mutable(n) && aliases().writes_to_wildcard(n));
  }

  // What a block gives is needed where its node's outputs are.
  bool mark_results(Block* b) {
    if (!marked_.insert(b->return_node()->serial())) return false;
    Node* owner = b->owning_node();
    if (!owner) return true;
    if (owner->is(prim_Loop)) {
      make_live(b->output(0));
      for (size_t i = 0; i < owner->num_outputs(); ++i)
        if (live_.contains(owner->output(i)->serial()) || b->inputs()[i + 1]->has_uses()) make_live(b->output(i + 1));
    } else {
      for (size_t i = 0; i < b->num_outputs(); ++i)
        if (i >= owner->num_outputs() || live_.contains(owner->output(i)->serial())) make_live(b->output(i));
    }
    return true;
  }

  // Backwards through a block; the bodies of loops again until nothing new is marked.
  bool mark_block(Block* top) {
    struct Frame {
      Block* block;
      Node* at;      // next to be marked, backwards
      Node* inside;  // whose blocks are being marked
      size_t child;
      bool marked;  // something in this block
      size_t loops;
    };
    std::vector<Frame> stack;
    auto open = [&](Block* b, size_t loops) {
      Frame f{b, b->last(), nullptr, 0, false, loops};
      for (Node* n = b->first(); n != b->end(); n = n->next())
        if (has_effect(n)) f.marked |= mark(n);
      f.marked |= mark_results(b);
      stack.push_back(f);
    };
    bool any = false;
    open(top, 0);
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.inside) {
        if (f.child < f.inside->blocks().size()) {
          Node* n = f.inside;
          const size_t loops = f.loops + n->is(prim_Loop);
          if (loops > deepest_loop) {
            for_each_node(*n->block(f.child), [&](Node* inner) {
              mark(inner);
              for (Block* b : inner->blocks()) all_results(b);
            });
            all_results(n->block(f.child++));
            f.marked = true;
            continue;
          }
          open(n->block(f.child++), loops);
          continue;
        }
        f.marked |= mark_if_live(f.inside);
        f.at = f.inside->prev();
        f.inside = nullptr;
      } else if (f.at != f.block->end()) {
        if (f.at->blocks().empty()) {
          f.marked |= mark_if_live(f.at);
          f.at = f.at->prev();
        } else {
          f.inside = f.at;
          f.child = 0;
        }
      } else {
        const bool marked = f.marked;
        any |= marked;
        stack.pop_back();
        if (stack.empty()) break;
        Frame& around = stack.back();
        around.marked |= marked;
        if (marked && around.inside->is(prim_Loop)) --around.child;  // once more
      }
    }
    return any;
  }
  void all_results(Block* b) {
    marked_.insert(b->return_node()->serial());
    for (Value* v : b->outputs()) make_live(v);
  }

  static bool drop_unread_outputs(Node* n) {
    bool changed = false;
    if (n->is(prim_If) || n->is(prim_GradOf)) {
      for (size_t i = n->num_outputs(); i-- > 0;)
        if (!n->output(i)->has_uses()) {
          n->erase_output(i);
          for (Block* b : n->blocks()) b->erase_output(i);
          changed = true;
        }
    } else if (n->is(prim_Loop)) {
      Block* body = n->block(0);
      for (size_t i = n->num_outputs(); i-- > 0;)
        if (!n->output(i)->has_uses() && !body->inputs()[i + 1]->has_uses()) {
          n->erase_output(i);
          n->remove_input(i + 2);
          body->erase_input(i + 1);
          body->erase_output(i + 1);
          changed = true;
        }
    }
    return changed;
  }

  // Backwards, so that users go before what they use; a node's unread outputs before its blocks.
  bool sweep() {
    bool changed = false;
    struct Frame {
      Block* block;
      Node* at;
      bool inside;
      size_t child;
    };
    std::vector<Frame> stack{{graph_.block(), graph_.block()->last(), false, 0}};
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.at == f.block->end()) {
        stack.pop_back();
        continue;
      }
      Node* n = f.at;
      if (!f.inside) {
        changed |= drop_unread_outputs(n);
        f.inside = true;
        f.child = 0;
      }
      if (f.child < n->blocks().size()) {
        Block* b = n->block(f.child++);
        stack.push_back({b, b->last(), false, 0});
        continue;
      }
      f.inside = false;
      f.at = n->prev();
      if (marked_.contains(n->serial()) || n->has_uses() || !context_.allowed()) continue;
      context_.update("Node ", n->kind(), " which outputs ", n->outputs().empty() ? "n/a" : n->output(0)->name(),
                      " will be removed");
      n->destroy();
      changed = true;
    }
    return changed;
  }

  Graph& graph_;
  PassContext& context_;
  bool use_aliases_;
  std::unique_ptr<AliasDb> aliases_;
  SerialSet effects_, marked_;  // nodes
  SerialSet live_;              // values
  std::vector<Value*> live_values_;
};

}  // namespace

bool eliminate_dead_code(Graph& g, PassContext& context) { return DeadCode(g, context, true).run(); }

bool eliminate_dead_code_without_aliases(Graph& g, PassContext& context) { return DeadCode(g, context, false).run(); }

bool eliminate_dead_code_with_effects(Graph& g, PassContext& context) {
  context.effects = true;
  return DeadCode(g, context, true).run();
}

}  // namespace fc::jit
