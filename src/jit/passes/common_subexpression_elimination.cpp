// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/common_subexpression_elimination.h"

#include <unordered_set>

#include "jit/ir/alias.h"
#include "jit/ir/equal.h"
#include "jit/ir/print.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

class Subexpressions final : public Visitor {
 public:
  Subexpressions(Graph& g, PassContext& context) : context_(context), aliases_(g), outputs_(g.outputs()) {}
  bool changed = false;

  void enter_block(Block*) override { marks_.push_back(order_.size()); }
  void leave_block(Block*) override {  // what it computed is not seen behind it
    for (; order_.size() > marks_.back(); order_.pop_back()) known_.erase(order_.back());
    marks_.pop_back();
  }
  bool enter(Node* n) override {
    if (n->is(prim_profile) || n->has_side_effects() || n->is_nondeterministic()) return true;
    if (!n->blocks().empty()) return true;
    if (aliases_.has_writers(n)) return false;
    auto [found, fresh] = known_.insert(n);
    if (fresh) {
      order_.push_back(n);
      return false;
    }
    Node* before = *found;
    // Results of the graph that are two stay two.
    if (escapes(n) && escapes(before)) return false;
    if (!context_.allowed()) return false;
    if (context_.wants_updates()) context_.update("Replacing\n", node_text(*n), "with\n", node_text(*before));
    n->replace_uses_with(before);
    n->destroy();
    return changed = true, false;
  }

 private:
  bool escapes(const Node* n) const { return aliases_.may_contain_alias(n->outputs(), outputs_); }

  PassContext& context_;
  AliasDb aliases_;
  std::vector<Value*> outputs_;
  std::unordered_set<Node*, NodeHash, NodeEqual> known_;
  std::vector<Node*> order_;
  std::vector<size_t> marks_;
};

}  // namespace

bool eliminate_common_subexpressions(Graph& g, PassContext& context) {
  Subexpressions s(g, context);
  walk(*g.block(), s);
  return s.changed;
}

}  // namespace fc::jit
