// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/match.h"

#include <algorithm>

#include "core/class_type.h"
#include "core/containers.h"
#include "dispatch/operator.h"
#include "jit/ir/operators.h"

namespace fc::jit {
namespace {

using Reasons = std::string*;  // where the reasons go; null: nobody asks

TypeRef without_optional(TypeRef t) { return t->is(TypeKind::Optional) ? t->item() : t; }
bool is_tensor(TypeRef t) { return is_subtype(t, tensor_type()); }

bool tuple_is_list(TypeRef tuple, TypeRef list) {
  if (!tuple->is(TypeKind::Tuple) || !list->is(TypeKind::List)) return false;
  return std::ranges::all_of(tuple->items(), [&](TypeRef t) { return is_subtype(t, list->item()); });
}

// Of one call: collects why it does not fit.
class Matcher {
 public:
  Matcher(const Schema& s, const SourceRange& at, Graph& g, bool conversions, Reasons why)
      : schema_(s), at_(at), g_(g), conversions_(conversions), why_(why) {}

  std::optional<MatchedCall> match(const Arguments& args, const Arguments& named, std::optional<NamedValue> self) {
    MatchedCall out;
    std::vector<bool> used(named.size());
    size_t taken = 0;
    const auto& parameters = schema_.parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[i];
      std::optional<NamedValue> actual;
      if (p.name == "self" && self) {
        actual = std::exchange(self, std::nullopt);
      } else if (!p.keyword_only && taken < args.size()) {
        if (takes_rest(i)) {
          TypeRef first = args[taken].in(g_)->type();
          if (!first->is(TypeKind::List) && !tuple_is_list(first, without_optional(formal(p)))) {
            Value* list = make_list(formal(p)->item(), args, taken);
            if (!list) return {};
            taken = args.size();
            out.inputs.push_back(list);
            continue;
          }
        }
        actual = args[taken++];
      } else if (const size_t k = find(named, p.name); k < named.size()) {
        if (used[k]) return no("Argument ", p.name, " specified twice in schema, submit a bug report!\n");
        used[k] = true;
        actual = named[k];
      } else if (p.has_default) {
        actual = NamedValue(p.default_value);
      } else {
        return no("Argument ", p.name, " not provided.\n");
      }
      Value* v = argument(formal(p), p.name, p.type.list ? p.type.length : 0, *actual);
      if (!v) return {};
      out.inputs.push_back(v);
    }
    if (self) return no("Provided self argument not used in schema.\n");
    if (schema_.more_parameters)
      for (; taken < args.size(); ++taken) out.inputs.push_back(args[taken].in(g_));
    if (taken < args.size())
      return no("Expected at most ", taken, " arguments but found ", args.size(), " positional arguments.\n");
    for (size_t k = 0; k < named.size(); ++k)
      if (!used[k])
        return schema_.find(named[k].name) < 0 ? no("Keyword argument ", named[k].name, " unknown.\n")
                                               : no("Keyword argument ", named[k].name, " specified twice.\n");
    for (const Parameter& r : schema_.returns) {
      TypeRef t = formal_type(r);
      if (t->has_variables()) t = bindings_.substitute(t);
      FC_CHECK(t, "internal: the result of ", to_string(schema_), " has a type variable that no argument tells");
      out.results.push_back(t);
      out.result_names.push_back(r.name);
    }
    if (std::ranges::any_of(out.result_names, &std::string::empty)) out.result_names.clear();
    return out;
  }

 private:
  template <class... Parts>
  std::nullopt_t no(const Parts&... parts) {
    if (why_) *why_ += str("\n", to_string(schema_), ":\n", parts...);
    return std::nullopt;
  }
  TypeRef formal(const Parameter& p) { return formal_type(p); }
  static size_t find(const Arguments& named, std::string_view name) {
    size_t k = 0;
    while (k < named.size() && named[k].name != name) ++k;
    return k;
  }
  // zeros(2, 3): the last parameter that has a position takes what is left, if it is a list of any length.
  bool takes_rest(size_t i) const {
    const auto& p = schema_.parameters;
    if (i + 1 < p.size() && !p[i + 1].keyword_only) return false;
    TypeRef t = formal_type(p[i]);
    return t->is(TypeKind::List) && p[i].type.length == 0 && !t->item()->is(TypeKind::Variable);
  }
  Value* make_list(TypeRef item, const Arguments& args, size_t from) {
    std::vector<Value*> items;
    for (size_t i = from; i < args.size(); ++i) {
      Value* v = argument(item, "<varargs>", 0, args[i]);
      if (!v) return nullptr;
      items.push_back(v);
    }
    return g_.insert(g_.create_list(item, items))->output();
  }

  Value* argument(TypeRef formal, const std::string& name, int length, const NamedValue& actual) {
    Value* v = actual.in(g_);
    // One number for a list of as many as it has.
    if (length > 0 && (v->type()->is(TypeKind::Int) || v->type()->is(TypeKind::Float))) {
      TypeRef list = without_optional(formal);
      if (list->is(TypeKind::List) && list->item() == v->type()) {
        const std::vector<Value*> same(static_cast<size_t>(length), v);
        v = g_.insert(g_.create_list(v->type(), same))->output();
      }
    }
    TypeRef wanted = formal;
    if (formal->has_variables()) {
      if (std::string what = bindings_.match(formal, v->type()); !what.empty()) {
        no("Could not match type ", type_name(v->type()), " to ", type_name(formal), " in argument '", name,
           "': ", what, ".\n");
        return nullptr;
      }
      wanted = bindings_.substitute(formal);
      if (!wanted) {
        no("Type variables in type ", type_name(formal), " could not be inferred from actual type ",
           type_name(v->type()));
        return nullptr;
      }
    }
    v = convert_to(at_, g_, wanted, v, conversions_);
    std::string detail;
    if (is_subtype(v->type(), wanted, &detail)) return v;
    std::string text = str("Expected a value of type '", type_name(wanted), "' for argument '", name,
                           "' but instead found type '", type_name(v->type()), "'.\n");
    if (v->type()->is(TypeKind::List) && v->type()->item()->is(TypeKind::Tensor))
      text +=
          "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty "
          "list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for "
          "Python 2)\n";
    no(text, wanted->is(TypeKind::Interface) ? detail : "");
    return nullptr;
  }

  const Schema& schema_;
  const SourceRange& at_;
  Graph& g_;
  const bool conversions_;
  const Reasons why_;
  TypeBindings bindings_;
};

std::string indented(const std::string& text) {  // every line, as PyTorch does it
  std::string out = "  ";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
  }
  return out;
}

}  // namespace

std::vector<Operator*> candidates(Symbol name) {
  std::vector<Operator*> out = graph_overloads(name);
  const auto rank = [](const Operator* op) {
    const auto& p = op->schema().parameters;
    const bool any = !p.empty() && p[0].whole_type->is(TypeKind::List) && p[0].whole_type->item()->is(TypeKind::Any);
    return any ? 3 : op->is_hidden() ? 2 : op->schema().is_out() ? 1 : 0;
  };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

std::string type_name(TypeRef t) { return t->is(TypeKind::Enum) ? graph_text(t) : annotation_text(t); }

Value* NamedValue::in(Graph& g) const { return value ? value : g.insert_constant(constant); }

Node* insert_node(Graph& g, Symbol kind, std::span<Value* const> in, size_t outputs, const SourceRange& at) {
  Node* n = g.insert(g.create(kind, in, outputs));
  n->set_range(at);
  return n;
}

Value* insert_constant(Graph& g, const fc::Value& v, const SourceRange& at) {
  Value* out = g.insert_constant(v);
  out->node()->set_range(at);
  return out;
}

std::vector<Value*> unpack_tuple(Graph& g, Value* tuple) {
  if (auto constant = constant_of(tuple); constant && constant->tag() == Tag::Tuple) {
    std::vector<Value*> out;
    for (const fc::Value& v : tuple_of(*constant).items) out.push_back(g.insert_constant(v));
    return out;
  }
  if (tuple->node()->is(prim_TupleConstruct)) {
    const auto in = tuple->node()->inputs();
    return {in.begin(), in.end()};
  }
  const auto out = g.insert(g.create_tuple_unpack(tuple))->outputs();
  return {out.begin(), out.end()};
}

Value* convert_to(const SourceRange& at, Graph& g, TypeRef type, Value* v, bool conversions) {
  using enum TypeKind;
  TypeRef own = v->type();
  if (type->is(Optional) && !own->is(Optional) && !is_subtype(own, simple_type(None)))
    return convert_to(at, g, type->item(), v, conversions);
  if (v->node()->is(prim_EmptyListLiteral) && type->is(List))
    return g.insert(g.create_list(type->item(), {}))->output();
  if (own->is(Tuple)) {
    if (tuple_is_list(own, without_optional(type))) {
      const std::vector<Value*> items = unpack_tuple(g, v);
      v = g.insert(g.create_list(without_optional(type)->item(), items))->output();
    }
    if (type->is(Tuple) && !is_subtype(own, type) && type->items().size() == own->items().size()) {
      std::vector<Value*> items = unpack_tuple(g, v);
      for (size_t i = 0; i < items.size(); ++i) items[i] = convert_to(at, g, type->item(i), items[i], conversions);
      v = g.insert(g.create_tuple(items))->output();
    }
    own = v->type();
  }
  if (!conversions) return v;
  const auto as = [&](const SymbolEntry& s) { return emit_builtin(at, g, s, {NamedValue(v)}); };
  if (is_tensor(own)) {
    if (type->is(Float)) return as(aten_FloatImplicit);
    if (type->is(Complex)) return as(aten_ComplexImplicit);
    if (type->is(Int)) return as(aten_IntImplicit);
    if (type->is(Number)) return as(aten_ScalarImplicit);
  } else if (own->is(Number)) {
    if (type->is(Float)) return as(aten_Float);
    if (type->is(Complex)) return as(aten_Complex);
    if (type->is(Int)) return as(aten_Int);
  }
  if (own->is(String) && type->is(Device)) { return as(aten_device); }
  return v;
}

MatchedCall match_schema(const Schema& s, const SourceRange& at, Graph& g, const Arguments& args,
                         const Arguments& named, const std::optional<NamedValue>& self) {
  if (auto found = Matcher(s, at, g, true, nullptr).match(args, named, self)) return std::move(*found);
  std::string why;
  Matcher(s, at, g, true, &why).match(args, named, self);
  fail(at, why);
}

MatchedCall match_schemas(std::span<const Schema* const> schemas, const SourceRange& at, Graph& g,
                          const Arguments& args, const Arguments& named, const std::optional<NamedValue>& self) {
  if (schemas.size() == 1) return match_schema(*schemas[0], at, g, args, named, self);
  for (bool conversions : {false, true})
    for (size_t i = 0; i < schemas.size(); ++i)
      if (auto found = Matcher(*schemas[i], at, g, conversions, nullptr).match(args, named, self)) {
        found->which = i;
        return std::move(*found);
      }
  std::string why;
  for (const Schema* s : schemas) Matcher(*s, at, g, true, &why).match(args, named, self);
  fail(at, "Arguments for call are not valid.\nThe following variants are available:\n", indented(why),
       "\nThe original call is");
}

Value* emit_builtin(const SourceRange& at, Graph& g, Symbol name, const Arguments& args, const Arguments& named,
                    const std::optional<NamedValue>& self) {
  const std::vector<Operator*> operators = candidates(name);
  if (operators.empty() && is_any(name, aten_format, aten_percentFormat)) {  // of any number of anything
    std::vector<Value*> in;
    if (self) in.push_back(self->in(g));
    for (const NamedValue& a : args) in.push_back(a.in(g));
    Node* n = insert_node(g, name, in, 1, at);
    n->output()->set_type(simple_type(TypeKind::String));
    return n->output();
  }
  if (operators.empty() && name == Symbol(aten_wait)) {  // of a future of anything
    Value* future = self ? self->in(g) : args.size() == 1 && named.empty() ? args[0].in(g) : nullptr;
    if (!future || !future->type()->is(TypeKind::Future))
      fail(at, "wait expected exactly one argument, a Future",
           future ? ", but got a " + type_name(future->type()) : "");
    Node* n = insert_node(g, name, std::vector{future}, 1, at);
    n->output()->set_type(future->type()->item());
    return n->output();
  }
  const std::vector<Ref<Function>> functions = language_functions(name);
  std::vector<const Schema*> schemas;
  for (const Operator* op : operators) schemas.push_back(&op->schema());
  for (const Ref<Function>& f : functions) schemas.push_back(&f->schema());
  if (schemas.empty())
    fail(at, "Unknown builtin op: ", name.text(), ".\nCould not find any similar ops to ", name.text(),
         ". This op may not exist or may not be currently supported in TorchScript.\n");
  MatchedCall call = match_schemas(schemas, at, g, args, named, self);
  if (call.which >= operators.size())
    return g.insert_graph(functions[call.which - operators.size()]->graph(), call.inputs)[0];
  Node* n = insert_node(g, name, call.inputs, call.results.size(), at);
  for (size_t i = 0; i < call.results.size(); ++i) n->output(i)->set_type(call.results[i]);
  if (n->num_outputs() == 1) return n->output(0);
  TypeRef type = call.result_names.empty() ? nullptr : named_tuple_type("", call.result_names, call.results);
  const auto out = n->outputs();
  Node* tuple = g.insert(g.create_tuple(out, type));
  return tuple->output();
}

}  // namespace fc::jit
