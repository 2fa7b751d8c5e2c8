// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/subgraph.h"

#include <algorithm>

#include "jit/ir/alias.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

// One graph's groups of one kind.
class Groups {
 public:
  Groups(Graph& g, Symbol kind, size_t smallest, AliasDb& aliases, const std::function<bool(const Node&)>& accepts,
         bool split_at_effects)
      : graph_(g),
        kind_(kind),
        smallest_(smallest),
        aliases_(aliases),
        accepts_(accepts),
        split_at_effects_(split_at_effects) {}

  std::vector<Node*> run() {
    std::vector<Block*> blocks{graph_.block()};
    for_each_node(*graph_.block(),
                  [&](Node* n) { blocks.insert(blocks.end(), n->blocks().begin(), n->blocks().end()); });
    for (size_t i = blocks.size(); i-- > 0;) slice(*blocks[i]);
    std::vector<Node*> out;
    for (Block* b : blocks)
      for (Node *n = b->first(), *next = nullptr; n != b->end(); n = next) {
        next = n->next();
        if (n->kind() != kind_) continue;
        if (operations_of(subgraph_of(*n)) < smallest_) dissolve_group(n, &aliases_);
        else out.push_back(n);
      }
    return out;
  }

 private:
  bool takes(const Node& n) const { return n.kind() == kind_ || (!n.is(prim_Constant) && accepts_(n)); }

  // Stretches between side effects, the last first; within one from its end, until nothing changes.
  void slice(Block& b) {
    std::vector<std::pair<Node*, Node*>> stretches;  // first node not in it, and the node behind it
    Node* end = b.end();
    for (Node* n = b.last(); n != b.end(); n = n->prev())
      if (split_at_effects_ && n->has_side_effects()) {
        stretches.emplace_back(n, end);
        end = n;
      }
    stretches.emplace_back(b.end(), end);
    for (const auto& [before, behind] : stretches)
      for (bool changed = true; changed;) {
        changed = false;
        for (Node* n = behind->prev(); n != before;) {
          Node* merged = grow(n);
          changed = changed || merged;
          n = merged ? merged : n->prev();
        }
      }
  }

  // The group of `n` after it took one of what feeds it; null: it took none. `n` becomes a group.
  Node* grow(Node*& n) {
    if (!takes(*n)) return nullptr;
    if (n->kind() != kind_) n = make_group(n, kind_, aliases_);
    std::vector<Node*> feeds;
    for (const Value* v : n->inputs())
      if (v->node()->owning_block() == n->owning_block() && v->node()->in_list() && !v->node()->is(prim_Param))
        feeds.push_back(v->node());
    std::ranges::sort(feeds, [](const Node* a, const Node* b) { return a != b && a->is_after(b); });
    feeds.erase(std::unique(feeds.begin(), feeds.end()), feeds.end());
    for (Node* feed : feeds) {
      if (!takes(*feed) || !aliases_.move_before(feed, n)) continue;
      merge_into_group(feed, n, aliases_);
      return n;
    }
    return nullptr;
  }

  Graph& graph_;
  Symbol kind_;
  size_t smallest_;
  AliasDb& aliases_;
  const std::function<bool(const Node&)>& accepts_;
  const bool split_at_effects_;
};

}  // namespace

Graph& subgraph_of(const Node& group) {
  const auto* g = group.get<Ref<Graph>>(attr_Subgraph);
  FC_CHECK(g, group.kind(), " without a Subgraph");
  return **g;
}

size_t operations_of(const Graph& g) {
  size_t n = 0;
  for_each_node(*g.block(), [&](const Node* node) { n += !node->is(prim_Constant); });
  return n;
}

Node* make_group(Node* n, Symbol kind, AliasDb& aliases) {
  Graph& g = n->graph();
  Node* group = g.create(kind, 0)->insert_before(n);
  group->copy_metadata(*n);
  group->set(attr_Subgraph, Graph::make());
  merge_into_group(n, group, aliases);
  return group;
}

void merge_into_group(Node* n, Node* group, AliasDb& aliases) {
  if (n->kind() == group->kind()) {
    Node* last = group->prev();
    Node* first = n->prev();
    dissolve_group(n, &aliases);
    // The last first: each feeds only what is in already.
    std::vector<Node*> inner;
    for (Node* at = first->next(); at != group; at = at->next()) {
      inner.push_back(at);
      if (at == last) break;
    }
    for (size_t i = inner.size(); i-- > 0;) {
      if (!inner[i]->is(prim_Constant)) merge_into_group(inner[i], group, aliases);
      else if (!inner[i]->has_uses()) inner[i]->destroy();
    }
    return;
  }
  Graph& sub = subgraph_of(*group);
  Graph::ValueMap map;
  for (size_t i = 0; i < group->num_inputs(); ++i) map[group->input(i)] = sub.inputs()[i];
  InsertAt front(sub.block()->first());
  auto need = [&](Value* v) {
    if (map.contains(v)) return;
    if (v->node()->is(prim_Constant) && !v->type()->is(TypeKind::Function)) {
      map[v] = sub.insert(sub.create_clone(v->node(), map))->output();
      return;
    }
    map[v] = sub.add_input()->copy_metadata(*v);
    group->add_input(v);
  };
  for (Value* v : n->inputs()) need(v);
  // What its blocks read from outside of it.
  for (Block* b : n->blocks()) {
    auto outside = [&](Value* v) {
      for (const Node* at = v->node(); at; at = at->owning_block() ? at->owning_block()->owning_node() : nullptr)
        if (at == n) return false;
      return true;
    };
    auto look = [&](Node* at) {
      for (Value* v : at->inputs())
        if (outside(v)) need(v);
    };
    for_each_node(*b, [&](Node* inner) {
      look(inner);
      for (Block* deeper : inner->blocks()) look(deeper->return_node());
    });
    look(b->return_node());
  }
  Node* copy = sub.insert(sub.create_clone(n, map));
  for (size_t i = 0; i < n->num_outputs(); ++i) {
    Value *old = n->output(i), *own = copy->output(i);
    for (size_t k = group->num_inputs(); k-- > 0;)
      if (group->input(k) == old) {
        sub.inputs()[k]->replace_uses_with(own);
        group->remove_input(k);
        sub.block()->erase_input(k);
      }
    if (!old->has_uses()) continue;
    sub.register_output(own);
    Value* seen = group->add_output()->copy_metadata(*old);
    aliases.replace_with_new(old, seen);
    old->replace_uses_with(seen);
  }
  aliases.forget(n);
  n->destroy();
}

void dissolve_group(Node* group, AliasDb* aliases) {
  Graph& g = group->graph();
  InsertAt here(group);
  const std::vector<Value*> inputs = group->inputs();
  const std::vector<Value*> results = g.insert_graph(subgraph_of(*group), inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (aliases) aliases->replace_with_new(group->output(i), results[i]);
    if (group->output(i)->has_name()) results[i]->set_name(group->output(i)->name());
    group->output(i)->replace_uses_with(results[i]);
  }
  if (aliases) aliases->forget(group);
  group->destroy();
}

std::vector<Node*> make_groups(Graph& g, Symbol kind, size_t smallest, AliasDb& aliases,
                               const std::function<bool(const Node&)>& accepts, bool split_at_effects) {
  return Groups(g, kind, smallest, aliases, accepts, split_at_effects).run();
}

}  // namespace fc::jit
