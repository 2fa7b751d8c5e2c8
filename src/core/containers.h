// SPDX-License-Identifier: Apache-2.0
// What a Value of lists, tuples, dicts, enums and instances holds. Boxes are counted and shared: copies of a Value see
// each other's changes, as Python's objects do. Counts are atomic; the content is not protected, so a list that two
// threads have must not be changed by one of them meanwhile. Boxes of boxes are freed one after the other, however
// deep they nest.
//
// Lists of numbers and of tensors keep their items unboxed, so that kernels read them as they are; the type of their
// items follows from the tag. All others are a ListBox.
#pragma once
#include <string>
#include <vector>

#include "core/ref.h"
#include "core/value.h"

namespace fc {

class Type;

// What the tags Scalar, String, IntList (Dims), DoubleList, BoolList (basic_string<bool>), ScalarList, TensorList hold.
template <class T>
struct Box final : RefCounted {
  explicit Box(T v) : content(std::move(v)) {}
  T content;
};
template <class T>
T& content(const Value& v) {
  return static_cast<Box<T>*>(v.box())->content;
}

struct ContainerBox : RefCounted {
 protected:
  void destroy() noexcept override { delete_in_turn(this); }
};

struct ListBox final : ContainerBox {
  ListBox(const Type* item, std::vector<Value> items) : item(item), items(std::move(items)) {}
  const Type* item;  // null: anything
  std::vector<Value> items;
};

struct TupleBox final : ContainerBox {
  TupleBox(const Type* named, std::vector<Value> items) : named(named), items(std::move(items)) {}
  const Type* named;  // of a NamedTuple, else null
  const std::vector<Value> items;
};

// Keys in the order in which they came. A key is a number, bool, string, device, enum, or a tensor, which is itself
// only. Removing leaves a gap, which is closed when gaps are half of it.
struct DictBox final : ContainerBox {
  DictBox(const Type* key, const Type* value) : key(key), value(value) {}
  const Type *key, *value;

  size_t size() const { return live_; }
  Value* find(const Value& k);  // null: none
  void set(const Value& k, Value v);
  bool erase(const Value& k);
  void clear();
  // Its entries by place: next(0) is the first; SIZE_MAX when there is none from `at` on.
  size_t next(size_t at) const;
  const Value& key_at(size_t at) const { return entries_[at].key; }
  Value& value_at(size_t at) { return entries_[at].value; }

 private:
  struct Entry {
    Value key, value;
    size_t hash;
    bool live;
  };
  size_t slot_of(const Value& k, size_t hash) const;  // in table_: of the key, or the empty one where it belongs
  void rebuild(size_t slots);
  std::vector<Entry> entries_;
  std::vector<uint32_t> table_;  // places in entries_, plus one; 0: empty. Gaps stay in it until it is rebuilt.
  size_t live_ = 0;
};

struct EnumBox final : ContainerBox {
  EnumBox(const Type* type, std::string name, Value value)
      : type(type), name(std::move(name)), value(std::move(value)) {}
  const Type* type;
  const std::string name;
  const Value value;
};

// An object of a class: its attributes in the order of the class.
struct Instance final : ContainerBox {
  Instance(const Type* type, size_t slots) : type(type), slots(slots) {}
  const Type* type;
  std::vector<Value> slots;
};

Value tuple_value(std::vector<Value> items, const Type* named = nullptr);
// A list of items of that type, in the form its tag has.
Value list_value(const Type* item, std::vector<Value> items);
Value dict_value(const Type* key, const Type* value);
inline TupleBox& tuple_of(const Value& v) { return *static_cast<TupleBox*>(v.box()); }
inline ListBox& list_of(const Value& v) { return *static_cast<ListBox*>(v.box()); }
inline DictBox& dict_of(const Value& v) { return *static_cast<DictBox*>(v.box()); }

// Calls f with the list's content: Dims&, vector<double>&, basic_string<bool>&, vector<Scalar>&, vector<Tensor>& or
// vector<Value>&. Throws if the value is no list.
template <class F>
decltype(auto) visit_list(const Value& v, F&& f) {
  switch (v.tag()) {
    case Tag::IntList: return f(content<Dims>(v));
    case Tag::DoubleList: return f(content<std::vector<double>>(v));
    case Tag::BoolList: return f(content<std::basic_string<bool>>(v));
    case Tag::ScalarList: return f(content<std::vector<Scalar>>(v));
    case Tag::TensorList: return f(content<std::vector<Tensor>>(v));
    case Tag::List: return f(list_of(v).items);
    default: raise<Error>("internal: a value of type ", to_string(v.tag()), " was read as a list");
  }
}
bool is_list(Tag t);
// The type that this value alone tells: of an empty list of anything, list of Any.
const Type* value_type(const Value& v);
// Python's ==: by content; tensors by identity. Containers are compared item by item, to a bounded depth.
bool equal(const Value& a, const Value& b);
bool fits(const Value& v, const Type* t);  // whether a value of that type may be it
size_t hash_of(const Value& v);            // of what a dict takes as a key; throws TypeError of others
std::string container_text(const Arg& a);  // of a tuple, dict, enum, …

}  // namespace fc
