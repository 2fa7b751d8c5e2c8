// SPDX-License-Identifier: Apache-2.0
// Strings and vectors as arguments of bound functions. nanobind's own (nanobind/stl) promise not to throw, so that
// without memory they end the process; these throw std::bad_alloc, which becomes MemoryError.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))
  bool from_python(handle src, auto, cleanup_list*) {
    if (!PyUnicode_Check(src.ptr())) return false;
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(src.ptr(), &size);
    if (!text) PyErr_Clear();
    else value.assign(text, static_cast<size_t>(size));
    return text != nullptr;
  }
  static handle from_cpp(const std::string& v, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(v.data(), static_cast<Py_ssize_t>(v.size()));
  }
};

template <class T>
struct type_caster<std::vector<T>> {
  NB_TYPE_CASTER(std::vector<T>, const_name("list[") + make_caster<T>::Name + const_name("]"))
  bool from_python(handle src, auto flags, cleanup_list* cleanup) {
    if (PyUnicode_Check(src.ptr()) || PyBytes_Check(src.ptr()) || !PySequence_Check(src.ptr())) return false;
    object items = steal(PySequence_Tuple(src.ptr()));  // a list may change while its items are read
    if (!items.is_valid()) {
      PyErr_Clear();
      return false;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
    value.clear();
    value.reserve(static_cast<size_t>(n));
    make_caster<T> item;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!item.from_python(PyTuple_GET_ITEM(items.ptr(), i), flags, cleanup) || !item.template can_cast<T>())
        return false;
      value.push_back(item.operator cast_t<T>());
    }
    return true;
  }
  static handle from_cpp(const std::vector<T>& v, rv_policy policy, cleanup_list* cleanup) noexcept {
    object list = steal(PyList_New(static_cast<Py_ssize_t>(v.size())));
    if (!list.is_valid()) return {};
    Py_ssize_t i = 0;
    for (const auto& x : v) {
      handle h = make_caster<T>::from_cpp(x, policy, cleanup);
      if (!h.is_valid()) return {};
      PyList_SET_ITEM(list.ptr(), i++, h.ptr());
    }
    return list.release();
  }
};

}  // namespace nanobind::detail
