// SPDX-License-Identifier: Apache-2.0
// Turns scalar formulas into tile kernels. The loop over a contiguous row is written so that the compiler vectorises
// it; a second form handles a repeated operand (broadcast numbers), a third any strides.
#pragma once
#include "backends/cpu/isa.h"
#include "kernels/scalar.h"

// The loop below carries nothing from one turn to the next.
#if defined(__clang__)
#define FC_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FC_IVDEP _Pragma("GCC ivdep")
#endif

namespace facula::cpu::FC_ISA {
namespace {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::Int8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::Int16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::Int64;
  else if constexpr (std::is_same_v<T, float>) return DType::Float32;
  else if constexpr (std::is_same_v<T, double>) return DType::Float64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return DType::Complex64;
  else return DType::Complex128;
}

template <class Op, class T>
void unary_tile(char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const T* p = static_cast<const T*>(params);
  using R = decltype(Op::apply(T(), p));
  for (int64_t j = 0; j < n1; ++j) {
    char* out = ptr[0] + j * s[2];
    const char* in = ptr[1] + j * s[3];
    if (s[0] == sizeof(R) && s[1] == sizeof(T)) {
      auto* __restrict r = reinterpret_cast<R*>(out);  // in-place calls read each element before they write it
      auto* x = reinterpret_cast<const T*>(in);
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(x[i], p);
    } else {
      for (int64_t i = 0; i < n0; ++i)
        *reinterpret_cast<R*>(out + i * s[0]) = Op::apply(*reinterpret_cast<const T*>(in + i * s[1]), p);
    }
  }
}

template <class Op, class T>
void binary_tile(char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const T* p = static_cast<const T*>(params);
  using R = decltype(Op::apply(T(), T(), p));
  constexpr int64_t step = sizeof(T);
  for (int64_t j = 0; j < n1; ++j) {
    char* out = ptr[0] + j * s[3];
    const char* in0 = ptr[1] + j * s[4];
    const char* in1 = ptr[2] + j * s[5];
    auto* r = reinterpret_cast<R*>(out);
    auto* a = reinterpret_cast<const T*>(in0);
    auto* b = reinterpret_cast<const T*>(in1);
    if (s[0] == sizeof(R) && s[1] == step && s[2] == step) {
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(a[i], b[i], p);
    } else if (s[0] == sizeof(R) && s[1] == step && s[2] == 0) {
      const T y = *b;
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(a[i], y, p);
    } else if (s[0] == sizeof(R) && s[1] == 0 && s[2] == step) {
      const T x = *a;
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(x, b[i], p);
    } else {
      for (int64_t i = 0; i < n0; ++i)
        *reinterpret_cast<R*>(out + i * s[0]) =
            Op::apply(*reinterpret_cast<const T*>(in0 + i * s[1]), *reinterpret_cast<const T*>(in1 + i * s[2]), p);
    }
  }
}

template <class Op, class T>
void ternary_tile(char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void* params) {
  const T* p = static_cast<const T*>(params);
  constexpr int64_t step = sizeof(T);
  for (int64_t j = 0; j < n1; ++j) {
    char* out = ptr[0] + j * s[4];
    const char* in[3] = {ptr[1] + j * s[5], ptr[2] + j * s[6], ptr[3] + j * s[7]};
    auto* r = reinterpret_cast<T*>(out);
    auto* a = reinterpret_cast<const T*>(in[0]);
    if (s[0] == step && s[1] == step && s[2] == 0 && s[3] == 0) {
      const T y = *reinterpret_cast<const T*>(in[1]), z = *reinterpret_cast<const T*>(in[2]);
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(a[i], y, z, p);
    } else if (s[0] == step && s[1] == step && s[2] == step && s[3] == step) {
      auto* b = reinterpret_cast<const T*>(in[1]);
      auto* c = reinterpret_cast<const T*>(in[2]);
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = Op::apply(a[i], b[i], c[i], p);
    } else {
      for (int64_t i = 0; i < n0; ++i)
        *reinterpret_cast<T*>(out + i * s[0]) =
            Op::apply(*reinterpret_cast<const T*>(in[0] + i * s[1]), *reinterpret_cast<const T*>(in[1] + i * s[2]),
                      *reinterpret_cast<const T*>(in[2] + i * s[3]), p);
    }
  }
}

template <class Op, class T>
void add_kernel(KernelTable& t, int16_t cost) {
  MapKernel& k = t.map[Op::code][static_cast<int>(dtype_of<T>())];
  k.cost = cost;
  if constexpr (Op::arity == 1) {
    k.fn = unary_tile<Op, T>;
    k.result = dtype_of<decltype(Op::apply(T(), static_cast<const T*>(nullptr)))>();
  } else if constexpr (Op::arity == 2) {
    k.fn = binary_tile<Op, T>;
    k.result = dtype_of<decltype(Op::apply(T(), T(), static_cast<const T*>(nullptr)))>();
  } else {
    k.fn = ternary_tile<Op, T>;
    k.result = dtype_of<T>();
  }
}

template <class Op>
void add_op(KernelTable& t, int16_t cost) {
  if constexpr (Op::accepts & scalar::kBool) add_kernel<Op, bool>(t, cost);
  if constexpr (Op::accepts & scalar::kInt) {
    add_kernel<Op, uint8_t>(t, cost);
    add_kernel<Op, int8_t>(t, cost);
    add_kernel<Op, int16_t>(t, cost);
    add_kernel<Op, int32_t>(t, cost);
    add_kernel<Op, int64_t>(t, cost);
  }
  if constexpr (Op::accepts & scalar::kReal) {
    add_kernel<Op, float>(t, cost);
    add_kernel<Op, double>(t, cost);
  }
  if constexpr (Op::accepts & scalar::kComplex) {
    add_kernel<Op, std::complex<float>>(t, cost);
    add_kernel<Op, std::complex<double>>(t, cost);
  }
}

template <class... Op>
void add_ops(KernelTable& t, scalar::op_list<Op...>, int16_t cost) {
  (add_op<Op>(t, cost), ...);
}

}  // namespace
}  // namespace facula::cpu::FC_ISA
