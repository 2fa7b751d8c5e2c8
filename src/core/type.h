// SPDX-License-Identifier: Apache-2.0
// Types of values: one system for schemas, dispatcher, containers and TorchScript. A Type is immutable, interned and
// never freed: equal types are one address, so `==` of pointers is equality, and a pointer may be kept anywhere. Any
// thread may make and read types; making one takes a lock, reading none.
//
// Types nest (List[Optional[Tensor]]); depth and size are bounded, and what exceeds them is refused where it is made
// with a TypeError: whoever walks a type may recurse.
// The three spellings are PyTorch's (type_text.cpp; type_parse.h reads them): the graph's (`Tensor?[]`,
// `Float(2, 3, strides=[3, 1])`), the annotation's (`List[Optional[Tensor]]`, also str(type) in Python), the schema's
// (`Tensor?[]`, `Future(Tensor)`, `SymInt[2]`).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"

namespace fc {

class Type;
using TypeRef = const Type*;
struct AliasInfo;  // core/type_parse.h
class ClassInfo;   // core/class_type.h: a class's attributes, constants and methods, which grow after the type is made

enum class TypeKind : uint8_t {
  // --- without items; one Type each
  Any,
  None,
  Number,  // any number: "Scalar"
  Int,
  Float,
  Complex,
  Bool,
  String,
  Device,
  Generator,
  Stream,
  Storage,
  Function,  // of any signature
  PyObject,
  Capsule,
  AnyClass,
  AnyEnum,
  AnyList,
  AnyTuple,
  // Numbers that schemas name more precisely; a graph sees int (Type::in_graph).
  SymInt,
  SymFloat,
  SymBool,
  DType,   // "ScalarType"
  Layout,  // "Layout"
  MemoryFormat,
  QScheme,
  Dimname,
  // --- what more there is to know stands in the Type
  Tensor,    // facts(): what is known of it; none: plain Tensor
  Variable,  // a type variable of a schema: name() "t"
  List,      // items: {item}; length(): int[2] of schemas, 0 for any
  Optional,  // items: {item}
  Dict,      // items: {key, value}
  Tuple,     // items; with name() and field_names() a NamedTuple
  Union,     // items, in PyTorch's order; Optional and Number are their own kinds
  Future,    // items: {item}
  RRef,
  Await,
  Class,      // name(): qualified, "__torch__.mod.Cls"; class_info(); a module is one with class_info().is_module
  Interface,  // the same
  Enum,       // name(), items: {type of the values}; class_info() has the names and values
};

// What is known of a tensor. Sizes and strides are there only with the rank; an entry is empty where it is unknown, and
// below -1 where it is a symbol that several tensors share: SS(-2).
struct TensorFacts {
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<std::vector<std::optional<int64_t>>> sizes;    // its length is the rank
  std::optional<std::vector<std::optional<int64_t>>> strides;  // of the same length
  std::optional<bool> requires_grad;
  std::optional<bool> undefined;  // true: an absent gradient
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

class Type {
 public:
  TypeKind kind() const { return kind_; }
  std::span<const TypeRef> items() const { return items_; }
  TypeRef item(size_t i = 0) const { return items_[i]; }
  std::string_view name() const { return name_; }  // of Variable, Class, Interface, Enum, NamedTuple
  std::span<const std::string> field_names() const { return fields_; }  // of a NamedTuple
  const TensorFacts* facts() const { return facts_; }                   // of a Tensor; null: nothing is known
  ClassInfo* class_info() const { return class_info_; }                 // of Class, Interface, Enum; else null
  int length() const { return length_; }

  bool is(TypeKind k) const { return kind_ == k; }
  bool is_number() const;    // Int, Float, Complex, Number, and those that a graph sees as one of them
  bool is_mutable() const {  // a value of it can be changed in place, or holds one that can
    return mutable_;
  }
  bool holds(TypeKind k) const {  // it, or something inside of it, is of this kind
    return kinds_ >> static_cast<int>(k) & 1;
  }
  bool has_variables() const { return holds(TypeKind::Variable); }  // somewhere inside
  TypeRef in_graph() const;  // SymInt, DType, Layout … become Int, inside of containers too; fixed lengths go
  TypeRef unshaped() const;  // tensors of which nothing is known, inside of containers too
  // The same container of other items, as many; itself where it has none. A Class keeps its own.
  TypeRef with_items(std::vector<TypeRef> items) const;

 private:
  friend class TypeTable;
  Type() = default;
  TypeKind kind_ = TypeKind::Any;
  bool mutable_ = false;
  uint16_t depth_ = 1;  // of nesting
  uint32_t size_ = 1;   // types written out in its text
  uint64_t kinds_ = 0;  // a bit for each kind inside
  int length_ = 0;
  std::vector<TypeRef> items_;
  std::string name_;
  std::vector<std::string> fields_;
  const TensorFacts* facts_ = nullptr;
  ClassInfo* class_info_ = nullptr;
};

// --- making
TypeRef simple_type(TypeKind kind);  // one without items; Tensor: nothing known
inline TypeRef tensor_type() { return simple_type(TypeKind::Tensor); }
TypeRef tensor_type(const TensorFacts& facts);
TypeRef list_type(TypeRef item, int length = 0);
TypeRef optional_type(TypeRef item);  // Optional[Optional[T]] and Optional[None] are themselves, Optional[Any] is Any
TypeRef dict_type(TypeRef key, TypeRef value);  // throws TypeError: a key that TorchScript does not hash
TypeRef tuple_type(std::vector<TypeRef> items);
// Interned by name, fields and items together; `defaults` of the fields are the compiler's affair.
TypeRef named_tuple_type(std::string_view name, std::vector<std::string> fields, std::vector<TypeRef> items);
// Flattened, what one unifies with another dropped, in PyTorch's order; Optional where that is None and one other, and
// the one item where one is left. All of int, float and complex stay three items and print as Scalar.
TypeRef union_type(std::vector<TypeRef> items);
TypeRef future_type(TypeRef item);
TypeRef rref_type(TypeRef item);
TypeRef await_type(TypeRef item);
TypeRef variable_type(std::string_view name);
// A class is its own identity: two of one name are two types (a name is made unique by whoever makes it).
TypeRef make_class_type(TypeKind kind, std::string_view name, ClassInfo* info, std::vector<TypeRef> items = {});
TypeRef named_class_type(std::string_view name);  // a Class of which nothing else is known: one for each name

// --- relations
bool is_subtype(TypeRef a, TypeRef b, std::string* why_not = nullptr);
// The type that holds both; null if there is none (`unions`: then their Union). As PyTorch's unifyTypes.
TypeRef unify(TypeRef a, TypeRef b, bool unions = false);
TypeRef unify(std::span<const TypeRef> types, bool unions = false);
TensorFacts merge(const TensorFacts& a, const TensorFacts& b);  // what holds for both

// Type variables of a schema, bound by the arguments of one call.
class TypeBindings {
 public:
  // Binds the variables of `formal` so that `actual` fits; an empty string, or why it does not.
  std::string match(TypeRef formal, TypeRef actual);
  TypeRef find(std::string_view variable) const;
  TypeRef substitute(TypeRef formal) const;  // null: a variable in it is not bound

 private:
  std::vector<std::pair<std::string, TypeRef>> bound_;
};

// --- text
std::string graph_text(TypeRef t);  // PYTORCH_JIT_TYPE_VERBOSITY's default; see graph_text_verbosity
std::string annotation_text(TypeRef t);
std::string schema_text(TypeRef t, const AliasInfo* alias = nullptr);  // with its marks: Tensor(a!)[]
// 0 to 4, read from PYTORCH_JIT_TYPE_VERBOSITY at first: graphs print no types, sizes, strides too, requires_grad and
// device too, symbols too.
int graph_text_verbosity();
void set_graph_text_verbosity(int level);
std::string_view dtype_text(DType t);  // "Float", "Long", as graphs spell it
inline std::string to_string(TypeRef t) { return annotation_text(t); }

}  // namespace fc
