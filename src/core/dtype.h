// SPDX-License-Identifier: Apache-2.0
// Element types and the rules between them. The numbers are PyTorch's ScalarType numbers, because TorchScript
// text and archives carry them; gaps are types that do not exist here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fc {

enum class DType : int8_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
  Undefined = -1,
};
inline constexpr int kDTypeSlots = 30;  // size of a table indexed by DType

struct DTypeInfo {
  const char* name;    // "float32"
  const char* legacy;  // "Float": the name in PyTorch's messages; null where the type does not exist
  uint8_t size;        // bytes
  char kind;           // 'b' bool, 'u', 'i', 'f', 'c'
};
const DTypeInfo& info(DType t);

inline bool exists(DType t) {
  int i = static_cast<int>(t);
  return i >= 0 && i < kDTypeSlots && info(t).legacy != nullptr;
}
inline size_t item_size(DType t) { return info(t).size; }
inline bool is_floating(DType t) { return info(t).kind == 'f'; }
inline bool is_complex(DType t) { return info(t).kind == 'c'; }
inline bool is_integral(DType t, bool with_bool) {
  char k = info(t).kind;
  return k == 'i' || k == 'u' || (with_bool && k == 'b');
}
inline bool is_signed(DType t) { return info(t).kind != 'b' && info(t).kind != 'u'; }
// float16, bfloat16 and the float8 types: stored narrow, computed in float32.
inline bool is_reduced(DType t) { return is_floating(t) && item_size(t) < 4; }
inline bool is_barebones(DType t) {  // storage and casts only
  return t >= DType::UInt16 || t == DType::Float8_e5m2 || t == DType::Float8_e4m3fn;
}

DType real_of(DType t);       // complex64 -> float32
DType complex_of(DType t);    // float32 -> complex64
DType compute_type(DType t);  // the type arithmetic happens in: float32 for reduced types, else t
DType promote(DType a, DType b);
bool can_cast(DType from, DType to);       // by kind, as torch.can_cast
DType parse_dtype(std::string_view name);  // Undefined if unknown
inline std::string_view to_string(DType t) { return t == DType::Undefined ? "undefined" : info(t).name; }

DType default_dtype();
void set_default_dtype(DType t);

}  // namespace fc
