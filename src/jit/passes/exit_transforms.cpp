// SPDX-License-Identifier: Apache-2.0
// Early ends become conditions. Each block tells whether it has ended and with which values; what stands behind a node
// that may end its block is compiled for the case that it has not.
#include <algorithm>
#include <map>

#include "jit/passes/convert_to_ssa.h"

namespace fc::jit {
namespace {

class Exits {
 public:
  Exits(Graph& g, Symbol kind) : g_(g), kind_(kind) {
    const InsertAt front(g.block()->first());
    true_ = g.insert_constant(true);
    false_ = g.insert_constant(false);
    throws_ = unset(simple_type(TypeKind::Bool));
  }
  void run() { block(g_.block()); }

 private:
  // Whether a block has ended, and the values that it ended with.
  struct End {
    Value* ended;
    std::vector<Value*> values;
  };
  enum class Status { Wont, Might, Will, Throws };
  Status status(const End& e) const {
    return e.ended == true_     ? Status::Will
           : e.ended == false_  ? Status::Wont
           : e.ended == throws_ ? Status::Throws
                                : Status::Might;
  }
  End none() const { return {false_, {}}; }
  End thrown() const { return {throws_, {}}; }

  Value* unset(TypeRef t) {  // one for each type
    Value*& v = unset_[t];
    if (!v) {
      Node* n = g_.create(prim_Uninitialized);
      g_.block()->prepend(n);
      v = n->output();
      v->set_type(t);
    }
    return v;
  }
  std::vector<Value*> unset_like(const std::vector<Value*>& values) {
    std::vector<Value*> out;
    for (Value* v : values) out.push_back(unset(v->type()));
    return out;
  }
  static void add_outputs(Node* n, const std::vector<Value*>& yes, const std::vector<Value*>& no) {
    for (size_t i = 0; i < yes.size(); ++i) {
      TypeRef t = unify(yes[i]->type(), no[i]->type(), true);
      n->block(0)->register_output(yes[i]);
      n->block(1)->register_output(no[i]);
      n->add_output()->set_type(t);
    }
  }
  static std::vector<Value*> last_outputs(const Node* n, size_t count) {
    const auto all = n->outputs();
    return {all.end() - static_cast<std::ptrdiff_t>(count), all.end()};
  }

  End branch(Node* n) {
    End yes = block(n->block(0)), no = block(n->block(1));
    const Status a = status(yes), b = status(no);
    if (a == Status::Wont && b == Status::Wont) return none();
    if (a == Status::Throws && b == Status::Throws) return thrown();
    // One side never comes back: whoever is behind the node has not ended.
    if ((a == Status::Wont && b == Status::Throws) || (a == Status::Throws && b == Status::Wont)) return none();
    if (a == Status::Wont || a == Status::Throws) yes.values = unset_like(no.values);
    else if (b == Status::Wont || b == Status::Throws) no.values = unset_like(yes.values);
    Value* ended;
    if (a == Status::Will && b == Status::Will) {
      ended = true_;
    } else {
      add_outputs(n, {yes.ended}, {no.ended});
      ended = n->outputs().back();
    }
    add_outputs(n, yes.values, no.values);
    return {ended, last_outputs(n, yes.values.size())};
  }

  End loop(Node* n) {
    Block* body = n->block(0);
    const End inside = block(body);
    if (status(inside) == Status::Wont) return inside;
    // What ended does not go on.
    {
      const InsertAt at(body);
      Node* goes_on = g_.insert(g_.create(prim_If, std::vector{inside.ended}, 0));
      goes_on->add_block();
      goes_on->add_block();
      add_outputs(goes_on, {false_}, {body->output(0)});
      body->erase_output(0);
      body->insert_output(0, goes_on->output(0));
    }
    const auto carry = [&](Value* before, Value* after) {
      n->add_input(before);
      n->add_output()->set_type(after->type());
      body->add_input()->set_type(after->type());
      body->register_output(after);
    };
    n->add_input(false_);
    body->add_input()->set_type(inside.ended->type());
    body->register_output(inside.ended);
    n->add_output()->set_type(inside.ended->type());
    for (Value* v : inside.values) carry(unset(v->type()), v);
    const std::vector<Value*> out = last_outputs(n, inside.values.size() + 1);
    return {out[0], {out.begin() + 1, out.end()}};
  }

  End guard(Block* b, const End& end, Node* rest) {
    Node* n = g_.create(prim_If, std::vector{end.ended}, 0);
    n->insert_before(rest);
    Block *over = n->add_block(), *open = n->add_block();
    while (rest != b->return_node()) {
      Node* next = rest->next();
      rest->move_before(open->return_node());
      rest = next;
    }
    const std::vector<Value*> outputs = b->outputs();
    const std::vector<Value*> none = unset_like(outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      over->register_output(none[i]);
      open->register_output(outputs[i]);
      n->add_output()->set_type(outputs[i]->type());
    }
    while (b->num_outputs() > 0) b->erase_output(0);
    for (Value* v : n->outputs()) b->register_output(v);
    over->append(g_.create(kind_, end.values, 0));
    return branch(n);
  }

  void drop(Block* b, Node* from) {
    for (Node* n = b->last(); from != b->return_node();) {
      Node* before = n->prev();
      for (Value* v : n->outputs())
        if (v->has_uses()) v->replace_uses_with(unset(v->type()));
      const bool last = n == from;
      n->destroy();
      if (last) break;
      n = before;
    }
  }

  static void replace_outputs(Block* b, const std::vector<Value*>& v) {
    for (size_t i = 0; i < v.size(); ++i) b->replace_output(i, v[i]);
  }

  End block(Block* b) {
    Block* before = target_;
    Node* owner = b->owning_node();
    if (kind_ == Symbol(prim_LoopContinuation) ? owner && owner->is(prim_Loop) : !owner) target_ = b;
    End end = none();
    for (Node* n = b->first(); n != b->return_node();) {
      Node* next = n->next();
      if (n->is(prim_RaiseException)) {
        end = thrown();
      } else if (n->kind() == kind_) {
        end = {true_, n->inputs()};
        n->destroy();
      } else if (n->is(prim_If)) {
        end = branch(n);
      } else if (n->is(prim_With)) {
        end = block(n->block(0));
      } else if (n->is(prim_Loop)) {
        end = loop(n);
      }
      const Status s = status(end);
      if (s == Status::Will || s == Status::Throws) {
        drop(b, next);
        break;
      }
      if (s == Status::Might) {
        end = guard(b, end, next);
        break;
      }
      n = next;
    }
    if (target_ == b) {
      if (status(end) == Status::Might) {
        Node* n = g_.create(prim_If, std::vector{end.ended}, 0);
        n->insert_before(b->return_node());
        n->add_block();
        n->add_block();
        add_outputs(n, end.values, b->outputs());
        replace_outputs(b, {n->outputs().begin(), n->outputs().end()});
      } else if (status(end) == Status::Will) {
        replace_outputs(b, end.values);
      }
      end = none();
    }
    target_ = before;
    return end;
  }

  Graph& g_;
  const Symbol kind_;
  Value *true_ = nullptr, *false_ = nullptr, *throws_ = nullptr;
  Block* target_ = nullptr;
  std::map<TypeRef, Value*> unset_;
};

// --- with: what stands between Enter and Exit is a block while ends are looked for
void to_blocks(Block* b) {
  std::vector<Node*> open;
  std::vector<std::pair<Node*, Node*>> pairs;
  for (Node* n = b->first(); n != b->end(); n = n->next()) {
    for (Block* inner : n->blocks()) to_blocks(inner);
    if (n->is(prim_Enter)) open.push_back(n);
    if (n->is(prim_Exit) && !open.empty()) {
      pairs.emplace_back(open.back(), n);
      open.pop_back();
    }
  }
  for (const auto& [enter, leave] : pairs) {
    Node* with = b->graph().create(prim_With, 0);
    Block *body = with->add_block(), *end = with->add_block();
    for (Node* n = enter->next(); n != leave;) {
      Node* next = n->next();
      n->move_before(body->return_node());
      n = next;
    }
    leave->move_before(end->return_node());
    with->insert_after(enter);
  }
}
void from_blocks(Block* b) {
  for (Node* n = b->first(); n != b->end();) {
    for (Block* inner : n->blocks()) from_blocks(inner);
    Node* next = n->next();
    if (n->is(prim_With)) {
      for (Block* part : n->blocks())
        while (!part->empty()) part->first()->move_before(n);
      n->destroy();
    }
    n = next;
  }
}

// if c: a = True … else: a = False, and then: if a: …
bool join_ifs(Node* first) {
  Node* second = first->next();
  if (!second->is(prim_If) || second->input(0)->node() != first) return false;
  const size_t at = second->input(0)->offset();
  const auto yes = constant_bool(first->block(0)->output(at)), no = constant_bool(first->block(1)->output(at));
  if (!yes || !no || *yes == *no) return false;  // a constant: both are known later anyway
  Graph& g = first->graph();
  for (size_t i = 0; i < 2; ++i) {
    Block* into = first->block(i);
    const Block* from = second->block((i == 0 ? *yes : *no) ? 0 : 1);
    Graph::ValueMap map;
    for (size_t k = 0; k < first->num_outputs(); ++k) map[first->output(k)] = into->output(k);
    g.clone_into(into, from, map);
  }
  for (Value* v : second->outputs()) {
    Value* out = first->add_output();
    out->copy_metadata(*v);
    v->replace_uses_with(out);
  }
  second->destroy();
  return true;
}
void join_ifs(Block* b) {
  for (Node* n = b->first(); n != b->end();) {
    for (Block* inner : n->blocks()) join_ifs(inner);
    if (!n->is(prim_If) || !join_ifs(n)) n = n->next();
  }
}

}  // namespace

bool transform_exits(Graph& g, PassContext&) {
  to_blocks(g.block());
  Exits(g, prim_LoopContinuation).run();
  Exits(g, prim_ReturnStmt).run();
  join_ifs(g.block());
  from_blocks(g.block());
  return true;
}

}  // namespace fc::jit
