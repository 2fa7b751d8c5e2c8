// SPDX-License-Identifier: Apache-2.0
// The rules between element types.
#pragma once
#include <string_view>

#include <facula/dtype.h>

namespace fc {

DType real_of(DType t);     // complex64 -> float32
DType complex_of(DType t);  // float32 -> complex64
// The type arithmetic happens in: float32 for reduced types, complex64 for complex32, else t.
inline DType compute_type(DType t) {
  return is_reduced(t) ? DType::Float32 : t == DType::Complex32 ? DType::Complex64 : t;
}
DType promote_different(DType a, DType b);
inline DType promote(DType a, DType b) {
  if (a == b || b == DType::Undefined) return a;
  return a == DType::Undefined ? b : promote_different(a, b);
}
bool can_cast(DType from, DType to);       // by kind, as torch.can_cast
DType parse_dtype(std::string_view name);  // Undefined if unknown

DType default_dtype();
void set_default_dtype(DType t);

}  // namespace fc
