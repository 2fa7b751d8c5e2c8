// SPDX-License-Identifier: Apache-2.0
// Attributes of nn.Module. Parameters, buffers and submodules are not in an object's own dictionary, so Python would
// make and drop an AttributeError before it calls Module.__getattr__, for each of them, in every forward.
#include "bind.h"

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

// Replaces the slot that type() has made for __getattr__. Who sets __getattr__ later gets type()'s slot back.
PyObject* look_into_modules(PyObject*, PyObject* cls) {
  static PyObject* own = nullptr;  // Module.__getattr__
  if (!PyType_Check(cls)) return PyErr_Format(PyExc_TypeError, "_look_into_modules: a class expected");
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  const Own getattr(PyObject_GetAttrString(cls, "__getattr__"));
  const Own getattribute(PyObject_GetAttrString(cls, "__getattribute__"));
  const Own plain(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__"));
  if (!getattr || !getattribute || !plain) return nullptr;
  if (!own) own = Py_NewRef(getattr.get());
  if (getattr.get() == own && getattribute.get() == plain.get()) type->tp_getattro = module_getattr;
  Py_RETURN_NONE;
}

}  // namespace

void add_module_functions(PyObject* module) {
  static PyMethodDef defs[] = {
      {"_look_into_modules", look_into_modules, METH_O, "attributes of a subclass of nn.Module, found without detours"},
      {},
  };
  check(PyModule_AddFunctions(module, defs));
}

}  // namespace fc::py
