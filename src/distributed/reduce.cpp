// SPDX-License-Identifier: Apache-2.0
#include "distributed/reduce.h"

#include <algorithm>
#include <complex>

#include "core/dtype.h"
#include "core/half.h"

namespace fc::distributed {
namespace {

template <class T, class F>
void each(void* into, const void* with, size_t count) {
  auto* a = static_cast<T*>(into);
  auto* b = static_cast<const T*>(with);
  for (size_t i = 0; i < count; ++i) a[i] = F()(a[i], b[i]);
}

// Narrow floats are combined in float32, a rounding a step.
template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float), class F>
void each_narrow(void* into, const void* with, size_t count) {
  auto* a = static_cast<uint16_t*>(into);
  auto* b = static_cast<const uint16_t*>(with);
  for (size_t i = 0; i < count; ++i) a[i] = Narrow(F()(Widen(a[i]), Widen(b[i])));
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
};
struct Min {  // a NaN on any rank is a NaN on all
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a != a || a < b ? a : b;
    else return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a != a || a > b ? a : b;
    else return std::max(a, b);
  }
};
struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

template <class F>
Combine of_integers(DType t) {
  switch (t) {
    case DType::Bool: return each<bool, F>;
    case DType::UInt8: return each<uint8_t, F>;
    case DType::Int8: return each<int8_t, F>;
    case DType::Int16: return each<int16_t, F>;
    case DType::Int32: return each<int32_t, F>;
    case DType::Int64: return each<int64_t, F>;
    case DType::UInt16: return each<uint16_t, F>;
    case DType::UInt32: return each<uint32_t, F>;
    case DType::UInt64: return each<uint64_t, F>;
    default: return nullptr;
  }
}
template <class F>
Combine of_reals(DType t) {
  switch (t) {
    case DType::Float16: return each_narrow<half_to_float, float_to_half, F>;
    case DType::BFloat16: return each_narrow<bfloat_to_float, float_to_bfloat, F>;
    case DType::Float32: return each<float, F>;
    case DType::Float64: return each<double, F>;
    default: return of_integers<F>(t);
  }
}
template <class F>
Combine of_numbers(DType t) {
  switch (t) {
    case DType::Complex64: return each<std::complex<float>, F>;
    case DType::Complex128: return each<std::complex<double>, F>;
    default: return of_reals<F>(t);
  }
}

}  // namespace

const char* name_of(ReduceOp op) {
  static constexpr const char* names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"};
  return names[static_cast<size_t>(op)];
}

Combine combine_function(ReduceOp op, DType t) {
  Combine f = nullptr;
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Average: f = of_numbers<Sum>(t); break;
    case ReduceOp::Product: f = of_numbers<Product>(t); break;
    case ReduceOp::Min: f = of_reals<Min>(t); break;
    case ReduceOp::Max: f = of_reals<Max>(t); break;
    case ReduceOp::BitAnd: f = of_integers<BitAnd>(t); break;
    case ReduceOp::BitOr: f = of_integers<BitOr>(t); break;
    case ReduceOp::BitXor: f = of_integers<BitXor>(t); break;
  }
  FC_CHECK_AS(ValueError, f, "ReduceOp.", name_of(op), " is not defined for ", info(t).name);
  return f;
}

}  // namespace fc::distributed
