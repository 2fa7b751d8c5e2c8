// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/batch_mm.h"

#include <algorithm>
#include <unordered_set>

#include "dispatch/operator.h"
#include "jit/ir/alias.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

constexpr size_t kTree = 4;  // products in a sum, at least
constexpr size_t kSide = 8;  // products with one factor, at least

bool is_operator(const Node* n, std::string_view name) {
  const Operator* op = n->find_operator();
  return op && op->name() == name;
}
bool is_mm(const Node* n) { return n->is(aten_mm) && is_operator(n, "aten::mm"); }

bool writes_something(const Graph& g) {
  bool found = false;
  for_each_node(*g.block(), [&](const Node* n) {
    const Operator* op = n->find_operator();
    if (!op) return;
    for (const Parameter& p : op->schema().parameters) found = found || p.alias.write;
  });
  return found;
}

// A sum of products, as far as it was followed.
struct Tree {
  size_t products = 0;
  bool root = true;  // no larger sum took it
};

class Batcher {
 public:
  Batcher(Graph& g, PassContext& context) : graph_(g), context_(context), aliases_(g) {}

  bool run() {
    std::vector<Block*> blocks{graph_.block()};
    for_each_node(*graph_.block(),
                  [&](Node* n) { blocks.insert(blocks.end(), n->blocks().begin(), n->blocks().end()); });
    for (Block* b : blocks) sums(*b);
    for (Block* b : blocks) sides(*b);
    return changed_;
  }

 private:
  void sums(Block& b) {
    std::unordered_map<const Node*, Tree> trees;
    std::vector<Node*> order;
    for (Node* n = b.first(); n != b.end(); n = n->next()) {
      if (is_mm(n)) {
        trees[n] = {1};
      } else if (n->is(aten_t) && n->num_inputs() == 1 && is_mm(n->input(0)->node()) &&
                 trees.contains(n->input(0)->node())) {
        Tree& inner = trees[n->input(0)->node()];
        if (!inner.root) continue;
        inner.root = false;
        trees[n] = {1};
      } else if (is_operator(n, "aten::add.Tensor") && constant_int(n->input(2)) == 1) {
        const auto l = trees.find(n->input(0)->node()), r = trees.find(n->input(1)->node());
        if (l == trees.end() || r == trees.end() || l == r || !l->second.root || !r->second.root) continue;
        l->second.root = r->second.root = false;
        trees[n] = {l->second.products + r->second.products};
      } else {
        continue;
      }
      order.push_back(n);
    }
    for (Node* n : order)
      if (const Tree& t = trees[n]; t.root && t.products >= kTree && context_.allowed()) reduce(n);
  }

  // The product that a transposed product is: the factors change places.
  Node* product(Node* n) {
    if (!n->is(aten_t)) return n;
    Node* inner = n->input(0)->node();
    InsertAt here(n);
    auto transposed = [&](Value* v) {
      Value* in[] = {v};
      return graph_.insert(graph_.create(aten_t, in))->output();
    };
    Value *b = transposed(inner->input(1)), *a = transposed(inner->input(0)), *in[] = {b, a};
    return graph_.insert(graph_.create(aten_mm, in));
  }

  void reduce(Node* root) {
    std::vector<Node*> stack{root}, products;
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      if (is_any(n->kind(), aten_mm, aten_t)) {
        products.push_back(product(n));
      } else {
        stack.push_back(n->input(0)->node());
        stack.push_back(n->input(1)->node());
      }
    }
    InsertAt here(root);
    Node* all = graph_.insert(graph_.create(prim_MMTreeReduce));
    for (const Node* p : products) all->add_input(p->input(0));
    for (const Node* p : products) all->add_input(p->input(1));
    all->output()->set_type(root->output()->type());
    all->copy_metadata(*root);
    root->output()->replace_uses_with(all->output());
    changed_ = true;
  }

  void sides(Block& b) {
    std::unordered_set<const Value*> seen;
    std::vector<Node*> products;
    for (Node* n = b.first(); n != b.end(); n = n->next())
      if (is_mm(n)) products.push_back(n);
    for (Node* n : products)
      for (size_t i = 0; i < 2 && n->in_list(); ++i) {
        Value* factor = n->input(i);
        if (!seen.insert(factor).second) continue;
        for (size_t side : {size_t{0}, size_t{1}}) {
          std::vector<Node*> users = independent(factor, side, b);
          if (users.size() >= kSide && context_.allowed()) join(users, side);
        }
      }
  }

  std::vector<Node*> independent(const Value* factor, size_t side, const Block& b) {
    std::vector<Node*> users;
    for (const Use& u : factor->uses())
      if (u.offset == side && u.user->owning_block() == &b && is_mm(u.user) && u.user->has_uses())
        users.push_back(u.user);
    if (users.size() < kSide) return {};
    std::ranges::sort(users, [](const Node* x, const Node* y) { return x != y && x->is_before(y); });
    for (size_t i = 0; i < users.size(); ++i)
      for (size_t k = i + 1; users[i] && k < users.size(); ++k)
        if (users[k] && !aliases_.could_move_before(users[k], users[i])) users[k] = nullptr;
    std::erase(users, nullptr);
    return users;
  }

  void join(const std::vector<Node*>& products, size_t side) {
    for (size_t i = products.size() - 1; i-- > 0;)
      if (!aliases_.move_before(products[i], products[i + 1])) return;
    InsertAt here(products[0]);
    Node* all = graph_.insert(graph_.create(prim_MMBatchSide, products.size()));
    all->set_int(Symbol::of("side"), static_cast<int64_t>(side));
    all->add_input(products[0]->input(side));
    for (size_t i = 0; i < products.size(); ++i) {
      all->add_input(products[i]->input(1 - side));
      all->output(i)->set_type(tensor_type());
      products[i]->output()->replace_uses_with(all->output(i));
    }
    changed_ = true;
  }

  Graph& graph_;
  PassContext& context_;
  AliasDb aliases_;
  bool changed_ = false;
};

}  // namespace

bool batch_mm(Graph& g, PassContext& context) {
  const bool changed = !writes_something(g) && Batcher(g, context).run();
  context.run("EliminateDeadCode", g);
  return context.run("PeepholeOptimize", g) || changed;
}

}  // namespace fc::jit
