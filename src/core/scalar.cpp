// SPDX-License-Identifier: Apache-2.0
#include "core/scalar.h"

#include <cmath>

namespace fc {

void Scalar::overflow(const char* type) {
  raise<Error>("value cannot be converted to type ", type, " without overflow");
}

bool fits(const Scalar& v, DType t) {
  if (is_complex(t) || t == DType::Bool) return true;
  if (v.is_complex() && v.to_complex().im != 0) return false;
  if (is_floating(t)) {
    const double most = t == DType::Float16         ? 65504
                        : t == DType::Float64       ? HUGE_VAL
                        : t == DType::Float8_e5m2   ? 57344
                        : t == DType::Float8_e4m3fn ? 448
                                                    : 0x1.fffffep127;
    const double x = std::fabs(v.to_complex().re);
    return !(x > most) || (std::isinf(x) && t != DType::Float8_e4m3fn);  // which has no infinity
  }
  if (v.is_unsigned()) return t == DType::UInt64;
  int bits = static_cast<int>(8 * item_size(t)) - (is_signed(t) ? 1 : 0);
  double limit = std::ldexp(1, bits);  // values below it fit; -limit fits with a sign, and wraps without
  if (v.is_integral(true) && bits < 63) return v.to_int() < int64_t{1} << bits && v.to_int() >= -(int64_t{1} << bits);
  if (v.is_integral(true)) return true;
  double x = v.to_complex().re;
  return x < limit && x >= -limit;
}

void check_fits(const char* op, const Scalar& v, DType t) {
  FC_CHECK(fits(v, t), op, ": value cannot be converted to type ", t, is_floating(t) ? "" : "_t",
           " without overflow: ", v);
}

std::string to_string(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return str(s.to_bool());
    case Scalar::Kind::Int: return str(s.to_int());
    case Scalar::Kind::UInt: return str(s.bits());
    case Scalar::Kind::Double: return str(s.to_double());
    default: {
      ComplexDouble c = s.to_complex();
      return str('(', c.re, c.im < 0 ? "" : "+", c.im, "j)");
    }
  }
}

}  // namespace fc
