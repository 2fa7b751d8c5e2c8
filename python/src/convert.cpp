// SPDX-License-Identifier: Apache-2.0
// Between Python objects and C++ values: numbers, nested lists, buffers (NumPy arrays among them), results.
#include <cstring>

#include "core/half.h"
#include "core/mapped_range.h"
#include "core/watch.h"
#include "define/calls.h"
#include "dispatch/operator.h"
#include "dispatch/warn_once.h"
#include "py.h"
#include "tracing.h"

namespace fc::py {
namespace {

// Buffer formats of the struct module, as NumPy gives them.
DType buffer_dtype(const char* format) {
  if (!format) return DType::UInt8;
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  FC_CHECK_AS(ValueError, *format != '>' && *format != '!',
              "given array has byte order different from the native byte order. Conversion between byte orders is "
              "currently not supported.");
  std::string_view f = format;
  struct Row {
    const char* code;
    DType dtype;
  };
  static constexpr bool wide = sizeof(long) == 8;
  constexpr Row rows[] = {{"?", DType::Bool},
                          {"B", DType::UInt8},
                          {"b", DType::Int8},
                          {"h", DType::Int16},
                          {"H", DType::UInt16},
                          {"i", DType::Int32},
                          {"I", DType::UInt32},
                          {"l", wide ? DType::Int64 : DType::Int32},
                          {"L", wide ? DType::UInt64 : DType::UInt32},
                          {"q", DType::Int64},
                          {"Q", DType::UInt64},
                          {"e", DType::Float16},
                          {"f", DType::Float32},
                          {"d", DType::Float64},
                          {"Zf", DType::Complex64},
                          {"Zd", DType::Complex128},
                          {"c", DType::UInt8}};
  for (const Row& r : rows)
    if (f == r.code) return r.dtype;
  raise<TypeError>("can't convert a buffer of element format '", format,
                   "'. The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
                   "int16, int8, uint64, uint32, uint16, uint8, and bool.");
}

// The type of what was seen: each number counts with its own, NumPy's scalars and tensors included.
struct Category {
  DType type = DType::Undefined;
  bool arrays = false;  // that were read item by item
  void add(DType t) { type = type == DType::Undefined ? t : promote(type, t); }
};

// A NumPy scalar says its type as arrays do: it lends its memory. Python's own numbers lend none.
std::optional<DType> lent_type(PyObject* o) {
  Py_buffer view;
  if (!PyObject_CheckBuffer(o)) return {};
  if (PyObject_GetBuffer(o, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return {};
  }
  struct Release {
    Py_buffer* v;
    ~Release() { PyBuffer_Release(v); }
  } release{&view};
  return buffer_dtype(view.format);
}

constexpr int kMaxDepth = 64;
constexpr Py_ssize_t kMaxItems = Py_ssize_t{1} << 40;  // a range claims to have more, and would be walked to its end

bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) ||
         (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o) && !is_number(o));
}

// A NumPy array without dimensions: it has a length only to say that it has none.
bool is_zero_dim_array(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o) || !PyObject_CheckBuffer(o)) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(o, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool none = view.ndim == 0;
  PyBuffer_Release(&view);
  return none;
}

void scan(PyObject* o, int depth, Dims& shape, Category& c) {
  if (is_tensor(o)) {
    FC_CHECK_AS(ValueError, tensor_of(o).numel() == 1, "only one element tensors can be converted to Python scalars");
    return c.add(tensor_of(o).dtype());
  }
  if (PyBool_Check(o)) return c.add(DType::Bool);
  if (PyLong_CheckExact(o)) return c.add(DType::Int64);
  if (PyFloat_CheckExact(o)) return c.add(default_dtype());
  if (PyComplex_CheckExact(o)) return c.add(complex_of(default_dtype()));
  if (is_number(o)) {
    if (const std::optional<DType> lent = lent_type(o)) return c.add(*lent);
    Scalar s = to_scalar(o);
    return c.add(s.is_complex()  ? complex_of(default_dtype())
                 : s.is_double() ? default_dtype()
                 : s.is_bool()   ? DType::Bool
                                 : DType::Int64);
  }
  if (is_zero_dim_array(o)) {
    c.arrays = true;
    return c.add(lent_type(o).value_or(default_dtype()));
  }
  if (!is_sequence(o)) {
    if (PyUnicode_Check(o)) {  // the shape is that of each first item, so there a text is a dimension too many
      if (depth > 0 && c.type == DType::Undefined) raise<ValueError>("too many dimensions 'str'");
      raise<TypeError>("new(): invalid data type 'str'");
    }
    raise<Error>("Could not infer dtype of ", Py_TYPE(o)->tp_name);
  }
  FC_CHECK_AS(ValueError, depth < kMaxDepth, "too many dimensions: nested deeper than ", kMaxDepth);
  const bool plain = PyList_Check(o) || PyTuple_Check(o);  // a subclass may say something else
  c.arrays |= !plain && PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "dtype");
  Py_ssize_t n = plain ? PySequence_Fast_GET_SIZE(o) : PySequence_Size(o);
  check(static_cast<int>(n < 0 ? -1 : 0));
  FC_CHECK(n <= kMaxItems, "not enough memory for a sequence of ", n, " items");
  if (static_cast<int>(shape.size()) == depth) shape.push_back(n);
  FC_CHECK_AS(ValueError, depth < static_cast<int>(shape.size()) && shape[static_cast<size_t>(depth)] == n,
              "expected sequence of length ",
              depth < static_cast<int>(shape.size()) ? shape[static_cast<size_t>(depth)] : 0, " at dim ", depth,
              " (got ", n, ")");
  for (Py_ssize_t i = 0; i < n; ++i) {
    FC_CHECK_AS(ValueError, !plain || PySequence_Fast_GET_SIZE(o) == n, "the sequence changed while it was read");
    Own item(plain ? Py_NewRef(PySequence_Fast_GET_ITEM(o, i)) : check(PySequence_GetItem(o, i)));
    bool leaf = is_tensor(item.get()) || !is_sequence(item.get()) || is_zero_dim_array(item.get());
    FC_CHECK_AS(TypeError,
                !leaf || depth + 1 == static_cast<int>(shape.size()) ||
                    (is_number(item.get()) && static_cast<int>(shape.size()) == depth + 1),
                "not a sequence");
    scan(item.get(), depth + 1, shape, c);
  }
}

void store(PyObject* o, DType t, char* at) {
  switch (t) {
    case DType::Bool: {
      int v = PyObject_IsTrue(o);
      check(v);
      *reinterpret_cast<bool*>(at) = v != 0;
      return;
    }
    case DType::Int64:
      if (PyLong_Check(o)) {
        int64_t v = to_int(o);
        std::memcpy(at, &v, 8);
        return;
      }
      break;
    case DType::UInt64:
      if (PyLong_Check(o)) {
        uint64_t v = PyLong_AsUnsignedLongLong(o);
        if (v == UINT64_MAX && PyErr_Occurred()) throw PythonError{};
        std::memcpy(at, &v, 8);
        return;
      }
      break;
    case DType::Float32:
    case DType::Float64:
      if (PyFloat_Check(o) || PyLong_Check(o)) {
        double v = PyFloat_AsDouble(o);
        if (v == -1 && PyErr_Occurred()) throw PythonError{};
        float f = static_cast<float>(v);
        if (t == DType::Float64) std::memcpy(at, &v, 8);
        else std::memcpy(at, &f, 4);
        return;
      }
      break;
    default: break;
  }
  if (is_integral(t, false) && PyLong_Check(o)) to_int(o);  // says what does not fit
  const Tensor element = is_tensor(o) ? tensor_of(o) : is_zero_dim_array(o) ? tensor_from_buffer(o, true) : Tensor();
  Scalar s = element.defined() ? call<"aten::_local_scalar_dense", Scalar>(element) : to_scalar(o);
  if (is_integral(t, false)) {
    FC_CHECK_AS(TypeError, !s.is_complex(), "can't convert complex to ", t);
    if (t == DType::UInt64 && s.is_integral(true)) {
      uint64_t v = s.bits();
      std::memcpy(at, &v, 8);
      return;
    }
    int64_t v = s.to_int();
    if (t != DType::Int64 && t != DType::UInt64 && !is_tensor(o)) {
      int bits = static_cast<int>(item_size(t)) * 8;
      int64_t lo = is_signed(t) ? -(int64_t{1} << (bits - 1)) : 0,
              hi = is_signed(t) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
      if (!is_signed(t) && v < 0 && v >= -(int64_t{1} << (bits - 1))) v &= hi;  // PyTorch lets -1 mean 255
      FC_CHECK(v >= lo && v <= hi, "value cannot be converted to type ", t, " without overflow");
    }
    std::memcpy(at, &v, item_size(t));  // little endian
    return;
  }
  FC_CHECK_AS(TypeError, !s.is_complex() || !is_floating(t), "must be real number, not complex");
  // A number beyond the type's largest is rounded here, as in PyTorch; where a tensor is filled, it raises.
  Tensor one =
      is_reduced(t) && !s.is_complex() ? to_dtype(full({}, s, DType::Float64, Device{}), t) : full({}, s, t, Device{});
  std::memcpy(at, one.data(), item_size(t));
}

void fill(PyObject* o, IntSpan shape, size_t depth, DType t, char*& at) {
  if (depth == shape.size()) {
    store(o, t, at);
    at += item_size(t);
    return;
  }
  if (PyList_Check(o) || PyTuple_Check(o)) {
    for (int64_t i = 0; i < shape[depth]; ++i) {
      FC_CHECK_AS(ValueError, PySequence_Fast_GET_SIZE(o) == shape[depth], "the sequence changed while it was read");
      Own item(Py_NewRef(PySequence_Fast_GET_ITEM(o, i)));  // its conversion may run code that changes the list
      fill(item.get(), shape, depth + 1, t, at);
    }
    return;
  }
  for (int64_t i = 0; i < shape[depth]; ++i) {
    Own item(check(PySequence_GetItem(o, i)));
    fill(item.get(), shape, depth + 1, t, at);
  }
}

struct BufferOwner {
  Py_buffer view;
};

template <class F>
PyObject* nested(const char* at, IntSpan sizes, const int64_t* strides, size_t depth, const F& item) {
  if (depth == sizes.size()) return item(at);
  PyObject* list = PyList_New(sizes[depth]);
  if (!list) return nullptr;
  for (int64_t i = 0; i < sizes[depth]; ++i) {
    PyObject* o = nested(at + i * strides[depth], sizes, strides, depth + 1, item);
    if (!o) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, o);
  }
  return list;
}

template <class T>
T read(const char* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

}  // namespace

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  if (is_tensor(o) || PyUnicode_Check(o)) return false;
  // NumPy's scalars are numbers with __index__ or __float__ that are no arrays and no sequences.
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  return n && (n->nb_index || n->nb_float) && !PySequence_Check(o) && PyObject_HasAttrString(o, "dtype");
}

Scalar to_scalar(PyObject* o) {
  if (PyBool_Check(o)) return o == Py_True;
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyComplex_Check(o)) {
    Py_complex c = PyComplex_AsCComplex(o);
    return ComplexDouble{c.real, c.imag};
  }
  if (PyLong_Check(o)) {
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return v;
    uint64_t u = PyLong_AsUnsignedLongLong(o);
    if (u == UINT64_MAX && PyErr_Occurred()) throw PythonError{};
    return u;
  }
  if (PyNumberMethods* n = Py_TYPE(o)->tp_as_number; n && is_number(o)) {
    if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") == 0 || std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool") == 0) {
      const int yes = PyObject_IsTrue(o);
      check(yes);
      return yes == 1;
    }
    if (n->nb_index) {
      Own i(check(PyNumber_Index(o)));
      return to_scalar(i.get());
    }
    if (PyObject_HasAttrString(o, "__complex__") && std::strstr(Py_TYPE(o)->tp_name, "complex")) {
      Py_complex c = PyComplex_AsCComplex(o);
      if (PyErr_Occurred()) throw PythonError{};
      return ComplexDouble{c.real, c.imag};
    }
    double d = PyFloat_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) throw PythonError{};
    return d;
  }
  raise<TypeError>("expected a number, got ", Py_TYPE(o)->tp_name);
}

int64_t to_int(PyObject* o) {
  if (PyLong_Check(o)) {
    int64_t v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      raise<ValueError>("Overflow when unpacking long long: the integer does not fit into 64 bits");
    }
    return v;
  }
  if (tracing() && is_tensor(o)) [[unlikely]]  // for an operator, which the trace knows the tensor of
    return call<"aten::_local_scalar_dense", Scalar>(tensor_of(o)).to_int();
  Own i(check(PyNumber_Index(o)));
  return to_int(i.get());
}

PyObject* wrap(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return PyBool_FromLong(s.to_bool());
    case Scalar::Kind::Int: return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::UInt: return PyLong_FromUnsignedLongLong(s.bits());
    case Scalar::Kind::Double: return PyFloat_FromDouble(s.to_double());
    default: {
      ComplexDouble c = s.to_complex();
      return PyComplex_FromDoubles(c.re, c.im);
    }
  }
}

PyObject* wrap(Value v) {
  Arg a = v.arg();
  auto list = [](auto items, auto make) -> PyObject* {
    Own t(check(PyTuple_New(static_cast<Py_ssize_t>(items.size()))));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), check(make(items[i])));
    return t.release();
  };
  switch (a.tag()) {
    case Tag::None: Py_RETURN_NONE;
    case Tag::Tensor: return wrap(v.take_tensor());
    case Tag::Bool: return PyBool_FromLong(a.boolean());
    case Tag::Int: return PyLong_FromLongLong(a.integer());
    case Tag::Double: return PyFloat_FromDouble(a.real());
    case Tag::Scalar: return wrap(a.scalar());
    case Tag::String: return PyUnicode_FromStringAndSize(a.text().data(), static_cast<Py_ssize_t>(a.text().size()));
    case Tag::Device: return wrap(a.device());
    case Tag::DType: return wrap(a.dtype());
    case Tag::Layout: return wrap(a.layout());
    case Tag::MemoryFormat: return wrap(a.memory_format());
    case Tag::Generator: return wrap(Ref<Generator>(a.generator()));
    case Tag::IntList: return list(a.ints(), [](int64_t i) { return PyLong_FromLongLong(i); });
    case Tag::DoubleList: return list(a.doubles(), [](double d) { return PyFloat_FromDouble(d); });
    case Tag::BoolList: return list(a.bools(), [](bool b) { return PyBool_FromLong(b); });
    case Tag::ScalarList: return list(a.scalars(), [](const Scalar& s) { return wrap(s); });
    case Tag::TensorList: return list(a.tensors(), [](const Tensor& t) { return wrap(Tensor(t)); });
    case Tag::List: return list(a.values(), [](const Value& x) { return wrap(Value(x)); });
    default: break;
  }
  raise<Error>("a value of type ", to_string(a.tag()), " has no Python form");
}

Tensor dtype_cast(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : call<"aten::to.dtype", Tensor>(t, dtype, false, false, std::optional<MemoryFormat>());
}

// The buffer stays locked while the storage lives.
Tensor tensor_from_buffer(PyObject* o, bool may_copy) {
  auto owner = std::make_unique<BufferOwner>();
  Py_buffer& view = owner->view;
  const bool writable = PyObject_GetBuffer(o, &view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) == 0;
  if (!writable) {
    PyErr_Clear();
    check(PyObject_GetBuffer(o, &view, PyBUF_STRIDES | PyBUF_FORMAT));
  }
  struct Unlock {
    Py_buffer* v;
    ~Unlock() {
      if (v) PyBuffer_Release(v);
    }
  } unlock{&view};
  DType t = buffer_dtype(view.format);
  FC_CHECK_AS(ValueError, static_cast<size_t>(view.itemsize) == item_size(t), "buffer: items of ", view.itemsize,
              " bytes do not fit element type ", t);
  FC_CHECK_AS(ValueError, view.ndim <= static_cast<int>(kMaxRank), "buffer: too many dimensions: ", view.ndim);
  Dims sizes, strides;
  int64_t item = view.itemsize, reach = 0;
  for (int d = 0; d < view.ndim; ++d) {
    int64_t stride = view.strides ? view.strides[d] : item;
    FC_CHECK_AS(
        ValueError, stride >= 0,
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
        "supported. (You can probably work around this by making a copy of your array with array.copy().)");
    FC_CHECK_AS(ValueError, stride % item == 0 || view.shape[d] <= 1,
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                "the memory.");
    sizes.push_back(view.shape[d]);
    strides.push_back(stride / item);
  }
  if (checked_numel(sizes) > 0 && !is_aligned(view.buf, t)) {
    FC_CHECK_AS(ValueError, may_copy || !writable, "the given memory is not aligned to elements of ", item,
                " bytes, so a tensor cannot share it; copy it first (array.copy())");
    Tensor copy = empty_tensor(sizes, t, Device{});
    check(PyBuffer_ToContiguous(copy.data(), &view, view.len, 'C'));
    tell_exposed(copy.impl().storage().get(), "filled");
    return copy;
  }
  reach = static_cast<int64_t>(storage_bytes_needed(sizes, strides, 0, t));
  Block block{view.buf,
              [](void*, size_t, void* context) {
                TakeGil gil(std::nothrow);
                if (!gil) return;
                std::unique_ptr<BufferOwner> mine(static_cast<BufferOwner*>(context));
                PyBuffer_Release(&mine->view);
              },
              owner.get()};
  auto storage = make_ref<Storage>(block, static_cast<size_t>(reach), Device{}, nullptr, !writable);
  unlock.v = nullptr;
  owner.release();
  auto impl = make_ref<TensorImpl>(std::move(storage), t, Device{});
  impl->set_geometry(sizes, strides, 0);
  return Tensor(std::move(impl));
}

Tensor tensor_from(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, bool copy) {
  if (!device && (!is_tensor(data) || !default_device().is_cpu())) device = default_device();
  auto place = [&](Tensor t) {
    if (!device || t.device() == *device) return t;
    return call<"aten::to.device", Tensor>(t, *device, t.dtype(), false, false, std::optional<MemoryFormat>());
  };
  if (is_tensor(data)) {
    Tensor t = tensor_of(data);
    return call<"aten::to.dtype_layout", Tensor>(t, dtype, std::optional<Layout>(), device, std::optional<bool>(),
                                                 false, copy, std::optional<MemoryFormat>());
  }
  if (PyObject_CheckBuffer(data) && !PyBytes_Check(data)) {
    Tensor t = tensor_from_buffer(data, true);
    if (dtype) t = dtype_cast(t, *dtype);
    if (copy && !t.impl().storage()->resizable()) t = clone(t);
    return place(t);
  }
  if (!is_number(data) && !PyList_Check(data) && !PyTuple_Check(data) && PyObject_HasAttrString(data, "__array__")) {
    Own array(check(PyObject_CallMethod(data, "__array__", nullptr)));
    if (PyObject_CheckBuffer(array.get())) return tensor_from(array.get(), dtype, device, copy);
  }
  Dims shape;
  Category c;
  scan(data, 0, shape, c);
  static std::atomic<bool> said;
  if (c.arrays)
    warn_once(said,
              "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list "
              "to a single numpy.ndarray with numpy.array() before converting to a tensor.");
  const DType t = dtype ? *dtype : c.type != DType::Undefined ? c.type : default_dtype();
  Tensor out = empty_tensor(shape, t, Device{});
  char* at = static_cast<char*>(out.data());
  if (out.numel() > 0) fill(data, shape, 0, t, at);
  tell_exposed(out.impl().storage().get(), "filled");
  return place(out);
}

PyObject* to_list(const Tensor& input) {
  FC_CHECK(!input.impl().is_sparse(), "tolist: a sparse tensor has no lists of elements: use to_dense() first");
  Tensor t = input;
  if (!t.device().is_cpu())
    t = call<"aten::to.device", Tensor>(t, Device{}, t.dtype(), false, false, std::optional<MemoryFormat>());
  DType d = t.dtype();
  if (d != compute_type(d)) t = dtype_cast(t, compute_type(d)), d = compute_type(d);
  if (d == DType::UInt16 || d == DType::UInt32) t = dtype_cast(t, DType::Int64), d = DType::Int64;
  Dims strides(t.strides());
  for (int64_t& s : strides) s *= static_cast<int64_t>(item_size(d));
  tell_exposed(t.impl().storage().get(), "read");
  auto go = [&](auto item) {
    Own list(check(nested(static_cast<const char*>(t.data()), t.sizes(), strides.data(), 0, item)));
    check_mapped_ranges();
    return list.release();
  };
  switch (d) {
    case DType::Bool: return go([](const char* p) { return PyBool_FromLong(*p); });
    case DType::UInt8: return go([](const char* p) { return PyLong_FromLong(read<uint8_t>(p)); });
    case DType::Int8: return go([](const char* p) { return PyLong_FromLong(read<int8_t>(p)); });
    case DType::Int16: return go([](const char* p) { return PyLong_FromLong(read<int16_t>(p)); });
    case DType::Int32: return go([](const char* p) { return PyLong_FromLong(read<int32_t>(p)); });
    case DType::Int64: return go([](const char* p) { return PyLong_FromLongLong(read<int64_t>(p)); });
    case DType::UInt64: return go([](const char* p) { return PyLong_FromUnsignedLongLong(read<uint64_t>(p)); });
    case DType::Float32:
      return go([](const char* p) { return PyFloat_FromDouble(static_cast<double>(read<float>(p))); });
    case DType::Float64: return go([](const char* p) { return PyFloat_FromDouble(read<double>(p)); });
    case DType::Complex64:
      return go([](const char* p) {
        return PyComplex_FromDoubles(static_cast<double>(read<float>(p)), static_cast<double>(read<float>(p + 4)));
      });
    default: return go([](const char* p) { return PyComplex_FromDoubles(read<double>(p), read<double>(p + 8)); });
  }
}

}  // namespace fc::py
