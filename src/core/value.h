// SPDX-License-Identifier: Apache-2.0
// Anything an operator takes or returns, in two forms:
//   Arg    borrows: a tag and a pointer or number, trivially copyable. Calls travel as arrays of Arg, so boxing a
//          call costs a few stores and no reference count. An Arg is valid only while the call it is part of runs.
//   Value  owns: 16 bytes; results, defaults, what autograd saves, what the interpreter keeps.
#pragma once
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace fc {

class Generator;
class Value;

enum class Tag : uint8_t {
  None,
  Tensor,  // an undefined tensor counts as None for optional arguments
  Bool,
  Int,
  Double,
  Scalar,  // a number whose category matters
  String,
  Device,
  DType,
  Layout,
  MemoryFormat,
  Generator,
  IntList,
  DoubleList,
  BoolList,
  ScalarList,
  TensorList,  // with undefined tensors where the schema says Tensor?[]
  List,        // of values, as TorchScript has them
  Object,      // RefCounted of a kind the holder knows
  // What only TorchScript and hidden operators look into: core/containers.h, core/future.h
  Tuple,
  Dict,
  Enum,
  Instance,
  Future,
  Function,
  Value,  // of an Arg only: a whole value, for operators that change what it holds
};
std::string_view to_string(Tag t);

class Arg {
 public:
  Arg() : tag_(Tag::None), n_(0) {}
  Arg(std::nullptr_t) : Arg() {}
  Arg(const Tensor& t) : tag_(Tag::Tensor), n_(0) { u_.tensor = &t; }
  Arg(Tensor&&) = delete;  // would dangle
  Arg(bool v) : tag_(Tag::Bool), n_(0) { u_.i = v; }
  Arg(int64_t v) : tag_(Tag::Int), n_(0) { u_.i = v; }
  Arg(int v) : Arg(static_cast<int64_t>(v)) {}
  Arg(double v) : tag_(Tag::Double), n_(0) { u_.d = v; }
  Arg(const Scalar& s) : tag_(Tag::Scalar), n_(0) { u_.scalar = &s; }
  Arg(std::string_view s) : tag_(Tag::String), n_(s.size()) { u_.text = s.data(); }
  Arg(Device d) : tag_(Tag::Device), n_(0) { u_.device = d; }
  Arg(DType t) : tag_(Tag::DType), n_(0) { u_.i = static_cast<int64_t>(t); }
  Arg(Layout t) : tag_(Tag::Layout), n_(0) { u_.i = static_cast<int64_t>(t); }
  Arg(MemoryFormat t) : tag_(Tag::MemoryFormat), n_(0) { u_.i = static_cast<int64_t>(t); }
  Arg(Generator* g) : tag_(g ? Tag::Generator : Tag::None), n_(0) { u_.generator = g; }
  Arg(IntSpan v) : tag_(Tag::IntList), n_(v.size()) { u_.ints = v.data(); }
  Arg(const Dims& v) : Arg(IntSpan(v)) {}
  Arg(std::span<const double> v) : tag_(Tag::DoubleList), n_(v.size()) { u_.doubles = v.data(); }
  Arg(std::span<const bool> v) : tag_(Tag::BoolList), n_(v.size()) { u_.bools = v.data(); }
  Arg(std::span<const Scalar> v) : tag_(Tag::ScalarList), n_(v.size()) { u_.scalar = v.data(); }
  Arg(TensorSpan v) : tag_(Tag::TensorList), n_(v.size()) { u_.tensor = v.data(); }
  Arg(const std::vector<Tensor>& v) : Arg(TensorSpan(v)) {}
  static Arg list(const Value* values, size_t n) {
    Arg a;
    a.tag_ = Tag::List;
    a.n_ = n;
    a.u_.values = values;
    return a;
  }
  static Arg object(RefCounted* o, Tag tag = Tag::Object) {
    Arg a;
    a.tag_ = tag;
    a.u_.object = o;
    return a;
  }
  static Arg whole(const Value& v) {
    Arg a;
    a.tag_ = Tag::Value;
    a.u_.values = &v;
    return a;
  }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::None || (tag_ == Tag::Tensor && !u_.tensor->defined()); }
  bool is_tensor() const { return tag_ == Tag::Tensor; }
  bool is_tensor_list() const { return tag_ == Tag::TensorList; }

  // Each reader throws InternalError-like RuntimeError when the tag does not fit: a schema and a kernel disagree.
  const Tensor& tensor() const {  // None reads as the undefined tensor
    return tag_ == Tag::Tensor ? *u_.tensor : no_tensor();
  }
  bool boolean() const { return expect(Tag::Bool), u_.i != 0; }
  int64_t integer() const { return tag_ == Tag::Bool ? u_.i : (expect(Tag::Int), u_.i); }
  double real() const;     // from Int and Scalar too
  Scalar scalar() const {  // from any number
    switch (tag_) {
      case Tag::Bool: return u_.i != 0;
      case Tag::Int: return u_.i;
      case Tag::Double: return u_.d;
      default: expect(Tag::Scalar); return *u_.scalar;
    }
  }
  std::string_view text() const { return expect(Tag::String), std::string_view(u_.text, n_); }
  Device device() const { return expect(Tag::Device), u_.device; }
  DType dtype() const { return expect(Tag::DType), static_cast<DType>(u_.i); }
  MemoryFormat memory_format() const { return expect(Tag::MemoryFormat), static_cast<MemoryFormat>(u_.i); }
  Layout layout() const { return expect(Tag::Layout), static_cast<Layout>(u_.i); }
  Generator* generator() const { return tag_ == Tag::None ? nullptr : (expect(Tag::Generator), u_.generator); }
  IntSpan ints() const { return expect(Tag::IntList), IntSpan(u_.ints, n_); }
  std::span<const double> doubles() const { return expect(Tag::DoubleList), std::span(u_.doubles, n_); }
  std::span<const bool> bools() const { return expect(Tag::BoolList), std::span(u_.bools, n_); }
  std::span<const Scalar> scalars() const { return expect(Tag::ScalarList), std::span(u_.scalar, n_); }
  TensorSpan tensors() const { return expect(Tag::TensorList), TensorSpan(u_.tensor, n_); }
  std::span<const Value> values() const;
  RefCounted* object() const { return expect(Tag::Object), u_.object; }
  RefCounted* any_object() const { return u_.object; }  // of Object, Tuple and what follows it; no check
  const Value& whole() const { return expect(Tag::Value), *u_.values; }

 private:
  void expect(Tag t) const {
    if (tag_ != t) [[unlikely]]
      mismatch(t);
  }
  [[noreturn, gnu::cold]] void mismatch(Tag wanted) const;
  const Tensor& no_tensor() const;

  Tag tag_;
  size_t n_;
  union Content {
    Content() : i(0) {}
    const Tensor* tensor;
    int64_t i;
    double d;
    const Scalar* scalar;
    const char* text;
    Device device;
    Generator* generator;
    const int64_t* ints;
    const double* doubles;
    const bool* bools;
    const Value* values;
    RefCounted* object;
  } u_;
};
static_assert(sizeof(Arg) == 24);

class Value {
 public:
  Value() : tag_(Tag::None) {}
  Value(Tensor t) : tag_(Tag::Tensor), u_(std::move(t)) {}
  Value(bool v) : tag_(Tag::Bool) { u_.plain.i = v; }
  Value(int64_t v) : tag_(Tag::Int) { u_.plain.i = v; }
  Value(int v) : Value(static_cast<int64_t>(v)) {}
  Value(double v) : tag_(Tag::Double) { u_.plain.d = v; }
  Value(const Scalar& s);
  Value(Device d) : tag_(Tag::Device) { u_.plain.device = d; }
  Value(DType t) : tag_(Tag::DType) { u_.plain.i = static_cast<int64_t>(t); }
  Value(std::vector<Tensor> v);
  Value(IntSpan v);
  Value(std::string_view s);
  Value(const char* s) : Value(std::string_view(s)) {}
  Value(std::vector<Value> v);
  Value(Tag tag, Ref<RefCounted> box) : tag_(tag) { u_.plain.box = box.detach(); }  // a box of that tag's kind
  explicit Value(const Arg& a);                                                     // owns what the argument borrows
  Value(const Value& o) : tag_(o.tag_) {
    if (tag_ == Tag::Tensor) {
      new (&u_.tensor) Tensor(o.u_.tensor);
    } else {
      u_.plain = o.u_.plain;
      if (is_boxed()) u_.plain.box->retain();
    }
  }
  Value(Value&& o) noexcept : tag_(Tag::None) { take(o); }
  Value& operator=(Value o) noexcept {
    drop();
    take(o);
    return *this;
  }
  ~Value() { drop(); }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::None || (tag_ == Tag::Tensor && !u_.tensor.defined()); }
  bool is_tensor() const { return tag_ == Tag::Tensor; }
  Arg arg() const;  // borrows from this value, which must outlive the result
  const Tensor& tensor() const { return tag_ == Tag::Tensor ? u_.tensor : no_tensor(); }
  Tensor take_tensor() {  // moves the tensor out
    if (tag_ != Tag::Tensor) return no_tensor();
    Tensor t = std::move(u_.tensor);
    drop();
    return t;
  }
  std::vector<Tensor> take_tensors();
  // Of a tag whose content is shared: what it is in, which all copies of this value have in common (containers.h).
  RefCounted* box() const { return u_.plain.box; }
  // The number of a Bool, Int, Double; no check.
  int64_t raw_int() const { return u_.plain.i; }
  double raw_double() const { return u_.plain.d; }
  // Into a value that holds nothing shared: no check.
  void set_int(int64_t v) noexcept {
    tag_ = Tag::Int;
    u_.plain.i = v;
  }
  void set_bool(bool v) noexcept {
    tag_ = Tag::Bool;
    u_.plain.i = v;
  }
  void set_double(double v) noexcept {
    tag_ = Tag::Double;
    u_.plain.d = v;
  }

 private:
  static constexpr uint32_t bits(auto... tags) { return (0u | ... | (1u << static_cast<int>(tags))); }
  bool is_boxed() const {  // the content is shared and counted
    constexpr uint32_t others = bits(Tag::None, Tag::Tensor, Tag::Bool, Tag::Int, Tag::Double, Tag::Device, Tag::DType,
                                     Tag::Layout, Tag::MemoryFormat);
    return !(others >> static_cast<int>(tag_) & 1);
  }
  void take(Value& o) noexcept {  // into a value that holds nothing
    if (o.tag_ == Tag::Tensor) new (&u_.tensor) Tensor(std::move(o.u_.tensor));
    else u_.plain = o.u_.plain;
    tag_ = o.tag_;
    if (tag_ == Tag::Tensor) o.u_.tensor.~Tensor();
    o.tag_ = Tag::None;
  }
  void drop() noexcept {
    if (tag_ == Tag::Tensor) u_.tensor.~Tensor();
    else if (is_boxed()) u_.plain.box->release();
    tag_ = Tag::None;
  }
  const Tensor& no_tensor() const;
  template <class T>
  void hold(Tag tag, T content);

  Tag tag_;
  union Plain {
    int64_t i;
    double d;
    Device device;
    RefCounted* box;
  };
  union Content {
    Content() : plain{0} {}
    explicit Content(Tensor t) : tensor(std::move(t)) {}
    ~Content() {}  // by tag: drop
    Plain plain;
    Tensor tensor;
  } u_;
};
static_assert(sizeof(Value) == 16);

inline std::span<const Value> Arg::values() const { return expect(Tag::List), std::span(u_.values, n_); }

std::string to_string(const Arg& a);
inline std::string to_string(const Value& v) { return to_string(v.arg()); }
std::string dump(const Value& v);  // for debuggers

}  // namespace fc
