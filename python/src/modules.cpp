// SPDX-License-Identifier: Apache-2.0
// Attributes and calls of nn.Module. Parameters, buffers and submodules are not in an object's own dictionary, so
// Python would make and drop an AttributeError before it calls Module.__getattr__, for each of them, in every forward.
// A call of a module without hooks is one of its forward(), which costs less to find here than in Module.__call__.
#include "bind.h"
#include "tracing.h"

namespace fc::py {
namespace {

PyObject* module_getattr(PyObject* self, PyObject* name) {
  static PyObject* const members[] = {PyUnicode_InternFromString("_parameters"), PyUnicode_InternFromString("_buffers"),
                                      PyUnicode_InternFromString("_modules")};
  static PyObject* const getattr = PyUnicode_InternFromString("__getattr__");
  // Suppresses the AttributeError of the lookup, not the ones that a property raises.
  if (PyObject* found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1)) return found;
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  if (Own state{PyObject_GenericGetDict(self, nullptr)}) {
    for (PyObject* key : members) {
      const Own values(
          Py_XNewRef(PyDict_GetItemWithError(state.get(), key)));  // kept: a name may be of a class of its own
      if (!values || !PyDict_Check(values.get())) continue;
      if (PyObject* found = PyDict_GetItemWithError(values.get(), name)) return Py_NewRef(found);
      if (PyErr_Occurred()) return nullptr;
    }
  }
  PyErr_Clear();
  return PyObject_CallMethodObjArgs(self, getattr, name, nullptr);
}

PyObject* own_getattr = nullptr;   // Module.__getattr__
PyObject* own_call = nullptr;      // Module.__call__
PyObject* global_hooks = nullptr;  // a tuple of dictionaries, for all modules

bool is_empty_dict(PyObject* o) { return o && PyDict_Check(o) && PyDict_GET_SIZE(o) == 0; }

bool has_hooks(PyObject* state) {  // or something else that Module.__call__ should look at
  static PyObject* const members[] = {
      PyUnicode_InternFromString("_backward_hooks"), PyUnicode_InternFromString("_backward_pre_hooks"),
      PyUnicode_InternFromString("_forward_hooks"), PyUnicode_InternFromString("_forward_pre_hooks")};
  for (PyObject* key : members)
    if (!is_empty_dict(PyDict_GetItemWithError(state, key))) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(global_hooks); ++i)
    if (!is_empty_dict(PyTuple_GET_ITEM(global_hooks, i))) return true;
  return false;
}

PyObject* module_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const forward = PyUnicode_InternFromString("forward");
  if (!stack_left()) return nullptr;
  const Own state(PyObject_GenericGetDict(self, nullptr));
  if (!state || tracing() || has_hooks(state.get())) {
    PyErr_Clear();
    const Own bound(PyMethod_New(own_call, self));
    return bound ? PyObject_Call(bound.get(), args, kwargs) : nullptr;
  }
  // The class's forward() is called without making a method of it first.
  constexpr Py_ssize_t most = 7;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n <= most && (!kwargs || PyDict_GET_SIZE(kwargs) == 0) && Py_TYPE(self)->tp_getattro == module_getattr &&
      !PyDict_GetItemWithError(state.get(), forward) && !PyErr_Occurred()) {
    const Own function(Py_XNewRef(_PyType_Lookup(Py_TYPE(self), forward)));
    if (function && PyFunction_Check(function.get())) {
      PyObject* all[most + 1] = {self};
      for (Py_ssize_t i = 0; i < n; ++i) all[i + 1] = PyTuple_GET_ITEM(args, i);
      return PyObject_Vectorcall(function.get(), all, static_cast<size_t>(n) + 1, nullptr);
    }
  }
  PyErr_Clear();
  const Own function(PyObject_GetAttr(self, forward));
  return function ? PyObject_Call(function.get(), args, kwargs) : nullptr;
}

// Replaces the slots that type() has made for __getattr__ and __call__. Who sets one of them later gets type()'s slot
// back.
PyObject* look_into_modules(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls)) return PyErr_Format(PyExc_TypeError, "_look_into_modules: a class expected");
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  const Own getattr(PyObject_GetAttrString(cls, "__getattr__"));
  const Own getattribute(PyObject_GetAttrString(cls, "__getattribute__"));
  const Own plain(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__"));
  const Own call(PyObject_GetAttrString(cls, "__call__"));
  if (!getattr || !getattribute || !plain || !call) return nullptr;
  if (!own_getattr) own_getattr = Py_NewRef(getattr.get());
  if (!own_call) own_call = Py_NewRef(call.get());
  if (getattr.get() == own_getattr && getattribute.get() == plain.get()) type->tp_getattro = module_getattr;
  if (call.get() == own_call && global_hooks) type->tp_call = module_call;
  Py_RETURN_NONE;
}

PyObject* set_global_hooks(PyObject*, PyObject* hooks) {
  if (!PyTuple_Check(hooks)) return PyErr_Format(PyExc_TypeError, "_set_global_hooks: a tuple expected");
  Py_XSETREF(global_hooks, Py_NewRef(hooks));
  Py_RETURN_NONE;
}

}  // namespace

void add_module_functions(PyObject* module) {
  static PyMethodDef defs[] = {
      {"_look_into_modules", look_into_modules, METH_O, "attributes of a subclass of nn.Module, found without detours"},
      {"_set_global_hooks", set_global_hooks, METH_O, "the dictionaries of hooks for all modules"},
      {},
  };
  check(PyModule_AddFunctions(module, defs));
}

}  // namespace fc::py
