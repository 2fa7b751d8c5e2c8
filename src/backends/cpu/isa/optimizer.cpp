// SPDX-License-Identifier: Apache-2.0
// The arithmetic is that of the operators (lerp, addcmul, addcdiv …), in the same order.
#include "backends/cpu/optimizer.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "backends/cpu/isa.h"

namespace fc::cpu::FC_ISA {
namespace {

template <class T, bool amsgrad, bool decays>
void adam_rows(void* const* rows, int64_t n, const AdamStep& s) {
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T *m = static_cast<T*>(rows[2]), *v = static_cast<T*>(rows[3]), *largest = static_cast<T*>(rows[amsgrad ? 4 : 3]);
  const T sign = s.maximize ? T(-1) : T(1), decay = T(s.decay), shrink = T(s.shrink), weight = T(1 - s.beta1);
  const T keep = T(s.beta2), add = T(1 - s.beta2), root = T(s.root), eps = T(s.eps), rate = T(-s.rate);
  const bool near = weight < T(0.5);  // lerp is exact at both ends
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    T grad = g[i] * sign, w = p[i];
    if constexpr (decays) grad += w * decay;
    else w *= shrink;
    const T way = grad - m[i];
    const T mean = near ? m[i] + weight * way : grad - way * (T(1) - weight);
    T square = v[i] * keep + (grad * add) * grad;
    m[i] = mean;
    v[i] = square;
    if constexpr (amsgrad) {
      square = largest[i] > square || largest[i] != largest[i] ? largest[i] : square;
      largest[i] = square;
    }
    p[i] = w + (mean * rate) / (std::sqrt(square) / root + eps);
  }
}

template <class T>
void adam(void* const* rows, int64_t n, const void* step) {
  const auto& s = *static_cast<const AdamStep*>(step);
  if (s.amsgrad) (s.decay != 0 ? adam_rows<T, true, true> : adam_rows<T, true, false>)(rows, n, s);
  else (s.decay != 0 ? adam_rows<T, false, true> : adam_rows<T, false, false>)(rows, n, s);
}

template <class T, bool momentum, bool decays>
void sgd_rows(void* const* rows, int64_t n, const SgdStep& s) {
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* buffer = static_cast<T*>(rows[momentum ? 2 : 0]);
  const T sign = s.maximize ? T(-1) : T(1), decay = T(s.decay), rate = T(-s.rate);
  const T keep = T(s.first ? 0 : s.momentum), add = T(s.first ? 1 : 1 - s.dampening), ahead = T(s.momentum);
  const bool first = s.first, nesterov = s.nesterov;
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    T grad = g[i] * sign;
    if constexpr (decays) grad += p[i] * decay;
    if constexpr (momentum) {
      const T b = first ? grad : buffer[i] * keep + grad * add;
      buffer[i] = b;
      grad = nesterov ? grad + b * ahead : b;
    }
    p[i] += grad * rate;
  }
}

template <class T>
void sgd(void* const* rows, int64_t n, const void* step) {
  const auto& s = *static_cast<const SgdStep*>(step);
  if (s.momentum != 0) (s.decay != 0 ? sgd_rows<T, true, true> : sgd_rows<T, true, false>)(rows, n, s);
  else (s.decay != 0 ? sgd_rows<T, false, true> : sgd_rows<T, false, false>)(rows, n, s);
}

template <class T, bool decays>
void adagrad_rows(void* const* rows, int64_t n, const AdagradStep& s) {
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* sum = static_cast<T*>(rows[2]);
  const T sign = s.maximize ? T(-1) : T(1), decay = T(s.decay), rate = T(-s.rate), eps = T(s.eps);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    T grad = g[i] * sign;
    if constexpr (decays) grad += p[i] * decay;
    const T total = sum[i] + grad * grad;
    sum[i] = total;
    p[i] += (grad * rate) / (std::sqrt(total) + eps);
  }
}

template <class T>
void adagrad(void* const* rows, int64_t n, const void* step) {
  const auto& s = *static_cast<const AdagradStep*>(step);
  (s.decay != 0 ? adagrad_rows<T, true> : adagrad_rows<T, false>)(rows, n, s);
}

template <class T>
void scale(void* row, int64_t n, double factor) {
  T* x = static_cast<T*>(row);
  const T by = T(factor);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] *= by;
}

template <class T>
bool all_finite(const void* row, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7f800000} : static_cast<Bits>(0x7ff0000000000000);
  const T* x = static_cast<const T*>(row);
  Bits found = 0;
  for (int64_t i = 0; i < n; ++i) found |= static_cast<Bits>((std::bit_cast<Bits>(x[i]) & exponent) == exponent);
  return found == 0;
}

}  // namespace

extern const OptimizerKernels optimizer_table[2] = {
    {adam<float>, sgd<float>, adagrad<float>, scale<float>, all_finite<float>},
    {adam<double>, sgd<double>, adagrad<double>, scale<double>, all_finite<double>}};

}  // namespace fc::cpu::FC_ISA
