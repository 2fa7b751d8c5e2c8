// SPDX-License-Identifier: Apache-2.0
#include "core/containers.h"

#include <bit>
#include <functional>

#include "core/error.h"
#include "core/type.h"

namespace fc {
namespace {

constexpr int kMaxCompared = 1000;  // levels of lists in lists that == looks through
constexpr int kMaxShown = 8;        // levels of a text for debuggers and errors

double number_of(const Value& v) { return v.tag() == Tag::Double ? v.raw_double() : static_cast<double>(v.raw_int()); }
bool is_plain_number(Tag t) { return t == Tag::Bool || t == Tag::Int || t == Tag::Double; }

bool equal_within(const Value& a, const Value& b, int levels);

template <class A, class B>
bool equal_items(const A& a, const B& b, int levels) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal_within(Value(a[i]), Value(b[i]), levels)) return false;
  return true;
}

bool equal_dicts(DictBox& a, DictBox& b, int levels) {
  if (a.size() != b.size()) return false;
  for (size_t at = a.next(0); at != SIZE_MAX; at = a.next(at + 1)) {
    const Value* other = b.find(a.key_at(at));
    if (!other || !equal_within(a.value_at(at), *other, levels)) return false;
  }
  return true;
}

bool equal_within(const Value& a, const Value& b, int levels) {
  FC_CHECK(levels > 0, "containers nested more than ", kMaxCompared, " deep cannot be compared");
  if (is_plain_number(a.tag()) && is_plain_number(b.tag())) {
    if (a.tag() == Tag::Double || b.tag() == Tag::Double) return number_of(a) == number_of(b);
    return a.raw_int() == b.raw_int();
  }
  if (is_list(a.tag()) && is_list(b.tag()))
    return visit_list(
        a, [&](const auto& x) { return visit_list(b, [&](const auto& y) { return equal_items(x, y, levels - 1); }); });
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::Tensor: return a.tensor().same(b.tensor());
    case Tag::String: return a.arg().text() == b.arg().text();
    case Tag::Device: return a.arg().device() == b.arg().device();
    case Tag::Scalar: {
      const auto x = a.arg().scalar().to_complex(), y = b.arg().scalar().to_complex();
      return x.re == y.re && x.im == y.im;
    }
    case Tag::Tuple: return equal_items(tuple_of(a).items, tuple_of(b).items, levels - 1);
    case Tag::Dict: return equal_dicts(dict_of(a), dict_of(b), levels - 1);
    case Tag::Enum: {
      const auto &x = *static_cast<EnumBox*>(a.box()), &y = *static_cast<EnumBox*>(b.box());
      return x.type == y.type && x.name == y.name;
    }
    case Tag::DType:
    case Tag::Layout:
    case Tag::MemoryFormat: return a.raw_int() == b.raw_int();
    default: return a.box() == b.box();
  }
}

template <class T>
const Type* item_type(const T&) {
  if constexpr (std::is_same_v<T, Dims>) return simple_type(TypeKind::Int);
  else if constexpr (std::is_same_v<T, std::vector<double>>) return simple_type(TypeKind::Float);
  else if constexpr (std::is_same_v<T, std::basic_string<bool>>) return simple_type(TypeKind::Bool);
  else if constexpr (std::is_same_v<T, std::vector<Scalar>>) return simple_type(TypeKind::Number);
  else return tensor_type();
}

void append_text(std::string& out, const Value& v, int levels) {
  if (levels == 0) {
    out += "...";
    return;
  }
  auto items = [&](const auto& values, size_t n, auto&& each) {
    for (size_t i = 0; i < n; ++i) {
      if (i) out += ", ";
      each(values, i);
    }
  };
  auto item = [&](const std::vector<Value>& values, size_t i) { append_text(out, values[i], levels - 1); };
  switch (v.tag()) {
    case Tag::Tuple:
      out += '(';
      items(tuple_of(v).items, tuple_of(v).items.size(), item);
      out += tuple_of(v).items.size() == 1 ? ",)" : ")";
      return;
    case Tag::List:
      out += '[';
      items(list_of(v).items, list_of(v).items.size(), item);
      out += ']';
      return;
    case Tag::Dict: {
      DictBox& d = dict_of(v);
      out += '{';
      for (size_t at = d.next(0), first = at; at != SIZE_MAX; at = d.next(at + 1)) {
        if (at != first) out += ", ";
        append_text(out, d.key_at(at), levels - 1);
        out += ": ";
        append_text(out, d.value_at(at), levels - 1);
      }
      out += '}';
      return;
    }
    case Tag::Enum: {
      const auto& e = *static_cast<EnumBox*>(v.box());
      out += str(e.type->name(), '.', e.name);
      return;
    }
    case Tag::Instance: out += str('<', static_cast<Instance*>(v.box())->type->name(), " object>"); return;
    case Tag::Future: out += "<Future>"; return;
    case Tag::Function: out += "<Function>"; return;
    default: out += to_string(v); return;
  }
}

}  // namespace

bool is_list(Tag t) { return t >= Tag::IntList && t <= Tag::List; }

bool equal(const Value& a, const Value& b) { return equal_within(a, b, kMaxCompared); }

size_t hash_of(const Value& v) {
  switch (v.tag()) {
    case Tag::None: return 0;
    case Tag::Bool:
    case Tag::Int: return std::hash<int64_t>()(v.raw_int()) * 0x9E3779B97F4A7C15u >> 7;
    case Tag::Double: {
      const double d = v.raw_double();
      if (d == static_cast<double>(static_cast<int64_t>(d < 9e18 && d > -9e18 ? d : 0)))  // 1.0 and 1 are one key
        return hash_of(Value(static_cast<int64_t>(d)));
      return std::hash<double>()(d);
    }
    case Tag::String: return std::hash<std::string_view>()(v.arg().text());
    case Tag::Tensor: return std::hash<const void*>()(v.tensor().defined() ? &v.tensor().impl() : nullptr);
    case Tag::Device: return static_cast<size_t>(v.arg().device().type);
    case Tag::DType: return static_cast<size_t>(v.raw_int());
    case Tag::Scalar: {
      const auto c = v.arg().scalar().to_complex();
      return std::hash<double>()(c.re) * 31 + std::hash<double>()(c.im);
    }
    case Tag::Enum: return std::hash<std::string_view>()(static_cast<EnumBox*>(v.box())->name);
    default: raise<TypeError>("unhashable type: '", annotation_text(value_type(v)), "'");
  }
}

size_t DictBox::slot_of(const Value& k, size_t hash) const {
  const size_t mask = table_.size() - 1;
  for (size_t s = hash & mask;; s = (s + 1) & mask) {
    if (table_[s] == 0) return s;
    const Entry& e = entries_[table_[s] - 1];
    if (e.live && e.hash == hash && equal(e.key, k)) return s;
  }
}

void DictBox::rebuild(size_t slots) {
  std::vector<Entry> kept;
  kept.reserve(live_);
  for (Entry& e : entries_)
    if (e.live) kept.push_back(std::move(e));
  entries_ = std::move(kept);
  table_.assign(slots, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t s = entries_[i].hash & (slots - 1);
    while (table_[s]) s = (s + 1) & (slots - 1);
    table_[s] = static_cast<uint32_t>(i + 1);
  }
}

Value* DictBox::find(const Value& k) {
  if (table_.empty()) return nullptr;
  const size_t s = slot_of(k, hash_of(k));
  return table_[s] ? &entries_[table_[s] - 1].value : nullptr;
}

void DictBox::set(const Value& k, Value v) {
  const size_t hash = hash_of(k);
  if (Value* there = find(k)) {
    std::swap(*there, v);  // the old one goes when nothing of this dict is in use
    return;
  }
  if ((entries_.size() + 1) * 2 > table_.size()) rebuild(std::bit_ceil(std::max<size_t>(8, (live_ + 1) * 4)));
  FC_CHECK(entries_.size() < UINT32_MAX - 1, "a dict of more than 2^32 entries");
  const size_t s = slot_of(k, hash);
  entries_.push_back({k, std::move(v), hash, true});
  table_[s] = static_cast<uint32_t>(entries_.size());
  ++live_;
}

bool DictBox::erase(const Value& k) {
  if (table_.empty()) return false;
  const size_t s = slot_of(k, hash_of(k));
  if (!table_[s]) return false;
  Entry& e = entries_[table_[s] - 1];
  e.live = false;
  --live_;
  Value key, value;  // freed when this dict is whole again
  std::swap(key, e.key);
  std::swap(value, e.value);
  if (entries_.size() > 16 && live_ * 2 < entries_.size()) rebuild(std::bit_ceil(std::max<size_t>(8, live_ * 4)));
  return true;
}

void DictBox::clear() {
  std::vector<Entry> entries;
  entries.swap(entries_);
  table_.clear();
  live_ = 0;
}

size_t DictBox::next(size_t at) const {
  while (at < entries_.size() && !entries_[at].live) ++at;
  return at < entries_.size() ? at : SIZE_MAX;
}

Value tuple_value(std::vector<Value> items, const Type* named) {
  return Value(Tag::Tuple, make_ref<TupleBox>(named, std::move(items)));
}

Value list_value(const Type* item, std::vector<Value> items) {
  auto unboxed = [&]<class T>(Tag tag, T into, auto&& read) {
    for (const Value& v : items) into.push_back(read(v));
    return Value(tag, make_ref<Box<T>>(std::move(into)));
  };
  switch (item->kind()) {
    case TypeKind::Int:
    case TypeKind::SymInt: return unboxed(Tag::IntList, Dims(), [](const Value& v) { return v.arg().integer(); });
    case TypeKind::Float:
      return unboxed(Tag::DoubleList, std::vector<double>(), [](const Value& v) { return v.arg().real(); });
    case TypeKind::Bool:
      return unboxed(Tag::BoolList, std::basic_string<bool>(), [](const Value& v) { return v.arg().boolean(); });
    case TypeKind::Number:
      return unboxed(Tag::ScalarList, std::vector<Scalar>(), [](const Value& v) { return v.arg().scalar(); });
    case TypeKind::Tensor:
      return unboxed(Tag::TensorList, std::vector<Tensor>(), [](const Value& v) { return v.tensor(); });
    case TypeKind::Optional:
      if (item->item()->is(TypeKind::Tensor))
        return unboxed(Tag::TensorList, std::vector<Tensor>(), [](const Value& v) { return v.tensor(); });
      [[fallthrough]];
    default: return Value(Tag::List, make_ref<ListBox>(item, std::move(items)));
  }
}

Value dict_value(const Type* key, const Type* value) { return Value(Tag::Dict, make_ref<DictBox>(key, value)); }

const Type* value_type(const Value& v) {
  using enum TypeKind;
  switch (v.tag()) {
    case Tag::None: return simple_type(None);
    case Tag::Tensor: return v.is_none() ? simple_type(None) : tensor_type();
    case Tag::Bool: return simple_type(Bool);
    case Tag::Int:
    case Tag::DType:
    case Tag::Layout:
    case Tag::MemoryFormat: return simple_type(Int);
    case Tag::Double: return simple_type(Float);
    case Tag::Scalar: return simple_type(v.arg().scalar().is_complex() ? Complex : Int);
    case Tag::String: return simple_type(String);
    case Tag::Device: return simple_type(TypeKind::Device);
    case Tag::Generator: return simple_type(TypeKind::Generator);
    case Tag::List: return list_type(list_of(v).item ? list_of(v).item : simple_type(Any));
    case Tag::IntList:
    case Tag::DoubleList:
    case Tag::BoolList:
    case Tag::ScalarList:
    case Tag::TensorList:
      return visit_list(v, [](const auto& items) -> const Type* {
        if constexpr (std::is_same_v<decltype(items), const std::vector<Value>&>) return nullptr;
        else return list_type(item_type(items));
      });
    case Tag::Tuple: {
      if (tuple_of(v).named) return tuple_of(v).named;
      std::vector<TypeRef> types;
      for (const Value& i : tuple_of(v).items) types.push_back(value_type(i));
      return tuple_type(std::move(types));
    }
    case Tag::Dict: return dict_type(dict_of(v).key, dict_of(v).value);
    case Tag::Enum: return static_cast<EnumBox*>(v.box())->type;
    case Tag::Instance: return static_cast<Instance*>(v.box())->type;
    case Tag::Future: return future_type(simple_type(Any));
    case Tag::Function: return simple_type(Function);
    default: return simple_type(Any);
  }
}

bool fits(const Value& v, const Type* t) {
  using enum TypeKind;
  switch (t->kind()) {
    case Any:
    case Variable: return true;
    case Optional: return v.is_none() || fits(v, t->item());
    case Union:
      for (TypeRef i : t->items())
        if (fits(v, i)) return true;
      return false;
    case TypeKind::Tensor: return v.is_tensor();
    case Tuple:
      if (v.tag() != Tag::Tuple || tuple_of(v).items.size() != t->items().size()) return false;
      for (size_t i = 0; i < t->items().size(); ++i)
        if (!fits(tuple_of(v).items[i], t->item(i))) return false;
      return t->name().empty() || tuple_of(v).named == t;
    case List:
      if (t->item()->is(Optional) && t->item()->item()->is(TypeKind::Tensor)) return v.tag() == Tag::TensorList;
      return is_list(v.tag()) && (value_type(v) == t->unshaped() || t->item()->is(Any));
    case AnyList: return is_list(v.tag());
    case AnyTuple: return v.tag() == Tag::Tuple;
    case AnyEnum: return v.tag() == Tag::Enum;
    case Future: return v.tag() == Tag::Future;
    case Int:
      return v.tag() == Tag::Int || v.tag() == Tag::DType || v.tag() == Tag::Layout || v.tag() == Tag::MemoryFormat;
    default: return is_subtype(value_type(v), t->in_graph());
  }
}

std::string container_text(const Arg& a) {
  std::string out;
  append_text(out, Value(a), kMaxShown);
  return out;
}

}  // namespace fc
