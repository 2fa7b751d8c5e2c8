// SPDX-License-Identifier: Apache-2.0
// Element types and what is known about each, memory formats and layouts. The numbers are PyTorch's, because
// TorchScript text and archives carry them; gaps are types that do not exist here.
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
  Complex32 = 8,
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
namespace detail {
inline constexpr DTypeInfo kNoDType{"", nullptr, 0, ' '};
// In the header, because every call asks it several times. The first entry is Undefined's.
inline constexpr DTypeInfo kDTypes[kDTypeSlots + 1] = {
    kNoDType,
    {"uint8", "Byte", 1, 'u'},
    {"int8", "Char", 1, 'i'},
    {"int16", "Short", 2, 'i'},
    {"int32", "Int", 4, 'i'},
    {"int64", "Long", 8, 'i'},
    {"float16", "Half", 2, 'f'},
    {"float32", "Float", 4, 'f'},
    {"float64", "Double", 8, 'f'},
    {"complex32", "ComplexHalf", 4, 'c'},
    {"complex64", "ComplexFloat", 8, 'c'},
    {"complex128", "ComplexDouble", 16, 'c'},
    {"bool", "Bool", 1, 'b'},
    kNoDType,
    kNoDType,
    kNoDType,
    {"bfloat16", "BFloat16", 2, 'f'},
    kNoDType,
    kNoDType,
    kNoDType,
    kNoDType,
    kNoDType,
    kNoDType,
    kNoDType,
    {"float8_e5m2", "Float8_e5m2", 1, 'f'},
    {"float8_e4m3fn", "Float8_e4m3fn", 1, 'f'},
    kNoDType,
    kNoDType,
    {"uint16", "UInt16", 2, 'u'},
    {"uint32", "UInt32", 4, 'u'},
    {"uint64", "UInt64", 8, 'u'},
};
}  // namespace detail
inline const DTypeInfo& info(DType t) { return detail::kDTypes[static_cast<int>(t) + 1]; }

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
inline std::string_view to_string(DType t) { return t == DType::Undefined ? "undefined" : info(t).name; }

enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };
enum class Layout : int8_t { Strided = 0, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc };
std::string_view to_string(Layout layout);  // "sparse_coo"

}  // namespace fc
