// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/create_functional_graphs.h"

#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/passes/subgraph.h"

namespace fc::jit {
namespace {

constexpr size_t kSmallest = 6;

// Nodes that may be in a group, found before there are any: with all that is in their blocks.
class Functional final : public Visitor {
 public:
  explicit Functional(const AliasDb& aliases) : aliases_(aliases) {}
  std::unordered_set<const Node*> nodes;

  bool enter(Node* n) override {
    open_.push_back(true);
    for (Value* v : n->outputs())
      if (aliases_.has_writers(v) || aliases_.escapes_scope({&v, 1})) open_.back() = false;
    if (aliases_.is_mutable(n)) open_.back() = false;
    return true;
  }
  void leave(Node* n) override {
    const bool ok = open_.back();
    open_.pop_back();
    if (ok) nodes.insert(n);
    else if (!open_.empty()) open_.back() = false;
  }

 private:
  const AliasDb& aliases_;
  std::vector<bool> open_;
};

}  // namespace

bool create_functional_graphs(Graph& g, PassContext& context) {
  if (!context.allowed()) return false;
  context.run("ConstantPooling", g);
  AliasDb aliases(g);
  Functional functional(aliases);
  walk(*g.block(), functional);
  // By serial: places of nodes that are gone are used again.
  std::unordered_set<uint64_t> serials;
  for (const Node* n : functional.nodes) serials.insert(n->serial());
  const Symbol kind = prim_FunctionalGraph;
  auto accepts = [&](const Node& n) { return serials.contains(n.serial()); };
  const std::vector<Node*> groups = make_groups(g, kind, kSmallest, aliases, accepts, false);
  const bool changed = !groups.empty();
  for (Node* group : groups) context.run("ConstantPooling", subgraph_of(*group));
  context.run("ConstantPooling", g);  // groups have copies, and leave them where they are dissolved
  return changed;
}

bool inline_functional_graphs(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!n->is(prim_FunctionalGraph) || !context.allowed()) continue;
    dissolve_group(n);
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
