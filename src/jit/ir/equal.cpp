// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/equal.h"

#include <bit>

#include "core/sparse.h"
#include "define/calls.h"
#include "jit/ir/value_text.h"

namespace fc::jit {
namespace {

bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (&a.impl() == &b.impl()) return true;
  if (a.dtype() != b.dtype() || a.device() != b.device() || is_sparse(a) || is_sparse(b)) return false;
  if (!std::ranges::equal(a.sizes(), b.sizes()) || !std::ranges::equal(a.strides(), b.strides())) return false;
  if (a.device().is_meta()) return false;
  return call<"aten::equal", bool>(a, b);
}

bool equal_doubles(double a, double b) { return std::bit_cast<int64_t>(a) == std::bit_cast<int64_t>(b); }

}  // namespace

bool equal_values(const fc::Value& a, const fc::Value& b) {
  if (a.tag() != b.tag()) return false;
  const Arg x = a.arg(), y = b.arg();
  switch (a.tag()) {
    case Tag::None: return true;
    case Tag::Tensor: return equal_tensors(a.tensor(), b.tensor());
    case Tag::Bool:
    case Tag::Int: return x.integer() == y.integer();
    case Tag::Double: return equal_doubles(x.real(), y.real());
    case Tag::String: return x.text() == y.text();
    case Tag::Device: return x.device() == y.device();
    case Tag::IntList: return std::ranges::equal(x.ints(), y.ints());
    case Tag::DoubleList: return std::ranges::equal(x.doubles(), y.doubles(), equal_doubles);
    case Tag::BoolList: return std::ranges::equal(x.bools(), y.bools());
    case Tag::TensorList: return std::ranges::equal(x.tensors(), y.tensors(), equal_tensors);
    case Tag::Object:
    case Tag::Generator: return false;
    case Tag::Enum:  // as PyTorch, which keeps each mention
    case Tag::Instance:
    case Tag::Future:
    case Tag::Function: return a.box() == b.box();
    default: return value_text(a) == value_text(b) && value_text(a).find("<Tensor>") == std::string::npos;
  }
}

bool equal_nodes(const Node& a, const Node& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.num_inputs() != b.num_inputs() || a.num_outputs() != b.num_outputs()) return false;
  if (!a.blocks().empty() || !b.blocks().empty() || a.attributes().size() != b.attributes().size()) return false;
  if (a.attached() != b.attached()) return false;
  for (size_t i = 0; i < a.num_inputs(); ++i)
    if (a.input(i) != b.input(i)) return false;
  for (size_t i = 0; i < a.num_outputs(); ++i)
    if (a.output(i)->type() != b.output(i)->type()) return false;
  for (const Attribute& at : a.attributes()) {
    const Attribute* other = b.find(at.name);
    if (!other || other->kind() != at.kind()) return false;
    if (auto* t = std::get_if<Tensor>(&at.content)) {
      if (!equal_tensors(*t, std::get<Tensor>(other->content))) return false;
    } else if (auto* v = std::get_if<fc::Value>(&at.content)) {
      if (!equal_values(*v, std::get<fc::Value>(other->content))) return false;
    } else if (auto* d = std::get_if<double>(&at.content)) {
      if (!equal_doubles(*d, std::get<double>(other->content))) return false;
    } else if (at.kind() == AttributeKind::ts) {
      if (!std::ranges::equal(std::get<std::vector<Tensor>>(at.content), std::get<std::vector<Tensor>>(other->content),
                              equal_tensors))
        return false;
    } else if (at.kind() == AttributeKind::g || at.kind() == AttributeKind::gs) {
      return false;
    } else {
      bool same = false;
      auto compare = [&]<class T>(const T&) {
        if constexpr (requires(T a, T b) {
                        { a == b } -> std::convertible_to<bool>;
                      })
          same = std::get<T>(at.content) == std::get<T>(other->content);
      };
      switch (at.kind()) {
        case AttributeKind::fs: compare(std::vector<double>()); break;
        case AttributeKind::c: compare(Attribute::Complex()); break;
        case AttributeKind::cs: compare(std::vector<Attribute::Complex>()); break;
        case AttributeKind::i: compare(int64_t()); break;
        case AttributeKind::is: compare(std::vector<int64_t>()); break;
        case AttributeKind::s: compare(std::string()); break;
        case AttributeKind::ss: compare(std::vector<std::string>()); break;
        case AttributeKind::ty: compare(TypeRef()); break;
        case AttributeKind::tys: compare(std::vector<TypeRef>()); break;
        default: break;
      }
      if (!same) return false;
    }
  }
  return true;
}

size_t hash_node(const Node& n) {
  size_t h = n.kind().hash();
  auto mix = [&](size_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29); };
  for (size_t i = 0; i < n.num_inputs(); ++i) mix(static_cast<size_t>(n.input(i)->unique()));
  for (const Value* v : n.outputs()) mix(reinterpret_cast<size_t>(v->type()) >> 4);
  for (const Attribute& a : n.attributes()) {
    mix(a.name.hash());
    if (auto* i = std::get_if<int64_t>(&a.content)) mix(static_cast<size_t>(*i));
    else if (auto* s = std::get_if<std::string>(&a.content)) mix(std::hash<std::string>()(*s));
    else if (auto* d = std::get_if<double>(&a.content)) mix(std::bit_cast<size_t>(*d));
  }
  return h;
}

}  // namespace fc::jit
