// SPDX-License-Identifier: Apache-2.0
// x[index] and x[index] = value: turns Python's index objects into TensorIndex; ops/subscript.cpp does the rest.
#include "py.h"

#include "call.h"
#include "define/calls.h"
#include "ops/subscript.h"

namespace fc::py {
namespace {

std::optional<int64_t> slice_part(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (PyLong_Check(o)) {  // beyond 64 bits a bound is as good as infinite
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : v;
  }
  if (!is_tensor(o) && !PyIndex_Check(o))
    raise<TypeError>("slice indices must be integers or None or have an __index__ method");
  return to_int(o);
}

bool is_plain_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o); }

TensorIndex index_of(PyObject* o, const Tensor& self) {
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return TensorIndex::ellipsis();
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) return to_int(o);
  if (is_tensor(o)) {
    if (tensor_of(o).dtype() == DType::UInt8)
      check(PyErr_WarnEx(PyExc_UserWarning,
                         "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                         1));
    return tensor_of(o);
  }
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    Slice slice{slice_part(s->start), slice_part(s->stop), slice_part(s->step).value_or(1)};
    FC_CHECK_AS(ValueError, slice.step > 0, "step must be greater than zero");
    return slice;
  }
  if (is_plain_sequence(o) || PyObject_CheckBuffer(o)) {
    Tensor t = tensor_from(o, {}, {}, false);
    // An empty list selects nothing; it has no numbers to tell its type.
    if (is_floating(t.dtype()) && t.numel() == 0) t = dtype_cast(t, DType::Int64);
    return TensorIndex(call<"aten::to.device", Tensor>(t, self.device().is_meta() ? Device{} : self.device(), t.dtype(),
                                                       false, false, std::optional<MemoryFormat>()));
  }
  if (PyIndex_Check(o)) return to_int(o);
  if (PyUnicode_Check(o)) raise<TypeError>("new(): invalid data type 'str'");  // a sequence, but of no numbers
  raise<IndexError>(
      "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ",
      Py_TYPE(o)->tp_name, ")");
}

// NumPy's old rule, which PyTorch keeps: a short sequence that holds tensors (numbers among them), sequences, slices,
// None or Ellipsis is a tuple of indices. Gives the tuple, or null.
Own sequence_as_tuple(PyObject* o) {
  if (!PySequence_Check(o) || is_tensor(o) || PyObject_CheckBuffer(o) || PyUnicode_Check(o)) return nullptr;
  if (PyObject_Length(o) >= 32 || PyErr_Occurred()) {
    PyErr_Clear();
    return nullptr;
  }
  Own items(PySequence_Tuple(o));
  if (!items) {
    PyErr_Clear();
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (is_tensor(item) || PySequence_Check(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis)
      return items;
  }
  return nullptr;
}

std::vector<TensorIndex> indices_of(PyObject* index, const Tensor& self) {
  std::vector<TensorIndex> out;
  Own tuple = PyTuple_Check(index) ? Own(Py_NewRef(index)) : sequence_as_tuple(index);
  if (tuple && tuple.get() != index)
    check(PyErr_WarnEx(PyExc_UserWarning,
                       "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
                       "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
                       "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result",
                       1));
  if (tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i)
      out.push_back(index_of(PyTuple_GET_ITEM(tuple.get(), i), self));
  } else {
    out.push_back(index_of(index, self));
  }
  return out;
}

// Subclasses and modes see indexing as Tensor.__getitem__ and Tensor.__setitem__.
PyObject* overridden(const char* name, PyObject* const* args, size_t n) {
  bool any = torch_function_mode_active();
  for (size_t i = 0; i < n; ++i)
    any |= Py_TYPE(args[i]) != tensor_class && is_tensor(args[i]) && has_torch_function(args[i]);
  if (!any) return nullptr;
  Own f(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_base), name)));
  return call_torch_function(f.get(), args, n, nullptr);
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    PyObject* args[] = {self, index};
    if (PyObject* r = overridden("__getitem__", args, 2)) return r;
    const Tensor& t = tensor_of(self);
    if (PyLong_Check(index) && !PyBool_Check(index) && t.dim() > 0) return wrap(select(t, 0, to_int(index)));
    std::vector<TensorIndex> indices = indices_of(index, t);
    return wrap(fc::get_item(t, indices));
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&]() -> int {
    FC_CHECK_AS(TypeError, value, "Tensor does not support deleting items");
    PyObject* args[] = {self, index, value};
    if (PyObject* r = overridden("__setitem__", args, 3)) {
      Py_DECREF(r);
      return 0;
    }
    const Tensor& t = tensor_of(self);
    std::vector<TensorIndex> indices = indices_of(index, t);
    if (is_tensor(value)) fc::set_item(t, indices, tensor_of(value));
    else if (is_number(value)) fc::set_item(t, indices, to_scalar(value));
    else if (is_plain_sequence(value) || PyObject_CheckBuffer(value))
      fc::set_item(t, indices, tensor_from(value, {}, {}, false));
    else raise<TypeError>("can't assign a ", Py_TYPE(value)->tp_name, " to a ", info(t.dtype()).legacy, "Tensor");
    return 0;
  });
}

}  // namespace fc::py
