// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/alias.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit/ir/operators.h"
#include "jit/ir/print.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

void unite(std::vector<int>& to, const std::vector<int>& from) {
  if (from.empty()) return;
  std::vector<int> out;
  std::ranges::set_union(to, from, std::back_inserter(out));
  to = std::move(out);
}

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i] == b[k]) return true;
    if (a[i] < b[k]) ++i;
    else ++k;
  }
  return false;
}

}  // namespace

TypeRef alias_type(TypeRef t) {
  using enum TypeKind;
  switch (t->kind()) {
    case Tensor: return tensor_type();
    case List:
    case Dict:
    case Class:
    case Interface:
    case Future:
    case RRef:
    case Await:
    case Any:
    case AnyList:
    case AnyTuple:
    case AnyClass:
    case PyObject:
    case Capsule: return t->unshaped();
    case Optional: return alias_type(t->item());
    case Tuple:
    case Union: return t->is_mutable() || t->holds(Tensor) ? t->unshaped() : nullptr;
    default: return nullptr;
  }
}

// Follows the nodes once, in order, and notes who points to whom.
struct AliasDb::Builder final : Visitor {
  explicit Builder(AliasDb& d) : db(d) {}
  AliasDb& db;

  int element(const Value* v) {
    if (db.find(v) < 0) fresh(v);
    return db.find(v);
  }

  int wildcard(TypeRef t) {  // of an alias type
    auto found = db.wildcards_.find(t);
    if (found != db.wildcards_.end()) return found->second;
    const int e = static_cast<int>(db.elements_.size());
    db.elements_.emplace_back().wildcard = t;
    db.wildcards_[t] = e;
    contains_wildcards(e, t);
    return e;
  }
  void contains_wildcards(int e, TypeRef t) {
    if (t->is(TypeKind::Tensor)) return;
    for (TypeRef item : t->items())
      if (TypeRef inner = alias_type(item)) {
        const int w = wildcard(inner);
        db.elements_[static_cast<size_t>(e)].contains.push_back(w);
      }
  }

  // Memory of its own; what it contains came from anywhere.
  void fresh(const Value* v, bool contents = true) {
    TypeRef t = alias_type(v->type());
    if (!t || db.find(v) >= 0) return;
    const int e = static_cast<int>(db.elements_.size());
    db.elements_.emplace_back().value = v;
    db.of_value_.set(v->serial(), e);
    if (contents) contains_wildcards(e, t);
  }

  void set_wildcard(const Value* v) {
    TypeRef t = alias_type(v->type());
    if (!t) return;
    const int e = element(v), w = wildcard(t);
    auto& points = db.elements_[static_cast<size_t>(e)].points_to;
    if (std::ranges::find(points, w) == points.end()) points.push_back(w);
  }

  void point(const Value* from, const Value* to) {
    if (from == to || !alias_type(from->type()) || !alias_type(to->type())) return;
    const int f = element(from), t = element(to);
    db.elements_[static_cast<size_t>(f)].points_to.push_back(t);
  }

  void write(const Value* v, const Node* n) {
    if (alias_type(v->type())) db.write_elements_[n].push_back(element(v));
  }

  bool enter(Node* n) override {
    if (n->is(prim_Loop))
      for (size_t i = 2; i < n->num_inputs(); ++i) point(n->block(0)->inputs()[i - 1], n->input(i));
    return true;
  }

  void all_fresh(Node* n) {
    for (const Value* o : n->outputs()) fresh(o);
  }
  void all_wildcards(Node* n) {
    for (const Value* o : n->outputs()) set_wildcard(o);
  }
  void conservative(Node* n) {
    for (size_t i = 0; i < n->num_inputs(); ++i) {
      write(n->input(i), n);
      set_wildcard(n->input(i));
    }
    all_wildcards(n);
  }

  void leave(Node* n) override {
    const Symbol k = n->kind();
    if (n->is(prim_If)) {
      for (size_t i = 0; i < n->num_outputs(); ++i)
        for (const Block* b : n->blocks()) point(n->output(i), b->output(i));
    } else if (n->is(prim_Loop)) {
      for (size_t i = 0; i < n->num_outputs(); ++i) {
        point(n->output(i), n->block(0)->output(i + 1));
        point(n->output(i), n->input(i + 2));  // without a turn
      }
    } else if (n->is(prim_GradOf) && !n->blocks().empty()) {
      for (size_t i = 0; i < std::min(n->num_outputs(), n->block(0)->num_outputs()); ++i)
        point(n->output(i), n->block(0)->output(i));
    } else if (is_any(k, prim_fork, prim_awaitable)) {
      for (size_t i = 0; i < n->num_inputs(); ++i) set_wildcard(n->input(i));
      all_fresh(n);
    } else if (is_any(k, aten_wait, prim_awaitable_wait)) {
      // What was forked may have written all that it could reach.
      for (size_t i = 0; i < n->num_inputs(); ++i) set_wildcard(n->input(i));
      all_wildcards(n);
      waits.push_back(n);
    } else if (n->has(attr_Subgraph)) {
      subgraph(n);
    } else if (is_any(k, prim_Constant, prim_AutogradZero, prim_NumToTensor, prim_CreateObject, prim_tolist,
                      prim_Uninitialized, prim_Closure, prim_MMTreeReduce, prim_FusedConcat, prim_BroadcastSizes,
                      prim_AutogradAdd, prim_MMBatchSide)) {
      all_fresh(n);
    } else if (is_any(k, prim_ListConstruct, prim_TupleConstruct, prim_DictConstruct)) {
      container(n);
    } else if (is_any(k, prim_TupleUnpack, prim_TupleIndex, prim_TupleSlice, prim_ListUnpack, prim_PythonOp,
                      prim_GetAttr, prim_ModuleContainerIndex)) {
      all_wildcards(n);
    } else if (is_any(k, prim_unchecked_cast, prim_unchecked_unwrap_optional, prim_profile, prim_profile_ivalue,
                      prim_Guard, prim_BailOut, prim_TypeCheck, prim_RequiresGradCheck)) {
      for (size_t i = 0; i < std::min(n->num_inputs(), n->num_outputs()); ++i) point(n->output(i), n->input(i));
      all_fresh(n);
    } else if (n->is(prim_ConstantChunk)) {
      for (const Value* o : n->outputs()) point(o, n->input(0));
    } else if (n->is(prim_SetAttr)) {
      write(n->input(0), n);
      set_wildcard(n->input(1));
    } else if (is_any(k, prim_CallFunction, prim_CallMethod, prim_Enter, prim_Exit, prim_IgnoredPythonOp)) {
      conservative(n);
    } else if (const Operator* op = n->find_operator()) {
      schema(n, op->schema());
    } else if (k.space() == "prim" && n->blocks().empty()) {
      all_wildcards(n);
    } else {
      conservative(n);  // nobody knows what it does
    }
  }

  void container(Node* n) {
    const Value* made = n->output(0);
    if (!alias_type(made->type())) return;
    // A list that is read once, by an operator that keeps nothing of it.
    bool stays = false;
    if (n->is(prim_ListConstruct) && made->uses().size() == 1) {
      const Node* user = (*made->uses().begin()).user;
      const std::string_view name = user->kind().text();
      stays = name == "aten::cat" || name == "aten::stack" || name == "aten::vstack" || name == "aten::hstack" ||
              name == "aten::dstack";
    }
    fresh(made, !stays);
    const int e = element(made);
    for (size_t i = 0; i < n->num_inputs(); ++i) {
      const Value* v = n->input(i);
      TypeRef t = alias_type(v->type());
      if (!t) continue;
      int inside = 0;
      if (stays) {
        inside = element(v);
      } else {
        set_wildcard(v);
        inside = wildcard(t);
      }
      db.elements_[static_cast<size_t>(e)].contains.push_back(inside);
    }
  }

  void subgraph(Node* n) {
    const Graph& g = **n->get<Ref<Graph>>(attr_Subgraph);
    bool writes = false;
    for_each_node(*g.block(), [&](Node* inner) {
      if (inner->has(attr_Subgraph) || is_any(inner->kind(), prim_SetAttr, prim_CallFunction, prim_CallMethod))
        writes = true;
      else if (const Operator* op = inner->find_operator())
        for (const Parameter& p : op->schema().parameters) writes = writes || marks_of(p).write;
      else if (inner->kind().space() != "prim") writes = true;
    });
    if (writes) return conservative(n);
    for (size_t i = 0; i < n->num_inputs(); ++i) set_wildcard(n->input(i));
    all_wildcards(n);
  }

  void schema(Node* n, const Schema& s) {
    std::vector<std::pair<std::string, const Value*>> bound;
    auto find = [&](const std::string& set) {
      auto at = std::ranges::find(bound, set, [](const auto& b) { return b.first; });
      return at == bound.end() ? nullptr : at->second;
    };
    for (size_t i = 0; i < s.parameters.size() && i < n->num_inputs(); ++i) {
      const AliasInfo marks = marks_of(s.parameters[i]);
      const Value* v = n->input(i);
      if (marks.empty() || !alias_type(v->type())) continue;
      for (const std::string& set : marks.before)
        if (set == "*") set_wildcard(v);
        else if (!find(set)) bound.emplace_back(set, v);
      if (marks.write) write(v, n);
      if (std::ranges::find(marks.after, "*") != marks.after.end()) set_wildcard(v);
      for (const AliasInfo& item : marks.items)
        if (item.write) write_contents(v, n);
    }
    for (size_t i = 0; i < n->num_outputs(); ++i) {
      const Value* v = n->output(i);
      if (!alias_type(v->type())) continue;
      if (i >= s.returns.size()) {
        set_wildcard(v);
        continue;
      }
      const AliasInfo marks = marks_of(s.returns[i]);
      for (const std::string& set : marks.before)
        if (set == "*") set_wildcard(v);
        else if (const Value* from = find(set)) point(v, from);
      fresh(v);
      if (marks.write) write(v, n);
    }
  }

  void write_contents(const Value* list, const Node* n) {
    const int e = element(list);
    for (int inside : db.elements_[static_cast<size_t>(e)].contains) db.write_elements_[n].push_back(inside);
  }

  std::vector<Node*> waits;
};

AliasDb::AliasDb(Graph& g) : graph_(g) {
  Builder b(*this);
  for (const Value* v : g.inputs()) b.set_wildcard(v);
  walk(*g.block(), b);
  for (Node* n : b.waits)
    for (const auto& [type, e] : wildcards_) write_elements_[n].push_back(e);
  for (const auto& [n, elements] : write_elements_) {
    Places& p = writes_[n];
    for (int e : elements) unite(p, places_of(e));
    unite(written_, p);
    // What stands around it writes as much; whoever does already is where the way up ends.
    for (const Node* up = n; up; up = up->owning_block()->owning_node()) {
      Places& all = all_writes_[up];
      const size_t before = all.size();
      unite(all, p);
      if (all.size() == before) break;
    }
  }
}

int AliasDb::find(const Value* v) const { return of_value_.get(v->serial()); }

const AliasDb::Places& AliasDb::places_of(int element) const {
  // Depth first over what it points to, without recursion; an element is memory if it points to nothing but wildcards.
  std::vector<int> stack{element};
  while (!stack.empty()) {
    const int at = stack.back();
    const Element& e = elements_[static_cast<size_t>(at)];
    if (e.state == 2) {
      stack.pop_back();
      continue;
    }
    if (e.state == 0) {
      e.state = 1;
      bool waits = false;
      for (int to : e.points_to)
        if (elements_[static_cast<size_t>(to)].state == 0) {
          stack.push_back(to);
          waits = true;
        }
      if (waits) continue;
    }
    bool memory = true;
    for (int to : e.points_to) {
      unite(e.places, elements_[static_cast<size_t>(to)].places);
      if (!elements_[static_cast<size_t>(to)].wildcard) memory = false;
    }
    if (memory) unite(e.places, {at});
    e.state = 2;
    stack.pop_back();
  }
  return elements_[static_cast<size_t>(element)].places;
}

const AliasDb::Places& AliasDb::all_places_of(int element) const {
  const Element& top = elements_[static_cast<size_t>(element)];
  if (top.all_state) return top.all_places;
  std::unordered_set<int> seen{element};
  std::vector<int> waiting{element};
  while (!waiting.empty()) {
    const int at = waiting.back();
    waiting.pop_back();
    unite(top.all_places, places_of(at));
    for (int place : places_of(at)) {
      if (place != at && seen.insert(place).second) waiting.push_back(place);
    }
    for (int inside : elements_[static_cast<size_t>(at)].contains)
      if (seen.insert(inside).second) waiting.push_back(inside);
  }
  top.all_state = 1;
  return top.all_places;
}

AliasDb::Places AliasDb::all_places(std::span<Value* const> values) const {
  Places out;
  for (const Value* v : values)
    if (int e = find(v); e >= 0) unite(out, all_places_of(e));
  return out;
}

bool AliasDb::has_writers(const Value* v) const {
  const int e = find(v);
  return e >= 0 && !is_none(v) && meet(written_, places_of(e));
}

bool AliasDb::has_input_writers(const Node* n) const {
  for (size_t i = 0; i < n->num_inputs(); ++i)
    if (has_writers(n->input(i))) return true;
  return false;
}

bool AliasDb::has_output_writers(const Node* n) const {
  return std::ranges::any_of(n->outputs(), [&](const Value* v) { return has_writers(v); });
}

bool AliasDb::has_writers(const Node* n) const { return has_input_writers(n) || has_output_writers(n); }

bool AliasDb::is_mutable(const Node* n) const { return !all_writes(n).empty(); }

bool AliasDb::has_wildcard(const Value* v) const {
  TypeRef t = alias_type(v->type());
  if (!t) return false;
  auto w = wildcards_.find(t);
  const int e = find(v);
  return w != wildcards_.end() && e >= 0 && meet(places_of(e), {w->second});
}

bool AliasDb::may_alias(const Value* a, const Value* b) const {
  const int x = find(a), y = find(b);
  return x >= 0 && y >= 0 && meet(places_of(x), places_of(y));
}

bool AliasDb::may_contain_alias(const Value* a, const Value* b) const {
  const int x = find(a), y = find(b);
  return x >= 0 && y >= 0 && meet(all_places_of(x), all_places_of(y));
}

bool AliasDb::may_contain_alias(std::span<Value* const> a, std::span<Value* const> b) const {
  return meet(all_places(a), all_places(b));
}

const AliasDb::Places& AliasDb::writes(const Node* n) const {
  static const Places none;
  auto found = writes_.find(n);
  return found == writes_.end() ? none : found->second;
}

const AliasDb::Places& AliasDb::all_writes(const Node* n) const {
  static const Places none;
  auto found = all_writes_.find(n);
  return found == all_writes_.end() ? none : found->second;
}

AliasDb::Places AliasDb::reads(const Node* n) const {
  Places out;
  auto add = [&](const Node* one) {
    for (size_t i = 0; i < one->num_inputs(); ++i)
      if (int e = find(one->input(i)); e >= 0) unite(out, all_places_of(e));
    for (const Value* v : one->outputs())
      if (int e = find(v); e >= 0) unite(out, all_places_of(e));
  };
  add(n);
  for (const Block* b : n->blocks()) {
    for_each_node(*b, add);
    add(b->return_node());
  }
  return out;
}

bool AliasDb::writes_to_alias(const Node* n, std::span<Value* const> values) const {
  return meet(all_writes(n), all_places(values));
}

bool AliasDb::writes_to_wildcard(const Node* n) const {
  for (int place : all_writes(n))
    if (elements_[static_cast<size_t>(place)].wildcard) return true;
  return false;
}

bool AliasDb::escapes_scope(std::span<Value* const> values) const {
  std::vector<Value*> outputs = graph_.outputs();
  return may_contain_alias(graph_.inputs(), values) || may_contain_alias(outputs, values) ||
         std::ranges::any_of(values, [&](const Value* v) { return has_wildcard(v); });
}

bool AliasDb::safe_to_alias(std::span<Value* const> a, std::span<Value* const> b) const {
  auto written = [&](std::span<Value* const> s) {
    return std::ranges::any_of(s, [&](const Value* v) { return has_writers(v); });
  };
  if (written(a) || written(b)) return false;
  return !(escapes_scope(a) && escapes_scope(b));
}

void AliasDb::replace_with_new(const Value* before, const Value* after) {
  const int e = find(before);
  if (e < 0) return;
  of_value_.erase(before->serial());
  of_value_.set(after->serial(), e);
  elements_[static_cast<size_t>(e)].value = after;
}

void AliasDb::forget(const Node* n) {
  auto drop = [&](const Node* one) {
    for (const Value* v : one->outputs()) of_value_.erase(v->serial());
  };
  drop(n);
  for (const Block* b : n->blocks()) {
    drop(b->param_node());
    for_each_node(*b, [&](const Node* inner) {
      drop(inner);
      for (const Block* deeper : inner->blocks()) drop(deeper->param_node());
    });
  }
}

void AliasDb::copy_value(const Value* from, const Value* to) {
  if (const int e = find(from); e >= 0) of_value_.set(to->serial(), e);
}

bool AliasDb::try_move(Node* n, Node* point, bool before, bool dry) {
  if (n->owning_block() != point->owning_block()) return false;
  if (n == point) return true;
  const bool backwards = n->is_after(point);
  auto step = [&](Node* at) { return backwards ? at->prev() : at->next(); };
  Node* at = step(n);
  const bool on_side = before ? n->is_before(point) : n->is_after(point);
  if (on_side && at == point) return true;
  if (n->has_side_effects() || (!on_side && point->has_side_effects())) return false;

  // What must go along: whatever uses it, is used by it, or reads or writes memory that the others write.
  struct Member {
    Node* node;
    Places reads, writes;
  };
  auto member = [&](Node* m) { return Member{m, reads(m), all_writes(m)}; };
  std::vector<Member> set{member(n)};
  auto uses = [](const Node* user, const Node* from) {  // also from inside of the user's blocks
    for (const Value* v : from->outputs())
      for (const Use& u : v->uses())
        for (const Node* up = u.user; up; up = up->owning_block() ? up->owning_block()->owning_node() : nullptr)
          if (up == user) return true;
    return false;
  };
  auto depends = [&](const Member& m) {
    for (const Member& s : set)
      if (uses(s.node, m.node) || uses(m.node, s.node) || meet(s.writes, m.reads) || meet(s.reads, m.writes) ||
          meet(s.writes, m.writes))
        return true;
    return false;
  };
  for (; at != point; at = step(at)) {
    if (at->has_side_effects()) return false;
    Member m = member(at);
    if (depends(m)) set.push_back(std::move(m));
  }
  const bool split = on_side;
  std::vector<Node*> follow;
  if (split) {
    set.erase(set.begin());
    for (const Member& m : set) follow.push_back(m.node);
  }
  if (depends(member(point))) return false;
  if (dry) return true;
  auto put = [](Node* m, Node* where, bool in_front) { in_front ? m->move_before(where) : m->move_after(where); };
  Node* last = point;
  if (split) {
    put(n, point, before);
    for (Node* m : follow) {
      put(m, last, !before);
      last = m;
    }
  } else {
    for (const Member& m : set) {
      put(m.node, last, before);
      last = m.node;
    }
  }
  return true;
}

std::string AliasDb::element_text(int e) const {
  const Element& x = elements_[static_cast<size_t>(e)];
  return x.wildcard ? str("WILDCARD for type ", graph_text(x.wildcard)) : "%" + x.value->name();
}

std::string AliasDb::text() const {
  std::string out = str("\n===1. GRAPH===\n", graph_.text(), "\n===2. ALIAS DB===\n");
  auto line = [&](const Element& e, std::string_view how, const std::vector<int>& to) {
    if (to.empty()) return;
    out += str("%", e.value->name(), how);
    for (size_t i = 0; i < to.size(); ++i) out += (i ? ", " : "") + element_text(to[i]);
    out += '\n';
  };
  for (const Element& e : elements_) {
    if (!e.value) continue;
    line(e, " points to: ", e.points_to);
    line(e, " contains: ", e.contains);
  }
  out += "\n===3. Writes===\n";
  for (Node* n = walk_first(*graph_.block()); n; n = walk_next(n, *graph_.block())) {
    if (writes(n).empty()) continue;
    out += node_line(*n) + "\n  ";
    for (int e : writes(n)) out += element_text(e) + ", ";
    out += '\n';
  }
  return out + "\n";
}

std::string AliasDb::graphviz() const {
  std::string out = "/*\n" + text() +
                    "*/\ndigraph alias_db {\n  rankdir=LR\n  node [shape=rect, color=gray];\n"
                    "  edge [color=black];\n";
  auto quoted = [&](int e) {
    std::string name = element_text(e);
    return name[0] == '%' ? "\"\\" + name + "\"" : "\"" + name + "\"";
  };
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i].value) continue;
    for (int to : elements_[i].points_to) out += str("  ", quoted(static_cast<int>(i)), " -> ", quoted(to), "\n");
    for (int to : elements_[i].contains)
      out += str("  ", quoted(static_cast<int>(i)), " -> ", quoted(to), " [style=dashed, color=blue]\n");
  }
  return out + "}\n";
}

}  // namespace fc::jit
