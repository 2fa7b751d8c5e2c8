// SPDX-License-Identifier: Apache-2.0
// What Python's front does otherwise while a trace goes on (tracing.cpp): sizes are tensors that the trace knows, and
// what leaves it as a number is warned about. Off: a load.
#pragma once
#include "dispatch/layers.h"
#include "py.h"

namespace fc::py {

inline bool tracing() {
  const ThreadState& t = thread_state();
  return (t.include & ~t.exclude & layer::Trace) != 0;
}

PyObject* traced_sizes(const Tensor& t);  // torch.Size of tensors
PyObject* traced_size(const Tensor& t, int64_t dim);
PyObject* traced_numel(const Tensor& t);
void warn_of_lost_value(const char* reason);  // "Converting a tensor to a Python integer"
void warn_of_constant(const char* function);  // "torch.tensor"
Tensor traced_before_list(const Tensor& t);   // what x.tolist() records
void warn_of_length();
void warn_of_iteration();
// torch.tensor and its kin: a constant, and what PyTorch does to it. `how` as _C._tensor takes it.
Tensor traced_tensor(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, int how);

// A number read from `o` for an argument of the next operator; nothing unless `o` is a tensor.
void note_traced_number(size_t parameter, PyObject* o);
void note_traced_item(size_t parameter, size_t item, PyObject* o);

void add_tracing_functions(PyObject* module);  // torch._C._is_tracing, _get_tracing_state
extern PyObject* (
    *tracing_state_object)();  // the state of a thread that traces, as Python sees it; set by jit_trace.cpp

}  // namespace fc::py
