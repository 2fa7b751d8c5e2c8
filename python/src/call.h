// SPDX-License-Identifier: Apache-2.0
// Between the call path and the overriding machinery (override.cpp).
#pragma once
#include "dispatch/layers.h"
#include "py.h"

namespace fc::py {

PyObject* make_result_type(const Operator& op);  // torch.return_types.<name>
// Calls one overload. With `layers`, only those run (a layer going on); otherwise as any call.
PyObject* call_boxed(const Operator& op, PyObject* const* args, size_t n, PyObject* kwnames,
                     const LayerSet* layers = nullptr);
int64_t count_flops(const Operator& op, PyObject* const* args, size_t n, PyObject* kwnames);  // of one overload
// Calls the first overload of "aten::add" that the arguments fit, and says which.
PyObject* call_packet(const std::string& name, PyObject* const* args, size_t n, PyObject* kwnames,
                      const Operator** chosen);
// A call as it was written when numbers came before tensors (old_forms.cpp); null without an error set: it is none.
PyObject* call_old_form(PyObject* function, std::string_view name, bool method, PyObject* const* args, size_t n,
                        PyObject* kwnames);
void publish_operators(std::string_view space);  // fills _functions and _methods with operators defined since

// This thread's modes, innermost last, and how often its overriding is switched off. Changed by modes.cpp.
PyObject* function_modes();
PyObject* dispatch_modes();
int& torch_function_off();
int& torch_function_of_subclasses_off();

bool has_torch_function(PyObject* o);
bool torch_function_mode_active();
// Calls the overriding argument or mode; null without an error set: nobody wants the call.
PyObject* call_torch_function(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames);

// The same for an attribute of the tensor args[0] that is no operator: a property (read, or set if n == 2) or a method.
PyObject* ask_for_attribute(const char* name, bool property, PyObject* const* args, size_t n,
                            PyObject* kwargs = nullptr);
inline PyObject* asked(const char* name, bool property, PyObject* const* args, size_t n, PyObject* kwargs = nullptr) {
  if (Py_TYPE(args[0]) == tensor_class && !torch_function_mode_active()) [[likely]]
    return nullptr;
  return ask_for_attribute(name, property, args, n, kwargs);
}

}  // namespace fc::py
