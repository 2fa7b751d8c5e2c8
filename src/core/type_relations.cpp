// SPDX-License-Identifier: Apache-2.0
// Which type a value of another may stand for, what holds two, and what a schema's type variables stand for.
#include <algorithm>

#include "core/class_type.h"
#include "core/error.h"
#include "core/type.h"

namespace fc {
namespace {

template <class T>
std::optional<T> same(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a == *b ? a : std::nullopt;
}

using Extents = std::optional<std::vector<std::optional<int64_t>>>;
Extents merge_extents(const Extents& a, const Extents& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Extents out(std::in_place, a->size());
  for (size_t i = 0; i < a->size(); ++i) (*out)[i] = same((*a)[i], (*b)[i]);
  return out;
}

bool has_kind(std::span<const TypeRef> types, TypeKind k) {
  return std::any_of(types.begin(), types.end(), [&](TypeRef t) { return t->is(k); });
}

// What a Union or an Optional may hold, one by one; of any other type itself.
std::vector<TypeRef> alternatives(TypeRef t) {
  if (t->is(TypeKind::Union)) return {t->items().begin(), t->items().end()};
  if (t->is(TypeKind::Optional)) return {t->item(), simple_type(TypeKind::None)};
  return {t};
}

bool fields_fit(TypeRef a, TypeRef b) {
  return b->name().empty() ||  // a NamedTuple is a tuple too
         std::equal(a->field_names().begin(), a->field_names().end(), b->field_names().begin(), b->field_names().end());
}

// `a` and `b` differ; neither is an Optional or a Union, and `b` is not Any.
bool is_subtype_by_kind(TypeRef a, TypeRef b, std::string* why_not) {
  using enum TypeKind;
  switch (a->kind()) {
    case Int:
    case Float:
    case Complex: return b->is(Number);
    case Tensor:
      return b->is(Tensor) && (!b->facts() || (a->facts() && merge(*a->facts(), *b->facts()) == *b->facts()));
    case List: return b->is(AnyList);  // what is changed in place is what it is
    case Tuple:
      if (b->is(AnyTuple)) return true;
      if (!b->is(Tuple) || a->items().size() != b->items().size() || !fields_fit(a, b)) return false;
      for (size_t i = 0; i < a->items().size(); ++i)
        if (!is_subtype(a->item(i), b->item(i), why_not)) return false;
      return true;
    case Future:
    case RRef:
    case Await: return b->is(a->kind()) && is_subtype(a->item(), b->item(), why_not);
    case Enum: return b->is(AnyEnum);
    case Class:
    case Interface:
      if (b->is(AnyClass)) return a->is(Class);
      return b->is(Interface) && provides(a, b, why_not);
    default: return false;
  }
}

// The type of both where neither is a subtype of the other, by their parts.
TypeRef unify_parts(TypeRef a, TypeRef b) {
  using enum TypeKind;
  if (a->is(Tensor) && b->is(Tensor))
    return a->facts() && b->facts() ? tensor_type(merge(*a->facts(), *b->facts())) : tensor_type();
  if (a->is(None)) return optional_type(b);
  if (b->is(None)) return optional_type(a);
  if (a->is(Optional) || b->is(Optional)) {
    const TypeRef both = a->is(Optional) ? unify(a->item(), b) : unify(b->item(), a);
    if (both) return optional_type(both);
  }
  if (a->is(Tuple) && b->is(Tuple)) {
    if (a->items().size() != b->items().size()) return nullptr;
    std::vector<TypeRef> items;
    for (size_t i = 0; i < a->items().size(); ++i) {
      items.push_back(unify(a->item(i), b->item(i)));
      if (!items.back()) return nullptr;
    }
    return tuple_type(std::move(items));
  }
  if (a->is(Future) && b->is(Future))
    if (TypeRef item = unify(a->item(), b->item())) return future_type(item);
  // List[Float(2, 3)] and List[Float(*, *)] are lists of tensors.
  const TypeRef plain_a = a->unshaped(), plain_b = b->unshaped();
  if (plain_a == a && plain_b == b) return nullptr;
  return is_subtype(plain_a, plain_b) ? plain_b : is_subtype(plain_b, plain_a) ? plain_a : nullptr;
}

}  // namespace

bool is_subtype(TypeRef a, TypeRef b, std::string* why_not) {
  using enum TypeKind;
  if (a == b || b->is(Any)) return true;
  if (a->is(Optional) || a->is(Union)) {
    for (TypeRef t : alternatives(a))
      if (!is_subtype(t, b)) {
        if (why_not) *why_not += str(annotation_text(b), " cannot hold ", annotation_text(t));
        return false;
      }
    return true;
  }
  if (b->is(Optional) || b->is(Union)) {
    const std::vector<TypeRef> held = alternatives(b);
    if (a->is(Number) && has_kind(held, Int) && has_kind(held, Float) && has_kind(held, Complex)) return true;
    return std::any_of(held.begin(), held.end(), [&](TypeRef t) { return is_subtype(a, t, why_not); });
  }
  return is_subtype_by_kind(a, b, why_not);
}

TensorFacts merge(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts out;
  out.dtype = same(a.dtype, b.dtype);
  out.device = same(a.device, b.device);
  out.sizes = merge_extents(a.sizes, b.sizes);
  if (out.sizes) out.strides = merge_extents(a.strides, b.strides);
  out.requires_grad = same(a.requires_grad, b.requires_grad);
  out.undefined = same(a.undefined, b.undefined);
  return out;
}

TypeRef unify(TypeRef a, TypeRef b, bool unions) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (TypeRef t = unify_parts(a, b)) return t;
  return unions ? union_type({a, b}) : nullptr;
}

TypeRef unify(std::span<const TypeRef> types, bool unions) {
  if (types.empty()) return nullptr;
  TypeRef all = types[0];
  for (TypeRef t : types.subspan(1)) {
    all = unify(all, t, unions);
    if (!all) return nullptr;
  }
  return all;
}

TypeRef TypeBindings::find(std::string_view variable) const {
  for (const auto& [name, type] : bound_)
    if (name == variable) return type;
  return nullptr;
}

std::string TypeBindings::match(TypeRef formal, TypeRef actual) {
  using enum TypeKind;
  if (!formal->has_variables()) return {};
  auto items = [&] {
    for (size_t i = 0; i < formal->items().size(); ++i)
      if (std::string why = match(formal->item(i), actual->item(i)); !why.empty()) return why;
    return std::string();
  };
  auto no = [&](std::string_view what) { return str("Cannot match ", what, " to ", annotation_text(actual)); };
  switch (formal->kind()) {
    case Variable:
      if (TypeRef before = find(formal->name())) {
        // An argument that is more than what is bound is the caller's to refuse, who knows which.
        if (unify(before, actual)) return {};
        return str("Type variable '", formal->name(), "' previously matched to type ", annotation_text(before),
                   " is matched to type ", annotation_text(actual));
      }
      bound_.emplace_back(formal->name(), actual);
      return {};
    case List:
      if (actual->is(List)) return items();
      if (actual->is(Tuple))
        if (TypeRef all = unify(actual->items())) return match(formal->item(), all);
      return no(annotation_text(formal));
    case Tuple:
      if (!actual->is(Tuple)) return no("a tuple");
      if (actual->items().size() != formal->items().size()) return "Cannot match tuples of mismatched size";
      return items();
    case Future: return actual->is(Future) ? items() : no("a future");
    case RRef: return actual->is(RRef) ? items() : no("a rref");
    case Await: return actual->is(Await) ? items() : no("an await");
    case Dict: return actual->is(Dict) ? items() : no("a dict");
    case Optional:
      if (actual->is(Optional)) return items();
      if (!actual->is(None)) return match(formal->item(), actual);
      return "Cannot match an Optional[T] to None, because there is no way to determine T from None";
    default: return no(annotation_text(formal));
  }
}

TypeRef TypeBindings::substitute(TypeRef formal) const {
  if (!formal->has_variables()) return formal;
  if (formal->is(TypeKind::Variable)) return find(formal->name());
  std::vector<TypeRef> items;
  for (TypeRef t : formal->items()) {
    items.push_back(substitute(t));
    if (!items.back()) return nullptr;
  }
  return formal->with_items(std::move(items));
}

}  // namespace fc
