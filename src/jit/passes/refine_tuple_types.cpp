// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/refine_tuple_types.h"

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {

bool refine_tuple_types(Graph& g, PassContext& context) {
  bool changed = false;
  auto refine = [&](Value* v, TypeRef t) {
    if (v->type() == t || !context.allowed()) return;
    v->set_type(t);
    changed = true;
  };
  for_each_node(*g.block(), [&](Node* n) {
    if (n->is(prim_TupleConstruct) && n->output(0)->type()->is(TypeKind::Tuple)) {
      std::vector<TypeRef> items;
      for (const Value* v : n->inputs()) items.push_back(v->type());
      if (items.size() == n->output(0)->type()->items().size())
        refine(n->output(0), n->output(0)->type()->with_items(std::move(items)));
    } else if (n->is(prim_TupleUnpack) && n->input(0)->type()->is(TypeKind::Tuple)) {
      for (size_t i = 0; i < n->num_outputs(); ++i) refine(n->output(i), n->input(0)->type()->item(i));
    } else if (n->is(prim_TupleIndex) && n->input(0)->type()->is(TypeKind::Tuple)) {
      const auto items = n->input(0)->type()->items();
      const auto size = static_cast<int64_t>(items.size());
      if (auto i = constant_int(n->input(1)); i && *i >= -size && *i < size)
        refine(n->output(0), items[static_cast<size_t>(*i < 0 ? *i + size : *i)]);
    }
  });
  return changed;
}

}  // namespace fc::jit
