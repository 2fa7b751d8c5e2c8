// SPDX-License-Identifier: Apache-2.0
// Type and what is derived from it, under PyTorch's names. Equal types are equal objects; the class of an object says
// its type's kind.
#include <algorithm>
#include <atomic>
#include <memory>

#include "casters.h"
#include "core/class_type.h"
#include "core/format.h"
#include "jit.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

template <TypeKind K>
struct TypeOf : TypeHandle {};

std::string_view kind_name(TypeKind k) {
  using enum TypeKind;
  switch (k) {
    case Any: return "AnyType";
    case None: return "NoneType";
    case Number: return "NumberType";
    case Int: return "IntType";
    case Float: return "FloatType";
    case Complex: return "ComplexType";
    case Bool: return "BoolType";
    case String: return "StringType";
    case TypeKind::Device: return "DeviceObjType";
    case TypeKind::Generator: return "GeneratorType";
    case Stream: return "StreamObjType";
    case TypeKind::Storage: return "StorageType";
    case TypeKind::Function: return "FunctionType";
    case PyObject: return "PyObjectType";
    case Capsule: return "CapsuleType";
    case AnyClass: return "AnyClassType";
    case AnyEnum: return "AnyEnumType";
    case AnyList: return "AnyListType";
    case AnyTuple: return "AnyTupleType";
    case SymInt: return "SymIntType";
    case SymFloat: return "SymFloatType";
    case SymBool: return "SymBoolType";
    case TypeKind::DType: return "ScalarTypeType";
    case TypeKind::Layout: return "LayoutType";
    case TypeKind::MemoryFormat: return "MemoryFormatType";
    case QScheme: return "QSchemeType";
    case Dimname: return "DimnameType";
    case TypeKind::Tensor: return "TensorType";
    case Variable: return "VarType";
    case List: return "ListType";
    case Optional: return "OptionalType";
    case Dict: return "DictType";
    case Tuple: return "TupleType";
    case Union: return "UnionType";
    case TypeKind::Future: return "FutureType";
    case RRef: return "RRefType";
    case Await: return "AwaitType";
    case Class: return "ClassType";
    case Interface: return "InterfaceType";
    case Enum: return "EnumType";
  }
  return "Type";
}

const TensorFacts& facts_of(const TypeHandle& h) {
  static const TensorFacts none;
  FC_CHECK(h.type->is(TypeKind::Tensor), "expected the type of a tensor, not ", annotation_text(h.type));
  return h.type->facts() ? *h.type->facts() : none;
}

bool requires_grad(TypeRef t) {  // it may; types are bounded in depth
  if (t->is(TypeKind::Tensor)) return !t->facts() || t->facts()->requires_grad.value_or(true);
  return std::ranges::any_of(t->items(), requires_grad);
}

using Sizes = std::optional<std::vector<std::optional<int64_t>>>;
nb::object list_or_none(const Sizes& v, bool complete) {
  if (!v) return nb::none();
  nb::list out;
  for (const auto& s : *v) {
    const bool known = s && *s >= 0;
    if (complete && !known) return nb::none();
    out.append(known ? nb::cast(*s) : nb::none());
  }
  return out;
}

// Sizes that are not known are symbols, which have negative numbers.
nb::object symbolic(const Sizes& v) {
  static std::atomic<int64_t> next = -2;
  if (!v) return nb::none();
  nb::list out;
  for (const auto& s : *v) out.append(s ? *s : next.fetch_sub(1));
  return out;
}

nb::object with(const TypeHandle& t, auto&& change) {
  TensorFacts f = facts_of(t);
  change(f);
  return type_object(tensor_type(f));
}

std::vector<TypeRef> types_of(const nb::sequence& handles) {
  std::vector<TypeRef> out;
  for (nb::handle h : handles) out.push_back(nb::cast<const TypeHandle&>(h).type);
  return out;
}

nb::list objects_of(std::span<const TypeRef> types) {
  nb::list out;
  for (TypeRef t : types) out.append(type_object(t));
  return out;
}

template <TypeKind K>
nb::class_<TypeOf<K>, TypeHandle> bind(nb::module_& m, const char* name = nullptr) {
  return nb::class_<TypeOf<K>, TypeHandle>(m, name ? name : std::string(kind_name(K)).c_str());
}
template <TypeKind K>
void bind_simple(nb::module_& m, const char* name = nullptr) {
  bind<K>(m, name).def_static("get", [] { return type_object(simple_type(K)); });
}
template <TypeKind K>
auto bind_container(nb::module_& m, TypeRef (*make)(TypeRef)) {
  auto c = bind<K>(m);
  c.def("__init__", [make](TypeOf<K>* self, const TypeHandle& item) { new (self) TypeOf<K>{{make(item.type)}}; });
  c.def("getElementType", [](const TypeOf<K>& t) { return type_object(t.type->item()); });
  return c;
}

void bind_tensor_facts(nb::class_<TypeHandle>& c) {
  c.def("dim",
        [](const TypeHandle& t) -> nb::object {
          const Sizes& s = facts_of(t).sizes;
          return s ? nb::cast(s->size()) : nb::none();
        })
      .def("dtype",
           [](const TypeHandle& t) -> nb::object {
             const auto& d = facts_of(t).dtype;
             return d ? nb::steal(py::wrap(*d)) : nb::none();
           })
      .def("device",
           [](const TypeHandle& t) -> nb::object {
             const auto& d = facts_of(t).device;
             return d ? nb::steal(py::wrap(*d)) : nb::none();
           })
      .def("scalarType",
           [](const TypeHandle& t) -> nb::object {
             const auto& d = facts_of(t).dtype;
             return d ? nb::cast(std::string(dtype_text(*d))) : nb::none();
           })
      .def("sizes", [](const TypeHandle& t) { return list_or_none(facts_of(t).sizes, true); })
      .def("strides", [](const TypeHandle& t) { return list_or_none(facts_of(t).strides, true); })
      .def("varyingSizes", [](const TypeHandle& t) { return list_or_none(facts_of(t).sizes, false); })
      .def("symbolic_sizes", [](const TypeHandle& t) { return symbolic(facts_of(t).sizes); })
      .def("undefined", [](const TypeHandle& t) { return facts_of(t).undefined.value_or(false); })
      .def("requires_grad", [](const TypeHandle& t) { return requires_grad(t.type); })
      .def("contiguous",
           [](const TypeHandle& t) {
             return with(t, [](TensorFacts& f) {
               FC_CHECK(f.sizes && std::ranges::all_of(*f.sizes, [](const auto& s) { return s && *s >= 0; }),
                        "contiguous() of a tensor type whose sizes are not all known");
               f.strides.emplace(f.sizes->size());
               int64_t step = 1;
               for (size_t i = f.sizes->size(); i-- > 0;) {
                 (*f.strides)[i] = step;
                 FC_CHECK(!__builtin_mul_overflow(step, std::max<int64_t>(*(*f.sizes)[i], 1), &step),
                          "the sizes' product does not fit 64 bits");
               }
             });
           })
      .def("with_dtype",
           [](const TypeHandle& t, nb::handle dtype) {
             FC_CHECK_AS(TypeError, py::is_dtype(dtype.ptr()), "Expected dtype");
             return with(t, [&](TensorFacts& f) { f.dtype = py::to_dtype(dtype.ptr()); });
           })
      .def("with_device",
           [](const TypeHandle& t, nb::handle device) {
             FC_CHECK_AS(TypeError, py::is_device(device.ptr()), "Expected device");
             return with(t, [&](TensorFacts& f) { f.device = py::to_device(device.ptr()); });
           })
      .def(
          "with_sizes",
          [](const TypeHandle& t, nb::handle sizes) {
            return with(t, [&](TensorFacts& f) {
              if (sizes.is_none()) {
                f.sizes.reset();
                f.strides.reset();
                return;
              }
              std::vector<std::optional<int64_t>> v;
              for (nb::handle s : nb::borrow<nb::sequence>(sizes))
                v.push_back(s.is_none() ? std::nullopt : std::optional(py::to_int(s.ptr())));
              if (f.strides && f.strides->size() != v.size()) f.strides.reset();
              f.sizes = std::move(v);
            });
          },
          nb::arg("sizes").none());
}

// An enum's members, as Python's Enum has them.
TypeRef enum_type(const std::string& name, const TypeHandle& values, const nb::sequence& members) {
  auto info = std::make_unique<ClassInfo>();
  for (nb::handle m : members)
    info->constants.emplace_back(nb::cast<std::string>(nb::getattr(m, "name")), to_value(nb::getattr(m, "value")));
  return make_class_type(TypeKind::Enum, name, info.release(), {values.type});  // for ever, as the type
}

// The type that a Python value has, or why it has none.
struct Inferred {
  TypeRef type = nullptr;
  std::string reason;
};

}  // namespace

nb::object type_object(TypeRef t) {
  using enum TypeKind;
  switch (t->kind()) {
#define ROW(K) \
  case K: return nb::cast(TypeOf<K>{{t}});
    ROW(Any)
    ROW(None)
    ROW(Number)
    ROW(Int)
    ROW(Float)
    ROW(Complex)
    ROW(Bool)
    ROW(String)
    ROW(TypeKind::Device)
    ROW(TypeKind::Generator)
    ROW(Stream)
    ROW(PyObject)
    ROW(SymInt)
    ROW(SymBool)
    ROW(TypeKind::Tensor)
    ROW(List)
    ROW(Optional)
    ROW(Dict)
    ROW(Tuple)
    ROW(Union)
    ROW(TypeKind::Future)
    ROW(RRef)
    ROW(Await)
    ROW(Class)
    ROW(Interface)
    ROW(Enum)
#undef ROW
    default: return nb::cast(TypeHandle{t});
  }
}

void bind_types(nb::module_& m) {
  nb::class_<TypeHandle> type(m, "Type", "A type of values; equal types are one.");
  type.def("__repr__", [](const TypeHandle& t) { return annotation_text(t.type); })
      .def("__str__", [](const TypeHandle& t) { return annotation_text(t.type); })
      .def("str", [](const TypeHandle& t) { return graph_text(t.type); })
      .def("kind", [](const TypeHandle& t) { return std::string(kind_name(t.type->kind())); })
      .def_prop_ro("annotation_str", [](const TypeHandle& t) { return annotation_text(t.type); })
      .def("containedTypes", [](const TypeHandle& t) { return objects_of(t.type->items()); })
      .def("is_interface_type", [](const TypeHandle& t) { return t.type->is(TypeKind::Interface); })
      .def("isSubtypeOf", [](const TypeHandle& a, const TypeHandle& b) { return is_subtype(a.type, b.type); })
      .def("__eq__",
           [](const TypeHandle& a, nb::handle b) {
             return nb::isinstance<TypeHandle>(b) && nb::cast<const TypeHandle&>(b).type == a.type;
           })
      .def("__hash__", [](const TypeHandle& t) { return reinterpret_cast<size_t>(t.type) >> 4; });
  bind_tensor_facts(type);

  using enum TypeKind;
  bind_simple<Any>(m);
  bind_simple<None>(m);
  bind_simple<Number>(m);
  bind_simple<Int>(m);
  bind_simple<Float>(m);
  bind_simple<Complex>(m);
  bind_simple<Bool>(m);
  bind_simple<String>(m);
  bind_simple<TypeKind::Device>(m);
  bind_simple<TypeKind::Generator>(m, "_GeneratorType");
  bind_simple<Stream>(m);
  bind_simple<PyObject>(m);
  bind_simple<SymInt>(m);
  bind_simple<SymBool>(m);
  bind<TypeKind::Tensor>(m)
      .def_static("get", [] { return type_object(tensor_type()); })
      .def_static("getInferred", [] { return type_object(tensor_type()); })
      .def_static("create_from_tensor", [](const fc::Tensor& t) { return type_object(type_of(fc::Value(given(t)))); });
  auto list = bind_container<List>(m, [](TypeRef item) { return list_type(item); });
  const auto of = [&](const char* name, TypeKind item) {
    list.def_static(name, [item] { return type_object(list_type(simple_type(item))); });
  };
  of("ofInts", Int);
  of("ofFloats", Float);
  of("ofComplexDoubles", Complex);
  of("ofBools", Bool);
  of("ofStrings", String);
  of("ofTensors", TypeKind::Tensor);
  bind_container<Optional>(m, optional_type).def_static("ofTensor", [] {
    return type_object(optional_type(tensor_type()));
  });
  bind_container<TypeKind::Future>(m, future_type);
  bind_container<RRef>(m, rref_type);
  bind_container<Await>(m, await_type);
  bind<Dict>(m)
      .def("__init__", [](TypeOf<Dict>* self, const TypeHandle& key,
                          const TypeHandle& value) { new (self) TypeOf<Dict>{{dict_type(key.type, value.type)}}; })
      .def("getKeyType", [](const TypeOf<Dict>& t) { return type_object(t.type->item(0)); })
      .def("getValueType", [](const TypeOf<Dict>& t) { return type_object(t.type->item(1)); });
  bind<Tuple>(m)
      .def("__init__", [](TypeOf<Tuple>* self,
                          const nb::sequence& items) { new (self) TypeOf<Tuple>{{tuple_type(types_of(items))}}; })
      .def("elements", [](const TypeOf<Tuple>& t) { return objects_of(t.type->items()); });
  bind<Union>(m).def("__init__", [](TypeOf<Union>* self, const nb::sequence& items) {
    new (self) TypeOf<Union>{{union_type(types_of(items))}};
  });
  bind<Enum>(m).def("__init__",
                    [](TypeOf<Enum>* self, const std::string& name, const TypeHandle& values,
                       const nb::sequence& members) { new (self) TypeOf<Enum>{{enum_type(name, values, members)}}; });
  const auto method_names = [](const TypeHandle& t) {
    nb::list out;
    if (t.type->class_info())
      for (const ClassInfo::Signature& s : t.type->class_info()->methods) out.append(s.name);
    return out;
  };
  bind<Class>(m)
      .def("name",
           [](const TypeOf<Class>& t) { return std::string(t.type->name().substr(t.type->name().rfind('.') + 1)); })
      .def("qualified_name", [](const TypeOf<Class>& t) { return std::string(t.type->name()); })
      .def("method_names", method_names);
  bind<Interface>(m).def("getMethodNames", method_names);
  nb::class_<Inferred>(m, "InferredType", "The type that a value has, or why it has none.")
      .def("__init__",
           [](Inferred* self, const TypeHandle& t) {
             new (self) Inferred{t.type, {}};
           })
      .def("__init__",
           [](Inferred* self, const std::string& why) {
             new (self) Inferred{nullptr, why};
           })
      .def("type",
           [](const Inferred& i) {
             FC_CHECK(i.type, "Tried to get the type from an InferredType but the type is null. Reason: ", i.reason);
             return type_object(i.type);
           })
      .def("success", [](const Inferred& i) { return i.type != nullptr; })
      .def("reason", [](const Inferred& i) { return i.reason; });
}

}  // namespace fc::jit
