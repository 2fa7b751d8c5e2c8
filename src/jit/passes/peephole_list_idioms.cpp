// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/peephole_list_idioms.h"

#include <algorithm>

#include "jit/ir/alias.h"
#include "jit/ir/equal.h"
#include "jit/passes/peephole_parts.h"
#include "jit/passes/refinements.h"

namespace fc::jit {
namespace {

// Lists and dicts that are made in the graph and never written.
class Unchanged {
 public:
  explicit Unchanged(Graph& g) : graph_(g) {}
  const Node* made(const Value* v, const SymbolEntry& how) {
    const Node* n = v->node();
    if (!n->is(how)) return nullptr;
    if (!aliases_) aliases_ = std::make_unique<AliasDb>(graph_);
    return aliases_->has_writers(v) ? nullptr : n;
  }

 private:
  Graph& graph_;
  std::unique_ptr<AliasDb> aliases_;
};

std::optional<size_t> item_at(int64_t i, size_t size) {
  const auto n = static_cast<int64_t>(size);
  if (i < -n || i >= n) return {};
  return static_cast<size_t>(i < 0 ? i + n : i);
}

bool new_list(const PassContext& context, Node* n, const std::vector<Value*>& items) {
  if (!n->output(0)->type()->is(TypeKind::List)) return false;  // text may say otherwise than the operator does
  InsertAt here(n);
  Graph& g = n->graph();
  return replace_output(context, n, g.insert(g.create_list(n->output(0)->type()->item(), items))->output());
}

bool one_list(Node* n, Unchanged& lists, const PassContext& context) {
  if (n->num_inputs() == 0 || (n->num_outputs() != 1 && !n->is(prim_ListUnpack))) return false;
  const Node* list = lists.made(n->input(0), prim_ListConstruct);
  if (!list) return false;
  const size_t size = list->num_inputs();
  if (n->is(aten_len)) return replace_with_constant(context, n, static_cast<int64_t>(size));
  if (n->is(aten___getitem__) && n->num_inputs() == 2) {
    auto i = constant_int(n->input(1));
    auto at = i ? item_at(*i, size) : std::nullopt;
    return at && replace_output(context, n, list->input(*at));
  }
  if (n->is(prim_ListUnpack)) {
    if (n->num_outputs() != size || size == 0) return false;
    for (size_t i = 0; i < size; ++i) {
      n->output(i)->set_type(list->input(i)->type());
      n->output(i)->replace_uses_with(list->input(i));
    }
    return true;
  }
  if (n->is(aten_add) && n->num_inputs() == 2) {
    const Node* other = lists.made(n->input(1), prim_ListConstruct);
    if (!other || !lists.made(n->output(0), aten_add)) return false;
    std::vector<Value*> items = list->inputs();
    for (Value* v : other->inputs()) items.push_back(v);
    return new_list(context, n, items);
  }
  if (n->is(aten_slice) && n->num_inputs() == 4) {
    if (!lists.made(n->output(0), aten_slice)) return false;
    auto number = [&](size_t i, int64_t otherwise) -> std::optional<int64_t> {
      return is_none(n->input(i)) ? std::optional(otherwise) : constant_int(n->input(i));
    };
    const auto length = static_cast<int64_t>(size);
    auto begin = number(1, 0), end = number(2, length), step = number(3, 1);
    if (!begin || !end || !step || *step < 1) return false;
    auto inside = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + length : i, 0, length); };
    std::vector<Value*> items;
    for (int64_t i = inside(*begin); i < inside(*end); i += std::min(*step, length + 1))
      items.push_back(list->input(static_cast<size_t>(i)));
    return new_list(context, n, items);
  }
  return false;
}

}  // namespace

bool peephole_lists(Graph& g, const PassContext& context) {
  Unchanged lists(g);
  return for_each_inside_first(g, [&](Node* n) { return context.allowed() && one_list(n, lists, context); });
}

namespace {

// Where a branch was taken because a list has a length, and nobody changes it, it has that length.
class LengthRefiner final : public Refiner {
 public:
  LengthRefiner(Graph& g, const PassContext& context) : Refiner(g), context_(context), aliases_(g) {}
  bool changed = false;

 private:
  const Value* list_of(const Value* length) const {
    const Node* n = length->node();
    if (!n->is(aten_len) || n->num_inputs() != 1) return nullptr;
    const Value* list = n->input(0);
    return list->type()->is(TypeKind::List) && !aliases_.has_writers(list) ? list : nullptr;
  }
  void visit(Node* n) override {
    if (is_any(n->kind(), aten_eq, aten_ne) && n->num_inputs() == 2)
      for (size_t i : {size_t{0}, size_t{1}}) {
        const Value* list = list_of(n->input(i));
        const auto length = constant_int(n->input(1 - i));
        if (list && length)
          (n->is(aten_eq) ? condition(n->output()).yes : condition(n->output()).no).emplace(list, *length);
      }
    if (n->num_outputs() != 1) return;
    const Value* list = list_of(n->output(0));
    const auto known = list ? find(list) : std::nullopt;
    if (known && context_.allowed()) changed = replace_with_constant(context_, n, *known) || changed;
  }

  const PassContext& context_;
  AliasDb aliases_;
};

}  // namespace

bool peephole_lists(Graph& g, PassContext& context) {
  bool changed = false;
  if (context.lengths) {
    LengthRefiner refiner(g, context);
    refiner.run();
    changed = refiner.changed;
  }
  return peephole_lists(g, static_cast<const PassContext&>(context)) || changed;
}

bool peephole_dict(Graph& g, const PassContext& context) {
  Unchanged dicts(g);
  return for_each_inside_first(g, [&](Node* n) {
    if (n->num_inputs() == 0 || !(n->is(aten_len) || n->is(aten___getitem__)) || !context.allowed()) return false;
    const Node* dict = dicts.made(n->input(0), prim_DictConstruct);
    if (!dict) return false;
    // Keys have to be known, since a later one replaces an earlier one.
    std::vector<std::pair<fc::Value, Value*>> entries;
    for (size_t i = 0; i + 1 < dict->num_inputs(); i += 2) {
      auto key = constant_of(dict->input(i));
      if (!key || (key->tag() != Tag::Int && key->tag() != Tag::String && key->tag() != Tag::Double)) return false;
      auto same = std::ranges::find_if(entries, [&](const auto& e) { return equal_values(e.first, *key); });
      if (same != entries.end()) same->second = dict->input(i + 1);
      else entries.emplace_back(*key, dict->input(i + 1));
    }
    if (n->is(aten_len)) return replace_with_constant(context, n, static_cast<int64_t>(entries.size()));
    auto wanted = constant_of(n->input(1));
    if (!wanted) return false;
    for (const auto& [key, v] : entries)
      if (equal_values(key, *wanted)) return replace_output(context, n, v);
    return false;
  });
}

bool combine_concats(Graph& g, const PassContext& context) {
  std::unique_ptr<AliasDb> aliases;
  return for_each_inside_first(g, [&](Node* n) {
    if (!n->is(aten_cat) || n->num_inputs() != 2 || !n->input(0)->node()->is(prim_ListConstruct)) return false;
    const Node* list = n->input(0)->node();
    if (n->input(0)->uses().size() != 1) return false;
    if (!aliases) aliases = std::make_unique<AliasDb>(g);
    auto dim = constant_int(n->input(1));
    if (!dim || aliases->has_writers(list->output(0))) return false;
    std::vector<Value*> items;
    bool nested = false;
    for (Value* v : list->inputs()) {
      Node* inner = v->node();
      const bool fits = inner->is(aten_cat) && inner->num_inputs() == 2 && v->uses().size() == 1 &&
                        constant_int(inner->input(1)) == dim && inner->input(0)->node()->is(prim_ListConstruct) &&
                        inner->input(0)->uses().size() == 1 && !aliases->has_writers(v);
      if (!fits) {
        items.push_back(v);
        continue;
      }
      nested = true;
      for (Value* item : inner->input(0)->node()->inputs()) items.push_back(item);
    }
    if (!nested || !context.allowed()) return false;
    InsertAt here(n);
    Value* joined = g.insert(g.create_list(tensor_type(), items))->output();
    n->replace_input(0, joined);
    return true;
  });
}

}  // namespace fc::jit
