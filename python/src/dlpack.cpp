// SPDX-License-Identifier: Apache-2.0
// DLPack both ways: a tensor as a capsule for other libraries, and a tensor that shares the memory of theirs. The
// structs below are the DLPack ABI, unversioned and 1.x. A capsule is consumed once: taking it renames it, and the
// deleter then belongs to the tensor's storage. What a capsule says is checked before any memory is touched.
#include <nanobind/nanobind.h>

#include <cstring>

#include "autograd/autograd.h"
#include "bind.h"

namespace nb = nanobind;

namespace fc {
namespace {

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // null: contiguous
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;  // bit 0: read-only, bit 1: a copy was made
  DLTensor tensor;
};

enum : int32_t { kDLCPU = 1, kDLCUDA = 2 };
enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

DLDataType dlpack_type(DType t) {
  auto bits = static_cast<uint8_t>(item_size(t) * 8);
  if (t == DType::Bool) return {kBool, bits, 1};
  if (t == DType::BFloat16) return {kBfloat, bits, 1};
  if (is_complex(t)) return {kComplex, bits, 1};
  if (is_integral(t, false)) return {is_signed(t) ? kInt : kUInt, bits, 1};
  FC_CHECK_AS(BufferError, t == DType::Float16 || t == DType::Float32 || t == DType::Float64, "__dlpack__: ", t,
              " has no DLPack type");
  return {kFloat, bits, 1};
}

DType dtype_of(DLDataType t) {
  FC_CHECK_AS(BufferError, t.lanes == 1, "from_dlpack: vector types are not supported, got lanes = ", t.lanes);
  auto pick = [&](std::initializer_list<DType> choices) {
    for (DType d : choices)
      if (item_size(d) * 8 == t.bits) return d;
    raise<BufferError>("from_dlpack: unsupported type width: code ", int{t.code}, " with ", int{t.bits}, " bits");
  };
  switch (t.code) {
    case kInt: return pick({DType::Int8, DType::Int16, DType::Int32, DType::Int64});
    case kUInt: return pick({DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64});
    case kFloat: return pick({DType::Float16, DType::Float32, DType::Float64});
    case kBfloat: return pick({DType::BFloat16});
    case kComplex: return pick({DType::Complex64, DType::Complex128});
    case kBool: return pick({DType::Bool});
    default: raise<BufferError>("from_dlpack: unknown type code ", int{t.code});
  }
}

// --- out
template <class Managed>
struct Export {
  Managed managed{};
  Tensor tensor;  // keeps memory and geometry alive
  Dims shape, strides;
};

template <class Managed>
void free_export(Managed* m) {
  delete static_cast<Export<Managed>*>(m->context);
}

// A capsule that nobody took still owns its tensor.
template <class Managed>
void drop_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (!name || std::strncmp(name, "dltensor", 8) != 0) return;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

template <class Managed>
PyObject* export_tensor(const Tensor& t, bool copied, const char* name) {
  auto e = std::make_unique<Export<Managed>>();
  e->tensor = t;
  e->shape = Dims(t.sizes());
  e->strides = Dims(t.strides());
  // Where a size is 1 the stride says nothing; some readers want it to look contiguous.
  for (size_t d = 0; d < e->shape.size(); ++d)
    if (e->shape[d] < 2) e->strides[d] = 1;
  e->managed.tensor = {
      t.numel() == 0 ? nullptr : t.data(),
      {t.device().is_cpu() ? kDLCPU : kDLCUDA, t.device().is_cpu() ? 0 : std::max<int>(t.device().index, 0)},
      static_cast<int32_t>(t.dim()),
      dlpack_type(t.dtype()),
      e->shape.data(),
      e->strides.data(),
      0};
  e->managed.context = e.get();
  e->managed.deleter = free_export<Managed>;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    e->managed.major = 1;
    e->managed.minor = 0;
    e->managed.flags = copied ? 2 : 0;
  }
  PyObject* capsule = py::check(PyCapsule_New(&e->managed, name, drop_capsule<Managed>));
  e.release();
  return capsule;
}

nb::object to_capsule(const Tensor& t, bool versioned, bool copied) {
  FC_CHECK_AS(BufferError, !autograd::requires_grad(t),
              "Can't export tensors that require gradient, use tensor.detach()");
  FC_CHECK_AS(BufferError, t.device().is_cpu() || t.device().type == Device::CUDA, "__dlpack__: device ",
              to_string(t.device()), " has no DLPack number");
  return nb::steal(versioned ? export_tensor<DLManagedTensorVersioned>(t, copied, "dltensor_versioned")
                             : export_tensor<DLManagedTensor>(t, copied, "dltensor"));
}

// --- in
template <class Managed>
void free_import(void*, size_t, void* context) {
  auto* m = static_cast<Managed*>(context);
  if (!m->deleter) return;
  if (!Py_IsInitialized()) return;
  py::TakeGil gil;  // the deleter of a Python library may need the interpreter
  m->deleter(m);
}

template <class Managed>
Tensor import_tensor(Managed& m) {
  const DLTensor& s = m.tensor;
  FC_CHECK_AS(BufferError, s.device.type == kDLCPU, "from_dlpack: unsupported device type ", s.device.type);
  FC_CHECK_AS(BufferError, s.ndim >= 0 && s.ndim <= static_cast<int32_t>(kMaxRank),
              "from_dlpack: number of dimensions is ", s.ndim, ", allowed are 0 to ", kMaxRank);
  FC_CHECK_AS(BufferError, s.ndim == 0 || s.shape, "from_dlpack: the shape is null");
  DType t = dtype_of(s.dtype);
  Dims sizes(IntSpan(s.shape, static_cast<size_t>(s.ndim)));
  int64_t numel = checked_numel(sizes);
  Dims strides = s.strides ? Dims(IntSpan(s.strides, static_cast<size_t>(s.ndim))) : contiguous_strides(sizes);
  for (int64_t stride : strides)
    FC_CHECK_AS(BufferError, stride >= 0 || numel == 0, "from_dlpack: negative strides are not supported, got ",
                stride);
  for (int64_t& stride : strides) stride = std::max<int64_t>(stride, 0);
  FC_CHECK_AS(BufferError, s.data || numel == 0, "from_dlpack: the data pointer is null for a tensor of shape ", sizes);
  size_t bytes = numel == 0 ? 0 : storage_bytes_needed(sizes, strides, 0, t);
  Block block{static_cast<char*>(s.data) + (s.data ? s.byte_offset : 0), free_import<Managed>, &m};
  auto impl = make_ref<TensorImpl>(make_ref<Storage>(block, bytes, Device{}, nullptr), t, Device{});
  impl->set_geometry(sizes, strides, 0);
  return Tensor(std::move(impl));
}

Tensor from_capsule(nb::handle h) {
  FC_CHECK_AS(TypeError, PyCapsule_CheckExact(h.ptr()), "from_dlpack: expected a DLPack capsule, got ",
              Py_TYPE(h.ptr())->tp_name);
  const char* name = PyCapsule_GetName(h.ptr());
  bool versioned = name && std::strcmp(name, "dltensor_versioned") == 0;
  FC_CHECK(versioned || (name && std::strcmp(name, "dltensor") == 0),
           "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, "
           "so you might have already constructed a tensor from it once (its name is ",
           name ? name : "null", ")");
  void* p = PyCapsule_GetPointer(h.ptr(), name);
  if (!p) throw nb::python_error();
  Tensor t;
  if (versioned) {
    auto& m = *static_cast<DLManagedTensorVersioned*>(p);
    FC_CHECK_AS(BufferError, m.major == 1, "from_dlpack: version ", m.major, ".", m.minor,
                " of DLPack is not supported, only 1.x");
    t = import_tensor(m);
  } else {
    t = import_tensor(*static_cast<DLManagedTensor*>(p));
  }
  py::check(PyCapsule_SetName(h.ptr(), versioned ? "used_dltensor_versioned" : "used_dltensor"));
  return t;
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  m.def("_to_dlpack", to_capsule, nb::arg("tensor"), nb::arg("versioned"), nb::arg("copied"));
  m.def("_from_dlpack", from_capsule);
}

}  // namespace fc
