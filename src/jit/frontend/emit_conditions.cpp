// SPDX-License-Identifier: Apache-2.0
// Conditions: which side is compiled, and what each side knows of its variables' types.
#include <algorithm>

#include "core/class_type.h"
#include "jit/frontend/emitter.h"

namespace fc::jit {
namespace {

using Set = Refinements::Set;

TypeRef find(const Set& s, const std::string& name) {
  for (const auto& [n, t] : s)
    if (n == name) return t;
  return nullptr;
}
// What holds where one of two does: the type that both lead to, of variables of which both speak.
Set meet(const Set& a, const Set& b) {
  Set out;
  for (const auto& [name, type] : a)
    if (TypeRef other = find(b, name))
      if (TypeRef t = unify(type, other)) out.emplace_back(name, t);
  return out;
}
// What holds where both do; of a variable of which both speak, what the second says.
Set join(const Set& a, const Set& b) {
  Set out;
  for (const auto& r : a)
    if (!find(b, r.first)) out.push_back(r);
  out.insert(out.end(), b.begin(), b.end());
  std::ranges::sort(out);
  return out;
}

enum class Noneness { Always, Maybe, Never };
Noneness noneness(const Value* v) {
  TypeRef t = v->type();
  if (t->is(TypeKind::None)) return Noneness::Always;
  if (t->is(TypeKind::Optional)) return Noneness::Maybe;
  if (t->is(TypeKind::Union) && is_subtype(simple_type(TypeKind::None), t)) return Noneness::Maybe;
  if (t->is(TypeKind::Any)) return Noneness::Maybe;
  return Noneness::Never;
}
TypeRef without_none(TypeRef t) {
  if (t->is(TypeKind::Optional)) return t->item();
  std::vector<TypeRef> rest;
  for (TypeRef i : t->items())
    if (!i->is(TypeKind::None)) rest.push_back(i);
  return union_type(std::move(rest));
}

const std::string* variable_name(const Tree& e) { return e.is(Syntax::Variable) ? &e.name() : nullptr; }

}  // namespace

Refinements both(const Refinements& a, const Refinements& b) {
  return {join(a.when_true, b.when_true), meet(a.when_false, b.when_false)};
}
Refinements either(const Refinements& a, const Refinements& b) {
  return {meet(a.when_true, b.when_true), join(a.when_false, b.when_false)};
}

Value* Emitter::to_bool(const SourceRange& at, Value* v) {
  try {
    Value* out = magic("__bool__", make_ref<CastFunction>(simple_type(TypeKind::Bool), aten_Bool))
                     ->call(at, g_, {NamedValue(v)}, {})
                     ->as_value(at, g_);
    if (out->type()->is(TypeKind::Bool)) return out;
    fail(at, "expected a bool expression for condition but found ", type_name(out->type()));
  } catch (const SourceError&) { fail(at, "Could not cast value of type ", type_name(v->type()), " to bool"); }
}

Condition Emitter::condition(const Tree& e) {
  switch (e.kind()) {
    case Syntax::And:
    case Syntax::Or: return logical(e.range(), e.part(0), e.part(1), e.is(Syntax::Or));
    case Syntax::Not: {
      const Condition c = condition(e.part(0));
      Value* v = emit_builtin(e.range(), g_, aten___not__, {NamedValue(c.value)});
      return {v, c.refinements.negated(), c.known ? std::optional(!*c.known) : std::nullopt};
    }
    case Syntax::Is:
    case Syntax::IsNot: return identity(e);
    default: break;
  }
  if (e.is(Syntax::Apply)) {
    const Tree& callee = e.part(0);
    if (callee.is(Syntax::Variable)) {
      if (callee.name() == "isinstance") {
        count_arguments(e, 2);
        return is_instance(argument(e, 0), argument(e, 1), argument(e, 1).range());
      }
      if (callee.name() == "hasattr") {
        count_arguments(e, 2);
        return has_attr(argument(e, 0), argument(e, 1));
      }
    }
    SugaredRef f = sugared(callee);
    if (const auto* form = dynamic_cast<const SpecialForm*>(f.get()); form && form->form == Symbol(prim_isinstance)) {
      count_arguments(e, 2);
      return is_instance(argument(e, 0), argument(e, 1), argument(e, 1).range());
    }
  }
  Value* v = to_bool(e.range(), expression(e));
  std::optional<bool> known;
  if (v->node()->kind().text() == "aten::is_scripting") known = true;
  else known = constant_bool(v);
  return {v, {}, known};
}

Condition Emitter::identity(const Tree& e) {
  const bool is = e.is(Syntax::Is);
  Value *left = expression(e.part(0)), *right = expression(e.part(1));
  const Noneness a = noneness(left), b = noneness(right);
  using enum Noneness;
  if (a == Always && b == Always) return {insert_constant(g_, is, e.range()), {}, is};
  if ((a == Always && b == Never) || (a == Never && b == Always)) return {insert_constant(g_, !is, e.range()), {}, !is};
  Value* v = emit_builtin(e.range(), g_, is ? aten___is__ : aten___isnot__, {NamedValue(left), NamedValue(right)});
  Refinements r;
  const auto add = [&](const Tree& tree, Value* value, Noneness own, Noneness other) {
    const std::string* name = variable_name(tree);
    if (!name || own != Maybe || other != Always || value->type()->is(TypeKind::Any)) return;
    r.when_true.emplace_back(*name, simple_type(TypeKind::None));
    r.when_false.emplace_back(*name, without_none(value->type()));
  };
  add(e.part(0), left, a, b);
  add(e.part(1), right, b, a);
  // That it is None needs no cast: uses of None are errors of their own.
  if (!r.when_true.empty()) r.when_true.clear();
  return {v, is ? r : r.negated(), {}};
}

Condition Emitter::logical(const SourceRange& at, const Tree& a, const Tree& b, bool is_or) {
  const Condition left = condition(a);
  std::optional<Condition> right;
  const auto constant = [&] { return insert_constant(g_, is_or, at); };
  const auto rest = [&] {
    right = condition(b);
    return right->value;
  };
  Value* v = is_or ? if_expression(at, left, constant, rest) : if_expression(at, left, rest, constant);
  std::optional<bool> known;
  if ((left.known && *left.known == is_or) || (right->known && *right->known == is_or)) known = is_or;
  else if (left.known && right->known) known = is_or ? *left.known || *right->known : *left.known && *right->known;
  return {v, is_or ? either(left.refinements, right->refinements) : both(left.refinements, right->refinements), known};
}

Value* Emitter::if_expression(const SourceRange& at, const Condition& c, const std::function<Value*()>& yes,
                              const std::function<Value*()>& no) {
  Node* n = insert_node(g_, prim_If, std::vector{c.value}, 0, at);
  Block *true_block = n->add_block(), *false_block = n->add_block();
  const auto emit = [&](Block* b, const Set& refined, const std::function<Value*()>& side) {
    push(b);
    const InsertAt there(b);
    refine(at, refined);
    b->register_output(side());
    pop();
  };
  emit(true_block, c.refinements.when_true, yes);
  emit(false_block, c.refinements.when_false, no);
  TypeRef a = true_block->output(0)->type(), b = false_block->output(0)->type();
  TypeRef type = unify(a, b);
  if (!type)
    fail(at, "if-expression's true branch has type ", type_name(a), " but false branch has type ", type_name(b));
  Value* out = n->add_output();
  out->set_type(type);
  return out;
}

// --- isinstance and hasattr
Condition Emitter::is_instance(const Tree& object, const Tree& types, const SourceRange& at) {
  Value* v = expression(object);
  std::vector<TypeRef> wanted;
  std::vector<const Tree*> open{&types};
  while (!open.empty()) {
    const Tree& t = *open.back();
    open.pop_back();
    if (t.is(Syntax::TupleLiteral)) {
      const auto parts = t.part(0).parts();
      for (size_t i = parts.size(); i-- > 0;) open.push_back(parts[i].get());
      continue;
    }
    wanted.push_back(type_of_expression(t, names_));
  }
  const auto inside = [](TypeRef t) -> std::vector<TypeRef> {
    if (t->is(TypeKind::Optional)) return {t->item(), simple_type(TypeKind::None)};
    if (t->is(TypeKind::Union)) return {t->items().begin(), t->items().end()};
    return {t};
  };
  const auto matches = [](TypeRef t, TypeRef w) {
    if (is_subtype(t, w)) return true;
    if (w->is(TypeKind::AnyList)) return t->is(TypeKind::List);
    if (w->is(TypeKind::AnyTuple)) return t->is(TypeKind::Tuple);
    return false;
  };
  std::vector<TypeRef> in, out;
  bool unknown = false;
  for (TypeRef t : inside(v->type())) {
    if (t->is(TypeKind::Any) || t->is(TypeKind::Number)) {
      unknown = true;
      continue;
    }
    bool hit = false;
    for (TypeRef w : wanted)
      for (TypeRef part : inside(w)) hit = hit || matches(t, part);
    (hit ? in : out).push_back(t);
  }
  if (!unknown && out.empty()) {
    Refinements always;
    if (const std::string* name = variable_name(object))
      always.when_true.emplace_back(*name, in.size() == 1 ? in[0] : union_type(in));
    return {insert_constant(g_, true, at), always, true};
  }
  if (!unknown && in.empty()) {
    // A value of a class may be one that derives from it: only types that are told apart by name are known.
    bool maybe = false;
    for (TypeRef w : wanted) maybe = maybe || is_subtype(w, v->type());
    if (!maybe) return {insert_constant(g_, false, at), {}, false};
  }
  Node* n = g_.insert(g_.create(prim_isinstance, std::vector{v}));
  n->set(attr_types, wanted);
  n->output()->set_type(simple_type(TypeKind::Bool));
  Refinements r;
  if (const std::string* name = variable_name(object)) {
    std::vector<TypeRef> yes = wanted;
    if (!unknown && !in.empty()) yes = in;
    TypeRef t = yes.size() == 1 ? yes[0] : union_type(yes);
    r.when_true.emplace_back(*name, t);
    if (!unknown && !out.empty()) r.when_false.emplace_back(*name, out.size() == 1 ? out[0] : union_type(out));
  }
  return {n->output(), r, {}};
}

Condition Emitter::has_attr(const Tree& object, const Tree& name) {
  SugaredRef v = sugared(object);
  if (!name.is(Syntax::StringLiteral)) fail(name.range(), "hasattr's second argument must be a string literal");
  const bool has = v->has_attr(object.range(), g_, name.part(0).text());
  return {insert_constant(g_, has, object.range()), {}, has};
}

}  // namespace fc::jit
