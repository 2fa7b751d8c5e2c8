// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors out of nothing.
#include "ops/calls.h"
#include "ops/define.h"
#include "ops/families.h"

namespace facula {
namespace {

using OptType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

Tensor empty_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return empty_tensor(size, dtype.value_or(default_dtype()), device.value_or(Device{}), format.value_or(MemoryFormat::Contiguous));
}

Tensor empty_strided_kernel(IntSpan size, IntSpan stride, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return empty_strided_tensor(size, stride, dtype.value_or(default_dtype()), device.value_or(Device{}));
}

Tensor full_kernel(IntSpan size, const Scalar& value, OptType dtype, OptLayout, OptDevice device, OptBool) {
  DType t = dtype.value_or(value.is_bool() ? DType::Bool : value.is_integral(false) ? DType::Int64 : value.is_complex() ? complex_of(default_dtype()) : default_dtype());
  return fill_(empty_tensor(size, t, device.value_or(Device{})), value);
}

Tensor zeros_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return zero_(empty_tensor(size, dtype.value_or(default_dtype()), device.value_or(Device{})));
}

Tensor ones_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return fill_(empty_tensor(size, dtype.value_or(default_dtype()), device.value_or(Device{})), 1);
}

Tensor like(const Tensor& self, OptType dtype, OptDevice device, OptFormat format) {
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  DType t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  if (f != MemoryFormat::Preserve) return empty_tensor(self.sizes(), t, d, f);
  if (self.impl().is_dense()) return empty_strided_tensor(self.sizes(), self.strides(), t, d);
  return empty_tensor(self.sizes(), t, d, suggest_memory_format(self));
}

Tensor empty_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return like(self, dtype, device, format);
}
Tensor full_like_kernel(const Tensor& self, const Scalar& value, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return fill_(like(self, dtype, device, format), value);
}
Tensor zeros_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return zero_(like(self, dtype, device, format));
}
Tensor ones_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return fill_(like(self, dtype, device, format), 1);
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

constexpr OpDef defs[] = {
    {.schema = "empty.memory_format(int[] size, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&empty_kernel>(), .differentiable = false},
    {.schema = "empty_strided(int[] size, int[] stride, *, " OPTIONS ") -> Tensor",
     .all = kernel<&empty_strided_kernel>(), .differentiable = false},
    {.schema = "full(int[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor", .all = kernel<&full_kernel>(), .differentiable = false},
    {.schema = "zeros(int[] size, *, " OPTIONS ") -> Tensor", .all = kernel<&zeros_kernel>(), .differentiable = false},
    {.schema = "ones(int[] size, *, " OPTIONS ") -> Tensor", .all = kernel<&ones_kernel>(), .differentiable = false},
    {.schema = "empty_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&empty_like_kernel>(), .differentiable = false},
    {.schema = "full_like(Tensor self, Scalar fill_value, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&full_like_kernel>(), .differentiable = false},
    {.schema = "zeros_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&zeros_like_kernel>(), .differentiable = false},
    {.schema = "ones_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     .all = kernel<&ones_like_kernel>(), .differentiable = false},
};
#undef OPTIONS

}  // namespace

Tensor zeros(IntSpan sizes, DType dtype, Device device) { return zero_(empty_tensor(sizes, dtype, device)); }
Tensor full(IntSpan sizes, const Scalar& value, DType dtype, Device device) { return fill_(empty_tensor(sizes, dtype, device), value); }
Tensor wrapped_number(const Scalar& v, Device device) {
  Tensor t = full({}, v, v.dtype(), device);
  t.impl().set_wrapped_number(true);
  return t;
}

void define_creation() { define_all(defs); }

}  // namespace facula
