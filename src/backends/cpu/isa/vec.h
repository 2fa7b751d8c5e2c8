// SPDX-License-Identifier: Apache-2.0
// Short vectors for kernels that keep accumulators in registers: the compiler's own vector types, as wide as the
// instruction set. A Lanes<T> is always 256 bytes of accumulators, however many registers that takes, so a fold has
// the same combination tree and the same bits under every instruction set.
#pragma once
#include <cstdint>
#include <cstring>

namespace facula::cpu::FC_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, const Vec<T>& v) {
  __builtin_memcpy(p, &v, sizeof v);
}
template <class T>
inline Vec<T> splat(T x) {
  return Vec<T>{} + x;
}

inline constexpr int kLaneVectors = 256 / kVectorBytes;
template <class T>
inline constexpr int kLanes = 256 / static_cast<int>(sizeof(T));

}  // namespace
}  // namespace facula::cpu::FC_ISA
