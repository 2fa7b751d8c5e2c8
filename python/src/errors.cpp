// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <cerrno>
#include <new>

#include "files/source.h"
#include "py.h"

namespace fc::py {

namespace {
PyObject *out_of_memory = nullptr, *linalg_error = nullptr;
// Of torch.distributed, each below RuntimeError; the first is the others' base.
struct DistError {
  const char *kind, *doc;
  PyObject* type;
} dist_errors[] = {{"DistError", "A process group or store failed.", nullptr},
                   {"DistBackendError", "An engine of a process group failed.", nullptr},
                   {"DistNetworkError", "A connection failed.", nullptr},
                   {"DistStoreError", "A store did not answer, or had no such key in time.", nullptr},
                   {"DistQueueEmptyError", "A queue of a store is empty.", nullptr}};

struct BackendError {
  Own exception;
  std::string message;
};
BackendError& backend_error() {
  static BackendError& e = *new BackendError;
  return e;
}

PyObject* unpickling_error() {  // pickle.UnpicklingError, kept
  static PyObject* type = [] {
    Own module(PyImport_ImportModule("_pickle"));
    PyObject* found = module ? PyObject_GetAttrString(module.get(), "UnpicklingError") : nullptr;
    PyErr_Clear();
    return found ? found : PyExc_RuntimeError;
  }();
  return type;
}

void set_error(PyObject* kind, std::string_view text) {
  PyErr_SetString(kind, text.data());
  if (!backend_error().exception) return;
  BackendError last = std::move(backend_error());
  if (!text.ends_with(last.message)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyException_SetCause(value, last.exception.release());
  PyErr_Restore(type, value, trace);
}

}  // namespace

void set_backend_error(PyObject* exception, std::string message) {
  backend_error() = {Own(Py_NewRef(exception)), std::move(message)};
}

void add_exceptions(PyObject* module) {
  out_of_memory = check(PyErr_NewExceptionWithDoc("facula.OutOfMemoryError", "A device has no memory left.",
                                                  PyExc_RuntimeError, nullptr));
  check(PyModule_AddObjectRef(module, "OutOfMemoryError", out_of_memory));
  linalg_error = check(PyErr_NewExceptionWithDoc("torch._C._LinAlgError", "A matrix that an operator cannot work with.",
                                                 PyExc_RuntimeError, nullptr));
  check(PyModule_AddObjectRef(module, "_LinAlgError", linalg_error));
  for (DistError& e : dist_errors) {
    PyObject* base = &e == dist_errors ? PyExc_RuntimeError : dist_errors[0].type;
    if (std::string_view(e.kind) == "DistQueueEmptyError") base = dist_errors[3].type;
    e.type =
        check(PyErr_NewExceptionWithDoc((std::string("torch.distributed.") + e.kind).c_str(), e.doc, base, nullptr));
    check(PyModule_AddObjectRef(module, (std::string("_") + e.kind).c_str(), e.type));
  }
}

void set_python_error() {
  auto kind_of = [](std::string_view kind) {
    if (kind == "IndexError") return PyExc_IndexError;
    if (kind == "ValueError") return PyExc_ValueError;
    if (kind == "TypeError") return PyExc_TypeError;
    if (kind == "AttributeError") return PyExc_AttributeError;
    if (kind == "AssertionError") return PyExc_AssertionError;
    if (kind == "BufferError") return PyExc_BufferError;
    if (kind == "NotImplementedError") return PyExc_NotImplementedError;
    if (kind == "OutOfMemoryError") return out_of_memory;
    if (kind == "UnpicklingError") return unpickling_error();
    if (kind == "LinAlgError") return linalg_error;
    for (const DistError& e : dist_errors)
      if (kind == e.kind) return e.type;
    return PyExc_RuntimeError;
  };
  try {
    throw;
  } catch (const PythonError&) {
  } catch (nanobind::python_error& e) { e.restore(); } catch (const files::SystemError& e) {
    errno = e.number;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, e.what());
  } catch (const Error& e) {
    if (PyErr_CheckSignals() != 0) return;  // Ctrl-C ended it: that is what the program hears of
    set_error(kind_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "not enough memory");
  } catch (const std::exception& e) { PyErr_SetString(PyExc_RuntimeError, e.what()); } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown error");
  }
}

}  // namespace fc::py
