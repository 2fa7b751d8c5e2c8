// SPDX-License-Identifier: Apache-2.0
#include "tracing.h"

#include "define/calls.h"
#include "jit/trace/state.h"

namespace fc::py {

namespace trace = jit::trace;

PyObject* traced_sizes(const Tensor& t) {
  if (!trace::active()) return wrap_size(t.sizes());
  Own plain(check(wrap_size(t.sizes())));
  Own sizes(check(PyTuple_New(t.dim())));
  for (int64_t i = 0; i < t.dim(); ++i) PyTuple_SET_ITEM(sizes.get(), i, check(wrap(trace::size_of(t, i))));
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(plain.get())), sizes.get());
}

PyObject* traced_size(const Tensor& t, int64_t dim) {
  return trace::active() ? wrap(trace::size_of(t, dim)) : PyLong_FromLongLong(t.size(dim));
}

PyObject* traced_numel(const Tensor& t) {
  return trace::active() ? wrap(trace::numel_of(t)) : PyLong_FromLongLong(t.numel());
}

void warn_of_lost_value(const char* reason) { trace::warn(reason, trace::Loses::PythonValue); }
void warn_of_constant(const char* function) { trace::warn(function, trace::Loses::Constructor); }
void warn_of_length() {
  if (!trace::active() || !trace::tracer_warning) return;
  trace::tracer_warning(
      "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
      "tensor.shape[0]. "
      "Passing a tensor of different shape might lead to errors or silently give incorrect results.");
}

Tensor traced_before_list(const Tensor& t) {
  warn_of_lost_value("Converting a tensor to a Python list");
  return call<"aten::resolve_neg", Tensor>(call<"aten::resolve_conj", Tensor>(t));
}

void warn_of_iteration() {
  if (!trace::active() || !trace::tracer_warning) return;
  trace::tracer_warning(
      "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change "
      "the number of iterations executed (and might lead to errors or silently give incorrect results).");
}

Tensor traced_tensor(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, int how) {
  if (how & 2) warn_of_constant("torch.tensor");
  if (how & 4) warn_of_constant("torch.as_tensor");
  const bool copy = (how & 1) != 0;
  if (!trace::active()) return tensor_from(data, dtype, device, copy);
  Tensor t;
  if (is_tensor(data)) {
    t = tensor_of(data);
  } else {
    const trace::Pause pause;
    t = tensor_from(data, dtype, Device{}, copy);
  }
  const Device where = device ? *device : is_tensor(data) ? t.device() : default_device();
  t = call<"aten::to.device", Tensor>(t, where, dtype.value_or(t.dtype()), false, copy && is_tensor(data),
                                      std::optional<MemoryFormat>());
  return copy ? detach(t) : t;
}

void note_traced_number(size_t parameter, PyObject* o) {
  if (is_tensor(o)) trace::note_number(parameter, tensor_of(o));
}
void note_traced_item(size_t parameter, size_t item, PyObject* o) {
  if (is_tensor(o)) trace::note_list_item(parameter, item, tensor_of(o));
}

PyObject* (*tracing_state_object)() = nullptr;

void add_tracing_functions(PyObject* module) {
  static PyMethodDef defs[] = {
      {"_is_tracing", [](PyObject*, PyObject*) { return PyBool_FromLong(tracing() && trace::active()); }, METH_NOARGS,
       "whether this thread records a trace"},
      {"_warn_of_value",
       [](PyObject*, PyObject* reason) -> PyObject* {
         return guarded([&]() -> PyObject* {
           warn_of_lost_value(std::string(utf8(reason)).c_str());
           Py_RETURN_NONE;
         });
       },
       METH_O, nullptr},
      {"_warn_of_iteration",
       [](PyObject*, PyObject*) -> PyObject* {
         return guarded([&]() -> PyObject* {
           warn_of_iteration();
           Py_RETURN_NONE;
         });
       },
       METH_NOARGS, nullptr},
      {"_get_tracing_state",
       [](PyObject*, PyObject*) -> PyObject* {
         if (!tracing() || !trace::active()) Py_RETURN_NONE;
         return tracing_state_object();
       },
       METH_NOARGS, "the trace that this thread records, or None"},
      {}};
  check(PyModule_AddFunctions(module, defs));
}

}  // namespace fc::py
