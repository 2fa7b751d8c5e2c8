// SPDX-License-Identifier: Apache-2.0
// Constants: which values a node can hold, and what it holds.
#include <algorithm>

#include "autograd/autograd.h"
#include "core/containers.h"
#include "core/error.h"
#include "core/sparse.h"
#include "jit/ir/graph.h"

namespace fc::jit {
namespace {

TypeRef tensor_facts_of(const Tensor& t) {
  TensorFacts f;
  f.undefined = !t.defined();
  if (!t.defined()) return tensor_type(f);
  f.dtype = t.dtype();
  f.device = t.device();
  f.requires_grad = autograd::requires_grad(t);
  if (!is_sparse(t)) {
    f.sizes.emplace(t.sizes().begin(), t.sizes().end());
    f.strides.emplace(t.strides().begin(), t.strides().end());
  }
  return tensor_type(f);
}

}  // namespace

TypeRef type_of(const fc::Value& v) {
  switch (v.tag()) {
    case Tag::None: return simple_type(TypeKind::None);
    case Tag::Tensor: return tensor_facts_of(v.tensor());
    case Tag::Bool: return simple_type(TypeKind::Bool);
    case Tag::Int:
    case Tag::DType:
    case Tag::Layout:
    case Tag::MemoryFormat: return simple_type(TypeKind::Int);
    case Tag::Double: return simple_type(TypeKind::Float);
    case Tag::Scalar: {
      Scalar s = v.arg().scalar();
      return simple_type(s.is_complex()         ? TypeKind::Complex
                         : s.is_bool()          ? TypeKind::Bool
                         : s.is_integral(false) ? TypeKind::Int
                                                : TypeKind::Float);
    }
    case Tag::String: return simple_type(TypeKind::String);
    case Tag::Device: return simple_type(TypeKind::Device);
    case Tag::Generator: return simple_type(TypeKind::Generator);
    case Tag::IntList: return list_type(simple_type(TypeKind::Int));
    case Tag::DoubleList: return list_type(simple_type(TypeKind::Float));
    case Tag::BoolList: return list_type(simple_type(TypeKind::Bool));
    case Tag::ScalarList: return list_type(simple_type(TypeKind::Number));
    case Tag::TensorList: return list_type(tensor_type());
    case Tag::Tuple: {
      if (tuple_of(v).named) return tuple_of(v).named;
      std::vector<TypeRef> items;
      for (const fc::Value& item : tuple_of(v).items) items.push_back(type_of(item));
      return tuple_type(std::move(items));
    }
    case Tag::List: {
      TypeRef item = list_of(v).item;
      if (item) return list_type(item);
      for (const fc::Value& i : v.arg().values()) {
        TypeRef t = type_of(i)->unshaped();
        item = item ? unify(item, t) : t;
        if (!item) return list_type(simple_type(TypeKind::Any));
      }
      return list_type(item ? item : tensor_type());
    }
    default: return value_type(v);
  }
}

bool holds_constant(const fc::Value& v) {
  switch (v.tag()) {
    case Tag::Object:
    case Tag::Function:  // create_function_constant
    case Tag::Instance:
    case Tag::Future: return false;
    case Tag::Tuple:
      for (const fc::Value& i : tuple_of(v).items)
        if (!holds_constant(i)) return false;
      return true;
    case Tag::Dict:
      for (size_t at = dict_of(v).next(0); at != SIZE_MAX; at = dict_of(v).next(at + 1))
        if (!holds_constant(dict_of(v).key_at(at)) || !holds_constant(dict_of(v).value_at(at))) return false;
      return true;
    case Tag::Tensor: return !autograd::requires_grad(v.tensor());
    case Tag::TensorList:
      for (const Tensor& t : v.arg().tensors())
        if (t.defined() && autograd::requires_grad(t)) return false;
      return true;
    case Tag::List:
      for (const fc::Value& i : v.arg().values())
        if (!holds_constant(i)) return false;
      return true;
    default: return true;
  }
}

fc::Value make_list(std::vector<fc::Value> items, TypeRef item) {
  if (!item) {
    item = items.empty() ? tensor_type() : type_of(items[0])->unshaped();
    for (const fc::Value& v : items) {
      item = unify(item, type_of(v)->unshaped());
      FC_CHECK_AS(TypeError, item, "a list of items of one type, not also a ", annotation_text(type_of(v)->unshaped()));
    }
  }
  return list_value(item, std::move(items));
}

fc::Value make_tuple(std::vector<fc::Value> items) { return tuple_value(std::move(items)); }

fc::Value make_dict(std::vector<std::pair<fc::Value, fc::Value>> entries, TypeRef dict) {
  FC_CHECK_AS(TypeError, dict || !entries.empty(), "an empty dict does not tell the types of its items");
  fc::Value out = dict ? dict_value(dict->item(0), dict->item(1))
                       : dict_value(type_of(entries[0].first)->unshaped(), type_of(entries[0].second)->unshaped());
  for (auto& [key, value] : entries) dict_of(out).set(key, std::move(value));
  return out;
}

Value* Graph::try_insert_constant(const fc::Value& v) {
  Attribute::Content content = int64_t(0);
  const Arg a = v.arg();
  switch (v.tag()) {
    case Tag::None: return insert(create_none())->output();
    case Tag::Tensor:
      if (!v.tensor().defined()) return insert(create_none())->output();
      if (autograd::requires_grad(v.tensor())) return nullptr;
      content = v.tensor();
      break;
    case Tag::Bool: content = static_cast<int64_t>(a.boolean()); break;
    case Tag::Int: content = a.integer(); break;
    case Tag::DType: content = static_cast<int64_t>(a.dtype()); break;
    case Tag::Layout: content = static_cast<int64_t>(a.layout()); break;
    case Tag::MemoryFormat: content = static_cast<int64_t>(a.memory_format()); break;
    case Tag::Double: content = a.real(); break;
    case Tag::Scalar: {
      Scalar s = a.scalar();
      if (s.is_complex()) content = Attribute::Complex(s.to_complex().re, s.to_complex().im);
      else if (s.is_integral(true)) content = s.to_int();
      else content = s.to_double();
      break;
    }
    case Tag::String: content = std::string(a.text()); break;
    case Tag::Device: content = to_string(a.device()); break;
    default:
      if (!holds_constant(v)) return nullptr;
      content = v;
  }
  Node* n = create(prim_Constant);
  n->set(attr_value, std::move(content));
  n->output()->set_type(type_of(v));
  return insert(n)->output();
}

Value* Graph::insert_constant(const fc::Value& v) {
  Value* made = try_insert_constant(v);
  FC_CHECK(made, "Unsupported value kind: ", annotation_text(type_of(v)->unshaped()));
  return made;
}

std::optional<fc::Value> constant_of(const Value* v) {
  const Node& n = *v->node();
  if (!n.is(prim_Constant)) return {};
  using enum TypeKind;
  TypeRef t = v->type();
  const Attribute* a = n.find(attr_value);
  if (!a && t->is(Function)) return n.attached() ? std::optional(fc::Value(Tag::Function, n.attached())) : std::nullopt;
  if (!a) {
    if (t->is(None) || n.attributes().empty()) return fc::Value();
    return {};
  }
  if (auto* i = std::get_if<int64_t>(&a->content)) return t->is(Bool) ? fc::Value(*i != 0) : fc::Value(*i);
  if (auto* d = std::get_if<double>(&a->content)) return fc::Value(*d);
  if (auto* c = std::get_if<Attribute::Complex>(&a->content))
    return fc::Value(Scalar(ComplexDouble{c->real(), c->imag()}));
  if (auto* s = std::get_if<std::string>(&a->content))
    return t->is(TypeKind::Device) ? fc::Value(parse_device(*s)) : fc::Value(*s);
  if (auto* tensor = std::get_if<fc::Tensor>(&a->content)) return fc::Value(*tensor);
  if (auto* value = std::get_if<fc::Value>(&a->content)) return *value;
  return {};
}

std::optional<int64_t> constant_int(const Value* v) {
  if (!v->node()->is(prim_Constant) || v->type()->is(TypeKind::Bool)) return {};
  const auto* i = v->node()->get<int64_t>(attr_value);
  return i ? std::optional(*i) : std::nullopt;
}

std::optional<bool> constant_bool(const Value* v) {
  if (!v->node()->is(prim_Constant) || !v->type()->is(TypeKind::Bool)) return {};
  const auto* i = v->node()->get<int64_t>(attr_value);
  return i ? std::optional(*i != 0) : std::nullopt;
}

bool is_none(const Value* v) { return v->node()->must_be_none(); }

}  // namespace fc::jit
