// SPDX-License-Identifier: Apache-2.0
// The extension module: types, operators, then what the other files bind.
#include "py.h"

#include <nanobind/nanobind.h>

#include <utility>

#include "bind.h"

#include "dispatch/operator.h"
#include "jit.h"
#include "runtime.h"
#include "tracing.h"

namespace nb = nanobind;

namespace fc {
namespace {

void python_warning(const std::string& message) {
  py::TakeGil gil;
  py::in_interpreter([&] {
    PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);  // warnings turned into errors cannot unwind C++ here
  });
}

}  // namespace
}  // namespace fc

NB_MODULE(_C_once, m) {
  using namespace fc;
  initialise();
  warning_hook = python_warning;
  nb::set_leak_warnings(false);
  // Errors of ours that pass through nanobind become the same Python exceptions as on the hand-written paths.
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const py::PythonError&) {
    } catch (const Error&) { py::set_python_error(); } catch (const std::bad_alloc&) {
      py::set_python_error();
    }
  });
  try {
    py::add_exceptions(m.ptr());
    py::add_value_types(m.ptr());
    py::add_tensor_type(m.ptr());
    py::add_override_functions(m.ptr());
    py::add_modes(m.ptr());
    py::add_module_functions(m.ptr());
    py::add_tracing_functions(m.ptr());
    py::add_function_types(m.ptr());
  } catch (...) {
    py::set_python_error();
    throw nb::python_error();
  }
  bind_config(m);
  bind_tensor(m);
  bind_nodes(m);
  bind_autograd(m);
  bind_dispatch(m);
  bind_observe(m);
  bind_profiler(m);
  bind_values(m);
  bind_dlpack(m);
  bind_backends(m);
  bind_files(m);
  bind_pickle(m);
  bind_shared_memory(m);
  bind_distributed(m);
  jit::bind_jit_later(m);
}

// The types of this module are known to C++ by one pointer each, so there is one of it in a process. Asked before
// nanobind makes anything of it, but not in PyInit__C: since 3.13 Python calls that in the main interpreter also for
// others, which cannot take its errors.
namespace {
int (*bind_all)(PyObject*);
int bind_once(PyObject* module) {
  static bool asked = false;
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "facula can be imported by the main interpreter only, not by a subinterpreter");
    return -1;
  }
  if (std::exchange(asked, true)) {
    PyErr_SetString(PyExc_ImportError, "facula._C cannot be loaded more than once per process");
    return -1;
  }
  return bind_all(module);
}
}  // namespace

extern "C" NB_EXPORT PyObject* PyInit__C() {
  PyObject* made = PyInit__C_once();
  if (!made) return nullptr;
  for (PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(made)->m_slots; slot->slot; ++slot) {
    if (slot->slot != Py_mod_exec || bind_all) continue;
    bind_all = reinterpret_cast<int (*)(PyObject*)>(slot->value);
    slot->value = reinterpret_cast<void*>(bind_once);
  }
  return made;
}
