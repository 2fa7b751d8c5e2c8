// SPDX-License-Identifier: Apache-2.0
// x[index] and x[index] = value: turns Python's index objects into TensorIndex; ops/subscript.cpp does the rest.
#include "py.h"

#include <algorithm>

#include "call.h"
#include "define/calls.h"
#include "ops/subscript.h"
#include "tracing.h"

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

// --- while a trace goes on: the operators that PyTorch records, in its order. Whole dimensions are slices, because the
// next input may be longer; numbers that come from tensors stay theirs.
class TracedIndex {
 public:
  explicit TracedIndex(const Tensor& self) : self_(self), view_(self) {}

  Tensor get(PyObject* index) {
    if (index == Py_Ellipsis) return call<"aten::alias", Tensor>(self_);
    apply(index);
    if (!tensors_.empty()) return call<"aten::index.Tensor", Tensor>(view_, tensors_);
    return view_.same(self_) ? call<"aten::alias", Tensor>(self_) : view_;
  }

  void set(PyObject* index, PyObject* value) {
    if (index == Py_False) return;
    if (index == Py_True) index = Py_None;
    if (index != Py_Ellipsis) apply(index);
    if (is_tensor(value)) return put(tensor_of(value));
    if (is_number(value)) return put(PyBool_Check(value) ? Scalar(int64_t{value == Py_True}) : to_scalar(value));
    if (!is_plain_sequence(value) && !PyObject_CheckBuffer(value))
      raise<TypeError>("can't assign a ", Py_TYPE(value)->tp_name, " to a ", info(self_.dtype()).legacy, "Tensor");
    put(untraced([&] { return tensor_from(value, self_.dtype(), self_.device(), false); }));
  }

 private:
  template <class F>
  static Tensor untraced(F&& make) {
    const ExcludeLayers pause(layer::Trace);
    return make();
  }

  void apply(PyObject* index) {
    Own tuple = PyTuple_Check(index) ? Own(Py_NewRef(index)) : sequence_as_tuple(index);
    if (!tuple) {
      tuple.reset(check(PyTuple_New(1)));
      PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(index));
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple.get());
    int64_t named = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* o = PyTuple_GET_ITEM(tuple.get(), i);
      if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) continue;
      const bool mask = is_tensor(o) && (tensor_of(o).dtype() == DType::Bool || tensor_of(o).dtype() == DType::UInt8);
      named += mask ? tensor_of(o).dim() : 1;
    }
    FC_CHECK_AS(IndexError, named <= self_.dim(), "too many indices for tensor of dimension ", self_.dim());
    for (Py_ssize_t i = 0; i < n; ++i) step(PyTuple_GET_ITEM(tuple.get(), i), named);
  }

  void step(PyObject* o, int64_t& named) {
    if (o == Py_None) {
      view_ = unsqueeze(view_, dim_++);
    } else if (o == Py_Ellipsis) {
      dim_ += self_.dim() - named;
      named = self_.dim();
    } else if (PyBool_Check(o)) {
      flag(o == Py_True);
    } else if (PySlice_Check(o)) {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      PyObject* const parts[] = {s->start, s->stop, s->step};
      for (size_t i = 0; i < 3; ++i) note_traced_number(i + 2, parts[i]);
      const int64_t by = slice_part(s->step).value_or(1);
      FC_CHECK_AS(ValueError, by > 0, "step must be greater than zero");
      view_ = call<"aten::slice.Tensor", Tensor>(view_, dim_++, std::optional(slice_part(s->start).value_or(0)),
                                                 std::optional(slice_part(s->stop).value_or(INT64_MAX)), by);
    } else if (!is_tensor(o) && (is_plain_sequence(o) || PyObject_CheckBuffer(o))) {
      Tensor t = untraced([&] { return tensor_from(o, {}, {}, false); });
      if (is_floating(t.dtype()) && t.numel() == 0) t = untraced([&] { return dtype_cast(t, DType::Int64); });
      record(
          call<"aten::to.device", Tensor>(t, self_.device(), t.dtype(), false, false, std::optional<MemoryFormat>()));
    } else if (is_tensor(o) && (tensor_of(o).dim() > 0 || !is_integral(tensor_of(o).dtype(), true))) {
      record(tensor_of(o));
    } else if (is_tensor(o) && (tensor_of(o).dtype() == DType::Bool || tensor_of(o).dtype() == DType::UInt8)) {
      flag(call<"aten::_local_scalar_dense", Scalar>(tensor_of(o)).to_bool());
    } else if (PyIndex_Check(o) || is_tensor(o)) {
      note_traced_number(2, o);
      pick(to_int(o));
    } else {
      index_of(o, self_);  // says what is wrong with it
    }
  }

  void pick(int64_t index) {
    FC_CHECK_AS(
        IndexError, view_.dim() > 0,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number");
    const int64_t size = view_.size(dim_);
    FC_CHECK_AS(IndexError, index >= -size && index < size, "index ", index, " is out of bounds for dimension ", dim_,
                " with size ", size);
    view_ = select(view_, dim_, index);
  }

  void record(const Tensor& t) {
    tensors_.resize(static_cast<size_t>(dim_ - hidden_));
    tensors_.push_back(t);
    const bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
    dim_ += mask ? t.dim() : 1;
    hidden_ += mask ? t.dim() - 1 : 0;
  }

  void flag(bool on) {  // a new dimension of one element, kept or not
    view_ = unsqueeze(view_, dim_);
    const Dims size{on ? 1 : 0};
    Tensor t = call<"aten::empty.memory_format", Tensor>(size, std::optional(DType::Int64),
                                                         std::optional(Layout::Strided), std::optional(self_.device()),
                                                         std::optional<bool>(), std::optional<MemoryFormat>());
    record(on ? call<"aten::fill_.Scalar", Tensor>(t, Scalar(0.0)) : t);
  }

  void put(const Scalar& value) {
    if (tensors_.empty()) {
      fill_(view_, value);
      return;
    }
    size_t at = 0, given = 0;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].defined()) at = i, ++given;
    Tensor t = tensors_[at];
    if (given == 1 && t.dtype() == DType::Bool) {
      for (int64_t more = view_.dim() - static_cast<int64_t>(at) - t.dim(); more > 0; --more) t = unsqueeze(t, -1);
      call<"aten::masked_fill_.Scalar", Tensor>(view_, t, value);
    } else if (given == 1 && t.dtype() == DType::Int64) {
      if (t.dim() > 1) t = view(t, Dims{-1});
      call<"aten::index_fill_.int_Scalar", Tensor>(view_, static_cast<int64_t>(at), t, value);
    } else {
      const Tensor number = untraced([&] { return full({}, value, self_.dtype(), self_.device()); });
      call<"aten::index_put_", Tensor>(view_, tensors_, number, false);
    }
  }

  void put(Tensor value) {
    if (!tensors_.empty()) {
      call<"aten::index_put_", Tensor>(view_, tensors_, value, false);
      return;
    }
    const bool same = std::ranges::equal(value.sizes(), view_.sizes());
    if (!same && value.dim() == 0 && value.device().is_cpu()) {
      call<"aten::fill_.Tensor", Tensor>(view_, value);
      return;
    }
    if (!same) {
      IntSpan sizes = value.sizes();  // without the ones in front
      while (!sizes.empty() && sizes[0] == 1) sizes = sizes.subspan(1);
      value = view(value, Dims(sizes));
      if (!std::ranges::equal(value.sizes(), view_.sizes()))
        value = call<"aten::expand", Tensor>(value, view_.sizes(), false);
    }
    copy_(view_, value);
  }

  const Tensor self_;
  Tensor view_;
  std::vector<Tensor> tensors_;
  int64_t dim_ = 0, hidden_ = 0;
};

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
    if (tracing()) [[unlikely]]
      return wrap(TracedIndex(t).get(index));
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
    if (tracing()) [[unlikely]] {
      TracedIndex(t).set(index, value);
      return 0;
    }
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
