// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/subgraph_rewrite.h"

#include <algorithm>
#include <unordered_set>

#include "jit/ir/equal.h"
#include "jit/ir/parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

bool same_attributes(const Node& pattern, const Node& n) {
  for (const Attribute& a : pattern.attributes()) {
    const Attribute* own = n.find(a.name);
    if (!own || own->kind() != a.kind()) return false;
    if (auto* i = std::get_if<int64_t>(&a.content); i && *i != std::get<int64_t>(own->content)) return false;
    if (auto* d = std::get_if<double>(&a.content); d && *d != std::get<double>(own->content)) return false;
    if (auto* s = std::get_if<std::string>(&a.content); s && *s != std::get<std::string>(own->content)) return false;
    if (auto* v = std::get_if<fc::Value>(&a.content); v && !equal_values(*v, std::get<fc::Value>(own->content)))
      return false;
  }
  return true;
}

class Matcher {
 public:
  explicit Matcher(const Graph& pattern) : pattern_(pattern) {
    FC_CHECK(!pattern.outputs().empty(), "a pattern gives at least one result");
    anchor_ = pattern.outputs()[0]->node();
    FC_CHECK(!anchor_->is(prim_Param), "a pattern's result is made by a node of it");
  }

  // From the pattern's last node to the values that feed it, without recursion.
  bool match(Node* n) {
    values.clear();
    nodes.clear();
    block_ = n->owning_block();
    pairs_.clear();
    if (!match_node(anchor_, n)) return false;
    while (!pairs_.empty()) {
      const auto [p, v] = pairs_.back();
      pairs_.pop_back();
      if (!match_value(p, v)) return false;
    }
    return std::ranges::all_of(pattern_.outputs(), [&](const Value* v) { return values.contains(v); });
  }

  Match values;
  std::vector<Node*> nodes;  // that the match covers

 private:
  bool match_value(const Value* p, Value* v) {
    if (const auto known = values.find(p); known != values.end()) return known->second == v;
    if (p->node()->is(prim_Param)) {
      values[p] = v;
      return true;
    }
    return p->offset() == v->offset() && match_node(p->node(), v->node());
  }
  bool match_node(const Node* p, Node* n) {
    if (p->kind() != n->kind() || p->num_inputs() != n->num_inputs() || p->num_outputs() != n->num_outputs() ||
        !p->blocks().empty() || !n->blocks().empty() || n->owning_block() != block_ || !same_attributes(*p, *n))
      return false;
    for (size_t i = 0; i < p->num_outputs(); ++i) {
      const Value* out = p->output(i);
      const auto given = pattern_.outputs();
      // What the pattern keeps to itself nothing else may read.
      if (std::ranges::find(given, out) == given.end() && out->uses().size() != n->output(i)->uses().size())
        return false;
      values[out] = n->output(i);
    }
    nodes.push_back(n);
    for (size_t i = 0; i < p->num_inputs(); ++i) pairs_.emplace_back(p->input(i), n->input(i));
    return true;
  }

  const Graph& pattern_;
  const Node* anchor_;
  const Block* block_ = nullptr;
  std::vector<std::pair<const Value*, Value*>> pairs_;
};

bool is_one(const Value* v) { return constant_int(v) == 1; }

struct Rewrite {
  const char *pattern, *replacement;
};
bool rewrite_all(Graph& g, PassContext& context, std::span<const Rewrite> table, const MatchFilter& filter) {
  size_t n = 0;
  for (const Rewrite& r : table)
    n += rewrite_pattern(g, *parse_graph(r.pattern), *parse_graph(r.replacement), filter, &context);
  return n > 0;
}

}  // namespace

size_t rewrite_pattern(Graph& g, const Graph& pattern, const Graph& replacement, const MatchFilter& filter,
                       const PassContext* context) {
  FC_CHECK(pattern.inputs().size() == replacement.inputs().size() &&
               pattern.outputs().size() == replacement.outputs().size(),
           "a pattern and what replaces it take the same inputs and give as many results");
  std::unordered_map<std::string, const Value*> names;
  for (const Value* v : pattern.inputs()) names[v->name()] = v;
  for_each_node(*pattern.block(), [&](const Node* n) {
    for (const Value* v : n->outputs()) names[v->name()] = v;
  });
  Matcher matcher(pattern);
  std::vector<Node*> gone;
  std::unordered_set<const Node*> covered;
  size_t count = 0;
  for (Node* n = walk_first(*g.block()); n; n = walk_next(n, *g.block())) {
    if (!matcher.match(n)) continue;
    if (std::ranges::any_of(matcher.nodes, [&](const Node* m) { return covered.contains(m); })) continue;
    auto named = [&](std::string_view name) -> Value* {
      const auto found = names.find(std::string(name));
      return found == names.end() ? nullptr : matcher.values.at(found->second);
    };
    if ((filter && !filter(named)) || (context && !context->allowed())) continue;
    // Where the last of what is read or covered stands, so that all of it is there.
    Node* last = n;
    for (Node* m : matcher.nodes)
      if (m != last && m->is_after(last)) last = m;
    std::vector<Value*> inputs;
    bool there = true;
    for (const Value* v : pattern.inputs()) {
      inputs.push_back(matcher.values.contains(v) ? matcher.values.at(v) : nullptr);
      there = there && inputs.back();
    }
    // A result must not be read before that place.
    for (const Value* v : pattern.outputs())
      for (const Use& u : matcher.values.at(v)->uses())
        there = there && (std::ranges::find(matcher.nodes, u.user) != matcher.nodes.end() || u.user->is_after(last));
    if (!there) continue;
    InsertAt here(last);
    Node* before = last->prev();
    const std::vector<Value*> results = g.insert_graph(replacement, inputs);
    for (Node* made = before->next(); made != last; made = made->next()) made->copy_metadata(*n);
    for (size_t i = 0; i < results.size(); ++i) {
      Value* old = matcher.values.at(pattern.outputs()[i]);
      results[i]->set_type(old->type());
      old->replace_uses_with(results[i]);
    }
    for (Node* m : matcher.nodes) {
      covered.insert(m);
      gone.push_back(m);
    }
    ++count;
  }
  std::ranges::sort(gone, [](const Node* a, const Node* b) { return a != b && a->is_after(b); });
  for (Node* m : gone)
    if (!m->has_uses()) m->destroy();
  return count;
}

bool fuse_linear(Graph& g, PassContext& context) {
  constexpr Rewrite addmm[] = {{R"(graph(%input, %weight, %bias, %beta, %alpha):
  %t = aten::t(%weight)
  %r = aten::addmm(%bias, %input, %t, %beta, %alpha)
  return (%r))",
                                R"(graph(%input, %weight, %bias, %beta, %alpha):
  %r = aten::linear(%input, %weight, %bias)
  return (%r))"}};
  constexpr Rewrite with_bias[] = {{R"(graph(%input, %weight, %bias, %alpha):
  %t = aten::t(%weight)
  %p = aten::matmul(%input, %t)
  %r = aten::add_(%p, %bias, %alpha)
  return (%r))",
                                    R"(graph(%input, %weight, %bias, %alpha):
  %r = aten::linear(%input, %weight, %bias)
  return (%r))"},
                                   {R"(graph(%input, %weight, %bias, %alpha):
  %t = aten::t(%weight)
  %p = aten::matmul(%input, %t)
  %r = aten::add(%p, %bias, %alpha)
  return (%r))",
                                    R"(graph(%input, %weight, %bias, %alpha):
  %r = aten::linear(%input, %weight, %bias)
  return (%r))"}};
  constexpr Rewrite without[] = {{R"(graph(%input, %weight):
  %t = aten::t(%weight)
  %r = aten::matmul(%input, %t)
  return (%r))",
                                  R"(graph(%input, %weight):
  %bias : Tensor? = prim::Constant()
  %r = aten::linear(%input, %weight, %bias)
  return (%r))"}};
  const bool a = rewrite_all(g, context, addmm, [](const auto& v) { return is_one(v("beta")) && is_one(v("alpha")); });
  const bool b = rewrite_all(g, context, with_bias, [](const auto& v) { return is_one(v("alpha")); });
  const bool c = rewrite_all(g, context, without, {});
  return a || b || c;
}

bool fuse_add_relu(Graph& g, PassContext& context) {
  constexpr Rewrite table[] = {{R"(graph(%a, %b, %alpha):
  %s = aten::add(%a, %b, %alpha)
  %r = aten::relu(%s)
  return (%r))",
                                R"(graph(%a, %b, %alpha):
  %r = aten::_add_relu(%a, %b, %alpha)
  return (%r))"},
                               {R"(graph(%a, %b, %alpha):
  %s = aten::add_(%a, %b, %alpha)
  %r = aten::relu_(%s)
  return (%r))",
                                R"(graph(%a, %b, %alpha):
  %r = aten::_add_relu_(%a, %b, %alpha)
  return (%r))"},
                               {R"(graph(%a, %b, %alpha):
  %s = aten::add(%a, %b, %alpha)
  %r = aten::relu_(%s)
  return (%r))",
                                R"(graph(%a, %b, %alpha):
  %r = aten::_add_relu(%a, %b, %alpha)
  return (%r))"}};
  return rewrite_all(g, context, table, {});
}

bool fuse_addmm(Graph& g, PassContext& context) {
  bool changed = false;
  auto typed = [](const Value* v) {
    const TensorFacts* f = v->type()->is(TypeKind::Tensor) ? v->type()->facts() : nullptr;
    return f && f->sizes && f->dtype;
  };
  for_each_node(*g.block(), [&](Node* n) {
    if (!n->is(aten_add) || n->num_inputs() != 3 || !is_one(n->input(2))) return;
    for (size_t side : {size_t{0}, size_t{1}}) {
      const Node* mm = n->input(side)->node();
      Value* other = n->input(1 - side);
      if (!mm->is(aten_mm) || mm->num_inputs() != 2 || mm->output(0)->uses().size() != 1 || !typed(other)) continue;
      if (!typed(mm->input(0)) || !typed(mm->input(1)) || other->type()->facts()->sizes->empty() || !context.allowed())
        continue;
      InsertAt here(n);
      Value* one = g.insert_constant(int64_t(1));
      Value* in[] = {other, mm->input(0), mm->input(1), one, one};
      Value* made = g.insert(g.create(aten_addmm, in))->output();
      made->copy_metadata(*n->output(0));
      n->output(0)->replace_uses_with(made);
      changed = true;
      return;
    }
  });
  return changed;
}

}  // namespace fc::jit
