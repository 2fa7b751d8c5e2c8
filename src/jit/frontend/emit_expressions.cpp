// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>

#include "core/class_type.h"
#include "core/containers.h"
#include "jit/frontend/emitter.h"
#include "jit/passes/evaluate.h"

namespace fc::jit {
namespace {

struct OperatorNames {
  Syntax kind;
  const char *symbol, *method;
};
constexpr OperatorNames operators[] = {
    {Syntax::Add, "aten::add", "__add__"},
    {Syntax::Sub, "aten::sub", "__sub__"},
    {Syntax::Mul, "aten::mul", "__mul__"},
    {Syntax::Div, "aten::div", "__truediv__"},
    {Syntax::Mod, "aten::remainder", "__mod__"},
    {Syntax::MatMul, "aten::matmul", "__matmul__"},
    {Syntax::FloorDiv, "aten::floordiv", "__floordiv__"},
    {Syntax::Pow, "aten::pow", "__pow__"},
    {Syntax::BitAnd, "aten::__and__", "__and__"},
    {Syntax::BitOr, "aten::__or__", "__or__"},
    {Syntax::BitXor, "aten::__xor__", "__xor__"},
    {Syntax::LShift, "aten::__lshift__", "__lshift__"},
    {Syntax::RShift, "aten::__rshift__", "__rshift__"},
    {Syntax::Eq, "aten::eq", "__eq__"},
    {Syntax::Ne, "aten::ne", "__ne__"},
    {Syntax::Lt, "aten::lt", "__lt__"},
    {Syntax::Gt, "aten::gt", "__gt__"},
    {Syntax::Le, "aten::le", "__le__"},
    {Syntax::Ge, "aten::ge", "__ge__"},
    {Syntax::In, "aten::__contains__", "__contains__"},
};
const OperatorNames& names_of(Syntax k) { return *std::ranges::find(operators, k, &OperatorNames::kind); }

}  // namespace

Value* Emitter::expression(const Tree& e, TypeRef hint) {
  Compiling::at(e.range());
  Value* v = sugared(e, hint)->as_value(e.range(), g_);
  if (hint && hint->is(TypeKind::Any) && !v->type()->is(TypeKind::Any)) {
    Node* n = g_.insert(g_.create(prim_unchecked_cast, std::vector{v}));
    n->output()->set_type(hint);
    return n->output();
  }
  return v;
}

SugaredRef Emitter::sugared(const Tree& e, TypeRef hint) {
  switch (e.kind()) {
    case Syntax::Variable: return variable(e.name(), e.range());
    case Syntax::Select: return sugared(e.part(0))->attr(e.range(), g_, e.part(1).name());
    case Syntax::Apply: return apply(e, hint);
    case Syntax::Subscript: return subscript(e, hint);
    default: return simple(plain(e, hint));
  }
}

Value* Emitter::plain(const Tree& e, TypeRef hint) {
  switch (e.kind()) {
    case Syntax::FloorDiv: return emit_builtin(e.range(), g_, Symbol::of("aten::floordiv"), arguments(e.parts()));
    case Syntax::Mod: {
      Value* left = sugared(e.part(0))->as_value(e.part(0).range(), g_);
      if (!left->type()->is(TypeKind::String)) return binary(e);
      const std::vector<Value*> in = values(e.parts());
      Node* n = insert_node(g_, Symbol::of("aten::percentFormat"), in, 1, e.range());
      n->output()->set_type(simple_type(TypeKind::String));
      return n->output();
    }
    case Syntax::Is:
    case Syntax::IsNot:
    case Syntax::And:
    case Syntax::Or:
    case Syntax::Not: return condition(e).value;
    case Syntax::UnaryMinus: return unary(e, "__neg__", Symbol::of("aten::neg"));
    case Syntax::Invert: return unary(e, "__invert__", Symbol::of("aten::bitwise_not"));
    case Syntax::Starred: fail(e.range(), "Unexpected starred expansion. File a bug report");
    case Syntax::Const: return number(e);
    case Syntax::True: return insert_constant(g_, true, e.range());
    case Syntax::False: return insert_constant(g_, false, e.range());
    case Syntax::None: return insert_constant(g_, {}, e.range());
    case Syntax::IfExpr: {
      const Condition c = condition(e.part(0));
      if (c.known) return expression(e.part(*c.known ? 1 : 2), hint);
      return if_expression(
          e.range(), c, [&] { return expression(e.part(1), hint); }, [&] { return expression(e.part(2), hint); });
    }
    case Syntax::StringLiteral: return insert_constant(g_, std::string_view(e.part(0).text()), e.range());
    case Syntax::ListLiteral: return list_literal(e, hint);
    case Syntax::TupleLiteral: return tuple_literal(e, hint);
    case Syntax::DictLiteral: return dict_literal(e, hint);
    case Syntax::ListComp: return comprehension(e, hint);
    case Syntax::DictComp: return dict_comprehension(e, hint);
    case Syntax::Dots: fail(e.range(), "Ellipsis is only supported as an index");
    default: break;
  }
  if (std::ranges::find(operators, e.kind(), &OperatorNames::kind) != std::end(operators)) return binary(e);
  fail(e.range(), "Cannot emit expr for: ", to_string(e.kind()));
}

// --- names
SugaredRef Emitter::variable(const std::string& name, const SourceRange& at) {
  if (SugaredRef v = env_->find(name)) return v;
  if (SugaredRef v = global(name)) return v;
  if (SugaredRef v = names_.resolve_value(name, g_, at)) return v;
  if (TypeRef t = names_.resolve_type(name, at); t && t->is(TypeKind::Tuple)) return make_ref<NamedTupleConstructor>(t);
  if (const std::string* why = env_->find_error(name)) fail(at, *why, "and was used here");
  fail(at, "undefined value ", name);
}

SugaredRef Emitter::global(const std::string& name) {
  const auto cast = [](TypeKind t, const SymbolEntry& s) { return make_ref<CastFunction>(simple_type(t), s); };
  const auto builtin = [](const char* s) { return make_ref<BuiltinFunction>(Symbol::of(s)); };
  const auto form = [](const char* s) { return make_ref<SpecialForm>(Symbol::of(s)); };

  if (name == kAssertionFailure) return make_ref<AssertionFailure>();
  if (name == "print") return make_ref<PrintFunction>();
  if (name == "float") return magic("__float__", cast(TypeKind::Float, aten_Float));
  if (name == "complex") return magic("__complex__", cast(TypeKind::Complex, aten_Complex));
  if (name == "int") return magic("__int__", cast(TypeKind::Int, aten_Int));
  if (name == "bool") return magic("__bool__", cast(TypeKind::Bool, aten_Bool));
  if (name == "str") return magic("__str__", cast(TypeKind::String, aten_str));
  constexpr std::pair<std::string_view, const char*> forms[] = {
      {"tuple", "prim::TupleConstruct"},  {"getattr", "prim::GetAttr"}, {"hasattr", "prim::HasAttr"},
      {"isinstance", "prim::isinstance"}, {"range", "prim::range"},     {"zip", "prim::zip"},
      {"enumerate", "prim::enumerate"},   {"list", "prim::list"},       {"dict", "prim::dict"},
      {"slice", "prim::slice"},
  };
  for (const auto& [n, s] : forms)
    if (n == name) return form(s);
  constexpr std::pair<std::string_view, const char*> builtins[] = {
      {"rangelist", "prim::rangelist"},
      {"sorted", "aten::sorted"},
      {"min", "prim::min"},
      {"max", "prim::max"},
      {"abs", "prim::abs"},
      {"all", "aten::all"},
      {"any", "aten::any"},
      {"divmod", "aten::divmod"},
      {"sum", "aten::sum"},
      {"ord", "aten::ord"},
      {"chr", "aten::chr"},
      {"bin", "aten::bin"},
      {"hex", "aten::hex"},
      {"oct", "aten::oct"},
      {"pow", "aten::pow"},
      {"hash", "aten::hash"},
      {"id", "prim::id"},
  };
  for (const auto& [n, s] : builtins)
    if (n == name) return builtin(s);
  if (name == "len") return magic("__len__", builtin("aten::len"));
  if (name == "round") return magic("__round__", builtin("aten::round"));
  return {};
}

// --- constants
template <class T>
Value* Emitter::kept_constant(T v, const SourceRange& at, std::map<T, Value*>& kept) {
  Value*& place = kept[v];
  if (!place) {
    const InsertAt front(g_.block()->first());
    place = insert_constant(g_, fc::Value(v), at);
  }
  return place;
}
template Value* Emitter::kept_constant(int64_t, const SourceRange&, std::map<int64_t, Value*>&);

Value* Emitter::number(const Tree& e) {
  std::string text = e.part(0).text();
  std::erase(text, '_');
  const char* end = text.data() + text.size();
  const bool hex = text.starts_with("0x") || text.starts_with("0X") || text.starts_with("-0x");
  const auto bad = [&] { fail(e.range(), "Number is too big: ", text); };
  if (!hex && !text.empty() && (text.back() == 'j' || text.back() == 'J')) {
    double imaginary = 0;
    std::from_chars(text.data(), end - 1, imaginary);
    Value*& place = complexes_[{0, imaginary}];
    if (!place) {
      const InsertAt front(g_.block()->first());
      place = insert_constant(g_, fc::Value(Scalar(ComplexDouble{0, imaginary})), e.range());
    }
    return place;
  }
  if (!hex && (text.find_first_of(".eE") != text.npos || text == "inf" || text == "nan")) {
    double v = 0;
    const auto read = std::from_chars(text.data(), end, v);
    if (read.ec == std::errc::result_out_of_range) v = std::numeric_limits<double>::infinity();
    return kept_constant(v, e.range(), floats_);
  }
  int64_t v = 0;
  const std::string digits = hex ? (text[0] == '-' ? "-" + text.substr(3) : text.substr(2)) : text;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), v, hex ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) bad();
  return kept_constant(v, e.range(), ints_);
}

// --- operators
Arguments Emitter::arguments(std::span<const TreeRef> all) {
  Arguments out;
  for (const TreeRef& t : all) {
    if (t->is(Syntax::Starred)) {
      SugaredRef list = sugared(t->part(0));
      for (const SugaredRef& i : list->as_tuple(t->range(), g_))
        out.emplace_back(t->range(), i->as_value(t->range(), g_));
    } else {
      Value* v = expression(*t);
      out.emplace_back(t->range(), v);
    }
  }
  return out;
}
std::vector<Value*> Emitter::values(std::span<const TreeRef> all, std::span<const TypeRef> hints) {
  std::vector<Value*> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->is(Syntax::Starred)) {
      SugaredRef list = sugared(all[i]->part(0));
      for (const SugaredRef& s : list->as_tuple(all[i]->range(), g_)) out.push_back(s->as_value(all[i]->range(), g_));
    } else {
      out.push_back(expression(*all[i], i < hints.size() ? hints[i] : nullptr));
    }
  }
  return out;
}

Value* Emitter::binary(const Tree& e) {
  const OperatorNames& n = names_of(e.kind());
  Arguments args = arguments(e.parts());
  if (e.is(Syntax::In)) std::swap(args[0], args[1]);
  if (e.is(Syntax::Add) && args[0].value->type()->is(TypeKind::Tuple) && args[1].value->type()->is(TypeKind::Tuple)) {
    std::vector<Value*> items = unpack_tuple(g_, args[0].value), more = unpack_tuple(g_, args[1].value);
    items.insert(items.end(), more.begin(), more.end());
    return g_.insert(g_.create_tuple(items))->output();
  }
  return magic(n.method, make_ref<BuiltinFunction>(Symbol::of(n.symbol)))
      ->call(e.range(), g_, std::move(args), {})
      ->as_value(e.range(), g_);
}

Value* Emitter::unary(const Tree& e, const char* method, Symbol op) {
  Arguments args = arguments(e.parts());
  Value* v =
      magic(method, make_ref<BuiltinFunction>(op))->call(e.range(), g_, std::move(args), {})->as_value(e.range(), g_);
  if (v->node()->kind() != op) return v;
  for (const Value* in : v->node()->inputs())
    if (!constant_of(in)) return v;
  const auto results = evaluate_constant_node(*v->node());
  if (!results || results->size() != 1) return v;
  return insert_constant(g_, (*results)[0], e.range());
}

// --- literals
static TypeRef list_hint(TypeRef hint) {
  if (!hint) return nullptr;
  if (hint->is(TypeKind::Optional)) hint = hint->item();
  if (hint->is(TypeKind::List)) return hint;
  if (hint->is(TypeKind::Union)) {
    TypeRef only = nullptr;
    for (TypeRef t : hint->items())
      if (t->is(TypeKind::List)) {
        if (only) return nullptr;
        only = t;
      }
    return only;
  }
  return nullptr;
}

Value* Emitter::list_literal(const Tree& e, TypeRef hint) {
  const auto items = e.part(0).parts();
  TypeRef list = list_hint(hint), item = list ? list->item() : nullptr;
  const std::vector<TypeRef> hints(items.size(), item);
  std::vector<Value*> in = values(items, hints);
  if (in.empty() && !item) {
    Node* n = insert_node(g_, prim_EmptyListLiteral, {}, 1, e.range());
    n->output()->set_type(list_type(tensor_type()));
    return n->output();
  }
  if (!in.empty()) {
    std::vector<TypeRef> types;
    for (Value* v : in) types.push_back(v->type());
    if (item) {
      for (Value*& v : in) v = convert_to(e.range(), g_, item, v, false);
      if (!std::ranges::all_of(in, [&](const Value* v) { return is_subtype(v->type(), item); }))
        fail(e.range(), "List type annotation `List[", type_name(item),
             "]` did not match the types of the given list elements, which were unified to ",
             type_name(unify(types, true)));
    } else {
      TypeRef t = unify(types, true);
      if (!t) fail(e.range(), "The elements of a list have types that have nothing in common");
      item = t;
    }
  }
  Node* n = g_.insert(g_.create_list(item, in));
  return n->output();
}

Value* Emitter::tuple_literal(const Tree& e, TypeRef hint) {
  const auto items = e.part(0).parts();
  std::vector<TypeRef> hints;
  if (hint && hint->is(TypeKind::Tuple) && hint->items().size() == items.size())
    hints.assign(hint->items().begin(), hint->items().end());
  const std::vector<Value*> in = values(items, hints);
  return g_.insert(g_.create_tuple(in))->output();
}

Value* Emitter::dict_literal(const Tree& e, TypeRef hint) {
  if (hint && hint->is(TypeKind::Optional)) hint = hint->item();
  if (hint && !hint->is(TypeKind::Dict)) hint = nullptr;
  TypeRef key = hint ? hint->item(0) : nullptr, value = hint ? hint->item(1) : nullptr;
  const auto keys = e.part(0).parts(), all = e.part(1).parts();
  std::vector<Value*> k, v;
  for (size_t i = 0; i < keys.size(); ++i) {
    k.push_back(expression(*keys[i], key));
    v.push_back(expression(*all[i], value));
  }
  if (!hint) {
    key = k.empty() ? simple_type(TypeKind::String) : k[0]->type();
    value = tensor_type();
    if (!v.empty()) {
      std::vector<TypeRef> types;
      for (Value* x : v) types.push_back(x->type());
      value = unify(types, true);
    }
    for (size_t i = 1; i < k.size(); ++i)
      if (k[i]->type() != key)
        fail(e.range(), "Dict keys must contain only a single type. Expected: ", type_name(key), " but found ",
             type_name(k[i]->type()), " instead");
  }
  std::vector<Value*> in;
  for (size_t i = 0; i < k.size(); ++i) {
    if (!is_subtype(k[i]->type(), key))
      fail(e.range(), "Type annotation was inferred to be `Dict[", type_name(key), ", ", type_name(value),
           "]`, but the type of keys given by the dict literal is ", type_name(k[i]->type()));
    v[i] = convert_to(e.range(), g_, value, v[i], false);
    if (!is_subtype(v[i]->type(), value))
      fail(e.range(), "Type hint for dict was Dict[", type_name(key), ", ", type_name(value),
           "], but the value at index ", i, " has type ", type_name(v[i]->type()), ", which is not a valid subtype of ",
           type_name(value));
    in.push_back(k[i]);
    in.push_back(v[i]);
  }
  TypeRef type;
  try {
    type = dict_type(key, value);
  } catch (const TypeError& error) { fail(e.range(), error.message()); }
  Node* n = g_.insert(g_.create(prim_DictConstruct, in));
  n->output()->set_type(type);
  return n->output();
}

// --- comprehensions: their variables are their own

Value* Emitter::comprehension(const Tree& e, TypeRef hint) {
  const SourceRange& at = e.range();
  TypeRef list = list_hint(hint);
  Node* made = g_.insert(g_.create_list(list ? list->item() : tensor_type(), {}));
  Value* out = made->output();
  bool typed = list != nullptr;
  const auto targets = Tree::list(e.part(1).range(), {TreeRef(&e.part(1))});
  const auto iterated = Tree::list(e.part(2).range(), {TreeRef(&e.part(2))});
  // A loop that is written out has no list that grows.
  SugaredRef over = sugared(e.part(2))->iter(at, g_);
  if (over->unrolls()) {
    made->destroy();
    const auto n = over->static_len();
    if (!n) fail(at, "a comprehension over what has no length that is known when it is compiled");
    std::vector<Value*> items;
    for (int64_t i = 0; i < *n; ++i) {
      push(env_->block());
      assign_all(targets->parts(), {over->getitem(at, g_, kept_constant(i, at, ints_))}, at, 1);
      items.push_back(expression(e.part(0), list ? list->item() : nullptr));
      pop();
    }
    TypeRef item = list ? list->item() : nullptr;
    for (Value* v : items) { item = item ? unify(item, v->type(), true) : v->type(); }
    return g_.insert(g_.create_list(item ? item : tensor_type(), items))->output();
  }
  Node* scope = insert_node(g_, prim_ComprehensionScope, {}, 0, at);
  Block* block = scope->add_block();
  push(block);
  {
    const InsertAt there(block);
    loop(
        at,
        [&] {
          Value* item = expression(e.part(0), list ? list->item() : nullptr);
          if (!typed) {
            out->set_type(list_type(item->type()));
            typed = true;
          }
          emit_builtin(at, g_, aten_append, {NamedValue(out), NamedValue(item)});
        },
        over, targets.get(), nullptr);
  }
  pop();
  return out;
}

Value* Emitter::dict_comprehension(const Tree& e, TypeRef hint) {
  const SourceRange& at = e.range();
  if (hint && hint->is(TypeKind::Optional)) hint = hint->item();
  if (hint && !hint->is(TypeKind::Dict)) hint = nullptr;
  Node* made = g_.insert(g_.create(prim_DictConstruct, std::vector<Value*>{}));
  Value* out = made->output();
  out->set_type(hint ? hint : dict_type(simple_type(TypeKind::String), tensor_type()));
  bool typed = hint != nullptr;
  const auto targets = Tree::list(e.part(2).range(), {TreeRef(&e.part(2))});
  SugaredRef over = sugared(e.part(3))->iter(at, g_);
  const auto body = [&] {
    Value* key = expression(e.part(0), hint ? hint->item(0) : nullptr);
    Value* value = expression(e.part(1), hint ? hint->item(1) : nullptr);
    if (!typed) {
      out->set_type(dict_type(key->type(), value->type()));
      typed = true;
    }
    emit_builtin(at, g_, aten__set_item, {NamedValue(out), NamedValue(key), NamedValue(value)});
  };
  if (over->unrolls()) {
    for (int64_t i = 0; i < over->static_len().value_or(0); ++i) {
      push(env_->block());
      assign_all(targets->parts(), {over->getitem(at, g_, kept_constant(i, at, ints_))}, at, 1);
      body();
      pop();
    }
    return out;
  }
  Node* scope = insert_node(g_, prim_ComprehensionScope, {}, 0, at);
  Block* block = scope->add_block();
  push(block);
  {
    const InsertAt there(block);
    loop(at, body, over, targets.get(), nullptr);
  }
  pop();
  return out;
}

}  // namespace fc::jit
