// SPDX-License-Identifier: Apache-2.0
#include "core/dlpack.h"

#include <algorithm>
#include <memory>

#include "core/error.h"

namespace fc::dlpack {
namespace {

constexpr uint64_t kReadOnly = 1, kCopied = 2;  // Versioned::flags
enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

DataType type_of(DType t) {
  auto bits = static_cast<uint8_t>(item_size(t) * 8);
  if (t == DType::Bool) return {kBool, bits, 1};
  if (t == DType::BFloat16) return {kBfloat, bits, 1};
  if (is_complex(t)) return {kComplex, bits, 1};
  if (is_integral(t, false)) return {is_signed(t) ? kInt : kUInt, bits, 1};
  FC_CHECK_AS(BufferError, t == DType::Float16 || t == DType::Float32 || t == DType::Float64, "__dlpack__: ", t,
              " has no DLPack type");
  return {kFloat, bits, 1};
}

DType dtype_of(DataType t) {
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
    case kComplex: return pick({DType::Complex32, DType::Complex64, DType::Complex128});
    case kBool: return pick({DType::Bool});
    default: raise<BufferError>("from_dlpack: unknown type code ", int{t.code});
  }
}

template <class M>
struct Export {
  M managed{};
  Ref<Storage> storage;
  Dims shape, strides;
};

}  // namespace

template <class M>
M* export_tensor(const Tensor& t, bool copied) {
  FC_CHECK_AS(BufferError, !t.impl().is_sparse(), "__dlpack__: a sparse tensor has no memory of its own to share");
  FC_CHECK_AS(BufferError, t.device().is_cpu() || t.device().type == fc::Device::CUDA, "__dlpack__: device ",
              to_string(t.device()), " has no DLPack number");
  constexpr bool versioned = requires(M m) { m.major; };
  const bool read_only = t.impl().storage()->read_only();
  FC_CHECK_AS(BufferError, versioned || !read_only,
              "__dlpack__: the tensor is read-only, which DLPack can only say since version 1.0: ask for it with "
              "max_version=(1, 0), or clone() the tensor");
  auto e = std::make_unique<Export<M>>();
  e->storage = t.impl().storage();
  e->storage->lend();
  e->shape = Dims(t.sizes());
  e->strides = Dims(t.strides());
  // Where a size is 1 the stride says nothing; some readers want it to look contiguous.
  for (size_t d = 0; d < e->shape.size(); ++d)
    if (e->shape[d] < 2) e->strides[d] = 1;
  M& m = e->managed;
  m.tensor = {.data = t.numel() == 0 ? nullptr : t.data(),
              .device = {t.device().is_cpu() ? kCPU : kCUDA, std::max<int>(t.device().index, 0)},
              .ndim = static_cast<int32_t>(t.dim()),
              .dtype = type_of(t.dtype()),
              .shape = e->shape.data(),
              .strides = e->strides.data(),
              .byte_offset = 0};
  m.context = e.get();
  m.deleter = [](M* self) { delete static_cast<Export<M>*>(self->context); };
  if constexpr (versioned) {
    m.major = 1;
    m.minor = 0;
    m.flags = (read_only ? kReadOnly : 0) | (copied ? kCopied : 0);
  }
  return &e.release()->managed;
}

template <class M>
Tensor import_tensor(M& m) {
  bool read_only = false;
  if constexpr (requires { m.major; }) {
    FC_CHECK_AS(BufferError, m.major == 1, "from_dlpack: version ", m.major, ".", m.minor,
                " of DLPack is not supported, only 1.x");
    read_only = m.flags & kReadOnly;
  }
  const View& s = m.tensor;
  FC_CHECK_AS(BufferError, s.device.type == kCPU, "from_dlpack: unsupported device type ", s.device.type);
  FC_CHECK_AS(BufferError, s.ndim >= 0 && s.ndim <= static_cast<int32_t>(kMaxRank),
              "from_dlpack: number of dimensions is ", s.ndim, ", allowed are 0 to ", kMaxRank);
  FC_CHECK_AS(BufferError, s.ndim == 0 || s.shape, "from_dlpack: the shape is null");
  DType t = dtype_of(s.dtype);
  Dims sizes(IntSpan(s.shape, static_cast<size_t>(s.ndim)));
  int64_t numel = checked_numel(sizes);
  Dims strides =
      s.strides && numel > 0 ? Dims(IntSpan(s.strides, static_cast<size_t>(s.ndim))) : contiguous_strides(sizes);
  for (size_t d = 0; d < strides.size(); ++d) {
    FC_CHECK_AS(BufferError, strides[d] >= 0, "from_dlpack: negative strides are not supported, got ", strides[d]);
    if (sizes[d] == 1) strides[d] = std::min(strides[d], kMaxStride);  // never stepped along: any number may stand here
  }
  FC_CHECK_AS(BufferError, s.data || numel == 0, "from_dlpack: the data pointer is null for a tensor of shape ", sizes);
  size_t bytes = numel == 0 ? 0 : storage_bytes_needed(sizes, strides, 0, t);
  uintptr_t begin, end;
  FC_CHECK_AS(BufferError,
              !__builtin_add_overflow(reinterpret_cast<uintptr_t>(s.data), s.data ? s.byte_offset : 0, &begin) &&
                  !__builtin_add_overflow(begin, bytes, &end),
              "from_dlpack: a byte offset of ", s.byte_offset, " with ", bytes, " bytes leaves the address space");
  FC_CHECK_AS(BufferError, numel == 0 || is_aligned(reinterpret_cast<void*>(begin), t),
              "from_dlpack: the memory is not ", "aligned to elements of ", item_size(t), " bytes; copy it first");
  // Only now does the storage take the struct: everything that can fail lies behind us.
  auto impl = make_ref<TensorImpl>(Ref<Storage>(), t, fc::Device{});
  impl->set_geometry(sizes, strides, 0);
  Block block{reinterpret_cast<void*>(begin),
              [](void*, size_t, void* context) {
                auto* owned = static_cast<M*>(context);
                if (owned->deleter) owned->deleter(owned);
              },
              &m};
  impl->set_storage(make_ref<Storage>(block, bytes, fc::Device{}, nullptr, read_only), t, fc::Device{});
  return Tensor(std::move(impl));
}

template Managed* export_tensor(const Tensor&, bool);
template Versioned* export_tensor(const Tensor&, bool);
template Tensor import_tensor(Managed&);
template Tensor import_tensor(Versioned&);

}  // namespace fc::dlpack
