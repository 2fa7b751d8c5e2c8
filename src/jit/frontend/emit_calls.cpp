// SPDX-License-Identifier: Apache-2.0
// Calls, and what the compiler itself does with the sources of their arguments.
#include <algorithm>
#include <limits>

#include "core/class_type.h"
#include "core/containers.h"
#include "jit/frontend/emitter.h"

namespace fc::jit {

void Emitter::count_arguments(const Tree& e, size_t n) {
  const std::string name = e.part(0).is(Syntax::Variable) ? e.part(0).name() : "the function";
  if (e.part(1).size() != n) fail(e.range(), name, " expected exactly ", n, " arguments but found ", e.part(1).size());
  if (!e.part(2).empty()) fail(e.range(), name, " takes no keyword arguments");
}

SugaredRef Emitter::apply(const Tree& e, TypeRef hint) {
  SugaredRef f = sugared(e.part(0));
  const SourceRange& at = e.part(0).range();
  if (const auto* form = dynamic_cast<const SpecialForm*>(f.get())) return special(*form, e, hint);
  Arguments args = arguments(e.part(1).parts()), named;
  for (const TreeRef& a : e.part(2).parts()) named.emplace_back(a->range(), a->name(), expression(a->part(1)));
  return f->call(at, g_, std::move(args), std::move(named));
}

Value* Emitter::annotated(const SourceRange& at, TypeRef t, const Tree& e) {
  Value* v = convert_to(at, g_, t, expression(e, t), true);
  std::string why;
  if (!is_subtype(v->type(), t, &why))
    fail(e.range(), "expected an expression of type ", type_name(t), " but found ", type_name(v->type()), "\n", why);
  // None as an optional remembers of what.
  if (v->type()->is(TypeKind::None) && !t->is(TypeKind::None)) {
    Node* n = g_.insert(g_.create_none());
    n->output()->set_type(t);
    return n->output();
  }
  return v;
}

SugaredRef Emitter::special(const SpecialForm& form, const Tree& e, TypeRef hint) {
  const SourceRange &at = e.range(), &callee = e.part(0).range();
  const std::string_view name = form.form.text();
  const auto inputs = e.part(1).parts();
  if (name == "prim::fork" || name == "prim::awaitable") {
    if (inputs.empty()) fail(at, "Expected at least one argument to fork()");
    SugaredRef f = sugared(*inputs[0]);
    Arguments args = arguments(inputs.subspan(1)), named;
    for (const TreeRef& a : e.part(2).parts()) named.emplace_back(a->range(), a->name(), expression(a->part(1)));
    return fork(at, f, std::move(args), std::move(named));
  }
  if (name == "prim::annotate") {
    count_arguments(e, 2);
    return simple(annotated(at, type_of_expression(*inputs[0], names_), *inputs[1]));
  }
  if (name == "prim::unchecked_cast") {
    count_arguments(e, 2);
    TypeRef t = type_of_expression(*inputs[0], names_);
    Value* v = expression(*inputs[1]);
    Node* n = insert_node(g_, prim_unchecked_cast, std::vector{v}, 1, at);
    n->output()->set_type(t);
    return simple(n->output());
  }
  if (name == "prim::Uninitialized") {
    count_arguments(e, 1);
    Node* n = insert_node(g_, prim_Uninitialized, {}, 1, at);
    n->output()->set_type(type_of_expression(*inputs[0], names_));
    return simple(n->output());
  }
  if (name == "prim::rpc_async" || name == "prim::rpc_sync" || name == "prim::rpc_remote")
    fail(at, "remote procedure calls are not supported");
  if (name == "prim::TupleConstruct") {
    if (inputs.empty()) return simple(g_.insert(g_.create_tuple({}))->output());
    count_arguments(e, 1);
    SugaredRef v = sugared(*inputs[0]);
    std::vector<Value*> items;
    for (const SugaredRef& i : v->as_tuple(at, g_)) items.push_back(i->as_value(at, g_));
    return simple(g_.insert(g_.create_tuple(items))->output());
  }
  if (name == "prim::isinstance") {
    count_arguments(e, 2);
    return simple(is_instance(argument(e, 0), argument(e, 1), argument(e, 1).range()).value);
  }
  if (name == "prim::HasAttr") {
    count_arguments(e, 2);
    return simple(has_attr(argument(e, 0), argument(e, 1)).value);
  }
  if (name == "prim::GetAttr") return get_attribute(e);
  if (name == "prim::tolist") return simple(tolist(e, hint));
  if (name == "prim::CreateObject") {
    if (inputs.size() != 1) fail(at, "Only one argument to __new__ allowed");
    SugaredRef cls = sugared(*inputs[0]);
    const auto* c = dynamic_cast<const ClassValue*>(cls.get());
    if (!c) fail(inputs[0]->range(), "Expected class value as argument to __new__, got ", cls->kind(), " instead");
    if (c->type != form.type)
      fail(at, "Argument to __new__() must match the class you are calling __new__() on. Got: ", type_name(c->type),
           ", expected: ", type_name(form.type));
    Node* n = insert_node(g_, prim_CreateObject, {}, 1, at);
    n->output()->set_type(form.type);
    return simple(n->output());
  }
  if (name == "prim::range") {
    const std::vector<Value*> in = values(inputs);
    return make_ref<RangeValue>(at, g_, in);
  }
  if (name == "prim::enumerate") return enumerate(e);
  if (name == "prim::zip") {
    if (inputs.empty()) fail(at, "zip expected at least 1 arguments, got 0");
    auto tree = make_ref<IterableTree>();
    for (const TreeRef& i : inputs) tree->add(at, g_, sugared(*i)->iter(at, g_));
    return tree;
  }
  if (name == "prim::list") return list_of(e, hint);
  if (name == "prim::dict") return dict_of(e, hint);
  if (name == "prim::slice") {
    std::vector<Value*> in = values(inputs);
    if (in.empty() || in.size() > 3) fail(at, "slice expected between 1 and 3 arguments, got ", in.size());
    const auto none = [&] { return insert_constant(g_, {}, at); };
    if (in.size() == 1) in.insert(in.begin(), none());
    if (in.size() == 2) in.push_back(none());
    return make_ref<SliceValue>(in[0], in[1], in[2]);
  }
  fail(callee, "unknown special form: ", name);
}

SugaredRef Emitter::enumerate(const Tree& e) {
  const SourceRange& at = e.range();
  const auto inputs = e.part(1).parts();
  if (inputs.empty()) fail(at, "enumerate expected at least 1 arguments, got 0");
  if (inputs.size() > 2) fail(at, "enumerate expected at most 2 arguments, got ", inputs.size());
  std::vector<Value*> in;
  const Tree* start = inputs.size() == 2 ? inputs[1].get() : nullptr;
  for (const TreeRef& a : e.part(2).parts())
    if (a->name() == "start") start = &a->part(1);
    else fail(a->range(), "enumerate has no argument '", a->name(), "'");
  if (start) in.push_back(expression(*start));
  in.push_back(kept_constant(std::numeric_limits<int64_t>::max(), at, ints_));
  SugaredRef over = sugared(*inputs[0])->iter(at, g_);
  auto tree = make_ref<IterableTree>();
  tree->add(at, g_, make_ref<RangeValue>(at, g_, in, over->static_len()));
  tree->add(at, g_, over);
  return tree;
}

SugaredRef Emitter::get_attribute(const Tree& e) {
  const SourceRange& at = e.range();
  const auto inputs = e.part(1).parts();
  if (inputs.size() < 2 || inputs.size() > 3) fail(at, "getattr expected 2 or 3 arguments but got ", inputs.size());
  SugaredRef v = sugared(*inputs[0]);
  if (!inputs[1]->is(Syntax::StringLiteral))
    fail(inputs[1]->range(), "getattr's second argument must be a string literal");
  const std::string& name = inputs[1]->part(0).text();
  if (inputs.size() == 3 && !v->has_attr(at, g_, name)) return sugared(*inputs[2]);
  return v->attr(at, g_, name);
}

SugaredRef Emitter::list_of(const Tree& e, TypeRef hint) {
  const SourceRange& at = e.range();
  const auto inputs = e.part(1).parts();
  if (inputs.size() > 1) fail(at, "list expected at most 1 argument, got ", inputs.size());
  if (inputs.empty()) {
    if (hint && hint->is(TypeKind::List)) return simple(g_.insert(g_.create_list(hint->item(), {}))->output());
    return simple(plain(*Tree::make(Syntax::ListLiteral, at, {Tree::list(at, {})}), hint));
  }
  SugaredRef over = sugared(*inputs[0])->iter(inputs[0]->range(), g_);
  if (Value* v = over->graph_value(); v && v->type()->is(TypeKind::List))
    return simple(emit_builtin(at, g_, aten_list, {NamedValue(v)}));
  // list(iter) is [_elem for _elem in iter]
  const std::string name = str("$list_acc", next_temporary_++), item = str("$elem", next_temporary_++);
  const TreeRef variable = Tree::make(Syntax::Variable, at, {Tree::ident(at, item)});
  return simple(comprehension(*Tree::make(Syntax::ListComp, at, {variable, variable, inputs[0]}), hint));
}

SugaredRef Emitter::dict_of(const Tree& e, TypeRef hint) {
  const SourceRange& at = e.range();
  const auto inputs = e.part(1).parts(), named = e.part(2).parts();
  if (inputs.size() > 1) fail(at, "dict expected at most 1 argument, got ", inputs.size());
  std::vector<TreeRef> keys, all;
  for (const TreeRef& a : named) {
    keys.push_back(Tree::make(Syntax::StringLiteral, a->range(), {Tree::string(a->name())}));
    all.push_back(a->parts()[1]);
  }
  const auto literal = [&](std::vector<TreeRef> k, std::vector<TreeRef> v) {
    return Tree::make(Syntax::DictLiteral, at, {Tree::list(at, std::move(k)), Tree::list(at, std::move(v))});
  };
  if (inputs.empty()) return simple(dict_literal(*literal(std::move(keys), std::move(all)), hint));
  const Tree& first = *inputs[0];
  Value* made;
  if (first.is(Syntax::DictLiteral)) made = dict_literal(first, hint);
  else if (first.is(Syntax::DictComp)) made = dict_comprehension(first, hint);
  else {
    Value* v = expression(first);
    if (!v->type()->is(TypeKind::Dict) && !(v->type()->is(TypeKind::List) && v->type()->item()->is(TypeKind::Tuple) &&
                                            v->type()->item()->items().size() == 2))
      fail(first.range(), "Cannot create a dict from a value of type ", type_name(v->type()));
    made = emit_builtin(at, g_, Symbol::of("aten::dict"), {NamedValue(v)});
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    Value *k = expression(*keys[i]), *v = expression(*all[i]);
    emit_builtin(at, g_, aten__set_item, {NamedValue(made), NamedValue(k), NamedValue(v)});
  }
  return simple(made);
}

Value* Emitter::tolist(const Tree& e, TypeRef hint) {
  const SourceRange& at = e.range();
  if (!e.part(1).empty() || !e.part(2).empty()) fail(at, "tolist() takes no arguments");
  if (!hint) fail(at, "Expected type hint for result of tolist()");
  Value* tensor = expression(e.part(0).part(0));
  int64_t dims = 0;
  TypeRef item = hint;
  for (; item->is(TypeKind::List); item = item->item()) ++dims;
  int64_t kind;
  switch (item->kind()) {
    case TypeKind::Int: kind = 0; break;
    case TypeKind::Float: kind = 1; break;
    case TypeKind::Bool: kind = 2; break;
    case TypeKind::Complex: kind = 3; break;
    default:
      fail(at, type_name(item), " is not one of the supported element types for tolist: int, float, complex, bool");
  }
  Value* d = insert_constant(g_, dims, at);
  Value* k = insert_constant(g_, kind, at);
  Node* n = insert_node(g_, prim_tolist, std::vector{tensor, d, k}, 1, at);
  n->output()->set_type(hint);
  return n->output();
}

// A function that runs beside this one: its arguments become inputs of a graph that is the node's own.
SugaredRef Emitter::fork(const SourceRange& at, const SugaredRef& f, Arguments args, Arguments named) {
  Ref<Graph> own = Graph::make();
  Node* n = g_.create(prim_fork);
  n->set_range(at);
  std::vector<Value*> given;
  const auto inside = [&](NamedValue& a) {
    Value* v = a.in(g_);
    Value* in = own->add_input(v->has_name() ? v->name() : "");
    in->set_type(v->type());
    given.push_back(v);
    a.value = in;
  };
  SugaredRef callee = f;
  if (Value* object = f->object()) {
    Value* in = own->add_input("self");
    in->set_type(object->type());
    given.push_back(object);
    callee = f->of_object(in);
  }
  for (NamedValue& a : args) inside(a);
  for (NamedValue& a : named) inside(a);
  own->set_insert_point(own->block());
  Value* out = callee->call(at, *own, std::move(args), std::move(named))->as_value(at, *own);
  own->register_output(out);
  finish_graph(*own);
  for (Value* v : given) n->add_input(v);
  n->set(attr_Subgraph, own);
  n->output()->set_type(future_type(out->type()));
  g_.insert(n);
  return simple(n->output());
}

}  // namespace fc::jit
