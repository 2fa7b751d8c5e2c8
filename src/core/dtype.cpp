// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include "core/error.h"

namespace fc {
namespace {

DType default_float = DType::Float32;

int category(DType t) {
  switch (info(t).kind) {
    case 'b': return 0;
    case 'u':
    case 'i': return 1;
    case 'f': return 2;
    default: return 3;
  }
}

}  // namespace

DType real_of(DType t) {
  if (t == DType::Complex32) return DType::Float16;
  if (t == DType::Complex64) return DType::Float32;
  if (t == DType::Complex128) return DType::Float64;
  return t;
}

DType complex_of(DType t) {
  if (is_complex(t)) return t;
  return t == DType::Float16 ? DType::Complex32 : t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

DType promote_different(DType a, DType b) {
  // Types for storage promote with nothing, but for wide unsigned integers with floats and complex numbers.
  auto lone = [](DType x, DType other) {
    const bool complex = is_complex(other) && other != DType::Complex32;
    return is_barebones(x) && (is_floating(x) || (!is_floating(other) && !complex));
  };
  FC_CHECK(!lone(a, b) && !lone(b, a), "Promotion for ",
           (is_barebones(a) && is_floating(a)) || (is_barebones(b) && is_floating(b)) ? "Float8 Types"
                                                                                      : "uint16, uint32, uint64 types",
           " is not supported, attempted to promote ", info(a).legacy, " and ", info(b).legacy);
  int ca = category(a), cb = category(b);
  if (ca != cb) {
    DType hi = ca > cb ? a : b, lo = ca > cb ? b : a;
    // complex with wider floats becomes as wide; any other lower category leaves the higher one as it is
    if (is_complex(hi) && is_floating(lo)) return promote(hi, complex_of(lo));
    return hi;
  }
  switch (ca) {
    case 1: {
      if (is_signed(a) == is_signed(b)) return item_size(a) >= item_size(b) ? a : b;
      DType s = is_signed(a) ? a : b;  // uint8 with a signed type
      return item_size(s) > 1 ? s : DType::Int16;
    }
    case 2: {
      if (a == DType::Float64 || b == DType::Float64) return DType::Float64;
      return DType::Float32;  // float16 with bfloat16, or either with float32
    }
    default: return item_size(a) >= item_size(b) ? a : b;
  }
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  return !(from != DType::Bool && to == DType::Bool && from != to);
}

DType parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeSlots; ++i)
    if (DType t = static_cast<DType>(i); info(t).legacy && name == info(t).name) return t;
  return DType::Undefined;
}

DType default_dtype() { return default_float; }
void set_default_dtype(DType t) {
  FC_CHECK_AS(TypeError, is_floating(t), "only floating-point types are supported as the default type");
  default_float = t;
}

}  // namespace fc
