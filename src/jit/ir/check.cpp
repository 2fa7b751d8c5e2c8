// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/check.h"

#include <unordered_set>

#include "core/error.h"
#include "jit/ir/print.h"
#include "jit/ir/serials.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

#define RULE(number, node, ok, ...)           \
  do {                                        \
    if (!(ok)) [[unlikely]]                   \
      broken(number, node, str(__VA_ARGS__)); \
  } while (false)

class Checker final : public Visitor {
 public:
  explicit Checker(const Graph& g) : graph_(g) {}

  void run() { walk(*graph_.block(), *this); }

  bool enter(Node* n) override {
    const Node& node = *n;
    // 1. A node stands in one place, and its neighbours know.
    RULE(1, node, node.serial() != 0 && &node.graph() == &graph_, "it was destroyed, or is another graph's");
    RULE(1, node, node.next()->prev() == n && node.prev()->next() == n, "its neighbours do not know it");
    RULE(1, node, node.owning_block() == open_.back(), "it does not know in which block it stands");
    RULE(1, node, !seen_nodes_.contains(n->serial()), "it stands in two places");
    // 2. What it reads was computed before: further up in its block, or in one around it.
    for (size_t i = 0; i < node.num_inputs(); ++i) reads(node, i);
    // 3. What it gives is its own, and knows its uses.
    gives(node);
    kinds(node);
    return true;
  }

  void enter_block(Block* b) override {
    const Node& param = *b->param_node();
    RULE(1, param, &b->graph() == &graph_ && b->serial() != 0, "the block was destroyed, or is another graph's");
    RULE(1, param, is_open_.insert(b).second, "a block stands inside of itself");
    open_.push_back(b);
    seen_nodes_.insert(param.serial());
    RULE(1, param, param.is(prim_Param) && param.num_inputs() == 0,
         "a block begins with prim::Param, which reads nothing");
    gives(param);
  }

  void leave_block(Block* b) override {
    const Node& end = *b->return_node();
    RULE(1, end, end.is(prim_Return) && end.num_outputs() == 0, "a block ends with prim::Return, which gives nothing");
    for (size_t i = 0; i < end.num_inputs(); ++i) reads(end, i);
    open_.pop_back();
    is_open_.erase(b);
  }

  void leave(Node* n) override {
    seen_nodes_.insert(n->serial());  // from here on others may read what it gives; neither itself nor its blocks do
    // 4. Blocks give what their node promises.
    const Node& node = *n;
    if (node.is(prim_If)) {
      for (const Block* b : node.blocks())
        RULE(4, node, b->num_outputs() == node.num_outputs(), "a block gives ", b->num_outputs(), " values, the node ",
             node.num_outputs());
    } else if (node.is(prim_Loop)) {
      const Block& b = *node.block(0);
      RULE(4, node, b.num_outputs() == node.num_outputs() + 1, "the body gives ", b.num_outputs(),
           " values, that is not whether to go on and ", node.num_outputs(), " carried ones");
    }
  }

 private:
  [[noreturn]] static void broken(int rule, const Node& n, const std::string& what) {
    raise<Error>("graph, rule ", rule, ": ", what, "\n  at ", node_line(n), "\n", n.range().highlight());
  }

  void reads(const Node& n, size_t i) const {
    const Value* v = n.input(i);
    RULE(2, n, v && v->serial() != 0 && v->node() && v->node()->serial() != 0, "input ", i, " was destroyed");
    const Node& from = *v->node();
    RULE(2, n, seen_nodes_.contains(from.serial()) && is_open_.contains(from.owning_block()), "%", v->name(),
         " is not in scope: it is neither above, nor above a block that this stands in");
    RULE(2, n, v->offset() < from.num_outputs() && from.output(v->offset()) == v, "%", v->name(),
         " is no output of the node it names");
  }

  void gives(const Node& n) {
    for (size_t i = 0; i < n.num_outputs(); ++i) {
      const Value* v = n.output(i);
      RULE(3, n, v->node() == &n && v->offset() == i && v->serial() != 0, "output ", i, " belongs to another node");
      RULE(3, n, v->type() != nullptr, "%", v->name(), " has no type");
      RULE(3, n, uniques_.insert(static_cast<uint64_t>(v->unique())), "two values have the number ", v->unique());
      size_t uses = 0;
      for (const Use& u : v->uses()) {
        RULE(3, n, u.user->serial() != 0 && u.offset < u.user->num_inputs() && u.user->input(u.offset) == v, "%",
             v->name(), " is told of a use that is none");
        ++uses;
      }
      RULE(3, n, uses == v->uses().size(), "%", v->name(), " miscounts its uses");
    }
  }

  // 5. What the nodes that the graph itself knows look like.
  void kinds(const Node& n) {
    auto shape = [&](size_t inputs, size_t outputs) {
      RULE(5, n, n.num_inputs() == inputs && n.num_outputs() == outputs, "it has ", n.num_inputs(), " inputs and ",
           n.num_outputs(), " outputs, not ", inputs, " and ", outputs);
    };
    using enum TypeKind;
    if (is_any(n.kind(), prim_Param, prim_Return)) {
      RULE(5, n, false, "it may only begin or end a block");
    } else if (n.is(prim_Constant)) {
      shape(0, 1);
      RULE(5, n, n.blocks().empty(), "a constant has no blocks");
    } else if (n.is(prim_If)) {
      RULE(5, n, n.num_inputs() == 1 && n.blocks().size() == 2, "it takes a condition and two blocks");
      for (const Block* b : n.blocks()) RULE(5, n, b->inputs().empty(), "its blocks take nothing");
    } else if (n.is(prim_Loop)) {
      RULE(5, n, n.num_inputs() >= 2 && n.blocks().size() == 1, "it takes a count, a condition and a body");
      const size_t carried = n.num_inputs() - 2;
      RULE(5, n, n.num_outputs() == carried && n.block(0)->inputs().size() == carried + 1, "it is given ", carried,
           " values, its body takes ", n.block(0)->inputs().size(), " and it gives ", n.num_outputs());
    } else if (n.is(prim_ListConstruct)) {
      RULE(5, n, n.num_outputs() == 1 && n.output(0)->type()->is(List), "it makes a list");
    } else if (n.is(prim_TupleConstruct)) {
      RULE(5, n, n.num_outputs() == 1, "it makes a tuple");
      TypeRef t = n.output(0)->type();
      RULE(5, n, !t->is(Tuple) || t->items().size() == n.num_inputs(), "a tuple of ", n.num_inputs(), " is no ",
           annotation_text(t));
    } else if (n.is(prim_TupleUnpack)) {
      RULE(5, n, n.num_inputs() == 1, "it takes one tuple");
      TypeRef t = n.input(0)->type();
      RULE(5, n, !t->is(Tuple) || t->items().size() == n.num_outputs(), annotation_text(t), " has not ",
           n.num_outputs(), " items");
    } else if (n.is(prim_ListUnpack)) {
      RULE(5, n, n.num_inputs() == 1, "it takes one list");
    } else if (n.is(prim_DictConstruct)) {
      RULE(5, n, n.num_outputs() == 1 && n.num_inputs() % 2 == 0, "it makes a dict of keys and values");
    }
    if (const auto* g = n.get<Ref<Graph>>(attr_Subgraph)) RULE(5, n, *g, "its subgraph is absent");
  }

  const Graph& graph_;
  std::vector<const Block*> open_;
  std::unordered_set<const Block*> is_open_;
  SerialSet seen_nodes_;
  SerialSet uniques_;  // by number, which a graph gives out so, too
};

}  // namespace

void check(const Graph& g) {
  // Subgraphs are graphs of their own.
  std::vector<const Graph*> waiting{&g};
  while (!waiting.empty()) {
    const Graph* one = waiting.back();
    waiting.pop_back();
    Checker(*one).run();
    for_each_node(*one->block(), [&](const Node* n) {
      if (const auto* inner = n->get<Ref<Graph>>(attr_Subgraph)) waiting.push_back(inner->get());
    });
  }
}

}  // namespace fc::jit
