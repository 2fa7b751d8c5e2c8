// SPDX-License-Identifier: Apache-2.0
// Values of TorchScript from Python and to Python.
#include "casters.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "core/future.h"
#include "core/type.h"
#include "jit.h"
#include "jit/run/interpreter.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

[[noreturn]] void cannot(nb::handle o, TypeRef t) {
  raise<TypeError>("Unable to cast ", py::utf8(nb::repr(o).ptr()), " to ", annotation_text(t));
}

std::vector<fc::Value> items_of(nb::handle o, TypeRef list, auto&& type_of_item, int depth) {
  nb::object fixed = nb::steal(PySequence_Tuple(o.ptr()));
  if (!fixed.is_valid()) {
    PyErr_Clear();
    cannot(o, list);
  }
  std::vector<fc::Value> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fixed.ptr()); ++i)
    out.push_back(from_python(PyTuple_GET_ITEM(fixed.ptr(), i), type_of_item(static_cast<size_t>(i)), depth + 1));
  return out;
}

}  // namespace

namespace {

nb::object python_class(const char* function) { return nb::module_::import_("facula.jit._classes").attr(function); }

// An object of a compiled class, with the attributes that Python's has now.
fc::Value instance_of(nb::handle o, int depth) {
  const nb::object own = python_class("type_of")(nb::borrow(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(o.ptr())))));
  if (!nb::isinstance<TypeHandle>(own) || !nb::cast<TypeHandle>(own).type->is(TypeKind::Class)) return {};
  FC_CHECK(depth < 200, "objects nested more than 200 deep cannot go into TorchScript");
  TypeRef t = nb::cast<TypeHandle>(own).type;
  const auto& attributes = t->class_info()->attributes;
  auto made = make_ref<Instance>(t, attributes.size());
  for (size_t i = 0; i < attributes.size(); ++i)
    made->slots[i] = from_python(nb::getattr(o, attributes[i].name.c_str()), attributes[i].type, depth + 1);
  return fc::Value(Tag::Instance, std::move(made));
}

// Back: of the class that Python knows under that name; without one the handle.
nb::object object_of(const fc::Value& v, int depth) {
  const Instance& o = *static_cast<const Instance*>(v.box());
  const ClassInfo& info = *o.type->class_info();
  const nb::object cls =
      info.is_module ? nb::none() : nb::object(python_class("class_of")(std::string(o.type->name())));
  if (cls.is_none()) return nb::cast(ObjectHandle{v});
  nb::dict attributes;
  for (size_t i = 0; i < info.attributes.size(); ++i)
    attributes[info.attributes[i].name.c_str()] = to_python(o.slots[i], depth + 1);
  return python_class("new_object")(cls, attributes);
}

}  // namespace

// What a graph's input of that type takes. Types are bounded in depth, so is this.
fc::Value from_python(nb::handle o, TypeRef t, int depth) {
  PyObject* p = o.ptr();
  switch (t->kind()) {
    case TypeKind::Optional: return p == Py_None ? fc::Value() : from_python(o, t->item(), depth);
    case TypeKind::Tensor:
      if (!py::is_tensor(p)) cannot(o, t);
      return py::tensor_of(p);
    case TypeKind::Bool:
      if (!PyBool_Check(p)) cannot(o, t);
      return p == Py_True;
    case TypeKind::Int:
      if (py::is_dtype(p) || py::is_layout(p) || py::is_memory_format(p)) return to_value(o);
      if (!PyLong_Check(p) || PyBool_Check(p)) cannot(o, t);
      return py::to_int(p);
    case TypeKind::Float:
      if (!PyFloat_Check(p) && (!PyLong_Check(p) || PyBool_Check(p))) cannot(o, t);
      return PyFloat_Check(p) ? PyFloat_AS_DOUBLE(p) : static_cast<double>(py::to_int(p));
    case TypeKind::String:
      if (!PyUnicode_Check(p)) cannot(o, t);
      return py::utf8(p);
    case TypeKind::List:
      if (!PyList_Check(p) && !PyTuple_Check(p)) cannot(o, t);
      return list_value(t->item(), items_of(
                                       o, t, [&](size_t) { return t->item(); }, depth));
    case TypeKind::Tuple:
      if (!PyTuple_Check(p) || PyTuple_GET_SIZE(p) != static_cast<Py_ssize_t>(t->items().size())) cannot(o, t);
      return tuple_value(items_of(
                             o, t, [&](size_t i) { return t->item(i); }, depth),
                         t->name().empty() ? nullptr : t);
    case TypeKind::Dict: {
      if (!PyDict_Check(p)) cannot(o, t);
      fc::Value out = dict_value(t->item(0), t->item(1));
      nb::object fixed = nb::steal(PyDict_Copy(p));
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(fixed.ptr(), &at, &key, &value);)
        dict_of(out).set(from_python(key, t->item(0), depth + 1), from_python(value, t->item(1), depth + 1));
      return out;
    }
    case TypeKind::Number:
      if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
      if (PyLong_Check(p) && !PyBool_Check(p)) return py::to_int(p);
      return to_value(o);
    case TypeKind::Union:
      if (PyLong_Check(p) && !PyBool_Check(p) && is_subtype(simple_type(TypeKind::Int), t)) return py::to_int(p);
      for (TypeRef i : t->items()) try {
          return from_python(o, i, depth);
        } catch (const TypeError&) {}
      cannot(o, t);
    case TypeKind::Future:
      if (!is_future(o)) cannot(o, t);
      return future_from_python(o, t->item());
    case TypeKind::Class:
    case TypeKind::Interface: {
      nb::object object = nb::borrow(o);
      if (!nb::isinstance<ObjectHandle>(object) && nb::hasattr(object, "_c")) object = object.attr("_c");
      fc::Value v =
          nb::isinstance<ObjectHandle>(object) ? nb::cast<ObjectHandle>(object).object : instance_of(object, depth);
      if (!fits(v, t)) cannot(o, t);
      return v;
    }
    case TypeKind::Enum: {
      const nb::object own = python_class("type_of")(nb::borrow(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(p)))));
      if (!nb::isinstance<TypeHandle>(own) || nb::cast<TypeHandle>(own).type != t) cannot(o, t);
      const auto name = nb::cast<std::string>(o.attr("name"));
      const fc::Value* value = t->class_info()->find_constant(name);
      if (!value) cannot(o, t);
      return fc::Value(Tag::Enum, make_ref<EnumBox>(t, name, *value));
    }
    default: {
      fc::Value v = to_value(o);
      if (!fits(v, t)) cannot(o, t);
      return v;
    }
  }
}

nb::object to_python(const fc::Value& v, int depth) {
  FC_CHECK(depth < 200, "containers nested more than 200 deep have no Python form");
  switch (v.tag()) {
    case Tag::Tuple: {
      const auto& items = tuple_of(v).items;
      if (const Type* named = tuple_of(v).named) {
        nb::list given, names;
        for (const fc::Value& i : items) given.append(to_python(i, depth + 1));
        for (const std::string& n : named->field_names()) names.append(n);
        return python_class("new_named_tuple")(std::string(named->name()), names, given);
      }
      nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      for (size_t i = 0; i < items.size(); ++i)
        PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), to_python(items[i], depth + 1).release().ptr());
      return out;
    }
    case Tag::IntList:
    case Tag::DoubleList:
    case Tag::BoolList:
    case Tag::ScalarList:
    case Tag::TensorList:
    case Tag::List: {
      nb::list out;
      visit_list(v, [&](auto& items) {
        for (size_t i = 0; i < items.size(); ++i) out.append(to_python(fc::Value(items[i]), depth + 1));
      });
      return out;
    }
    case Tag::Dict: {
      nb::dict out;
      DictBox& d = dict_of(v);
      for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1))
        out[to_python(d.key_at(at), depth + 1)] = to_python(d.value_at(at), depth + 1);
      return out;
    }
    case Tag::Instance: return object_of(v, depth);
    case Tag::Enum: {
      const auto& e = *static_cast<EnumBox*>(v.box());
      const nb::object cls = python_class("class_of")(std::string(e.type->name()));
      return cls.is_none() ? to_python(e.value, depth + 1) : nb::object(cls.attr(e.name.c_str()));
    }
    case Tag::Future: return future_to_python(Ref<Future>(&future_of(v)));
    default: return nb::steal(py::wrap(fc::Value(v)));
  }
}

}  // namespace fc::jit
