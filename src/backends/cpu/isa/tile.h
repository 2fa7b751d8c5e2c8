// SPDX-License-Identifier: Apache-2.0
// Turns scalar formulas into flat kernels: one loop over contiguous elements, which the compiler vectorises, or over
// vectors, where the instruction set has some that formulas are made for (kernels/lanes.h).
#pragma once
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/vec.h"
#include "kernels/formula.h"

namespace fc::cpu::FC_ISA {
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

// Parameters, copied so that the compiler knows the loop does not change them.
template <class Op, class T>
struct Params {
  T p[FC_MAX_PARAMS] = {};
  explicit Params(const void* from) {
    for (int i = 0; i < Op::params; ++i) p[i] = static_cast<const T*>(from)[i];
  }
};

template <class Op, class T>
constexpr bool runs_on_vectors() {
  if constexpr ((Op::accepts & scalar::kVectors) && std::is_floating_point_v<T>) return math::own::is_wide<Vec<T>>;
  else return false;
}

// r[i] = f(a[i]...) of vectors; the last, incomplete one is filled up with ones.
template <class T, class F, class... In>
FC_INLINE void vectors_flat(T* r, int64_t n, const F& f, const In*... in) {
  constexpr int W = kWidth<T>;
  const int64_t rest = n % W, whole = n - rest;
  for (int64_t i = 0; i < whole; i += W) store<T>(r + i, f(load(in + i)...));
  if (rest) store_part<T>(r + whole, f(load_part(in + whole, rest, T(1))...), rest);
}

// In-place calls read each element before they write it, so `ivdep` holds for them too.
template <class Op, class T>
void unary_flat(char* const* ptr, int64_t n, const void* params) {
  const Params<Op, T> local(params);
  using R = decltype(Op::apply(T(), local.p));
  auto* r = reinterpret_cast<R*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  if constexpr (runs_on_vectors<Op, T>()) {
    vectors_flat(
        r, n, [&](Vec<T> x) { return Op::apply(x, local.p); }, a);
  } else {
    FC_IVDEP
    for (int64_t i = 0; i < n; ++i) r[i] = Op::apply(a[i], local.p);
  }
}

template <class Op, class T>
void binary_flat(char* const* ptr, int64_t n, const void* params) {
  const Params<Op, T> local(params);
  using R = decltype(Op::apply(T(), T(), local.p));
  auto* r = reinterpret_cast<R*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  auto* b = reinterpret_cast<const T*>(ptr[2]);
  if constexpr (runs_on_vectors<Op, T>()) {
    vectors_flat(
        r, n, [&](Vec<T> x, Vec<T> y) { return Op::apply(x, y, local.p); }, a, b);
  } else {
    FC_IVDEP
    for (int64_t i = 0; i < n; ++i) r[i] = Op::apply(a[i], b[i], local.p);
  }
}

template <class Op, class T>
void ternary_flat(char* const* ptr, int64_t n, const void* params) {
  const Params<Op, T> local(params);
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* a = reinterpret_cast<const T*>(ptr[1]);
  auto* b = reinterpret_cast<const T*>(ptr[2]);
  auto* c = reinterpret_cast<const T*>(ptr[3]);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) r[i] = Op::apply(a[i], b[i], c[i], local.p);
}

// The element type of what a formula gives. An int, to which C++ promotes narrow operands, would be right but slow: the
// walker would convert it back.
template <class T, class R>
constexpr DType result_of() {
  static_assert(std::is_same_v<R, T> || std::is_same_v<R, bool> || std::is_same_v<R, scalar::real_t<T>> ||
                    std::is_same_v<R, std::complex<T>>,
                "a formula gives its operands' type, bool, or the real or complex type that belongs to it");
  return dtype_of<R>();
}

template <class Op, class T>
void add_kernel(KernelTable& t, int16_t cost) {
  MapKernel& k = t.map[Op::code][static_cast<int>(dtype_of<T>())];
  k.cost = cost;
  if constexpr (Op::arity == 1) {
    k.fn = unary_flat<Op, T>;
    k.result = result_of<T, decltype(Op::apply(T(), static_cast<const T*>(nullptr)))>();
  } else if constexpr (Op::arity == 2) {
    k.fn = binary_flat<Op, T>;
    k.result = result_of<T, decltype(Op::apply(T(), T(), static_cast<const T*>(nullptr)))>();
  } else {
    k.fn = ternary_flat<Op, T>;
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

// Lists start with void, because the rows that make them start with commas.
template <class... Op>
void add_ops(KernelTable& t, scalar::op_list<void, Op...>, int16_t cost) {
  (add_op<Op>(t, cost), ...);
}

}  // namespace
}  // namespace fc::cpu::FC_ISA
