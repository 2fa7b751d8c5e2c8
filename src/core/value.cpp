// SPDX-License-Identifier: Apache-2.0
#include "core/value.h"

#include "core/containers.h"
#include "core/generator.h"

namespace fc {
namespace {

constexpr std::string_view tag_names[] = {
    "None",   "Tensor",       "bool",      "int",   "float",    "Scalar", "str",      "Device",   "DType",
    "Layout", "MemoryFormat", "Generator", "int[]", "float[]",  "bool[]", "Scalar[]", "Tensor[]", "list",
    "object", "tuple",        "dict",      "enum",  "instance", "future", "function", "value"};

const Tensor& undefined() {
  static const Tensor& t = *new Tensor;  // never destroyed: results may be read while the process ends
  return t;
}

template <class T>
std::string join(const T& items) {
  std::string out = "[";
  for (const auto& v : items) {
    if (out.size() > 1) out += ", ";
    append(out, v);
  }
  return out + "]";
}

}  // namespace

std::string_view to_string(Tag t) { return tag_names[static_cast<size_t>(t)]; }

void Arg::mismatch(Tag wanted) const {
  raise<Error>("internal: an argument of type ", to_string(tag_), " was read as ", to_string(wanted));
}

const Tensor& Arg::no_tensor() const {
  expect(Tag::None);
  return undefined();
}

double Arg::real() const {
  switch (tag_) {
    case Tag::Bool:
    case Tag::Int: return static_cast<double>(u_.i);
    case Tag::Scalar: return u_.scalar->to_double();
    default: expect(Tag::Double); return u_.d;
  }
}

template <class T>
void Value::hold(Tag tag, T content) {
  u_.plain.box = make_ref<Box<T>>(std::move(content)).detach();
  tag_ = tag;
}

Value::Value(const Scalar& s) : Value() {
  switch (s.kind()) {
    case Scalar::Kind::Bool: *this = Value(s.to_bool()); break;
    case Scalar::Kind::Int: *this = Value(s.to_int()); break;
    case Scalar::Kind::Double: *this = Value(s.to_double()); break;
    case Scalar::Kind::Complex:
    case Scalar::Kind::UInt: hold(Tag::Scalar, s); break;
  }
}
Value::Value(std::vector<Tensor> v) : Value() { hold(Tag::TensorList, std::move(v)); }
Value::Value(IntSpan v) : Value() { hold(Tag::IntList, Dims(v)); }
Value::Value(std::string_view s) : Value() { hold(Tag::String, std::string(s)); }
Value::Value(std::vector<Value> v) : Value(Tag::List, make_ref<ListBox>(nullptr, std::move(v))) {}

Value::Value(const Arg& a) : Value() {
  switch (a.tag()) {
    case Tag::None: break;
    case Tag::Tensor: *this = Value(Tensor(a.tensor())); break;
    case Tag::Bool: *this = Value(a.boolean()); break;
    case Tag::Int: *this = Value(a.integer()); break;
    case Tag::Double: *this = Value(a.real()); break;
    case Tag::Scalar: *this = Value(a.scalar()); break;
    case Tag::String: *this = Value(a.text()); break;
    case Tag::Device: *this = Value(a.device()); break;
    case Tag::DType: *this = Value(a.dtype()); break;
    case Tag::Layout:
      tag_ = Tag::Layout;
      u_.plain.i = static_cast<int64_t>(a.layout());
      break;
    case Tag::MemoryFormat:
      tag_ = Tag::MemoryFormat;
      u_.plain.i = static_cast<int64_t>(a.memory_format());
      break;
    case Tag::Generator:
      u_.plain.box = Ref<Generator>(a.generator()).detach();
      tag_ = Tag::Generator;
      break;
    case Tag::IntList: *this = Value(a.ints()); break;
    case Tag::DoubleList: hold(Tag::DoubleList, std::vector<double>(a.doubles().begin(), a.doubles().end())); break;
    case Tag::BoolList: hold(Tag::BoolList, std::basic_string<bool>(a.bools().begin(), a.bools().end())); break;
    case Tag::ScalarList: hold(Tag::ScalarList, std::vector<Scalar>(a.scalars().begin(), a.scalars().end())); break;
    case Tag::TensorList: *this = Value(std::vector<Tensor>(a.tensors().begin(), a.tensors().end())); break;
    case Tag::List: *this = Value(std::vector<Value>(a.values().begin(), a.values().end())); break;
    case Tag::Object:
    case Tag::Tuple:
    case Tag::Dict:
    case Tag::Enum:
    case Tag::Instance:
    case Tag::Future:
    case Tag::Function:
      u_.plain.box = Ref<RefCounted>(a.any_object()).detach();
      tag_ = a.tag();
      break;
    case Tag::Value: *this = a.whole(); break;
  }
}

const Tensor& Value::no_tensor() const {
  FC_CHECK(tag_ == Tag::None, "internal: a value of type ", to_string(tag_), " was read as Tensor");
  return undefined();
}

std::vector<Tensor> Value::take_tensors() {
  TensorSpan t = arg().tensors();
  return {t.begin(), t.end()};
}

Arg Value::arg() const {
  auto in = [&]<class T>(T*) -> const T& { return static_cast<const Box<T>*>(u_.plain.box)->content; };
  switch (tag_) {
    case Tag::None: return {};
    case Tag::Tensor: return tensor();
    case Tag::Bool: return u_.plain.i != 0;
    case Tag::Int: return u_.plain.i;
    case Tag::Double: return u_.plain.d;
    case Tag::Scalar: return in(static_cast<Scalar*>(nullptr));
    case Tag::String: return std::string_view(in(static_cast<std::string*>(nullptr)));
    case Tag::Device: return u_.plain.device;
    case Tag::DType: return static_cast<DType>(u_.plain.i);
    case Tag::Layout: return static_cast<Layout>(u_.plain.i);
    case Tag::MemoryFormat: return static_cast<MemoryFormat>(u_.plain.i);
    case Tag::Generator: return static_cast<Generator*>(u_.plain.box);
    case Tag::IntList: return in(static_cast<Dims*>(nullptr));
    case Tag::DoubleList: return std::span<const double>(in(static_cast<std::vector<double>*>(nullptr)));
    case Tag::BoolList: return std::span<const bool>(in(static_cast<std::basic_string<bool>*>(nullptr)));
    case Tag::ScalarList: return std::span<const Scalar>(in(static_cast<std::vector<Scalar>*>(nullptr)));
    case Tag::TensorList: return TensorSpan(in(static_cast<std::vector<Tensor>*>(nullptr)));
    case Tag::List: {
      const auto& values = static_cast<const ListBox*>(u_.plain.box)->items;
      return Arg::list(values.data(), values.size());
    }
    case Tag::Object:
    case Tag::Tuple:
    case Tag::Dict:
    case Tag::Enum:
    case Tag::Instance:
    case Tag::Future:
    case Tag::Function: return Arg::object(u_.plain.box, tag_);
    case Tag::Value: break;  // of arguments only
  }
  return {};
}

std::string to_string(const Arg& a) {
  switch (a.tag()) {
    case Tag::None: return "None";
    case Tag::Tensor: return dump(a.tensor());
    case Tag::Bool: return str(a.boolean());
    case Tag::Int: return str(a.integer());
    case Tag::Double: return str(a.real());
    case Tag::Scalar: return to_string(a.scalar());
    case Tag::String: return str('\'', a.text(), '\'');
    case Tag::Device: return to_string(a.device());
    case Tag::DType: return std::string(to_string(a.dtype()));
    case Tag::Layout: return "strided";
    case Tag::MemoryFormat: {
      constexpr const char* names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
      return names[static_cast<int>(a.memory_format())];
    }
    case Tag::Generator: return "Generator";
    case Tag::IntList: return str(a.ints());
    case Tag::DoubleList: return join(a.doubles());
    case Tag::BoolList: return join(a.bools());
    case Tag::ScalarList: return join(a.scalars());
    case Tag::TensorList: {
      std::string out = "[";
      for (const Tensor& t : a.tensors()) out += (out.size() > 1 ? ", " : "") + dump(t);
      return out + "]";
    }
    case Tag::List: return join(a.values());
    case Tag::Object: return "object";
    case Tag::Value: return to_string(a.whole());
    default: return container_text(a);
  }
  return "?";
}

std::string dump(const Value& v) { return to_string(v); }

}  // namespace fc
