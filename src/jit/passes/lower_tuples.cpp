// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower_tuples.h"

#include <unordered_set>

#include "core/error.h"
#include "jit/ir/print.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

constexpr bool must = true;

[[noreturn]] void cannot(const Node& n, std::string_view why) {
  raise<Error>("lower_all_tuples: ", why, "\n  at ", node_line(n), "\n", n.range().highlight());
}

bool take_apart(Node* n, bool required) {
  if (!is_any(n->kind(), prim_TupleUnpack, prim_TupleIndex, prim_TupleSlice)) return false;
  Graph& g = n->graph();
  Node* made = n->input(0)->node();
  if (!made->is(prim_TupleConstruct)) {
    if (required) cannot(*n, "tuple use not matched to tuple def");
    return false;
  }
  const auto size = static_cast<int64_t>(made->num_inputs());
  if (n->is(prim_TupleUnpack)) {
    for (size_t i = 0; i < n->num_outputs(); ++i) n->output(i)->replace_uses_with(made->input(i));
  } else if (n->is(prim_TupleIndex)) {
    auto i = constant_int(n->input(1));
    if (!i) {
      if (required) cannot(*n, "tuple index with non-constant index");
      return false;
    }
    if (*i < -size || *i >= size) cannot(*n, "index out of range of the tuple");
    n->output()->replace_uses_with(made->input(static_cast<size_t>(*i < 0 ? *i + size : *i)));
  } else {
    const auto *beg = n->get<int64_t>(attr_beg), *end = n->get<int64_t>(attr_end);
    if (!beg || !end || *beg < 0 || *end > size || *beg > *end) return false;
    std::vector<Value*> part;
    for (int64_t i = *beg; i < *end; ++i) part.push_back(made->input(static_cast<size_t>(i)));
    InsertAt here(n);
    n->output()->replace_uses_with(g.insert(g.create_tuple(part))->output());
  }
  return true;
}

bool is_tuple(const Value* v) { return v->type()->is(TypeKind::Tuple); }

// A tuple among a node's inputs gives way to what it is made of.
void flatten_inputs(Node* n, Node* before) {
  for (size_t i = 0; i < n->num_inputs();) {
    Value* v = n->input(i);
    if (!is_tuple(v)) {
      ++i;
      continue;
    }
    Node* made = v->node();
    if (!made->is(prim_TupleConstruct)) {  // it came from elsewhere, so it is taken apart first
      InsertAt here(before);
      Node* unpack = n->graph().insert(n->graph().create_tuple_unpack(v));
      n->remove_input(i);
      for (size_t k = 0; k < unpack->num_outputs(); ++k) n->insert_input(i + k, unpack->output(k));
      continue;
    }
    n->remove_input(i);
    for (size_t k = 0; k < made->num_inputs(); ++k) n->insert_input(i + k, made->input(k));
  }
}

// A tuple among a node's outputs, put together again behind it.
void flatten_outputs(Node* n, Node* before) {
  Graph& g = n->graph();
  for (size_t i = 0; i < n->num_outputs();) {
    Value* v = n->output(i);
    if (!is_tuple(v)) {
      ++i;
      continue;
    }
    // Numbers are given out in PyTorch's order: only of the graph's own inputs the parts come first.
    Node* tuple = n == g.param_node() ? nullptr : g.create_tuple({}, v->type());
    std::vector<Value*> parts;
    for (TypeRef t : v->type()->items()) parts.push_back(n->insert_output(i + 1 + parts.size())->set_type(t));
    if (!tuple) tuple = g.create_tuple({}, v->type());
    for (Value* part : parts) tuple->add_input(part);
    tuple->insert_before(before);
    v->replace_uses_with(tuple->output());
    n->erase_output(i);
  }
}

class AllTuples final : public Visitor {
 public:
  void enter_block(Block* b) override { flatten_outputs(b->param_node(), b->first()); }
  bool enter(Node* n) override {
    if (take_apart(n, must)) return true;
    if (is_any(n->kind(), prim_TupleConstruct, prim_TupleUnpack, prim_Constant)) return true;
    // Only what the graph itself knows can take and give more; operators take tuples as they are.
    if (is_any(n->kind(), prim_If, prim_Loop) || n->kind().space() == "prim") {
      flatten_inputs(n, n);
      flattened_.insert(n);
    }
    return true;
  }
  void leave(Node* n) override {
    if (flattened_.contains(n)) flatten_outputs(n, n->next());
  }
  void leave_block(Block* b) override { flatten_inputs(b->return_node(), b->return_node()); }

 private:
  std::unordered_set<const Node*> flattened_;
};

}  // namespace

bool lower_simple_tuples(Graph& g, PassContext& context) {
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    if (context.allowed()) take_apart(n, false);
    next = walk_next(n, *g.block());
  }
  return true;  // dead code goes also where nothing was rewritten, as in PyTorch
}

bool lower_all_tuples(Graph& g, PassContext& context) {
  AllTuples all;
  walk(*g.block(), all);
  context.run("EliminateDeadCodeOfBlock", g);
  for_each_node(*g.block(), [](Node* n) {
    for (const Value* v : n->outputs())
      if (is_tuple(v)) cannot(*n, "couldn't lower all tuples");
  });
  return true;
}

}  // namespace fc::jit
