// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/loop_unrolling.h"

#include "dispatch/operator.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

constexpr int64_t turns_at_once = 8, most_body = 32, most_repeated = 64;

// Nodes of a body; inner loops count several times. None: more than fit.
bool is_small(const Block& body) {
  int64_t left = most_body;
  for (const Node* n = walk_first(body); n; n = walk_next(n, body))
    if (--left < 0) return false;
  return true;
}

bool is_true(const Value* v) { return constant_bool(v).value_or(false); }

// A loop that counts: it never asks whether to go on.
bool is_for(const Node* n) { return is_true(n->input(1)) && is_true(n->block(0)->output(0)); }

// The body's nodes before the insertion point, for these inputs; what the block gives.
std::vector<Value*> copy_body(Graph& g, const Block* body, std::span<Value* const> inputs) {
  Graph::ValueMap map;
  for (size_t i = 0; i < inputs.size(); ++i) map[body->inputs()[i]] = inputs[i];
  for (const Node* n = body->first(); n != body->end(); n = n->next()) {
    Node* copy = g.insert(g.create_clone(n, map));
    for (size_t i = 0; i < n->num_outputs(); ++i) map[n->output(i)] = copy->output(i);
  }
  std::vector<Value*> out;
  for (Value* v : body->outputs()) {
    auto found = map.find(v);
    out.push_back(found == map.end() ? v : found->second);
  }
  return out;
}

Value* insert_int_call(Graph& g, const SymbolEntry& kind, Value* a, Value* b) {
  Value* in[] = {a, b};
  return g.insert(g.create(kind, in))->output()->set_type(simple_type(TypeKind::Int));
}

// A body that asks for the counter is given it as a carried value that grows by one.
void carry_counter(Graph& g, Node* loop) {
  Block* body = loop->block(0);
  if (!body->inputs()[0]->has_uses()) return;
  {
    InsertAt before(loop);
    loop->insert_input(2, g.insert_constant(int64_t(0)));
  }
  loop->insert_output(0)->set_type(simple_type(TypeKind::Int));
  Value* counter = body->insert_input(1, "")->set_type(simple_type(TypeKind::Int));
  body->inputs()[0]->replace_uses_with(counter);
  InsertAt inside(body);
  body->insert_output(1, insert_int_call(g, aten_add, counter, g.insert_constant(int64_t(1))));
}

// What the copies of a body compute for nobody; `true` of every turn, for example.
void drop_unread(Block* b) {
  for (Node *n = b->last(), *before = nullptr; n != b->end(); n = before) {
    before = n->prev();
    if (n->has_uses() || !n->blocks().empty() || n->has_side_effects()) continue;
    const Operator* op = n->find_operator();
    if (op && op->schema().mutates()) continue;
    if (op || n->is(prim_Constant)) n->destroy();
  }
}

// A block of its own that does `times` turns; it replaces the loop's body.
void repeat_body(Graph& g, Node* loop, int64_t times) {
  Block *body = loop->block(0), *to = loop->add_block();
  InsertAt inside(to);
  for (const Value* v : body->inputs()) to->add_input()->copy_metadata(*v);
  std::vector<Value*> io(to->inputs().begin(), to->inputs().end());
  for (int64_t i = 0; i < times; ++i) {
    io[0] = body->inputs()[0];
    io = copy_body(g, body, io);
  }
  for (Value* v : io) to->register_output(v);
  drop_unread(to);
  loop->erase_block(0);
}

void inline_body(Graph& g, Node* loop) {
  InsertAt before(loop);
  std::vector<Value*> in{loop->input(0)};
  for (size_t i = 2; i < loop->num_inputs(); ++i) in.push_back(loop->input(i));
  std::vector<Value*> out = copy_body(g, loop->block(0), in);
  for (size_t i = 0; i < loop->num_outputs(); ++i) loop->output(i)->replace_uses_with(out[i + 1]);
  loop->destroy();
}

bool unroll(Graph& g, Node* loop, bool constants_only) {
  if (!is_for(loop) || !is_small(*loop->block(0))) return false;
  auto count = constant_int(loop->input(0));
  if (constants_only && (!count || *count >= most_repeated)) return false;
  carry_counter(g, loop);
  if (count && *count >= 0 && *count < most_repeated) {
    if (*count == 0) {
      for (size_t i = 0; i < loop->num_outputs(); ++i) loop->output(i)->replace_uses_with(loop->input(i + 2));
      loop->destroy();
      return true;
    }
    repeat_body(g, loop, *count);
    inline_body(g, loop);
    return true;
  }
  // Eight turns at once, then a copy of the loop for the rest.
  InsertAt before(loop);
  Value* total = loop->input(0);
  Graph::ValueMap same;
  Node* rest = g.create_clone(loop, same)->insert_after(loop);
  for (size_t i = 0; i < loop->num_outputs(); ++i) {
    loop->output(i)->replace_uses_with(rest->output(i));
    rest->replace_input(i + 2, loop->output(i));
  }
  repeat_body(g, loop, turns_at_once);
  Value* rounds = insert_int_call(g, aten___round_to_zero_floordiv, total, g.insert_constant(turns_at_once));
  loop->replace_input(0, rounds);
  g.create(prim_Placeholder)->destroy();  // PyTorch gives out a number here, too
  Value* covered = insert_int_call(g, aten_mul, rounds, g.insert_constant(turns_at_once));
  rest->replace_input(0, insert_int_call(g, aten_sub, total, covered));
  return true;
}

bool run(Graph& g, PassContext& context, bool constants_only) {
  std::vector<Node*> loops;  // innermost first
  struct Find final : Visitor {
    std::vector<Node*>& loops;
    explicit Find(std::vector<Node*>& l) : loops(l) {}
    void leave(Node* n) override {
      if (n->is(prim_Loop)) loops.push_back(n);
    }
  } find(loops);
  walk(*g.block(), find);
  bool changed = false;
  for (Node* n : loops)
    if (context.allowed()) changed |= unroll(g, n, constants_only);
  if (changed) context.run("EliminateDeadCodeOfBlock", g);
  return changed;
}

}  // namespace

bool unroll_loops(Graph& g, PassContext& context) { return run(g, context, false); }

bool unroll_constant_loops(Graph& g, PassContext& context) { return run(g, context, true); }

}  // namespace fc::jit
