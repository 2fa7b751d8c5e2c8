// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/convert_to_ssa.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "jit/frontend/environment.h"
#include "jit/frontend/match.h"
#include "jit/frontend/tree.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

const std::string& variable(const Node& n) { return *n.get<std::string>(attr_name); }

// What is known of variables, block within block. Depth of blocks is bounded by that of trees (frontend/tree.h).
template <class T>
struct Scope {
  std::map<std::string, T> own;
  std::shared_ptr<Scope> next;
  T* find(const std::string& name) {
    for (Scope* s = this; s; s = s->next.get())
      if (const auto found = s->own.find(name); found != s->own.end()) return &found->second;
    return nullptr;
  }
};

// --- branches and loops get results for what they change
class ControlFlow {
 public:
  void run(Block* b) { look(b); }

 private:
  using Types = Scope<TypeRef>;
  std::shared_ptr<Types> scope_;

  static void output(Block* b, TypeRef t, const std::string& name) {
    Node* load = create_load(b->graph(), name, t);
    b->append(load);
    b->register_output(load->output());
  }
  static void result(Node* n, TypeRef t, const std::string& name) {
    Value* out = n->add_output();
    out->set_type(t);
    if (is_meaningful(name)) out->set_name(name);
    create_store(n->graph(), name, out)->insert_after(n);
  }
  void branch(Node* n) {
    const auto yes = look(n->block(0)), no = look(n->block(1));
    std::set<std::string> changed;
    for (const auto& [v, t] : yes->own)
      if (no->find(v)) changed.insert(v);
    for (const auto& [v, t] : no->own)
      if (yes->find(v)) changed.insert(v);
    for (const std::string& x : changed) {
      TypeRef a = *yes->find(x), b = *no->find(x);
      TypeRef type = unify(a, b, true);
      output(n->block(0), a, x);
      output(n->block(1), b, x);
      result(n, type, x);
    }
  }
  void loop(Node* n) {
    const auto inside = look(n->block(0));
    for (const auto& [name, t] : inside->own) {
      TypeRef* outside = scope_->find(name);
      if (!outside) continue;
      TypeRef type = *outside;
      Graph& g = n->graph();
      Node* load = create_load(g, name, type);
      load->insert_before(n);
      n->add_input(load->output());
      Value* in = n->block(0)->add_input();
      if (is_meaningful(name)) in->set_name(name);
      in->set_type(type);
      n->block(0)->prepend(create_store(g, name, in));
      output(n->block(0), type, name);
      result(n, type, name);
    }
  }
  std::shared_ptr<Types> look(Block* b) {
    scope_ = std::make_shared<Types>(Types{{}, scope_});
    for (Node* n = b->first(); n != b->end();) {
      Node* next = n->next();
      if (n->is(prim_If)) branch(n);
      else if (n->is(prim_Loop)) loop(n);
      else if (n->is(prim_ComprehensionScope)) look(n->block(0));
      else if (n->is(prim_Store)) scope_->own[variable(*n)] = n->input()->type();
      // The stores that were made behind the node say what it changed.
      n = n->is(prim_If) || n->is(prim_Loop) ? n->next() : next;
    }
    auto out = scope_;
    scope_ = out->next;
    return out;
  }
};

// --- break and continue say what the next turn has
class Continuations {
 public:
  explicit Continuations(Graph& g) : g_(g) {
    const InsertAt front(g.block()->first());
    never_ = g.insert_constant(false);
  }
  void run(Block* b) { look(b); }

 private:
  Graph& g_;
  Value* never_;
  Node* loop_ = nullptr;

  void carry(Node* n) {
    for (Value* out : loop_->block(0)->outputs()) {
      Node* load = create_load(g_, variable(*out->node()), out->type());
      load->insert_before(n);
      n->add_input(load->output());
    }
  }
  void look(Block* b) {
    for (Node* n = b->first(); n != b->end();) {
      Node* next = n->next();
      if (n->is(prim_If)) {
        look(n->block(0));
        look(n->block(1));
      } else if (n->is(prim_Loop)) {
        Node* before = std::exchange(loop_, n);
        look(n->block(0));
        loop_ = before;
      } else if (n->is(prim_With) || n->is(prim_ComprehensionScope)) {
        look(n->block(0));
      } else if (n->is(prim_ContinueStmt)) {
        Node* end = g_.create(prim_LoopContinuation, 0);
        end->insert_after(n);
        Block* test = end->add_block();
        Graph::ValueMap map;
        g_.clone_into(test, loop_->block(1), map);
        Value* again = test->output(0);
        while (!test->empty()) test->first()->move_before(n);
        end->add_input(again);
        end->erase_block(0);
        carry(end);
        n->destroy();
      } else if (n->is(prim_BreakStmt)) {
        Node* end = g_.create(prim_LoopContinuation, 0);
        end->insert_after(n);
        end->add_input(never_);
        carry(end);
        n->destroy();
      }
      n = next;
    }
  }
};

// --- a loop's condition: before it and at the end of each turn
void inline_conditions(Block* b) {
  for (Node* n = b->first(); n != b->end(); n = n->next()) {
    for (Block* inner : n->blocks()) inline_conditions(inner);
    if (!n->is(prim_Loop) || n->blocks().size() < 2) continue;
    Graph& g = n->graph();
    Block* test = n->add_block();
    Graph::ValueMap map;
    g.clone_into(test, n->block(1), map);
    Value* first = test->output(0);
    while (!test->empty()) test->first()->move_before(n);
    n->insert_input(1, first);
    n->erase_block(2);
    Block *body = n->block(0), *own = n->block(1);
    Value* next = own->output(0);
    while (!own->empty()) own->first()->move_before(body->return_node());
    body->insert_output(0, next);
    n->erase_block(1);
  }
}

// --- loads become what was stored
class Erase {
 public:
  void run(Block* b) {
    scope_ = std::make_shared<Scope<Value*>>(Scope<Value*>{{}, scope_});
    for (Node* n = b->first(); n != b->end();) {
      Node* next = n->next();
      if (n->is(prim_Store)) {
        scope_->own[variable(*n)] = n->input();
        n->destroy();
      } else if (n->is(prim_Load)) {
        Value** v = scope_->find(variable(*n));
        FC_CHECK(v, "internal: variable ", variable(*n), " is read before it is set");
        n->output()->replace_uses_with(*v);
        n->destroy();
      } else if (n->is(prim_ComprehensionScope)) {
        Block* body = n->block(0);
        run(body);
        while (!body->empty()) body->first()->move_before(n);
        n->destroy();
      } else {
        for (Block* inner : n->blocks()) run(inner);
      }
      n = next;
    }
    scope_ = std::shared_ptr<Scope<Value*>>(scope_->next);
  }

 private:
  std::shared_ptr<Scope<Value*>> scope_;
};

bool is_modified(const Node& n) {
  const auto trips = constant_int(n.input(0));
  const auto first = constant_bool(n.input(1)), next = constant_bool(n.block(0)->output(0));
  const bool always = first && *first && next && *next;
  const bool counted = !trips || *trips != INT64_MAX || n.block(0)->inputs()[0]->has_uses();
  return !always && counted;
}

void make_while(Node* n) {
  Graph& g = n->graph();
  const InsertAt before(n);
  Value *zero = g.insert_constant(0), *one = g.insert_constant(1), *trips = n->input(0);
  Value* condition = emit_builtin({}, g, aten_gt, {NamedValue(trips), NamedValue(zero)});
  n->replace_input(0, g.insert_constant(INT64_MAX));
  if (const auto first = constant_bool(n->input(1)); !first || !*first)
    condition = emit_builtin({}, g, aten___and__, {NamedValue(condition), NamedValue(n->input(1))});
  n->replace_input(1, condition);
  n->add_output()->set_type(simple_type(TypeKind::Int));
  Block* body = n->block(0);
  const InsertAt inside(body);
  n->add_input(zero);
  Value* turn = body->add_input();
  turn->set_type(simple_type(TypeKind::Int));
  body->inputs()[0]->set_name("");
  body->inputs()[0]->replace_uses_with(turn);
  Value* next = emit_builtin({}, g, aten_add, {NamedValue(turn), NamedValue(one)});
  body->register_output(next);
  Value* below = emit_builtin({}, g, aten_lt, {NamedValue(next), NamedValue(trips)});
  Value* goes_on = emit_builtin({}, g, aten___and__, {NamedValue(below), NamedValue(body->output(0))});
  body->erase_output(0);
  body->insert_output(0, goes_on);
}

void modified_loops(Block* b, bool& changed) {
  for (Node* n = b->first(); n != b->end(); n = n->next()) {
    for (Block* inner : n->blocks()) modified_loops(inner, changed);
    if (n->is(prim_Loop) && is_modified(*n)) {
      make_while(n);
      changed = true;
    }
  }
}

// --- the order of results
std::vector<size_t> order_of_use(std::span<Value* const> values) {
  std::vector<std::optional<Use>> first(values.size());
  const auto before = [](const Use& a, const Use& b) {
    return a.user == b.user ? a.offset < b.offset : a.user->is_before(b.user);
  };
  for (size_t i = 0; i < values.size(); ++i)
    for (const Use& u : values[i]->uses())
      if (!first[i] || before(u, *first[i])) first[i] = u;
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (!first[a] || !first[b]) return first[a].has_value() && !first[b];
    return before(*first[a], *first[b]);
  });
  return order;
}

void permute(Node* n) {
  const std::vector<size_t> order = order_of_use(n->outputs());
  if (std::ranges::is_sorted(order)) return;
  n->permute_outputs(order);
  const auto shifted = [&](size_t by) {
    std::vector<size_t> out;
    for (size_t i = 0; i < by; ++i) out.push_back(i);
    for (size_t i : order) out.push_back(i + by);
    return out;
  };
  if (n->is(prim_If)) {
    for (Block* b : n->blocks()) b->return_node()->permute_inputs(order);
    return;
  }
  n->permute_inputs(shifted(2));
  n->block(0)->permute_inputs(shifted(1));
  n->block(0)->return_node()->permute_inputs(shifted(1));
}

void outputs(Block* b) {
  for (Node* n = b->last(); n != b->param_node() && n != b->return_node(); n = n->prev()) {
    if (n->is(prim_If) || n->is(prim_Loop)) permute(n);
    for (Block* inner : n->blocks()) outputs(inner);
  }
}

// These passes go into blocks by recursion: what nests deeper than sources may is refused.
void check_depth(const Graph& g) {
  struct Depth final : Visitor {
    size_t now = 0;
    void enter_block(Block*) override {
      FC_CHECK(++now <= Tree::kMaxDepth, "blocks nest more than ", Tree::kMaxDepth, " deep");
    }
    void leave_block(Block*) override { --now; }
  } depth;
  walk(*g.block(), depth);
}

}  // namespace

bool convert_to_ssa(Graph& g, PassContext& c) {
  check_depth(g);
  ControlFlow().run(g.block());
  Continuations(g).run(g.block());
  inline_conditions(g.block());
  Erase().run(g.block());
  transform_exits(g, c);
  return true;
}

bool canonicalize_modified_loops(Graph& g, PassContext&) {
  check_depth(g);
  bool changed = false;
  modified_loops(g.block(), changed);
  return changed;
}

bool canonicalize_outputs(Graph& g, PassContext&) {
  check_depth(g);
  outputs(g.block());
  return true;
}

}  // namespace fc::jit
