// SPDX-License-Identifier: Apache-2.0
// The Python object of a tensor. There is one per tensor, and it lives as long as the tensor: while Python holds the
// object, the object owns the tensor; when Python lets go but C++ still holds the tensor, ownership turns around and
// the tensor keeps the object (with its attributes and its class) until it is wanted again or the tensor dies.
#include "py.h"

#include <structmember.h>

#include <cstring>

#include "autograd/autograd.h"
#include "call.h"
#include "core/mapped_range.h"
#include "core/sparse.h"
#include "core/watch.h"
#include "define/calls.h"
#include "dispatch/forward_level.h"
#include "dispatch/warn_once.h"
#include "tracing.h"

namespace fc::py {

PyTypeObject* tensor_base = nullptr;
PyTypeObject* tensor_class = nullptr;

namespace {

TensorObject* object(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

PyObject* allocate(PyTypeObject* type, Tensor t) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  new (&object(o)->tensor) Tensor(std::move(t));
  TensorImpl& impl = object(o)->tensor.impl();
  impl.python = o;
  if (type != tensor_class && PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "__torch_dispatch__"))
    impl.set_layer(layer::Python, true);
  return o;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Tensor& t = object(self)->tensor;
  TensorImpl* impl = t.defined() ? &t.impl() : nullptr;
  if (impl && impl->python == self && !impl->owns_python && impl->use_count() > 1) {  // C++ keeps it: turn around
    Py_SET_REFCNT(self, 1);  // this count now belongs to the tensor
    impl->owns_python = true;
    impl->release();  // `t` keeps the bare pointer; if this was the last count after all, we are called again
    return;
  }
  PyObject_GC_UnTrack(self);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  if (object(self)->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object(self)->dict);
  if (impl && impl->python == self) impl->python = nullptr;
  if (impl && impl->owns_python) {
    // The dying tensor released us: it must not be released again.
    TensorImpl* none = nullptr;
    std::memcpy(static_cast<void*>(&t), static_cast<const void*>(&none), sizeof none);
    impl->owns_python = false;
  }
  t.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

bool release_object(TensorImpl& dying) {
  if (in_use()) {
    drop_later(dying);
    return true;
  }
  auto* o = static_cast<PyObject*>(dying.python);
  TakeGil gil(std::nothrow);
  if (!gil) return false;                // no interpreter any more: what is left of its objects stays
  const bool wanted = Py_REFCNT(o) > 1;  // somebody followed a weak reference
  if (wanted) {
    dying.owns_python = false;
    dying.revive();  // the object's handle, a bare pointer until now, counts again
  }
  in_interpreter([o] { Py_DECREF(o); });
  return wanted;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(object(self)->dict);
  return 0;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    // Tensor(2, 3): uninitialised floats of that size; Tensor([..]): these numbers; Tensor(t): t's numbers.
    PyObject* device = kwargs ? PyDict_GetItemString(kwargs, "device") : nullptr;
    if (device && device != Py_None)
      FC_CHECK(to_device(device).is_cpu(),
               "legacy constructor expects device type: cpu but device type: ", to_device(device), " was passed");
    Own given;
    if (PyObject* size = kwargs ? PyDict_GetItemString(kwargs, "size") : nullptr) {
      given = Own(check(PySequence_Tuple(size)));
      args = given.get();
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (n == 1 && is_tensor(PyTuple_GET_ITEM(args, 0)))
      return wrap_as(type, call<"aten::alias", Tensor>(tensor_of(PyTuple_GET_ITEM(args, 0))));
    const bool sized = given || (n == 1 && is_size(PyTuple_GET_ITEM(args, 0)));
    if (sized && !given) {  // a tuple of numbers
      args = PyTuple_GET_ITEM(args, 0);
      n = PyTuple_GET_SIZE(args);
    }
    if (!sized && n == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0)))
      return wrap_as(type, tensor_from(PyTuple_GET_ITEM(args, 0), default_dtype(), {}, true));
    Dims sizes;
    if (n == 0 && !sized) sizes.push_back(0);
    for (Py_ssize_t i = 0; i < n; ++i) sizes.push_back(to_int(PyTuple_GET_ITEM(args, i)));
    return wrap_as(type, empty_tensor(sizes, default_dtype(), Device{}));
  });
}

// Python takes the slot of += for that of sequences' += as well, where it would be asked last, for any object: what it
// answers there is the result, NotImplemented too.
void forget_concatenation(PyTypeObject* type) {
  if (type->tp_as_sequence && type->tp_as_number &&
      type->tp_as_sequence->sq_inplace_concat == type->tp_as_number->nb_inplace_add)
    type->tp_as_sequence->sq_inplace_concat = nullptr;
}

PyObject* init_subclass(PyObject* cls, PyObject*, PyObject*) {
  forget_concatenation(reinterpret_cast<PyTypeObject*>(cls));
  // A class made in Python gets Python's own deallocator, which would clear attributes before ours can decide.
  reinterpret_cast<PyTypeObject*>(cls)->tp_dealloc = dealloc;
  Py_RETURN_NONE;
}

// --- facts
PyObject* version_of(const Tensor& t) {
  FC_CHECK(!t.impl().is_inference(), "Inference tensors do not track version counter.");
  return PyLong_FromUnsignedLong(t.impl().version());
}

// The last field of a row of `getset` is the property's name, for those who override it.
#define GETTER(name, expression)                                                                \
  PyObject* name(PyObject* self, void* property) {                                              \
    return guarded([&]() -> PyObject* {                                                         \
      if (PyObject* r = asked(static_cast<const char*>(property), true, &self, 1)) [[unlikely]] \
        return r;                                                                               \
      const Tensor& t = tensor_of(self);                                                        \
      (void)t;                                                                                  \
      return expression;                                                                        \
    });                                                                                         \
  }
GETTER(get_shape, tracing() ? traced_sizes(t) : wrap_size(t.sizes()))
GETTER(get_dtype, wrap(t.dtype()))
GETTER(get_device, wrap(t.device()))
GETTER(get_layout, wrap(layout_of(t)))
GETTER(get_is_sparse, PyBool_FromLong(is_coo(t)))
GETTER(get_is_sparse_csr, PyBool_FromLong(layout_of(t) == Layout::SparseCsr))
GETTER(get_ndim, PyLong_FromLongLong(t.dim()))
GETTER(get_itemsize, PyLong_FromSize_t(item_size(t.dtype())))
GETTER(get_nbytes, PyLong_FromLongLong(t.numel() * static_cast<int64_t>(item_size(t.dtype()))))
GETTER(get_requires_grad, PyBool_FromLong(autograd::requires_grad(t)))
GETTER(get_is_leaf, PyBool_FromLong(autograd::is_leaf(t)))
PyObject* grad_of(const Tensor& t) {
  Tensor grad = autograd::grad_of(t);
  if (!grad.defined() && !autograd::is_leaf(t) && !autograd::retains_grad(t))
    check(PyErr_WarnEx(PyExc_UserWarning,
                       "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                       "attribute won't be populated during autograd.backward(). Call .retain_grad() on it before "
                       "backward if you want it to be; if you meant the tensor it was computed from, ask that one.",
                       1));
  return wrap(std::move(grad));
}
GETTER(get_grad, grad_of(t))
Tensor data_of(const Tensor& t) {
  Tensor data = autograd::data_of(t);
  if (forward_level() && !data.impl().is_sparse()) [[unlikely]]
    separate_storage(data);  // it has no tangent
  return data;
}
GETTER(get_data, wrap(data_of(t)))
GETTER(get_version, version_of(t))
GETTER(get_address, PyLong_FromVoidPtr(&t.impl()))
GETTER(get_base, autograd::is_view(t) ? wrap(Tensor(autograd::base_of(t))) : Py_NewRef(Py_None))
GETTER(get_output_nr, PyLong_FromUnsignedLong(autograd::output_nr(t)))
GETTER(get_retains_grad, PyBool_FromLong(autograd::retains_grad(t)))
GETTER(get_is_cuda, PyBool_FromLong(t.device().type == Device::CUDA))
GETTER(get_is_cpu, PyBool_FromLong(t.device().is_cpu()))
GETTER(get_is_meta, PyBool_FromLong(t.device().is_meta()))
GETTER(get_false, Py_NewRef(Py_False))
GETTER(get_none, Py_NewRef(Py_None))
#undef GETTER

bool set_by_override(const char* property, PyObject* self, PyObject* value) {
  PyObject* args[] = {self, value};
  Own r(value ? asked(property, true, args, 2) : nullptr);
  return r != nullptr;
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (set_by_override("requires_grad", self, value)) return 0;
    FC_CHECK_AS(TypeError, value && PyBool_Check(value), "requires_grad must be a bool");
    const Tensor& t = tensor_of(self);
    FC_CHECK(value != Py_True || autograd::is_leaf(t), "you can only change requires_grad flags of leaf variables.");
    autograd::set_requires_grad(t, value == Py_True);
    return 0;
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (set_by_override("grad", self, value)) return 0;
    FC_CHECK_AS(TypeError, !value || value == Py_None || is_tensor(value),
                "assigned grad expected to be a Tensor or None but got grad of type ", Py_TYPE(value)->tp_name);
    autograd::set_grad(tensor_of(self), value && value != Py_None ? tensor_of(value) : Tensor());
    return 0;
  });
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (set_by_override("data", self, value)) return 0;
    FC_CHECK_AS(TypeError, value && is_tensor(value), "Variable data has to be a tensor, but got ",
                value ? Py_TYPE(value)->tp_name : "nothing");
    ChangeAlone alone;
    autograd::set_data(tensor_of(self), tensor_of(value));
    tell_exposed(tensor_of(self).impl().storage().get(), "data");
    return 0;
  });
}

constexpr void* name_of(const char* property) { return const_cast<char*>(property); }
constinit PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"shape", get_shape, nullptr, "sizes of all dimensions", name_of("shape")},
    {"dtype", get_dtype, nullptr, "element type", name_of("dtype")},
    {"device", get_device, nullptr, "where the data lies", name_of("device")},
    {"layout", get_layout, nullptr, nullptr, name_of("layout")},
    {"ndim", get_ndim, nullptr, "number of dimensions", name_of("ndim")},
    {"itemsize", get_itemsize, nullptr, "bytes per element", name_of("itemsize")},
    {"nbytes", get_nbytes, nullptr, "bytes of all elements", name_of("nbytes")},
    {"requires_grad", get_requires_grad, set_requires_grad, "whether backward computes its gradient",
     name_of("requires_grad")},
    {"is_leaf", get_is_leaf, nullptr, "whether no operator made it", name_of("is_leaf")},
    {"grad", get_grad, set_grad, "the accumulated gradient, or None", name_of("grad")},
    {"_grad", get_grad, set_grad, nullptr, name_of("grad")},
    {"data", get_data, set_data, "the same memory without history", name_of("data")},
    {"_cdata", get_address, nullptr, "where C++ has it: the same for two objects of one tensor", name_of("_cdata")},
    {"_version", get_version, nullptr, "how often it was changed in place", name_of("_version")},
    {"_base", get_base, nullptr, "the tensor it is a view of, or None", name_of("_base")},
    {"output_nr", get_output_nr, nullptr, nullptr, name_of("output_nr")},
    {"retains_grad", get_retains_grad, nullptr, nullptr, name_of("retains_grad")},
    {"is_cuda", get_is_cuda, nullptr, nullptr, name_of("is_cuda")},
    {"is_cpu", get_is_cpu, nullptr, nullptr, name_of("is_cpu")},
    {"is_meta", get_is_meta, nullptr, nullptr, name_of("is_meta")},
    {"is_xpu", get_false, nullptr, nullptr, name_of("is_xpu")},
    {"is_mps", get_false, nullptr, nullptr, name_of("is_mps")},
    {"is_sparse", get_is_sparse, nullptr, nullptr, name_of("is_sparse")},
    {"is_sparse_csr", get_is_sparse_csr, nullptr, nullptr, name_of("is_sparse_csr")},
    {"is_quantized", get_false, nullptr, nullptr, name_of("is_quantized")},
    {"is_nested", get_false, nullptr, nullptr, name_of("is_nested")},
    {"name", get_none, nullptr, nullptr, name_of("name")},
    {}};

#define METHOD(name, expression)                                    \
  PyObject* m_##name(PyObject* self, PyObject*) {                   \
    return guarded([&]() -> PyObject* {                             \
      if (PyObject* r = asked(#name, false, &self, 1)) [[unlikely]] \
        return r;                                                   \
      const Tensor& t = tensor_of(self);                            \
      (void)t;                                                      \
      return expression;                                            \
    });                                                             \
  }
METHOD(dim, PyLong_FromLongLong(t.dim()))
METHOD(numel, tracing() ? traced_numel(t) : PyLong_FromLongLong(t.numel()))
void must_have_memory(const Tensor& t) {
  FC_CHECK_AS(NotImplementedError, !t.impl().is_sparse(),
              "Cannot access storage of a sparse tensor: its indices and values have storages");
}
METHOD(data_ptr, (must_have_memory(t), tell_exposed(t.impl().storage().get(), "data_ptr"),
                  PyLong_FromVoidPtr(t.numel() == 0 && !t.impl().storage()->data() ? nullptr : t.data())))
METHOD(element_size, PyLong_FromSize_t(item_size(t.dtype())))
METHOD(storage_offset, PyLong_FromLongLong(t.offset()))
Scalar only_element(const Tensor& t) {
  const Scalar number = call<"aten::_local_scalar_dense", Scalar>(t);
  check_mapped_ranges();
  return number;
}
// What Python reads of a tensor, a trace will not see again.
const Tensor& leaves(const Tensor& t, const char* as) {
  if (as && tracing()) [[unlikely]]
    warn_of_lost_value(as);
  return t;
}
METHOD(item, wrap(only_element(leaves(t, "Converting a tensor to a Python number"))))
METHOD(tolist, to_list(tracing() ? traced_before_list(t) : t))
METHOD(is_floating_point, PyBool_FromLong(is_floating(t.dtype())))
METHOD(is_complex, PyBool_FromLong(is_complex(t.dtype())))
METHOD(is_signed, PyBool_FromLong(is_signed(t.dtype())))
METHOD(is_inference, PyBool_FromLong(t.impl().is_inference()))
METHOD(_is_view, PyBool_FromLong(autograd::is_view(t)))
METHOD(retain_grad, (autograd::retain_grad(t), Py_NewRef(Py_None)))
METHOD(_storage_id, PyLong_FromUnsignedLongLong(t.impl().storage()->id()))
METHOD(_storage_ptr, (must_have_memory(t), tell_exposed(t.impl().storage().get(), "data_ptr"),
                      PyLong_FromVoidPtr(t.impl().storage()->data())))
METHOD(_storage_bytes, (must_have_memory(t), PyLong_FromSize_t(t.impl().storage()->bytes())))
METHOD(_dump, PyUnicode_FromString(dump(t).c_str()))
METHOD(_bool, [&]() -> PyObject* {
  FC_CHECK(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  FC_CHECK(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  leaves(t, "Converting a tensor to a Python boolean");
  return PyBool_FromLong(only_element(t).to_bool());
}())
#undef METHOD

PyObject* asked_with(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
  if (Py_TYPE(self) == tensor_class && !torch_function_mode_active()) [[likely]]
    return nullptr;
  std::vector<PyObject*> all{self};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
  return ask_for_attribute(name, false, all.data(), all.size(), kwargs);
}
PyObject* m_size(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (PyObject* r = asked_with("size", self, args, kwargs)) return r;
    static const char* names[] = {"dim", nullptr};
    PyObject* dim = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:size", const_cast<char**>(names), &dim)) return nullptr;
    const Tensor& t = tensor_of(self);
    if (tracing()) [[unlikely]]
      return !dim || dim == Py_None ? traced_sizes(t) : traced_size(t, to_int(dim));
    if (!dim || dim == Py_None) return wrap_size(t.sizes());
    return PyLong_FromLongLong(t.size(to_int(dim)));
  });
}
PyObject* m_stride(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (PyObject* r = asked_with("stride", self, args, kwargs)) return r;
    static const char* names[] = {"dim", nullptr};
    PyObject* dim = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:stride", const_cast<char**>(names), &dim)) return nullptr;
    const Tensor& t = tensor_of(self);
    if (!dim || dim == Py_None) return wrap_ints(t.strides());
    return PyLong_FromLongLong(t.stride(to_int(dim)));
  });
}
PyObject* m_is_contiguous(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (PyObject* r = asked_with("is_contiguous", self, args, kwargs)) return r;
    static const char* names[] = {"memory_format", nullptr};
    PyObject* format = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:is_contiguous", const_cast<char**>(names), &format))
      return nullptr;
    return PyBool_FromLong(tensor_of(self).is_contiguous(format ? to_memory_format(format) : MemoryFormat::Contiguous));
  });
}
PyObject* m_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (PyObject* r = asked_with("requires_grad_", self, args, kwargs)) return r;
    static const char* names[] = {"requires_grad", nullptr};
    int on = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
    autograd::set_requires_grad(tensor_of(self), on != 0);
    return Py_NewRef(self);
  });
}
PyObject* m_make_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"data", "require_grad", nullptr};
    PyObject* data;
    int requires_grad = 0;
    Own rest(Py_NewRef(args));
    if (PyTuple_GET_SIZE(args) > 0 && PyType_Check(PyTuple_GET_ITEM(args, 0))) {  // Tensor._make_subclass(cls, data)
      cls = PyTuple_GET_ITEM(args, 0);
      FC_CHECK_AS(TypeError, PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_base),
                  "_make_subclass: cls must be a subclass of Tensor");
      rest.reset(check(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args))));
    }
    if (!PyArg_ParseTupleAndKeywords(rest.get(), kwargs, "O|p:_make_subclass", const_cast<char**>(names), &data,
                                     &requires_grad))
      return nullptr;
    FC_CHECK_AS(TypeError, is_tensor(data), "_make_subclass: data must be a Tensor, not ", Py_TYPE(data)->tp_name);
    Tensor t = autograd::data_of(tensor_of(data));
    if (requires_grad) autograd::set_requires_grad(t, true);
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), std::move(t));
  });
}
// A tensor of that geometry whose numbers are never looked at: its class handles every operator by __torch_dispatch__.
// It has memory all the same (untouched pages cost nothing), so that nothing can read where there is none.
PyObject* m_make_wrapper_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"cls",    "size",   "strides",    "storage_offset", "memory_format", "dtype",
                                  "layout", "device", "pin_memory", "requires_grad",  nullptr};
    PyObject *type, *size, *strides = Py_None, *offset = Py_None, *format = Py_None, *dtype = Py_None,
                           *layout = Py_None, *device = Py_None;
    int pin = 0, requires_grad = 0;
    Own all;
    if (PyTuple_GET_SIZE(args) > 0 && PyType_Check(PyTuple_GET_ITEM(args, 0))) {
      all.reset(Py_NewRef(args));
    } else {  // called as cls._make_wrapper_subclass(size, …)
      all.reset(check(PyTuple_New(PyTuple_GET_SIZE(args) + 1)));
      PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(cls));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    }
    if (!PyArg_ParseTupleAndKeywords(all.get(), kwargs, "OO|OOO$OOOpp:_make_wrapper_subclass",
                                     const_cast<char**>(names), &type, &size, &strides, &offset, &format, &dtype,
                                     &layout, &device, &pin, &requires_grad))
      return nullptr;
    FC_CHECK_AS(TypeError, PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_base),
                "_make_wrapper_subclass: cls must be a subclass of Tensor");
    auto ints = [](PyObject* o) {
      Own items(check(PySequence_Fast(o, "_make_wrapper_subclass: expected a sequence of sizes")));
      Dims v;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        v.push_back(to_int(PySequence_Fast_GET_ITEM(items.get(), i)));
      return v;
    };
    Dims sizes = ints(size);
    DType t = dtype == Py_None ? default_dtype() : to_dtype(dtype);
    Device d = device == Py_None ? Device{} : to_device(device);
    Tensor made =
        strides == Py_None
            ? empty_tensor(sizes, t, d, format == Py_None ? MemoryFormat::Contiguous : to_memory_format(format))
            : empty_strided_tensor(sizes, ints(strides), t, d);
    if (requires_grad) autograd::set_requires_grad(made, true);
    return wrap_as(reinterpret_cast<PyTypeObject*>(type), std::move(made));
  });
}
PyObject* m_as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    FC_CHECK_AS(TypeError, PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_base),
                "as_subclass: cls must be a subclass of Tensor");
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), call<"aten::alias", Tensor>(tensor_of(self)));
  });
}

// float(loss) in a sum of losses looks as if gradients went through it.
void warn_of_lost_gradient(const Tensor& t) {
  static std::atomic<bool> said;
  if (autograd::requires_grad(t) && grad_enabled())
    warn_once(said,
              "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
              "Consider using tensor.detach() first.");
}

template <class F>
PyObject* one_number(PyObject* self, const char* what, const char* leaves_as, F&& f, bool warns = true) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = leaves(tensor_of(self), leaves_as);
    if (warns) warn_of_lost_gradient(t);
    FC_CHECK_AS(ValueError, t.numel() == 1, "only one element tensors can be converted to Python scalars: ", what,
                "() got a tensor of shape ", t.sizes());
    return f(only_element(t));
  });
}
PyObject* as_complex(PyObject* self, PyObject*) {
  return one_number(self, "complex", "Converting a tensor to a Python complex", [](const Scalar& s) {
    ComplexDouble c = s.to_complex();
    return PyComplex_FromDoubles(c.re, c.im);
  });
}

#define KEYWORDS(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS
PyMethodDef methods[] = {
    {"__init_subclass__", KEYWORDS(init_subclass) | METH_CLASS, nullptr},
    {"dim", m_dim, METH_NOARGS, "number of dimensions"},
    {"ndimension", m_dim, METH_NOARGS, "number of dimensions"},
    {"numel", m_numel, METH_NOARGS, "number of elements"},
    {"nelement", m_numel, METH_NOARGS, "number of elements"},
    {"data_ptr", m_data_ptr, METH_NOARGS, "address of the first element"},
    {"element_size", m_element_size, METH_NOARGS, "bytes per element"},
    {"storage_offset", m_storage_offset, METH_NOARGS, "offset of the first element in the storage, in elements"},
    {"item", m_item, METH_NOARGS, "the only element as a Python number"},
    {"tolist", m_tolist, METH_NOARGS, "nested lists of Python numbers"},
    {"is_floating_point", m_is_floating_point, METH_NOARGS, nullptr},
    {"is_complex", m_is_complex, METH_NOARGS, nullptr},
    {"is_signed", m_is_signed, METH_NOARGS, nullptr},
    {"is_inference", m_is_inference, METH_NOARGS, nullptr},
    {"_is_view", m__is_view, METH_NOARGS, nullptr},
    {"retain_grad", m_retain_grad, METH_NOARGS, "keep the gradient of a tensor that is no leaf"},
    {"_storage_id", m__storage_id, METH_NOARGS, nullptr},
    {"_storage_ptr", m__storage_ptr, METH_NOARGS, nullptr},
    {"_storage_bytes", m__storage_bytes, METH_NOARGS, nullptr},
    {"_dump", m__dump, METH_NOARGS, nullptr},
    {"_bool", m__bool, METH_NOARGS, nullptr},
    {"__complex__", as_complex, METH_NOARGS, nullptr},
    {"size", KEYWORDS(m_size), "size(dim=None): all sizes, or one"},
    {"stride", KEYWORDS(m_stride), "stride(dim=None): all strides in elements, or one"},
    {"is_contiguous", KEYWORDS(m_is_contiguous), "whether elements lie in order without gaps"},
    {"requires_grad_", KEYWORDS(m_requires_grad_), "change requires_grad in place"},
    {"_make_subclass", KEYWORDS(m_make_subclass) | METH_CLASS, nullptr},
    {"_make_wrapper_subclass", KEYWORDS(m_make_wrapper_subclass) | METH_CLASS, nullptr},
    {"as_subclass", m_as_subclass, METH_O, "the same tensor as an instance of a subclass"},
    {}};

// --- protocols
Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    FC_CHECK_AS(TypeError, tensor_of(self).dim() > 0, "len() of a 0-d tensor");
    if (tracing()) [[unlikely]] {
      warn_of_length();
      const Own sizes(check(traced_sizes(tensor_of(self))));  // which the graph has, as PyTorch's
    }
    return tensor_of(self).sizes()[0];
  });
}
int truth(PyObject* self) {
  return guarded([&]() -> int {
    Own b(check(m__bool(self, nullptr)));
    return b.get() == Py_True;
  });
}
PyObject* integer(PyObject* self, const char* what) {
  return one_number(
      self, "int", what,
      [](const Scalar& s) -> PyObject* {
        if (s.is_double()) return PyLong_FromDouble(s.to_double());
        return s.is_complex() ? PyLong_FromLongLong(s.to_int()) : wrap(s.is_bool() ? Scalar(s.to_int()) : s);
      },
      false);
}
PyObject* as_int(PyObject* self) { return integer(self, "Converting a tensor to a Python integer"); }
PyObject* as_float(PyObject* self) {
  return one_number(self, "float", "Converting a tensor to a Python float",
                    [](const Scalar& s) { return PyFloat_FromDouble(s.to_double()); });
}
PyObject* as_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    FC_CHECK_AS(TypeError, tensor_of(self).numel() == 1 && is_integral(tensor_of(self).dtype(), true),
                "only integer tensors of a single element can be converted to an index");
    return integer(self, nullptr);
  });
}

// Number slots: x + y means Tensor.add(x, y); the reflected form exists where the left side is no tensor.
bool operand(PyObject* o) { return is_tensor(o) || is_number(o); }
bool is_array(PyObject* o) {
  return !operand(o) && PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "__array_interface__");
}
// What the operator has no form for is the other side's to answer.
PyObject* asked_for(PyObject* method, PyObject* x, PyObject* y) {
  PyObject* args[] = {x, y};
  PyObject* result = call_method(method, args, 2);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) [[likely]]
    return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}
PyObject* binary(PyObject* a, PyObject* b, PyObject* method, PyObject* reflected) {
  if (is_tensor(a)) {
    if (!operand(b) && !PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(b)), "__torch_function__"))
      Py_RETURN_NOTIMPLEMENTED;
    return asked_for(method, a, b);
  }
  if (!reflected || !operand(a)) Py_RETURN_NOTIMPLEMENTED;
  return asked_for(reflected, b, a);
}
template <size_t N>
struct Text {
  constexpr Text(const char (&s)[N]) {
    for (size_t i = 0; i < N; ++i) value[i] = s[i];
  }
  char value[N];
};
template <Text name>
PyObject* interned() {
  static PyObject* text = PyUnicode_InternFromString(name.value);
  return text;
}
template <Text name, Text reflected>
PyObject* number_slot(PyObject* a, PyObject* b) {
  return binary(a, b, interned<name>(), interned<reflected>());
}
template <Text name>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return binary(a, b, interned<name>(), nullptr);
}
template <Text name>
PyObject* unary_slot(PyObject* a) {
  return call_method(interned<name>(), &a, 1);
}
PyObject* invert(PyObject* a) {
  return guarded([&]() -> PyObject* {
    FC_CHECK_AS(TypeError, is_integral(tensor_of(a).dtype(), true),
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not on ",
                tensor_of(a).dtype());
    return unary_slot<"bitwise_not">(a);
  });
}
PyObject* divide(PyObject* a, PyObject* b) {  // array / x is x.reciprocal() * array
  PyObject* args[] = {b, a};
  if (!is_tensor(a) && is_array(a)) return call_method(interned<"_rdiv">(), args, 2);
  return number_slot<"div", "_rdiv">(a, b);
}
PyObject* power(PyObject* a, PyObject* b, PyObject*) { return number_slot<"pow", "_rpow">(a, b); }
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject*) { return in_place_slot<"pow_">(a, b); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  constexpr binaryfunc slots[] = {in_place_slot<"lt">, in_place_slot<"le">, in_place_slot<"eq">,
                                  in_place_slot<"ne">, in_place_slot<"gt">, in_place_slot<"ge">};
  if (op == Py_EQ && is_tensor(a) && is_array(b)) {  // of the comparisons the only one that takes arrays
    return guarded([&]() -> PyObject* {
      Own other;
      try {
        other = Own(check(wrap(tensor_from(b, {}, {}, false))));
      } catch (const TypeError&) {  // elements that no tensor has
        Py_RETURN_NOTIMPLEMENTED;
      }
      return slots[op](a, other.get());
    });
  }
  return slots[op](a, b);
}
Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                         {}};

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorImpl& impl = t.impl();
  if (auto* o = static_cast<PyObject*>(impl.python)) {
    if (!impl.owns_python) return Py_NewRef(o);
    impl.owns_python = false;  // the count that the tensor held becomes the caller's
    Tensor& inside = object(o)->tensor;
    std::memset(static_cast<void*>(&inside), 0, sizeof inside);
    inside = std::move(t);
    return o;
  }
  return allocate(tensor_class, std::move(t));
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  if (t.impl().python) t = shallow_copy(t, true);
  return allocate(type, std::move(t));
}

void add_tensor_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, slot(make)},
                         {Py_tp_dealloc, slot(dealloc)},
                         {Py_tp_traverse, slot(traverse)},
                         {Py_tp_clear, slot(clear)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {Py_tp_richcompare, slot(compare)},
                         {Py_tp_hash, slot(hash)},
                         {Py_mp_length, slot(length)},
                         {Py_mp_subscript, slot(get_item)},
                         {Py_mp_ass_subscript, slot(set_item)},
                         {Py_nb_bool, slot(truth)},
                         {Py_nb_int, slot(as_int)},
                         {Py_nb_float, slot(as_float)},
                         {Py_nb_index, slot(as_index)},
                         {Py_nb_add, slot(number_slot<"add", "add">)},
                         {Py_nb_subtract, slot(number_slot<"sub", "rsub">)},
                         {Py_nb_multiply, slot(number_slot<"mul", "mul">)},
                         {Py_nb_true_divide, slot(divide)},
                         {Py_nb_floor_divide, slot(number_slot<"floor_divide", "_rfloordiv">)},
                         {Py_nb_remainder, slot(number_slot<"remainder", "_rmod">)},
                         {Py_nb_matrix_multiply, slot(number_slot<"matmul", "_rmatmul">)},
                         {Py_nb_power, slot(power)},
                         {Py_nb_and, slot(number_slot<"__and__", "bitwise_and">)},
                         {Py_nb_or, slot(number_slot<"__or__", "bitwise_or">)},
                         {Py_nb_xor, slot(number_slot<"__xor__", "bitwise_xor">)},
                         {Py_nb_lshift, slot(number_slot<"__lshift__", "_rlshift">)},
                         {Py_nb_rshift, slot(number_slot<"__rshift__", "_rrshift">)},
                         {Py_nb_inplace_add, slot(in_place_slot<"add_">)},
                         {Py_nb_inplace_subtract, slot(in_place_slot<"sub_">)},
                         {Py_nb_inplace_multiply, slot(in_place_slot<"mul_">)},
                         {Py_nb_inplace_true_divide, slot(in_place_slot<"div_">)},
                         {Py_nb_inplace_floor_divide, slot(in_place_slot<"floor_divide_">)},
                         {Py_nb_inplace_remainder, slot(in_place_slot<"remainder_">)},
                         {Py_nb_inplace_power, slot(in_place_power)},
                         {Py_nb_inplace_and, slot(in_place_slot<"__iand__">)},
                         {Py_nb_inplace_or, slot(in_place_slot<"__ior__">)},
                         {Py_nb_inplace_xor, slot(in_place_slot<"__ixor__">)},
                         {Py_nb_inplace_lshift, slot(in_place_slot<"__ilshift__">)},
                         {Py_nb_inplace_rshift, slot(in_place_slot<"__irshift__">)},
                         {Py_nb_negative, slot(unary_slot<"neg">)},
                         {Py_nb_positive, slot(unary_slot<"positive">)},
                         {Py_nb_absolute, slot(unary_slot<"abs">)},
                         {Py_nb_invert, slot(invert)},
                         {0, nullptr}};
  PyType_Spec spec{"facula._C.TensorBase", sizeof(TensorObject), 0,
                   static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC), slots};
  tensor_base = tensor_class = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  check(PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(tensor_base)));
  release_python_object = release_object;
  add_gil_hooks();
}

}  // namespace fc::py
