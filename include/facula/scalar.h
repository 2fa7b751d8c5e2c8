// SPDX-License-Identifier: Apache-2.0
// A number from outside a tensor: bool, integer, double or complex. It keeps its category, because type
// promotion ranks Python numbers below tensors of the same category. Integers are signed; one of 2^63 or more, which
// only uint64 holds, is a kind of its own.
#pragma once
#include <cstdint>

#include <facula/dtype.h>

namespace fc {

struct ComplexDouble {
  double re = 0, im = 0;
  friend bool operator==(const ComplexDouble&, const ComplexDouble&) = default;
};

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Double, Complex, UInt };

  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool v) : kind_(Kind::Bool), i_(v) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : kind_(Kind::Int), i_(v) {}
  Scalar(uint64_t v) : kind_(v >> 63 ? Kind::UInt : Kind::Int), i_(static_cast<int64_t>(v)) {}
  Scalar(double v) : kind_(Kind::Double), re_(v) {}
  Scalar(ComplexDouble v) : kind_(Kind::Complex), re_(v.re), im_(v.im) {}

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral(bool with_bool) const {
    return kind_ == Kind::Int || kind_ == Kind::UInt || (with_bool && is_bool());
  }
  bool is_unsigned() const { return kind_ == Kind::UInt; }  // 2^63 or more
  bool is_double() const { return kind_ == Kind::Double; }
  bool is_complex() const { return kind_ == Kind::Complex; }

  // The type this number has as a 0-d tensor.
  DType dtype() const {
    switch (kind_) {
      case Kind::Bool: return DType::Bool;
      case Kind::Int: return DType::Int64;
      case Kind::UInt: return DType::UInt64;
      case Kind::Double: return DType::Float64;
      default: return DType::Complex128;
    }
  }
  double to_double() const {
    if (kind_ == Kind::Complex && im_ != 0) [[unlikely]]
      overflow("double");
    return real();
  }
  int64_t to_int() const {
    if (kind_ <= Kind::Int) return i_;
    double d = to_double();
    if (!(d >= -0x1p63 && d < 0x1p63)) [[unlikely]]
      overflow("int64_t");
    return static_cast<int64_t>(d);
  }
  uint64_t bits() const { return static_cast<uint64_t>(i_); }  // of an integer, modulo 2^64
  bool to_bool() const { return is_integral(true) ? i_ != 0 : (re_ != 0 || (is_complex() && im_ != 0)); }
  ComplexDouble to_complex() const {
    if (is_complex()) return {re_, im_};
    return {real(), 0};
  }
  bool is_zero() const { return !to_bool(); }
  bool equals(double v) const { return real() == v && (!is_complex() || im_ == 0); }
  Scalar operator-() const {
    switch (kind_) {
      case Kind::Bool:
      case Kind::Int:
      case Kind::UInt: return static_cast<int64_t>(-bits());
      case Kind::Double: return -re_;
      default: return ComplexDouble{-re_, -im_};
    }
  }

 private:
  [[noreturn, gnu::cold]] static void overflow(const char* type);  // throws Error
  double real() const {
    if (is_unsigned()) return static_cast<double>(bits());
    return is_integral(true) ? static_cast<double>(i_) : re_;
  }

  Kind kind_;
  union {
    int64_t i_;
    double re_;
  };
  double im_ = 0;
};

}  // namespace fc
