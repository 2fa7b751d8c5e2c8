// SPDX-License-Identifier: Apache-2.0
// __torch_function__: arguments whose class overrides it, and modes that see every call of a thread. The order of
// asking is PyTorch's: the innermost mode first, then arguments from left to right, subclasses before their bases.
#include "py.h"

#include <string_view>

#include "call.h"

namespace fc::py {
namespace {

PyObject *name_torch_function, *disabled_implementation;
// Read by every call, hence the model that needs no function call.
#define FC_TLS [[gnu::tls_model("initial-exec")]]
constinit thread_local int disabled FC_TLS = 0;                // depth of DisableTorchFunction
constinit thread_local int subclasses_disabled FC_TLS = 0;     // of DisableTorchFunctionSubclass, which leaves modes on
constinit thread_local PyObject* mode_stack FC_TLS = nullptr;  // list of TorchFunctionMode objects, or null
#undef FC_TLS

// PyTorch itself may be in the process. Its tensors would hand every call back to the function that was called.
bool is_of_another_framework(PyTypeObject* type) {
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(tensor_base)) || !type->tp_mro) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    if (!std::string_view(reinterpret_cast<PyTypeObject*>(base)->tp_name).ends_with("TensorBase")) continue;
    Own module(PyObject_GetAttrString(base, "__module__"));
    if (module && PyUnicode_Check(module.get()) && utf8(module.get()) == "torch._C") return true;
    PyErr_Clear();
  }
  return false;
}

bool overridden(PyObject* o) {
  if (disabled || subclasses_disabled || Py_TYPE(o) == tensor_class) return false;
  // Looked up on the type, as Python does with special methods.
  PyObject* f = _PyType_Lookup(Py_TYPE(o), name_torch_function);
  if (!f || f == disabled_implementation || is_of_another_framework(Py_TYPE(o))) return false;
  Own attribute(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), name_torch_function));
  if (!attribute) {
    PyErr_Clear();
    return false;
  }
  return attribute.get() != disabled_implementation;
}

// Those who are asked are owned: they may be in a list that changes meanwhile.
void collect(PyObject* o, std::vector<Own>& found) {
  Own owned(Py_NewRef(o));
  if (!has_torch_function(o)) return;
  for (const Own& f : found)
    if (Py_TYPE(f.get()) == Py_TYPE(o)) return;
  size_t at = found.size();
  for (size_t i = 0; i < found.size(); ++i)
    if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i].get()))) {
      at = i;
      break;
    }
  found.insert(found.begin() + static_cast<std::ptrdiff_t>(at), std::move(owned));
}

PyObject* ask(PyObject* who, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (!stack_left()) throw PythonError{};
  Own method(check(PyObject_GetAttr(who, name_torch_function)));
  return check(in_interpreter(
      [&] { return PyObject_CallFunctionObjArgs(method.get(), function, types, args, kwargs, nullptr); }));
}

PyObject* let_handle(PyObject* function, const std::vector<Own>& found, PyObject* args, PyObject* kwargs) {
  Own types(check(PyTuple_New(static_cast<Py_ssize_t>(found.size()))));
  for (size_t i = 0; i < found.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(found[i].get()))));
  if (torch_function_mode_active()) {  // the mode itself runs with the modes below it
    Own keep(Py_NewRef(mode_stack));
    PyObject* stack = keep.get();
    Py_ssize_t top = PyList_GET_SIZE(stack) - 1;
    Own innermost(Py_NewRef(PyList_GET_ITEM(stack, top)));
    check(PyList_SetSlice(stack, top, top + 1, nullptr));
    PyObject* r = nullptr;
    try {
      r = ask(innermost.get(), function, types.get(), args, kwargs);
    } catch (...) {
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      PyList_Append(stack, innermost.get());
      PyErr_Restore(type, value, trace);
      throw;
    }
    check(PyList_Append(stack, innermost.get()));
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  for (const Own& who : found) {
    PyObject* r = ask(who.get(), function, types.get(), args, kwargs);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  Own text(PyObject_Repr(function));
  Own list(PyObject_Repr(types.get()));
  raise<TypeError>("Multiple dispatch failed for ", text ? utf8(text.get()) : "this function",
                   "; all __torch_function__ handlers returned NotImplemented: ", list ? utf8(list.get()) : "");
}

}  // namespace

PyObject* function_modes() {
  if (!mode_stack) mode_stack = check(PyList_New(0));
  return mode_stack;
}
int& torch_function_off() { return disabled; }
int& torch_function_of_subclasses_off() { return subclasses_disabled; }

bool has_torch_function(PyObject* o) { return overridden(o); }
bool torch_function_mode_active() { return mode_stack && !disabled && PyList_GET_SIZE(mode_stack) > 0; }

PyObject* call_torch_function(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames) {
  std::vector<Own> found;
  size_t all = n + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  for (size_t i = 0; i < all; ++i) {
    collect(args[i], found);
    if (PyTuple_Check(args[i]) || PyList_Check(args[i]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]); ++k)
        collect(PySequence_Fast_GET_ITEM(args[i], k), found);
  }
  if (found.empty() && !torch_function_mode_active()) return nullptr;
  Own tuple(check(PyTuple_New(static_cast<Py_ssize_t>(n))));
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  Own kwargs(check(PyDict_New()));
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    check(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), args[n + static_cast<size_t>(k)]));
  return let_handle(function, found, tuple.get(), kwargs.get());
}

PyObject* ask_for_attribute(const char* name, bool property, PyObject* const* args, size_t n, PyObject* kwargs) {
  if (!torch_function_mode_active() && !has_torch_function(args[0])) return nullptr;
  Own f(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_base), name)));
  if (property) f.reset(check(PyObject_GetAttrString(f.get(), n == 1 ? "__get__" : "__set__")));
  std::vector<PyObject*> all(args, args + n);
  Own names;
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    names.reset(check(PyTuple_New(PyDict_GET_SIZE(kwargs))));
    PyObject *key, *value;
    for (Py_ssize_t at = 0, k = 0; PyDict_Next(kwargs, &at, &key, &value); ++k) {
      PyTuple_SET_ITEM(names.get(), k, Py_NewRef(key));
      all.push_back(value);
    }
  }
  return call_torch_function(f.get(), all.data(), n, names.get());
}

void add_override_functions(PyObject* module) {
  name_torch_function = PyUnicode_InternFromString("__torch_function__");
  static PyMethodDef defs[] = {
      // The implementation that means "treat me as a plain tensor" (Parameter has it).
      {"_disabled_torch_function_impl",
       [](PyObject*, PyObject* args) -> PyObject* {
         PyObject *function, *types, *call_args, *kwargs = nullptr;
         if (!PyArg_ParseTuple(args, "OOO!|O:_disabled_torch_function_impl", &function, &types, &PyTuple_Type,
                               &call_args, &kwargs))
           return nullptr;
         if (kwargs && kwargs != Py_None && !PyDict_Check(kwargs))
           return PyErr_Format(PyExc_TypeError, "_disabled_torch_function_impl: kwargs must be a dict, not %s",
                               Py_TYPE(kwargs)->tp_name);
         ++subclasses_disabled;
         PyObject* r = PyObject_Call(function, call_args, kwargs && kwargs != Py_None ? kwargs : nullptr);
         --subclasses_disabled;
         return r;
       },
       METH_VARARGS, nullptr},
      {"_is_torch_function_enabled",
       [](PyObject*, PyObject*) { return PyBool_FromLong(disabled == 0 && subclasses_disabled == 0); }, METH_NOARGS,
       nullptr},
      {"_is_torch_function_mode_active",
       [](PyObject*, PyObject*) { return PyBool_FromLong(torch_function_mode_active()); }, METH_NOARGS, nullptr},
      // (function, relevant arguments, args, kwargs): as call_torch_function, for functions written in Python
      {"_handle_torch_function",
       [](PyObject*, PyObject* all) -> PyObject* {
         return guarded([&]() -> PyObject* {
           PyObject *function, *relevant, *args, *kwargs;
           if (!PyArg_UnpackTuple(all, "_handle_torch_function", 4, 4, &function, &relevant, &args, &kwargs))
             return nullptr;
           Own items(check(PySequence_Fast(relevant, "expected a sequence of arguments")));
           std::vector<Own> found;
           for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
             collect(PySequence_Fast_GET_ITEM(items.get(), i), found);
           return let_handle(function, found, args, kwargs);
         });
       },
       METH_VARARGS, nullptr},
      {"_has_torch_function",
       [](PyObject*, PyObject* args) -> PyObject* {
         Own items(PySequence_Fast(args, "expected a sequence of arguments"));
         if (!items) return nullptr;
         if (torch_function_mode_active()) Py_RETURN_TRUE;
         for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
           if (has_torch_function(PySequence_Fast_GET_ITEM(items.get(), i))) Py_RETURN_TRUE;
         Py_RETURN_FALSE;
       },
       METH_O, nullptr},
      {}};
  check(PyModule_AddFunctions(module, defs));
  disabled_implementation = check(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace fc::py
