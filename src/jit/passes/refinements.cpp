// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/refinements.h"

namespace fc::jit {
namespace {

Known both(const Known& a, const Known& b) {  // what either knows
  Known out = a;
  out.insert(b.begin(), b.end());
  return out;
}
Known common(const Known& a, const Known& b) {
  Known out;
  for (const auto& [v, n] : a)
    if (auto at = b.find(v); at != b.end() && at->second == n) out.emplace(v, n);
  return out;
}

}  // namespace

void Refiner::learn(const Known& k) {
  for (const auto& [v, n] : k) {
    open_.back().facts.push_back({v, find(v)});
    here_[v] = n;
  }
}

void Refiner::enter_block(Block* b) {
  open_.emplace_back();
  const Node* owner = b->owning_node();
  if (!owner || !owner->is(prim_If)) return;
  const auto found = conditions_.find(owner->input(0));
  if (found != conditions_.end()) learn(b == owner->block(0) ? found->second.yes : found->second.no);
}

void Refiner::leave_block(Block* b) {
  end_of_block(b);
  done_[b] = {open_.back().raises, here_};
  std::vector<Fact>& facts = open_.back().facts;
  for (size_t i = facts.size(); i-- > 0;) {
    if (facts[i].before) here_[facts[i].value] = *facts[i].before;
    else here_.erase(facts[i].value);
  }
  open_.pop_back();
}

bool Refiner::enter(Node* n) {
  if (n->is(prim_RaiseException)) open_.back().raises = true;
  visit(n);
  return true;
}

void Refiner::leave(Node* n) {
  if (!n->is(prim_If) || n->blocks().size() != 2) return;
  const auto yes = done_.extract(n->block(0)), no = done_.extract(n->block(1));
  if (!yes || !no) return;
  const auto& [yes_raises, yes_known] = yes.mapped();
  const auto& [no_raises, no_known] = no.mapped();
  if (yes_raises && no_raises) {
    open_.back().raises = true;
    return;
  }
  if (yes_raises || no_raises) {  // who comes behind it came through the other
    const auto found = conditions_.find(n->input(0));
    if (found != conditions_.end()) learn(yes_raises ? found->second.no : found->second.yes);
    const Block* taken = n->block(yes_raises ? 1 : 0);
    for (size_t i = 0; i < n->num_outputs(); ++i) {
      if (auto c = conditions_.find(taken->output(i)); c != conditions_.end()) {
        const BranchKnown copy = c->second;
        conditions_[n->output(i)] = copy;
      }
    }
    return;
  }
  // A condition that is an `and` or an `or`: one branch gives a constant.
  const auto outer = conditions_.find(n->input(0));
  const BranchKnown cond = outer == conditions_.end() ? BranchKnown{} : outer->second;
  for (size_t i = 0; i < n->num_outputs(); ++i) {
    if (!n->output(i)->type()->is(TypeKind::Bool)) continue;
    const Value *a = n->block(0)->output(i), *b = n->block(1)->output(i);
    const auto of = [&](const Value* v) {
      const auto c = conditions_.find(v);
      return c == conditions_.end() ? BranchKnown{} : c->second;
    };
    const std::optional<bool> fixed_a = constant_bool(a), fixed_b = constant_bool(b);
    const BranchKnown in_a = of(a), in_b = of(b);
    // Holds: by the first branch with a holding, or by the second with b holding.
    auto truth = [&](bool wanted, const Known& ka, const Known& kb) -> Known {
      const bool by_a = !fixed_a || *fixed_a == wanted, by_b = !fixed_b || *fixed_b == wanted;
      if (by_a && by_b) return common(both(cond.yes, ka), both(cond.no, kb));
      if (by_a) return both(cond.yes, ka);
      if (by_b) return both(cond.no, kb);
      return {};
    };
    BranchKnown& made = conditions_[n->output(i)];
    made.yes = truth(true, in_a.yes, in_b.yes);
    made.no = truth(false, in_a.no, in_b.no);
  }
}

}  // namespace fc::jit
