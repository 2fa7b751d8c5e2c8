// SPDX-License-Identifier: Apache-2.0
// What `with` switches: grad modes, autocast, hooks on saved tensors, modes that see calls. Entering and leaving are
// each one call of C: Python looks at signals between its own instructions, and an exception raised there, in the
// middle of an __enter__ or __exit__ written in Python, would leave the mode on for good.
#include "bind.h"

#include <cstring>

#include "autograd/saved.h"
#include "call.h"
#include "define/autocast.h"
#include "dispatch/layers.h"

namespace fc::py {
namespace {

// --- modes that are fields of the thread's state
struct StateMode {
  enum Kind : int8_t { Nothing, Grad, Inference, Anomaly, Autocast };
  Kind kind = Nothing;
  bool on = false, check_nan = true;  // what it switches to
  int8_t device = 0;                  // of autocast
  DType dtype = DType::Undefined;     // of autocast; Undefined: off
  bool keeps_casts = true;            // of autocast
  int depth = 0;                      // how often it was entered
  bool saved = false;                 // the fields below are what was
  bool grad = true, inference = false, anomaly = false, anomaly_nan = true;
  DType cast = DType::Undefined;
  bool kept_casts = true;

  void save() {
    const ThreadState& s = thread_state();
    saved = true;
    grad = s.grad_mode;
    inference = s.inference_mode;
    anomaly = s.anomaly_mode;
    anomaly_nan = s.anomaly_check_nan;
    if (kind == Autocast) {
      cast = autocast_dtype(device);
      kept_casts = autocast_keeps_casts();
    }
  }
  void apply() const {
    switch (kind) {
      case Nothing: break;
      case Grad: GradMode::set(on); break;
      case Inference: set_inference_mode(on); break;
      case Anomaly:
        thread_state().anomaly_mode = on;
        thread_state().anomaly_check_nan = check_nan;
        break;
      case Autocast:
        set_autocast(device, dtype);
        set_autocast_keeps_casts(keeps_casts);
        break;
    }
  }
  void restore() {
    if (!std::exchange(saved, false)) return;
    ThreadState& s = thread_state();
    switch (kind) {
      case Nothing: break;
      case Grad:
      case Inference:
        s.grad_mode = grad;
        s.inference_mode = new_tensors_are_inference = inference;
        break;
      case Anomaly:
        s.anomaly_mode = anomaly;
        s.anomaly_check_nan = anomaly_nan;
        break;
      case Autocast:
        set_autocast(device, cast);
        set_autocast_keeps_casts(kept_casts);
        break;
    }
  }
};
struct StateModeObject {
  PyObject_HEAD StateMode mode;
};
StateMode& mode_of(PyObject* o) { return reinterpret_cast<StateModeObject*>(o)->mode; }

PyObject* make_state_mode(PyTypeObject* type, PyObject*, PyObject*) {  // arguments are the subclass's business
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&mode_of(o)) StateMode;
  return o;
}
PyObject* enter_state_mode(PyObject* self, PyObject*) {
  StateMode& m = mode_of(self);
  if (m.depth++ == 0 && !m.saved) m.save();
  m.apply();
  return Py_NewRef(m.kind == StateMode::Autocast ? self : Py_None);
}
PyObject* leave_state_mode(PyObject* self, PyObject*) {
  StateMode& m = mode_of(self);
  if (m.depth > 0) --m.depth;
  if (m.depth == 0) m.restore();
  Py_RETURN_NONE;
}
// For those that switch when they are made: from now on, until it is left or restored.
PyObject* begin_state_mode(PyObject* self, PyObject*) {
  mode_of(self).save();
  mode_of(self).apply();
  Py_RETURN_NONE;
}
PyObject* restore_state_mode(PyObject* self, PyObject*) {
  mode_of(self).restore();
  Py_RETURN_NONE;
}
// _set("grad", on), _set("inference", on), _set("anomaly", on, check_nan),
// _set("autocast", device type, dtype or None, keeps casts of weights)
PyObject* set_state_mode(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* kind;
    PyObject *value, *more = Py_None, *keeps = Py_True;
    if (!PyArg_ParseTuple(args, "sO|OO:_set", &kind, &value, &more, &keeps)) return nullptr;
    StateMode next;
    const std::string_view name(kind);
    if (name == "autocast") {
      next.kind = StateMode::Autocast;
      const int type = find_device_type(utf8(value));
      FC_CHECK(type >= 0, "autocast: unknown device type '", utf8(value), "'");
      next.device = static_cast<int8_t>(type);
      if (more != Py_None) next.dtype = to_dtype(more);
      next.keeps_casts = keeps == Py_True;
    } else {
      next.kind = name == "grad" ? StateMode::Grad : name == "inference" ? StateMode::Inference : StateMode::Anomaly;
      const int on = PyObject_IsTrue(value);
      check(on);
      next.on = on == 1;
      next.check_nan = more == Py_None || more == Py_True;
    }
    mode_of(self) = next;
    Py_RETURN_NONE;
  });
}

// --- modes that are lists of objects
PyObject* enter_function_mode(PyObject* self, PyObject*) {
  if (PyList_Append(function_modes(), self) < 0) return nullptr;
  return Py_NewRef(self);
}
PyObject* enter_dispatch_mode(PyObject* self, PyObject*) {
  if (PyList_Append(dispatch_modes(), self) < 0) return nullptr;
  thread_state().include |= layer::Python;
  return Py_NewRef(self);
}
bool pop(PyObject* modes, const char* what) {
  const Py_ssize_t n = PyList_GET_SIZE(modes);
  if (n > 0) return PyList_SetSlice(modes, n - 1, n, nullptr) == 0;
  PyErr_Format(PyExc_RuntimeError, "%s: left without being entered on this thread", what);
  return false;
}
PyObject* leave_function_mode(PyObject*, PyObject*) {
  if (!pop(function_modes(), "TorchFunctionMode")) return nullptr;
  Py_RETURN_NONE;
}
PyObject* leave_dispatch_mode(PyObject*, PyObject*) {
  if (!pop(dispatch_modes(), "TorchDispatchMode")) return nullptr;
  if (PyList_GET_SIZE(dispatch_modes()) == 0) thread_state().include &= ~layer::Python;
  Py_RETURN_NONE;
}

// --- hooks on saved tensors: the object's pack_hook and unpack_hook
PyObject* enter_saved_hooks(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Own pack(check(PyObject_GetAttrString(self, "pack_hook"))),
        unpack(check(PyObject_GetAttrString(self, "unpack_hook")));
    push_saved_tensors_hooks(pack.get(), unpack.get());
    Py_RETURN_NONE;
  });
}
PyObject* leave_saved_hooks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    autograd::pop_saved_tensor_hooks();
    Py_RETURN_NONE;
  });
}

// --- switches that count
template <int& (*depth)()>
PyObject* enter_switch(PyObject* self, PyObject*) {
  ++depth();
  return Py_NewRef(self);
}
template <int& (*depth)()>
PyObject* leave_switch(PyObject*, PyObject*) {
  if (depth() > 0) --depth();
  Py_RETURN_NONE;
}

#define SCOPE(enter, leave) \
  {"__enter__", enter, METH_NOARGS, nullptr}, { "__exit__", leave, METH_VARARGS, nullptr }
PyMethodDef state_methods[] = {SCOPE(enter_state_mode, leave_state_mode),
                               {"_set", set_state_mode, METH_VARARGS, nullptr},
                               {"_begin", begin_state_mode, METH_NOARGS, nullptr},
                               {"_restore", restore_state_mode, METH_NOARGS, nullptr},
                               {}};
PyMethodDef function_mode_methods[] = {SCOPE(enter_function_mode, leave_function_mode), {}};
PyMethodDef dispatch_mode_methods[] = {SCOPE(enter_dispatch_mode, leave_dispatch_mode), {}};
PyMethodDef saved_hooks_methods[] = {SCOPE(enter_saved_hooks, leave_saved_hooks), {}};
PyMethodDef disable_methods[] = {SCOPE(enter_switch<torch_function_off>, leave_switch<torch_function_off>), {}};
PyMethodDef disable_subclass_methods[] = {
    SCOPE(enter_switch<torch_function_of_subclasses_off>, leave_switch<torch_function_of_subclasses_off>), {}};
#undef SCOPE

void add_type(PyObject* module, const char* name, PyMethodDef* methods, int size = sizeof(PyObject),
              newfunc make = PyType_GenericNew) {
  PyType_Slot slots[] = {{Py_tp_methods, methods}, {Py_tp_new, reinterpret_cast<void*>(make)}, {0, nullptr}};
  PyType_Spec spec{name, size, 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE), slots};
  Own type(check(PyType_FromSpec(&spec)));
  check(PyModule_AddObjectRef(module, std::strrchr(name, '.') + 1, type.get()));
}

}  // namespace

void add_modes(PyObject* module) {
  add_type(module, "facula._C._StateMode", state_methods, sizeof(StateModeObject), make_state_mode);
  add_type(module, "facula._C._FunctionMode", function_mode_methods);
  add_type(module, "facula._C._DispatchMode", dispatch_mode_methods);
  add_type(module, "facula._C.DisableTorchFunction", disable_methods);
  add_type(module, "facula._C.DisableTorchFunctionSubclass", disable_subclass_methods);
  add_type(module, "facula._C._SavedTensorsHooks", saved_hooks_methods);
}

}  // namespace fc::py
