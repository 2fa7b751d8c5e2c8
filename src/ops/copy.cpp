// SPDX-License-Identifier: Apache-2.0
// Copies, casts and fills: the operators that move elements without computing.
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/warn_once.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

// dst and src on one device.
void copy_here(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0 || dst.device().is_meta()) return;
  ByteStrides ds(dst), ss(src);
  fc_copy c{};
  c.size = sizeof c;
  c.ndim = static_cast<int32_t>(dst.dim());
  c.shape = dst.sizes().data();
  c.dst = operand(dst, ds);
  c.src = operand(src, ss);
  run_family(dst.device(), c);
}

// Only host memory that the device's backend made may be used later: its backend knows when it is given back.
bool is_pinned(const Tensor& host, Device device) {
  return host.device().is_cpu() && host.impl().storage()->block().context == &device_record(int{device.type});
}

// A copy in memory that a device reaches fast: the one that is named, or the first besides the CPU that computes.
Tensor pin_memory(const Tensor& self, std::optional<Device> device) {
  FC_CHECK(self.device().is_cpu(), "cannot pin a tensor on ", self.device(), ": only dense CPU tensors can be pinned");
  if (!device)
    for (const DeviceRecord* r : device_records())
      if (!device && r->count > 0 && r->name != "cpu" && r->name != "null")
        device = Device{static_cast<int8_t>(find_device_type(r->name)), 0};
  FC_CHECK(device, "Cannot access accelerator device when none is available.");
  return copy_(empty_pinned(self.sizes(), self.dtype(), *device), self);
}

// Between devices only dense blocks of the same type travel; anything else is made so on its own device first.
void copy_across(const Tensor& dst, const Tensor& src, bool non_blocking) {
  bool same_layout = dst.dtype() == src.dtype() && dst.impl().is_dense() && src.impl().is_dense() &&
                     Dims::same(dst.strides(), src.strides());
  if (same_layout) {
    non_blocking = non_blocking && (src.device().is_cpu() ? is_pinned(src, dst.device())
                                                          : !dst.device().is_cpu() || is_pinned(dst, src.device()));
    copy_bytes(dst.data(), dst.device(), src.data(), src.device(), checked_bytes(dst.numel(), dst.dtype()),
               non_blocking);
    return;
  }
  // A strided range that the other side can hold as it is: move the bytes it spans.
  auto span_bytes = [](const Tensor& t) { return storage_bytes_needed(t.sizes(), t.strides(), 0, t.dtype()); };
  if (src.device().is_cpu()) {
    Tensor host = empty_strided_tensor(dst.sizes(), dst.strides(), dst.dtype(), Device{});
    if (!dst.impl().is_dense())
      copy_bytes(host.data(), Device{}, dst.data(), dst.device(), span_bytes(dst));  // keep the gaps
    copy_here(host, src);
    copy_bytes(dst.data(), dst.device(), host.data(), Device{}, span_bytes(dst));
  } else if (dst.device().is_cpu()) {
    Tensor host = empty_strided_tensor(src.sizes(), src.strides(), src.dtype(), Device{});
    copy_bytes(host.data(), Device{}, src.data(), src.device(), span_bytes(src));
    copy_here(dst, host);
  } else {
    Tensor host = empty_tensor(src.sizes(), src.dtype(), Device{});
    copy_(host, src);
    copy_(dst, host);
  }
}

Tensor copy_kernel(const Tensor& self, const Tensor& src, bool non_blocking) {
  FC_CHECK(self.defined() && src.defined(), "copy_: self and src must be tensors");
  if (self.same(src)) return self;
  static std::atomic<bool> said;
  if (is_complex(src.dtype()) && !is_complex(self.dtype()))
    warn_once(said, "Casting complex values to real discards the imaginary part");
  Tensor from = src;
  if (!Dims::same(self.sizes(), src.sizes())) {
    Dims shape = broadcast_shapes("copy_", self.sizes(), src.sizes());
    FC_CHECK(Dims::same(shape, self.sizes()), "copy_: output with shape ", self.sizes(),
             " doesn't match the broadcast shape ", shape);
    size_t lead = shape.size() - static_cast<size_t>(src.dim());
    Dims strides(shape.size());
    for (size_t d = lead; d < shape.size(); ++d) strides[d] = src.sizes()[d - lead] == 1 ? 0 : src.strides()[d - lead];
    from = make_view(src, shape, strides, src.offset());
  }
  if (self.numel() == 0) return self;
  if (self.device().is_meta()) return self;
  FC_CHECK_AS(NotImplementedError, !src.device().is_meta(), "Cannot copy out of meta tensor; no data!");
  if (self.device() == from.device()) {
    bool shared = self.impl().storage().get() == from.impl().storage().get();
    copy_here(self, shared ? clone(from) : from);
  } else {
    copy_across(self, from, non_blocking);
  }
  return self;
}

Tensor clone_kernel(const Tensor& self, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  Tensor out;
  if (f != MemoryFormat::Preserve) out = empty_tensor(self.sizes(), self.dtype(), self.device(), f);
  else if (self.is_contiguous()) out = empty_tensor(self.sizes(), self.dtype(), self.device());
  else if (self.impl().is_dense())
    out = empty_strided_tensor(self.sizes(), self.strides(), self.dtype(), self.device());
  else {
    MapInput in{&self, {}};
    out = empty_strided_tensor(self.sizes(), result_strides(self.sizes(), {&in, 1}), self.dtype(), self.device());
  }
  copy_kernel(out, self, false);
  return out;
}

Tensor to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>, bool non_blocking, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  DType t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  Tensor out;
  if (f != MemoryFormat::Preserve) {
    out = empty_tensor(self.sizes(), t, d, f);
  } else if (self.impl().is_dense()) {
    out = empty_strided_tensor(self.sizes(), self.strides(), t, d);
  } else {
    MapInput in{&self, {}};
    out = empty_strided_tensor(self.sizes(), result_strides(self.sizes(), {&in, 1}), t, d);
  }
  copy_(out, self, non_blocking);
  return out;
}

Tensor to_dtype_layout(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> format) {
  const Device d = with_index(device.value_or(self.device()));
  DType t = dtype.value_or(self.dtype());
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  if (!copy && t == self.dtype() && d == self.device() && (f == MemoryFormat::Preserve || self.is_contiguous(f)))
    return self;
  return call<"aten::_to_copy", Tensor>(self, std::optional(t), layout, std::optional(d), pin, non_blocking, format);
}

Tensor to_dtype_kernel(const Tensor& self, DType dtype, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> format) {
  return to_dtype_layout(self, dtype, {}, {}, {}, non_blocking, copy, format);
}
Tensor to_device(const Tensor& self, Device device, DType dtype, bool non_blocking, bool copy,
                 std::optional<MemoryFormat> format) {
  return to_dtype_layout(self, dtype, {}, device, {}, non_blocking, copy, format);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                std::optional<MemoryFormat> format) {
  return to_dtype_layout(self, other.dtype(), {}, other.device(), {}, non_blocking, copy, format);
}

Tensor contiguous_kernel(const Tensor& self, MemoryFormat format) {
  FC_CHECK(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  return self.is_contiguous(format) ? self : clone(self, format);
}

void fill_with(const Tensor& self, const Scalar& value) {
  if (self.numel() == 0 || self.device().is_meta()) return;
  check_fits("fill_", value, self.dtype());
  ByteStrides s(self);
  fc_copy c{};
  c.size = sizeof c;
  c.ndim = static_cast<int32_t>(self.dim());
  c.shape = self.sizes().data();
  c.dst = operand(self, s);
  c.src.value = to_number(self.dtype() == DType::Bool ? Scalar(value.to_bool()) : value);  // i is not zero
  c.src.dtype = c.dst.dtype;
  run_family(self.device(), c);
}

Tensor fill_scalar(const Tensor& self, const Scalar& value) {
  fill_with(self, value);
  return self;
}
Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  FC_CHECK(value.dim() == 0, "fill_: only supports a 0-dimensional value tensor, but got a tensor with ", value.dim(),
           " dimensions.");
  return copy_kernel(self, value, false);
}
Tensor filled(const Tensor& self, const Scalar& value) { return fill_(clone(self), value); }
Tensor filled_tensor(const Tensor& self, const Tensor& value) {
  return call<"aten::fill_.Tensor", Tensor>(clone(self), value);
}

Tensor positive(const Tensor& self) {
  FC_CHECK_AS(NotImplementedError, self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

Tensor zero_kernel(const Tensor& self) {
  fill_with(self, 0);
  return self;
}

Scalar item_kernel(const Tensor& self) {
  FC_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  FC_CHECK(!self.device().is_meta(), "Tensor.item() cannot be called on meta tensors");
  if (!self.device().is_cpu()) {
    Tensor host = empty_tensor({}, self.dtype(), Device{});
    copy_bytes(host.data(), Device{}, self.data(), self.device(), item_size(self.dtype()));
    return item_kernel(host);
  }
  switch (self.dtype()) {
    case DType::Float32: return static_cast<double>(*self.data_as<float>());
    case DType::Float64: return *self.data_as<double>();
    case DType::Int64: return *self.data_as<int64_t>();
    case DType::UInt64: return *self.data_as<uint64_t>();
    case DType::Bool: return *self.data_as<bool>();
    default: break;
  }
  switch (info(self.dtype()).kind) {
    case 'f':
    case 'c': {
      Tensor wide = empty_tensor({}, DType::Complex128, Device{});
      copy_here(wide, make_view(self, {}, {}, self.offset()));
      const auto* v = wide.data_as<double>();
      if (is_complex(self.dtype())) return ComplexDouble{v[0], v[1]};
      return v[0];
    }
    default: {
      Tensor wide = empty_tensor({}, DType::Int64, Device{});
      copy_here(wide, make_view(self, {}, {}, self.offset()));
      return *wide.data_as<int64_t>();
    }
  }
}

constexpr OpDef defs[] = {
    {.schema = "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     .doc = "Copies the elements of another tensor into this one, converting type and device.",
     .node = "CopyBackwards",
     .all = kernel<&copy_kernel>(),
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, zeros_like(g.out()));
           if (g.needs(1)) g.set(1, g.out());
         },
     .takes_numbers = true,
     .devices = Devices::Any,
     .overwrites = "self"},
    {.schema = "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     .doc = "A copy of the tensor; gradients flow through it.",
     .all = kernel<&clone_kernel>(),
     .grad = [](Grad& g) { g.set(0, g.out()); }},
    {.schema = "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
               "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&to_copy>(),
     .grad =
         [](Grad& g) {  // the engine casts to the input's type; the device is ours to restore
           g.set(0, call<"aten::to.device", Tensor>(g.out(), g.device(0), g.out().dtype(), false, false,
                                                    std::optional<MemoryFormat>()));
         },
     .hidden = true},
    {.schema = "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
               "memory_format=None) -> Tensor(a)",
     .doc = "The tensor with another element type, device or memory format; itself if nothing changes.",
     .composite = kernel<&to_dtype_kernel>()},
    {.schema = "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
               "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
               "Tensor(a)",
     .composite = kernel<&to_dtype_layout>()},
    {.schema = "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
               "MemoryFormat? memory_format=None) -> Tensor(a)",
     .composite = kernel<&to_device>()},
    {.schema = "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
               "memory_format=None) -> Tensor(a)",
     .composite = kernel<&to_other>()},
    {.schema = "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
     .doc = "The tensor itself if its elements lie in order, otherwise a copy that does.",
     .composite = kernel<&contiguous_kernel>()},
    {.schema = "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
     .node = "FillBackward2",
     .all = kernel<&fill_scalar>(),
     .grad = [](Grad& g) { g.set(0, zeros_like(g.out())); },
     .writes = Writes::OneValue,
     .overwrites = "self"},
    {.schema = "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
     .node = "FillBackward3",
     .all = kernel<&fill_tensor>(),
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, zeros_like(g.out()));
           if (g.needs(1)) g.set(1, sum(g.out()));
         },
     .devices = Devices::Any,
     .writes = Writes::OneValue,
     .overwrites = "self"},
    {.schema = "fill.Scalar(Tensor self, Scalar value) -> Tensor",
     .doc = "A copy of the tensor in which every element is the value.",
     .composite = kernel<&filled>()},
    {.schema = "fill.Tensor(Tensor self, Tensor value) -> Tensor", .composite = kernel<&filled_tensor>()},
    {.schema = "positive(Tensor(a) self) -> Tensor(a)",
     .doc = "The tensor itself; +x.",
     .composite = kernel<&positive>()},
    {.schema = "zero_(Tensor(a!) self) -> Tensor(a!)",
     .doc = "Sets every element to zero.",
     .all = kernel<&zero_kernel>(),
     .grad = [](Grad& g) { g.set(0, zeros_like(g.out())); },
     .writes = Writes::OneValue,
     .overwrites = "self"},
    {.schema = "_pin_memory(Tensor self, Device? device=None) -> Tensor",
     .all = kernel<&pin_memory>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "_local_scalar_dense(Tensor self) -> Scalar",
     .all = kernel<&item_kernel>(),
     .differentiable = false,
     .hidden = true},
};

}  // namespace

void define_copy() { define_all(defs); }

}  // namespace fc
