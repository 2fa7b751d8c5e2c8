// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/sugared.h"

#include <algorithm>

#include "core/class_type.h"
#include "core/containers.h"
#include "dispatch/operator.h"
#include "jit/frontend/match.h"
#include "jit/ir/operators.h"

namespace fc::jit {

SugaredRef simple(Value* v) { return make_ref<SimpleValue>(v); }

Value* insert_get_attribute(Graph& g, Value* object, const std::string& name, TypeRef type) {
  Node* n = g.insert(g.create(prim_GetAttr, std::vector{object}));
  n->set(attr_name, name);
  n->output()->set_type(type);
  const bool number = name.find_first_not_of("0123456789") == name.npos;
  n->output()->set_name(number ? "_" + name : name);
  return n->output();
}

// --- what a thing cannot do, as it is said of every kind
SugaredRef Sugared::of_object(Value* v) const { return simple(v); }
Value* Sugared::as_value(const SourceRange& at, Graph&) { fail(at, kind(), " cannot be used as a value"); }
SugaredRef Sugared::attr(const SourceRange& at, Graph&, const std::string&) {
  fail(at, "attribute lookup is not defined on ", kind());
}
bool Sugared::has_attr(const SourceRange& at, Graph&, const std::string&) {
  fail(at, "attribute lookup is not defined on ", kind());
}
void Sugared::set_attr(const SourceRange& at, Graph&, const std::string&, Value*) {
  fail(at, "attribute assignment is not defined on ", kind());
}
std::vector<SugaredRef> Sugared::as_tuple(const SourceRange& at, Graph&, std::optional<size_t>) {
  fail(at, kind(), " cannot be used as a tuple");
}
SugaredRef Sugared::as_tuple_value(const SourceRange& at, Graph&) {
  fail(at, kind(), " cannot be used as a tuplevalue");
}
SugaredRef Sugared::call(const SourceRange& at, Graph&, Arguments, Arguments) { fail(at, "cannot call a ", kind()); }
SugaredRef Sugared::iter(const SourceRange& at, Graph&) { fail(at, kind(), " cannot be used as an iterable"); }
Value* Sugared::len(const SourceRange& at, Graph&) { fail(at, "'", kind(), "' object is not iterable"); }
SugaredRef Sugared::getitem(const SourceRange& at, Graph&, Value*, TypeRef) {
  fail(at, "'", kind(), "' object is not subscriptable");
}

// --- values of the graph
namespace {

// x.float() and its like
std::optional<DType> cast_method(const std::string& name) {
  constexpr std::pair<std::string_view, DType> casts[] = {
      {"byte", DType::UInt8},        {"char", DType::Int8},        {"double", DType::Float64},
      {"float", DType::Float32},     {"int", DType::Int32},        {"long", DType::Int64},
      {"short", DType::Int16},       {"half", DType::Float16},     {"bool", DType::Bool},
      {"bfloat16", DType::BFloat16}, {"cfloat", DType::Complex64}, {"cdouble", DType::Complex128},
  };
  for (const auto& [n, t] : casts)
    if (n == name) return t;
  return {};
}

bool is_tensor(TypeRef t) { return is_subtype(t, tensor_type()); }

// Attributes that are no methods, and the space of the operator that reads them.
const char* tensor_property(const std::string& name) {
  constexpr std::string_view of_prim[] = {
      "dtype",     "device",    "grad",    "data",     "shape",         "is_cuda",      "is_cpu",        "is_xpu",
      "is_sparse", "is_mkldnn", "is_mps",  "is_meta",  "is_nested",     "is_quantized", "requires_grad", "layout",
      "T",         "H",         "ndim",    "name",     "is_sparse_csr", "is_mtia",      "is_vulkan",     "is_ipu",
      "is_xla",    "is_ort",    "is_maia", "itemsize", "nbytes"};
  constexpr std::string_view of_aten[] = {"real", "imag",      "is_leaf",      "mT",
                                          "mH",   "output_nr", "retains_grad", "_version"};
  if (std::ranges::find(of_prim, name) != std::end(of_prim)) return "prim::";
  if (std::ranges::find(of_aten, name) != std::end(of_aten)) return "aten::";
  return nullptr;
}

// An operator that is written as an attribute: PyTorch's graphs do not say where.
Value* property_value(const SourceRange& at, Graph& g, Symbol op, const Arguments& args) {
  Value* v = emit_builtin(at, g, op, args);
  if (v->node()->kind() == op) v->node()->set_range({});
  return v;
}

Value* tuple_item(Graph& g, Value* tuple, size_t i) {
  Value* index = g.insert_constant(static_cast<int64_t>(i));
  Node* n = g.insert(g.create_tuple_index(tuple, index, tuple->type()->item(i)));
  return n->output();
}

}  // namespace

// The first assignment in __init__, which is being compiled, makes the attribute.
static void add_attribute(const SourceRange& at, Graph& g, TypeRef cls, const std::string& name, TypeRef type) {
  const Function* init = find_method(cls, "__init__");
  if (!init || !init->is_defining() || &init->graph() != &g)
    fail(at, "Tried to set nonexistent attribute: ", name, ". Did you forget to initialize it in __init__()?");
  if (g.insert_point()->owning_block() != g.block())
    fail(at, "First assignment cannot be in a control-flow block. Initialize the field at the top level first");
  cls->class_info()->add_attribute(name, type);
}

std::string SimpleValue::kind() const { return "value of type '" + type_name(value->type()) + "'"; }

SugaredRef SimpleValue::attr(const SourceRange& at, Graph& g, const std::string& name) {
  TypeRef t = value->type();
  const NamedValue self(at, "self", value);
  if (is_tensor(t)) {
    if (auto dtype = cast_method(name)) return make_ref<TensorCast>(*dtype, self);
    if (const char* space = tensor_property(name))
      return simple(property_value(at, g, Symbol::of(space + name), {NamedValue(at, value)}));
    if (name == "tolist") return make_ref<SpecialForm>(prim_tolist);
  }
  if (t->is(TypeKind::Device) && (name == "type" || name == "index"))
    return simple(property_value(at, g, Symbol::of("prim::" + name), {self}));
  if (t->is(TypeKind::Tuple) && !t->field_names().empty()) {
    const auto fields = t->field_names();
    if (const auto found = std::ranges::find(fields, name); found != fields.end())
      return simple(tuple_item(g, value, static_cast<size_t>(found - fields.begin())));
  }
  if (const ClassInfo* info = t->class_info(); info && (t->is(TypeKind::Class) || t->is(TypeKind::Interface))) {
    if (info->find_method(name)) return make_ref<MethodValue>(value, std::vector{name});
    if (const int i = t->is(TypeKind::Class) ? info->find_attribute(name) : -1; i >= 0)
      return simple(insert_get_attribute(g, value, name, info->attributes[static_cast<size_t>(i)].type));
    if (const fc::Value* c = info->find_constant(name)) return simple(insert_constant(g, *c, at));
    if (const ClassInfo::Property* p = info->find_property(name))
      return make_ref<MethodValue>(value, std::vector{p->getter})->call(at, g, {}, {});
  }
  if (t->is(TypeKind::Enum) && (name == "name" || name == "value")) {
    Node* n = g.insert(g.create(name == "name" ? prim_EnumName : prim_EnumValue, std::vector{value}));
    n->output()->set_type(name == "name" ? simple_type(TypeKind::String) : t->item());
    return simple(n->output());
  }
  if (t->is(TypeKind::Future) && name == "wait") return make_ref<BuiltinFunction>(aten_wait, self);
  if (t->is(TypeKind::String) && name == "format") return make_ref<BuiltinFunction>(aten_format, self);
  const std::string op = name == "type" ? "to" : name;
  if (auto method = BuiltinFunction::of_method(Symbol::of("aten::" + op), self, g)) return method;
  std::string text = str("'", type_name(t), "' object has no attribute or method '", name, "'.");
  if (t->is(TypeKind::Class)) {
    const auto& unsupported = t->class_info()->class_attributes;
    text += std::ranges::find(unsupported, name) != unsupported.end()
                ? str(" '", name,
                      "' is defined as a class attribute which currently is not supported. Consider converting this "
                      "to an instance attribute.")
                : " Did you forget to initialize an attribute in __init__()?";
  }
  fail(at, text);
}

bool SimpleValue::has_attr(const SourceRange& at, Graph&, const std::string& name) {
  TypeRef t = value->type();
  if (const ClassInfo* info = t->class_info(); info && t->is(TypeKind::Class))
    return info->find_method(name) || info->find_attribute(name) >= 0 || info->find_constant(name);
  if (t->is(TypeKind::Tuple) && !t->field_names().empty()) {
    const auto fields = t->field_names();
    return std::ranges::find(fields, name) != fields.end();
  }
  fail(at, "hasattr's first argument must be an object or NamedTuple, but got a normal Tuple",
       t->is(TypeKind::Tuple) ? "" : str(" of type ", type_name(t)), " instead");
}

void SimpleValue::set_attr(const SourceRange& at, Graph& g, const std::string& name, Value* v) {
  TypeRef t = value->type();
  const ClassInfo* info = t->class_info();
  if (!t->is(TypeKind::Class) || !info)
    fail(at, "Tried to set an attribute: ", name, " on a non-class: ", type_name(t));
  const int i = info->find_attribute(name);
  if (i < 0) {
    if (const ClassInfo::Property* p = info->find_property(name)) {
      if (p->setter.empty()) fail(at, "Tried to set read-only attribute: ", name);
      MethodValue(value, {p->setter}).call(at, g, {NamedValue(v)}, {});
      return;
    }
    add_attribute(at, g, t, name, v->type());
    g.insert(g.create(prim_SetAttr, std::vector{value, v}, 0))->set(attr_name, name);
    return;
  }
  TypeRef expected = info->attributes[static_cast<size_t>(i)].type;
  v = convert_to(at, g, expected, v, true);
  if (!is_subtype(v->type(), expected))
    fail(at, "Wrong type for attribute assignment. Expected ", type_name(expected), " but got ", type_name(v->type()));
  g.insert(g.create(prim_SetAttr, std::vector{value, v}, 0))->set(attr_name, name);
}

std::vector<SugaredRef> SimpleValue::as_tuple(const SourceRange& at, Graph& g, std::optional<size_t> wanted) {
  TypeRef t = value->type();
  std::vector<Value*> items;
  if (t->is(TypeKind::Tuple)) {
    items = unpack_tuple(g, value);
  } else if (t->is(TypeKind::List)) {
    if (!wanted) fail(at, "cannot statically infer the expected size of a list in this context");
    Node* n = g.insert(g.create_list_unpack(value, *wanted));
    items.assign(n->outputs().begin(), n->outputs().end());
  } else if (t->is(TypeKind::AnyTuple)) {
    fail(at, "Provided tuple has no statically known size; annotate it");
  } else {
    fail(at, type_name(t), " cannot be used as a tuple");
  }
  std::vector<SugaredRef> out;
  for (Value* v : items) out.push_back(simple(v));
  return out;
}

SugaredRef SimpleValue::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  TypeRef t = value->type();
  if (const ClassInfo* info = t->class_info(); info && (t->is(TypeKind::Class) || t->is(TypeKind::Interface)))
    return attr(at, g, info->is_module ? "forward" : "__call__")->call(at, g, std::move(args), std::move(named));
  return Sugared::call(at, g, std::move(args), std::move(named));
}

SugaredRef SimpleValue::iter(const SourceRange& at, Graph& g) {
  TypeRef t = value->type();
  if (t->is(TypeKind::List) || t->is(TypeKind::String) || is_tensor(t)) return SugaredRef(this);
  if (t->is(TypeKind::Dict)) return simple(emit_builtin(at, g, Symbol::of("aten::keys"), {NamedValue(value)}));
  if (t->is(TypeKind::Tuple)) return make_ref<TupleSugared>(as_tuple(at, g, {}));
  fail(at, "'", type_name(t), "' object is not iterable");
}

Value* SimpleValue::len(const SourceRange& at, Graph& g) {
  TypeRef t = value->type();
  if (t->is(TypeKind::Tuple)) return insert_constant(g, static_cast<int64_t>(t->items().size()), at);
  if (t->is(TypeKind::List) || t->is(TypeKind::String) || t->is(TypeKind::Dict) || is_tensor(t))
    return emit_builtin(at, g, aten_len, {NamedValue(value)});
  fail(at, "'", type_name(t), "' object is not iterable");
}

SugaredRef SimpleValue::getitem(const SourceRange& at, Graph& g, Value* index, TypeRef) {
  TypeRef t = value->type();
  if (t->is(TypeKind::List) || t->is(TypeKind::String) || t->is(TypeKind::Dict))
    return simple(emit_builtin(at, g, aten___getitem__, {NamedValue(value), NamedValue(index)}));
  if (is_tensor(t))
    return simple(emit_builtin(at, g, Symbol::of("aten::select"),
                               {NamedValue(value), NamedValue(fc::Value(0)), NamedValue(index)}));
  if (t->is(TypeKind::Class)) return attr(at, g, "__getitem__")->call(at, g, {NamedValue(at, "idx", index)}, {});
  fail(at, "'", type_name(t), "' object is not subscriptable");
}

// --- operators
SugaredRef BuiltinFunction::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  return simple(emit_builtin(at, g, symbol, args, named, self));
}

Ref<BuiltinFunction> BuiltinFunction::of_method(Symbol s, const NamedValue& self, Graph& g) {
  const auto takes = [&](const Schema& schema) {
    const int i = schema.find("self");
    if (i < 0) return false;
    TypeRef formal = formal_type(schema.parameters[static_cast<size_t>(i)]), own = self.in(g)->type();
    TypeBindings bindings;
    if (formal->has_variables()) {
      if (!bindings.match(formal, own).empty()) return false;
      formal = bindings.substitute(formal);
    }
    return formal && is_subtype(own, formal);
  };
  for (const Operator* op : candidates(s))
    if (takes(op->schema())) return make_ref<BuiltinFunction>(s, self);
  for (const Ref<Function>& f : language_functions(s))
    if (takes(f->schema())) return make_ref<BuiltinFunction>(s, self);
  return {};
}

SugaredRef CastFunction::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  if (args.empty() && named.empty()) {
    if (type->is(TypeKind::Float)) return simple(insert_constant(g, 0.0, at));
    if (type->is(TypeKind::Int)) return simple(insert_constant(g, 0, at));
    if (type->is(TypeKind::Bool)) return simple(insert_constant(g, false, at));
    if (type->is(TypeKind::String)) return simple(insert_constant(g, "", at));
  }
  if (args.size() == 1 && named.empty()) {
    Value* zero = g.insert_constant(0);
    Value* v = args[0].in(g);
    TypeRef own = v->type();
    if (is_subtype(own, type)) return simple(v);
    if (type->is(TypeKind::Bool) && (own->is(TypeKind::List) || own->is(TypeKind::String) || own->is(TypeKind::Dict))) {
      Value* n = emit_builtin(at, g, aten_len, {NamedValue(v)});
      return simple(emit_builtin(at, g, aten_gt, {NamedValue(n), NamedValue(zero)}));
    }
  }
  return simple(emit_builtin(at, g, symbol, args, named));
}

SugaredRef TensorCast::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  if (!args.empty() || !named.empty()) fail(at, "a cast to a type takes no arguments");
  Value* type = insert_constant(g, dtype, at);
  return simple(emit_builtin(at, g, aten_to, {self, NamedValue(at, "dtype", type)}));
}

SugaredRef magic(const std::string& method, SugaredRef base) { return make_ref<MagicMethod>(method, std::move(base)); }
SugaredRef MagicMethod::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  if (!args.empty()) {
    Value* self = args[0].in(g);
    if (self->type()->is(TypeKind::Class)) {
      args.erase(args.begin());
      return SimpleValue(self).attr(at, g, method)->call(at, g, std::move(args), std::move(named));
    }
  }
  return base->call(at, g, std::move(args), std::move(named));
}

SugaredRef PrintFunction::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  if (!named.empty()) fail(at, "print doesn't accept any keyword arguments");
  std::vector<Value*> in;
  for (const NamedValue& a : args) in.push_back(a.in(g));
  insert_node(g, prim_Print, in, 0, at);
  return make_ref<NoneValue>();
}

SugaredRef BuiltinModule::attr(const SourceRange& at, Graph&, const std::string& name) {
  if (name == "__version__") fail(at, "attribute lookup is not defined on ", kind());
  return make_ref<BuiltinFunction>(Symbol::of(space + "::" + name));
}

// --- functions
namespace {

// A function that is called is compiled now; that it is being compiled already is said where it is called.
void define_callee(const Function& f, const SourceRange& at, const char* what) {
  if (f.is_defining())
    fail(at, " ", what, " '", f.name(), "' is called recursively. Recursive calls are not supported");
  f.ensure_defined();
}

Value* first_or_tuple(Graph& g, const MatchedCall& m, Node* call) {
  call->output()->set_type(m.results.empty() ? simple_type(TypeKind::None) : m.results[0]);
  (void)g;
  return call->output();
}

}  // namespace

Value* FunctionValue::as_value(const SourceRange& at, Graph& g) {
  if (functions.size() != 1) return Sugared::as_value(at, g);
  Value* v = insert_function(g, functions[0]);
  v->node()->set_range(at);
  return v;
}

SugaredRef FunctionValue::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  std::vector<const Schema*> schemas;
  for (const Ref<Function>& f : functions) {
    define_callee(*f, at, "function");
    schemas.push_back(&f->schema());
  }
  const MatchedCall m = match_schemas(schemas, at, g, args, named);
  Value* callee = insert_function(g, functions[m.which]);
  std::vector<Value*> in{callee};
  in.insert(in.end(), m.inputs.begin(), m.inputs.end());
  Node* n = insert_node(g, prim_CallFunction, in, 1, at);
  return simple(first_or_tuple(g, m, n));
}

SugaredRef MethodValue::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  std::vector<const Schema*> schemas;
  std::vector<Schema> made;  // of an interface's methods
  made.reserve(names.size());
  Arguments with_self{NamedValue(at, "self", self)};
  with_self.insert(with_self.end(), args.begin(), args.end());
  for (const std::string& name : names) {
    if (Function* f = find_method(self->type(), name)) {
      define_callee(*f, at, "method");
      schemas.push_back(&f->schema());
      continue;
    }
    const ClassInfo::Signature* s = self->type()->class_info()->find_method(name);
    if (!s) fail(at, "'", type_name(self->type()), "' has no method '", name, "'");
    Schema schema;
    schema.name = name;
    const auto add = [](std::vector<Parameter>& to, std::string n, TypeRef t) {
      Parameter p;
      p.name = std::move(n);
      p.whole_type = t;
      to.push_back(std::move(p));
    };
    add(schema.parameters, "self", self->type());
    for (const auto& [n, t] : s->parameters) add(schema.parameters, n, t);
    add(schema.returns, "", s->result);
    made.push_back(std::move(schema));
    schemas.push_back(&made.back());
  }
  const MatchedCall m = match_schemas(schemas, at, g, with_self, named);
  Node* n = insert_node(g, prim_CallMethod, m.inputs, 1, at);
  n->set(attr_name, names[m.which]);
  return simple(first_or_tuple(g, m, n));
}

// --- classes
SugaredRef ClassValue::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  if (!type->class_info()->find_method("__init__"))
    fail(at, "Class ", type->name().substr(type->name().rfind('.') + 1), " does not have an __init__ function defined");
  Node* n = insert_node(g, prim_CreateObject, {}, 1, at);
  n->output()->set_type(type);
  MethodValue(n->output(), {"__init__"}).call(at, g, std::move(args), std::move(named));
  return simple(n->output());
}

SugaredRef ClassValue::attr(const SourceRange& at, Graph& g, const std::string& name) {
  const ClassInfo& info = *type->class_info();
  if (const fc::Value* c = info.find_constant(name)) return simple(insert_constant(g, *c, at));
  if (name != "__new__") {
    if (const ClassInfo::Signature* s = info.find_method(name)) {
      Function* f = find_method(type, name);
      if (s->is_static && f) return make_ref<FunctionValue>(Ref<Function>(f));
      fail(at, "Tried to lookup unknown attribute on class ", type_name(type));
    }
    fail(at, "Tried to lookup unknown attribute on class ", type_name(type));
  }
  return make_ref<SpecialForm>(prim_CreateObject, type);
}

SugaredRef NamedTupleConstructor::call(const SourceRange& at, Graph& g, Arguments args, Arguments named) {
  Schema s;
  s.name = type->name().substr(type->name().rfind('.') + 1);
  for (size_t i = 0; i < type->items().size(); ++i) {
    Parameter p;
    p.name = type->field_names()[i];
    p.whole_type = type->item(i);
    for (const auto& [name, value] : field_defaults(type))
      if (name == p.name) {
        p.has_default = true;
        p.default_value = value;
      }
    s.parameters.push_back(std::move(p));
  }
  const MatchedCall m = match_schema(s, at, g, args, named);
  Node* n = g.insert(g.create_tuple(m.inputs, type));
  n->set_range(at);
  return simple(n->output());
}

SugaredRef EnumClass::attr(const SourceRange& at, Graph& g, const std::string& name) {
  if (const fc::Value* c = type->class_info()->find_constant(name)) {
    Value* v = insert_constant(g, fc::Value(Tag::Enum, make_ref<EnumBox>(type, name, *c)), at);
    return simple(v);
  }
  fail(at, graph_text(type), "' has no attribute '", name, "'");
}
SugaredRef EnumClass::iter(const SourceRange& at, Graph& g) {
  std::vector<fc::Value> items;
  for (const auto& [name, value] : type->class_info()->constants)
    items.push_back(fc::Value(Tag::Enum, make_ref<EnumBox>(type, name, value)));
  return simple(insert_constant(g, list_value(type, std::move(items)), at));
}

// --- what a loop goes over
Value* TupleSugared::as_value(const SourceRange& at, Graph& g) {
  std::vector<Value*> in;
  for (const SugaredRef& i : items) in.push_back(i->as_value(at, g));
  return g.insert(g.create_tuple(in))->output();
}
Value* TupleSugared::len(const SourceRange& at, Graph& g) {
  return insert_constant(g, static_cast<int64_t>(items.size()), at);
}
SugaredRef TupleSugared::getitem(const SourceRange& at, Graph&, Value* index, TypeRef) {
  const auto i = constant_int(index);
  if (!i)
    fail(at,
         "Expected integer literal for index. Python tuples and lists of modules are indexed by what is known when the "
         "source is compiled");
  const auto n = static_cast<int64_t>(items.size());
  const int64_t k = *i < 0 ? *i + n : *i;
  if (k < 0 || k >= n) fail(at, "Index ", *i, " out of range of length ", n);
  return items[static_cast<size_t>(k)];
}

RangeValue::RangeValue(const SourceRange& at, Graph& g, std::vector<Value*> in, std::optional<int64_t> static_len)
    : known_len(static_len) {
  for (size_t i = 0; i < in.size(); ++i)
    if (!in[i]->type()->is(TypeKind::Int))
      fail(at, "all inputs of range must be ints, found ", type_name(in[i]->type()), " in argument ", i);
  if (in.empty()) fail(at, "range expected at least 1 arguments, got 0");
  if (in.size() > 3) fail(at, "range expected at most 3 arguments, got ", in.size());
  only_end = in.size() == 1;
  end = in[only_end ? 0 : 1];
  start = only_end ? insert_constant(g, 0, at) : in[0];
  step = in.size() == 3 ? in[2] : insert_constant(g, 1, at);
}
Value* RangeValue::len(const SourceRange& at, Graph& g) {
  if (known_len) return insert_constant(g, *known_len, at);
  if (only_end) return end;
  return emit_builtin(at, g, aten___range_length, {NamedValue(start), NamedValue(end), NamedValue(step)});
}
SugaredRef RangeValue::getitem(const SourceRange& at, Graph& g, Value* index, TypeRef) {
  if (only_end) return simple(index);
  return simple(emit_builtin(at, g, aten___derive_index, {NamedValue(index), NamedValue(start), NamedValue(step)}));
}

void IterableTree::add(const SourceRange& at, Graph&, SugaredRef child) {
  const std::optional<int64_t> n = child->static_len();
  if (children.empty()) {
    length = n;
  } else {
    if (n.has_value() != length.has_value())
      fail(at,
           "Can not iterate over a module list or tuple with a value that does not have a statically determinable "
           "length\n");
    if (n) length = std::min(*n, *length);
  }
  children.push_back(std::move(child));
}
Value* IterableTree::len(const SourceRange& at, Graph& g) {
  if (length) return insert_constant(g, *length, at);
  std::vector<SugaredRef> bases, open{SugaredRef(this)};
  while (!open.empty()) {  // leaves, from left to right
    SugaredRef s = std::move(open.back());
    open.pop_back();
    if (const auto* tree = dynamic_cast<const IterableTree*>(s.get()))
      open.insert(open.end(), tree->children.rbegin(), tree->children.rend());
    else bases.push_back(std::move(s));
  }
  std::vector<Value*> lengths;
  for (const SugaredRef& b : bases) lengths.push_back(b->len(at, g));
  Value* list = g.insert(g.create_list(simple_type(TypeKind::Int), lengths))->output();
  return emit_builtin(at, g, prim_min, {NamedValue(list)});
}
SugaredRef IterableTree::getitem(const SourceRange& at, Graph& g, Value* index, TypeRef) {
  std::vector<SugaredRef> items;
  for (const SugaredRef& c : children) items.push_back(c->getitem(at, g, index));
  return make_ref<TupleSugared>(std::move(items));
}

// --- exceptions
SugaredRef ExceptionValue::call(const SourceRange& at, Graph& g, Arguments args, Arguments) {
  Value* message;
  if (args.empty()) {
    message = insert_constant(g, "", at);
  } else if (args.size() == 1) {
    message = args[0].in(g);
  } else {
    std::vector<Value*> all;
    for (const NamedValue& a : args) all.push_back(a.in(g));
    message = g.insert(g.create_tuple(all))->output();
  }
  return make_ref<ExceptionMessage>(message, insert_constant(g, std::string_view(name), at));
}

SugaredRef AssertionFailure::call(const SourceRange& at, Graph& g, Arguments args, Arguments) {
  Value* message = insert_constant(g, "AssertionError: ", at);
  for (const NamedValue& a : args) {
    Value* part = a.in(g);
    if (!part->type()->is(TypeKind::String)) part = emit_builtin(at, g, aten_str, {NamedValue(part)});
    message = emit_builtin(at, g, aten_add, {NamedValue(message), NamedValue(part)});
  }
  return make_ref<ExceptionMessage>(message, nullptr);
}

}  // namespace fc::jit
