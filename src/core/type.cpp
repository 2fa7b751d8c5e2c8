// SPDX-License-Identifier: Apache-2.0
#include "core/type.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/error.h"

namespace fc {
namespace {

constexpr size_t kMaxDepth = 100;     // levels: as deep as a stack of any thread bears
constexpr size_t kMaxSize = 1 << 20;  // types in one: a tuple of pairs of pairs … has few levels and an endless text
constexpr size_t kMaxUnionItems = 256;  // each is compared with each
constexpr int kSimpleKinds = static_cast<int>(TypeKind::Tensor) + 1;

size_t mix(size_t h, size_t v) { return (h ^ v) * 0x9E3779B97F4A7C15u + (h >> 29); }

template <class T>
size_t mix(size_t h, const std::optional<T>& v) {
  return mix(h, v ? std::hash<T>()(*v) + 1 : 0);
}

size_t hash_of(const TensorFacts& f) {
  size_t h = mix(0, f.dtype ? static_cast<size_t>(*f.dtype) + 2 : 0);
  h = mix(h, f.device ? static_cast<size_t>(f.device->type) + 1 : 0);
  h = mix(mix(h, f.requires_grad), f.undefined);
  for (const auto* list : {&f.sizes, &f.strides}) {
    h = mix(h, *list ? (*list)->size() + 1 : 0);
    if (*list)
      for (const auto& v : **list) h = mix(h, v);
  }
  return h;
}

// `cuda` equals `cuda:0` but is spelled otherwise, and a type is what prints.
bool spelled_alike(const TensorFacts& a, const TensorFacts& b) {
  return a == b && (!a.device || a.device->index == b.device->index);
}

}  // namespace

// Every type there is. Types without items stand in an array; the others are found by what they are made of.
class TypeTable {
 public:
  static TypeTable& it() {
    static TypeTable& table = *new TypeTable;  // never destroyed: pointers to types live anywhere
    return table;
  }

  TypeRef simple(TypeKind kind) const { return simple_[static_cast<size_t>(kind)].get(); }

  // What a type is made of, before it is known whether there is one.
  struct Parts {
    TypeKind kind;
    std::vector<TypeRef> items = {};
    int length = 0;
    std::string_view name = {};
    std::vector<std::string> fields = {};
    const TensorFacts* facts = nullptr;
  };

  TypeRef intern(Parts p) {
    size_t h = mix(static_cast<size_t>(p.kind), static_cast<size_t>(p.length));
    for (TypeRef t : p.items) h = mix(h, std::hash<TypeRef>()(t));
    for (const std::string& f : p.fields) h = mix(h, std::hash<std::string>()(f));
    h = mix(h, std::hash<std::string_view>()(p.name));
    if (p.facts) h = mix(h, hash_of(*p.facts));
    std::lock_guard lock(mutex_);
    for (auto [at, end] = made_.equal_range(h); at != end; ++at) {
      const Type& t = *at->second;
      if (t.kind_ == p.kind && t.length_ == p.length && t.items_ == p.items && t.name_ == p.name &&
          t.fields_ == p.fields && (p.facts == nullptr) == (t.facts_ == nullptr) &&
          (!p.facts || spelled_alike(*p.facts, *t.facts_)))
        return &t;
    }
    std::unique_ptr<const TensorFacts> facts(p.facts ? new TensorFacts(*p.facts) : nullptr);
    std::unique_ptr<Type> t = make(std::move(p), facts.get());
    TypeRef done = made_.emplace(h, std::move(t))->second.get();
    facts.release();
    return done;
  }

  TypeRef make_class(TypeKind kind, std::string_view name, ClassInfo* info, std::vector<TypeRef> items) {
    std::unique_ptr<Type> t = make({.kind = kind, .items = std::move(items), .name = name}, nullptr);
    t->class_info_ = info;
    std::lock_guard lock(mutex_);
    return classes_.emplace_back(std::move(t)).get();
  }

 private:
  TypeTable() {
    for (int k = 0; k < kSimpleKinds; ++k)
      simple_[static_cast<size_t>(k)] = make({.kind = static_cast<TypeKind>(k)}, nullptr);
  }

  static std::unique_ptr<Type> make(Parts p, const TensorFacts* facts) {
    std::unique_ptr<Type> t(new Type);
    using enum TypeKind;
    t->kind_ = p.kind;
    t->kinds_ = uint64_t{1} << static_cast<int>(p.kind);
    t->mutable_ = p.kind == TypeKind::Tensor || p.kind == List || p.kind == Dict || p.kind == Class ||
                  p.kind == Interface || p.kind == Any || p.kind == AnyList;
    size_t depth = 1, size = 1;
    for (TypeRef item : p.items) {
      depth = std::max<size_t>(depth, item->depth_ + 1u);
      size += item->size_;
      t->kinds_ |= item->kinds_;
      if (p.kind != Enum) t->mutable_ = t->mutable_ || item->mutable_;
      FC_CHECK_AS(TypeError, size <= kMaxSize, "a type of more than ", kMaxSize, " parts");
    }
    FC_CHECK_AS(TypeError, depth <= kMaxDepth, "types nested more than ", kMaxDepth, " deep");
    t->depth_ = static_cast<uint16_t>(depth);
    t->size_ = static_cast<uint32_t>(size);
    t->length_ = p.length;
    t->items_ = std::move(p.items);
    t->name_ = p.name;
    t->fields_ = std::move(p.fields);
    t->facts_ = facts;
    return t;
  }

  std::array<std::unique_ptr<Type>, kSimpleKinds> simple_;
  std::mutex mutex_;
  std::unordered_multimap<size_t, std::unique_ptr<Type>> made_;
  std::vector<std::unique_ptr<Type>> classes_;
};

namespace {

TypeRef intern(TypeTable::Parts p) { return TypeTable::it().intern(std::move(p)); }
TypeRef intern(TypeKind kind, TypeRef item, int length = 0) { return intern({kind, {item}, length}); }

TypeRef map_items(TypeRef t, TypeRef (*f)(TypeRef)) {
  if (t->items().empty() || t->is(TypeKind::Enum)) return t;
  std::vector<TypeRef> items;
  items.reserve(t->items().size());
  for (TypeRef item : t->items()) items.push_back(f(item));
  return t->with_items(std::move(items));
}

// The order of kinds in which PyTorch lists the items of a Union; of what has a value no kind stands twice.
int union_rank(TypeKind k) {
  using enum TypeKind;
  constexpr TypeKind order[] = {Any,     Enum,      AnyEnum,  Tensor,    Storage,  Tuple,   List,   Dict,
                                Number,  Float,     Complex,  Future,    Await,    RRef,    Int,    None,
                                String,  Generator, Bool,     Optional,  Variable, Device,  Stream, Function,
                                Class,   PyObject,  Capsule,  Interface, QScheme,  DType,   Layout, MemoryFormat,
                                AnyList, AnyTuple,  AnyClass, SymInt,    SymFloat, SymBool, Union};
  return static_cast<int>(std::find(std::begin(order), std::end(order), k) - std::begin(order));
}

void flatten(TypeRef t, std::vector<TypeRef>& into) {
  using enum TypeKind;
  if (t->is(Union)) {
    for (TypeRef item : t->items()) flatten(item, into);
  } else if (t->is(Optional)) {
    flatten(t->item(), into);
    into.push_back(simple_type(None));
  } else if (t->is(Number)) {
    for (TypeKind k : {Int, Float, Complex}) into.push_back(simple_type(k));
  } else {
    into.push_back(t);
  }
  FC_CHECK_AS(TypeError, into.size() <= kMaxUnionItems, "a Union of more than ", kMaxUnionItems, " types");
}

// From right to left, each item is unified with its nearest neighbour to the left that takes it. None is left alone:
// an Optional made early would hide what else unifies.
void drop_unified(std::vector<TypeRef>& items) {
  for (size_t i = items.size(); i-- > 1;) {
    for (size_t j = std::min(i, items.size()); j-- > 0;) {
      if (i >= items.size()) break;
      const bool one_none = items[i]->is(TypeKind::None) != items[j]->is(TypeKind::None);
      if (TypeRef both = one_none ? nullptr : unify(items[i], items[j])) {
        items[j] = both;
        items[i] = items.back();
        items.pop_back();
        break;
      }
    }
  }
}

}  // namespace

bool Type::is_number() const {
  using enum TypeKind;
  switch (kind_) {
    case Number:
    case Int:
    case Float:
    case Complex:
    case SymInt:
    case SymFloat:
    case DType:
    case Layout:
    case MemoryFormat: return true;
    default: return false;
  }
}

TypeRef Type::with_items(std::vector<TypeRef> items) const {
  using enum TypeKind;
  FC_CHECK(items.size() == items_.size(), "internal: a type of ", items_.size(), " items given ", items.size());
  if (items_.empty() || items == items_) return this;
  switch (kind_) {
    case List: return list_type(items[0], length_);
    case Optional: return optional_type(items[0]);
    case Dict: return dict_type(items[0], items[1]);
    case Tuple:
      return fields_.empty() ? tuple_type(std::move(items)) : named_tuple_type(name_, fields_, std::move(items));
    case Union: return union_type(std::move(items));
    case Future:
    case RRef:
    case Await: return intern(kind_, items[0]);
    default: return this;
  }
}

TypeRef Type::in_graph() const {
  using enum TypeKind;
  switch (kind_) {
    case SymInt:
    case DType:
    case Layout:
    case MemoryFormat: return simple_type(Int);
    case SymFloat: return simple_type(Float);
    case SymBool: return simple_type(Bool);
    case List: return list_type(item()->in_graph());
    default: return map_items(this, [](TypeRef t) { return t->in_graph(); });
  }
}

TypeRef Type::unshaped() const {
  if (kind_ == TypeKind::Tensor) return tensor_type();
  return holds(TypeKind::Tensor) ? map_items(this, [](TypeRef t) { return t->unshaped(); }) : this;
}

TypeRef simple_type(TypeKind kind) {
  FC_CHECK(static_cast<int>(kind) < kSimpleKinds, "internal: a type with items made without");
  return TypeTable::it().simple(kind);
}

TypeRef tensor_type(const TensorFacts& facts) {
  if (facts == TensorFacts{}) return tensor_type();
  FC_CHECK_AS(TypeError, !facts.sizes || facts.sizes->size() <= 64, "a tensor type of more than 64 dimensions");
  FC_CHECK_AS(TypeError, !facts.strides || (facts.sizes && facts.sizes->size() == facts.strides->size()),
              "a tensor type with ", facts.strides ? facts.strides->size() : 0, " strides for ",
              facts.sizes ? facts.sizes->size() : 0, " sizes");
  return intern({.kind = TypeKind::Tensor, .facts = &facts});
}

TypeRef list_type(TypeRef item, int length) {
  FC_CHECK_AS(TypeError, length >= 0, "a list type of negative length");
  return intern(TypeKind::List, item, length);
}

TypeRef optional_type(TypeRef item) {
  using enum TypeKind;
  if (item->is(Optional) || item->is(None) || item->is(Any)) return item;
  if (item->is(Union)) {
    for (TypeRef i : item->items())
      if (i->is(None)) return item;
    if (item == union_type({simple_type(Number)})) item = simple_type(Number);
  }
  return intern(Optional, item);
}

TypeRef dict_type(TypeRef key, TypeRef value) {
  using enum TypeKind;
  switch (key->kind()) {
    case Any:
    case Int:
    case Bool:
    case Float:
    case Complex:
    case Device:
    case String:
    case Enum:
    case Variable:
    case TypeKind::Tensor: break;
    default:
      raise<TypeError>("Cannot create dict for key type '", schema_text(key),
                       "', only int, float, complex, Tensor, device and string keys are supported");
  }
  return intern({.kind = Dict, .items = {key, value}});
}

TypeRef tuple_type(std::vector<TypeRef> items) { return intern({.kind = TypeKind::Tuple, .items = std::move(items)}); }

TypeRef named_tuple_type(std::string_view name, std::vector<std::string> fields, std::vector<TypeRef> items) {
  FC_CHECK_AS(TypeError, fields.size() == items.size(), "a NamedTuple of ", fields.size(), " names and ", items.size(),
              " types");
  return intern({.kind = TypeKind::Tuple, .items = std::move(items), .name = name, .fields = std::move(fields)});
}

TypeRef union_type(std::vector<TypeRef> items) {
  using enum TypeKind;
  FC_CHECK_AS(TypeError, !items.empty(), "a Union of no types");
  std::vector<TypeRef> flat;
  for (TypeRef t : items) flatten(t, flat);
  drop_unified(flat);
  std::sort(flat.begin(), flat.end(), [](TypeRef a, TypeRef b) {
    if (a->kind() != b->kind()) return union_rank(a->kind()) < union_rank(b->kind());
    return schema_text(a) < schema_text(b);
  });
  if (flat.size() == 1) return flat[0];
  const auto none = std::find_if(flat.begin(), flat.end(), [](TypeRef t) { return t->is(None); });
  if (none != flat.end()) {
    const auto has = [&](TypeKind k) {
      return std::any_of(flat.begin(), flat.end(), [&](TypeRef t) { return t->is(k); });
    };
    if (flat.size() == 2) return optional_type(flat[none == flat.begin()]);
    if (flat.size() == 4 && has(Int) && has(Float) && has(Complex)) return optional_type(simple_type(Number));
  }
  return intern({.kind = Union, .items = std::move(flat)});
}

TypeRef future_type(TypeRef item) { return intern(TypeKind::Future, item); }
TypeRef rref_type(TypeRef item) { return intern(TypeKind::RRef, item); }
TypeRef await_type(TypeRef item) { return intern(TypeKind::Await, item); }
TypeRef variable_type(std::string_view name) { return intern({.kind = TypeKind::Variable, .name = name}); }

TypeRef named_class_type(std::string_view name) { return intern({.kind = TypeKind::Class, .name = name}); }

TypeRef make_class_type(TypeKind kind, std::string_view name, ClassInfo* info, std::vector<TypeRef> items) {
  using enum TypeKind;
  FC_CHECK(kind == Class || kind == Interface || kind == Enum, "internal: a class of another kind");
  return TypeTable::it().make_class(kind, name, info, std::move(items));
}

}  // namespace fc
