// SPDX-License-Identifier: Apache-2.0
// Rules about numbers, truth values and None.
#include "jit/ir/alias.h"
#include "jit/passes/peephole_parts.h"

namespace fc::jit {
namespace {

bool is_int(const Value* v) { return v->type()->is(TypeKind::Int); }

bool may_be_none(const Value* v) {
  TypeRef t = v->type();
  return t->is(TypeKind::None) || t->is(TypeKind::Optional) || t->is(TypeKind::Any) || t->is(TypeKind::Union) ||
         v->node()->is(prim_AutogradAdd);
}

bool one_if(Node* n, const PassContext& context) {
  bool changed = false;
  for (size_t i = 0; i < n->num_outputs(); ++i) {
    Value *out = n->output(i), *yes = n->block(0)->output(i), *no = n->block(1)->output(i);
    if (out->type()->is(TypeKind::Bool) && constant_bool(yes).value_or(false) && !constant_bool(no).value_or(true)) {
      context.update("Replace ", out->name(), " (True or False) with ", n->input(0)->name());
      out->replace_uses_with(n->input(0));
      changed = true;
    }
    if (out->type()->is(TypeKind::Optional) && !yes->type()->is(TypeKind::Optional) &&
        !no->type()->is(TypeKind::Optional))
      if (TypeRef both = unify(yes->type(), no->type()); both && both != out->type()) {
        out->set_type(both);
        changed = true;
      }
  }
  return changed;
}

// n + 0, n - 0, n * 1, n // 1; constants stand second; (n + a) + b is n + (a + b), also with -.
bool integers(Node* n, const PassContext& context) {
  if (n->num_inputs() != 2 || !is_int(n->input(0)) || !is_int(n->input(1))) return false;
  const bool add = n->is(aten_add), sub = n->is(aten_sub), mul = n->is(aten_mul), div = n->is(aten_floordiv);
  if (!add && !sub && !mul && !div) return false;
  bool changed = false;
  if ((add || mul) && constant_int(n->input(0)) && !constant_int(n->input(1))) {
    Value *a = n->input(0), *b = n->input(1);
    n->replace_input(0, b);
    n->replace_input(1, a);  // no change that leaves dead code
  }
  auto second = constant_int(n->input(1));
  if (!second) return changed;
  if ((add || sub) && *second == 0) return replace_output(context, n, n->input(0));
  if ((mul || div) && *second == 1) return replace_output(context, n, n->input(0));
  if (!add && !sub) return changed;
  Node* inner = n->input(0)->node();
  if (!(inner->is(aten_add) || inner->is(aten_sub)) || inner->num_inputs() != 2 || !is_int(inner->input(0)) ||
      !is_int(inner->input(1)) || inner->owning_block() != n->owning_block())
    return changed;
  auto first = constant_int(inner->input(1));
  if (!first) return changed;
  int64_t a = *first, b = *second, sum = 0;
  if ((inner->is(aten_sub) && __builtin_sub_overflow(int64_t(0), a, &a)) ||
      (sub && __builtin_sub_overflow(int64_t(0), b, &b)) || __builtin_add_overflow(a, b, &sum))
    return changed;
  InsertAt here(n);
  n->set_kind(aten_add);
  n->replace_input(1, n->graph().insert_constant(sum));
  n->replace_input(0, inner->input(0));
  return true;
}

bool one(Node* n, const PassContext& context) {
  bool changed = false;
  if (!n->is(prim_Constant))
    for (Value* v : n->outputs())
      if (v->type()->is(TypeKind::None) && v->has_uses()) {
        InsertAt here(n);
        v->replace_uses_with(n->graph().insert_constant(fc::Value()));
        changed = true;
      }
  if (n->is(prim_If)) return one_if(n, context) || changed;
  if (n->num_outputs() != 1) return changed;
  if (is_any(n->kind(), aten___is__, aten___isnot__) && n->num_inputs() == 2) {
    for (size_t none : {0, 1})
      if (is_none(n->input(none)) && !may_be_none(n->input(1 - none)))
        return replace_with_constant(context, n, n->is(aten___isnot__));
  } else if (is_any(n->kind(), prim_unchecked_unwrap_optional, aten__unwrap_optional) && n->num_inputs() == 1) {
    if (!may_be_none(n->input(0))) return replace_output(context, n, n->input(0));
  } else if (n->is(prim_unchecked_cast) && n->num_inputs() == 1) {
    if (is_subtype(n->input(0)->type()->unshaped(), n->output(0)->type()->unshaped()))
      return replace_output(context, n, n->input(0));
  } else if (is_any(n->kind(), aten_Int, aten_Float, aten_Bool, aten_Complex) && n->num_inputs() == 1) {
    if (n->input(0)->type() == n->output(0)->type() && !n->input(0)->type()->is(TypeKind::Tensor))
      return replace_output(context, n, n->input(0));
  } else if (is_any(n->kind(), aten_eq, aten_ne, aten_le, aten_ge, aten_lt, aten_gt) && n->num_inputs() == 2 &&
             n->input(0) == n->input(1) && is_int(n->input(0))) {
    return replace_with_constant(context, n, is_any(n->kind(), aten_eq, aten_le, aten_ge));
  } else {
    changed |= integers(n, context);
  }
  return changed;
}

}  // namespace

bool peephole_non_tensor(Graph& g, const PassContext& context) {
  return for_each_inside_first(g, [&](Node* n) { return context.allowed() && one(n, context); });
}

bool peephole_alias_sensitive(Graph& g, const PassContext& context) {
  std::unique_ptr<AliasDb> aliases;
  auto apart = [&](Value* a, Value* b) {
    if (!aliases) aliases = std::make_unique<AliasDb>(g);
    return aliases->safe_to_alias({&a, 1}, {&b, 1});
  };
  return for_each_inside_first(g, [&](Node* n) {
    if (n->num_outputs() != 1 || n->num_inputs() < 1 || !n->input(0)->type()->is(TypeKind::Tensor)) return false;
    Value* in = n->input(0);
    if (n->is(aten_dim) && n->num_inputs() == 1) {
      const Node* from = in->node();
      const int64_t rank = from->is(aten_conv1d) ? 3 : from->is(aten_conv2d) ? 4 : from->is(aten_conv3d) ? 5 : 0;
      if (!rank || !apart(in, in)) return false;
      return context.allowed() && replace_with_constant(context, n, rank);
    }
    if (!context.shapes || n->num_inputs() < 2) return false;
    auto number = constant_of(n->input(1));
    if (!number || !n->input(1)->type()->is_number()) return false;
    const Scalar s = number->arg().scalar();
    bool same = false;
    if ((n->is(aten_add) || n->is(aten_sub)) && n->num_inputs() == 3) {
      auto alpha = constant_of(n->input(2));
      same = s.equals(0) && alpha && alpha->arg().scalar().equals(1);
    } else if ((n->is(aten_mul) || n->is(aten_div)) && n->num_inputs() == 2) {
      same = s.equals(1);
    }
    // The type stays only where it is known to: integers and floating numbers, and division, promote.
    const TensorFacts* f = in->type()->facts();
    if (!same || !f || !f->dtype) return false;
    const bool floating = is_floating(*f->dtype);
    if (!floating && (n->is(aten_div) || !s.is_integral(false) || *f->dtype == DType::Bool)) return false;
    return apart(in, n->output(0)) && context.allowed() && replace_output(context, n, in);
  });
}

}  // namespace fc::jit
