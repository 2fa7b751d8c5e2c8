// SPDX-License-Identifier: Apache-2.0
// Half types in one pass: cheap formulas, for which two more passes over a buffer of float32 would cost more than the
// formula itself. The arithmetic is float32's all the same, so the results are those of the other way. What only
// changes signs works on the bits. All operands are of one half type, but for numbers at the end and parameters:
// float32.
#include <algorithm>
#include <cstring>

#include "backends/cpu/isa/tile.h"
#include "core/half.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/shared.h"
#include "kernels/formulas/common.h"

#if defined(__F16C__)
#include <immintrin.h>

namespace fc::cpu::FC_ISA {
namespace {

constexpr int kBlock = 64;  // elements between load and store

#if defined(__AVX512F__)  // with masks that leave nothing out: GCC 12 warns of the plain forms' own headers
struct Half {
  static constexpr DType dtype = DType::Float16;
  FC_INLINE static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kBlock; i += 16)
      _mm512_store_ps(to + i,
                      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  }
  FC_INLINE static void narrow(const float* from, uint16_t* to) {
    for (int i = 0; i < kBlock; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm512_maskz_cvtps_ph(0xffff, _mm512_load_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
};
struct BFloat {
  static constexpr DType dtype = DType::BFloat16;
  FC_INLINE static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kBlock; i += 16) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
      _mm512_store_si512(to + i, _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, bits), 16));
    }
  }
  FC_INLINE static void narrow(const float* from, uint16_t* to) {  // float_to_bfloat of sixteen
    for (int i = 0; i < kBlock; i += 16) {
      const __m512i bits = _mm512_load_si512(from + i), one = _mm512_set1_epi32(1), less = _mm512_set1_epi32(0x7fff);
      const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, bits, 16), one);
      const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, less), odd);
      const __mmask16 nan = _mm512_cmp_ps_mask(_mm512_castsi512_ps(bits), _mm512_castsi512_ps(bits), _CMP_UNORD_Q);
      const __m512i y = _mm512_mask_mov_epi32(up, nan, _mm512_set1_epi32(0x7fc00000));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm512_maskz_cvtepi32_epi16(0xffff, _mm512_maskz_srli_epi32(0xffff, y, 16)));
    }
  }
};
#else
struct Half {
  static constexpr DType dtype = DType::Float16;
  FC_INLINE static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kBlock; i += 8)
      _mm256_store_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  FC_INLINE static void narrow(const float* from, uint16_t* to) {
    for (int i = 0; i < kBlock; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm256_cvtps_ph(_mm256_load_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
};
struct BFloat {
  static constexpr DType dtype = DType::BFloat16;
  FC_INLINE static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kBlock; i += 8) {
      const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
      _mm256_store_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
    }
  }
  FC_INLINE static void narrow(const float* from, uint16_t* to) {
    for (int i = 0; i < kBlock; i += 16) {
      const __m256i both = _mm256_packus_epi32(rounded(from + i), rounded(from + i + 8));  // 0-3, 8-11; 4-7, 12-15
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(both, 0b11011000));
    }
  }
  // float_to_bfloat of eight
  FC_INLINE static __m256i rounded(const float* from) {
    const __m256 x = _mm256_load_ps(from);
    const __m256i bits = _mm256_castps_si256(x),
                  odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    const __m256 y = _mm256_blendv_ps(_mm256_castsi256_ps(up), nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_castps_si256(y), 16);
  }
};
#endif

template <class Op>
FC_INLINE float apply(const float (*x)[kBlock], int i, const float* p) {
  if constexpr (Op::arity == 1) return Op::apply(x[0][i], p);
  else if constexpr (Op::arity == 2) return Op::apply(x[0][i], x[1][i], p);
  else return Op::apply(x[0][i], x[1][i], x[2][i], p);
}

// The last `wide` operands are float32.
template <class Op, class Type, int wide>
FC_INLINE void block(uint16_t* r, const char* const* in, const float* p) {
  alignas(64) float x[Op::arity][kBlock], y[kBlock];
  for (int k = 0; k < Op::arity; ++k) {
    if (k < Op::arity - wide) Type::widen(reinterpret_cast<const uint16_t*>(in[k]), x[k]);
    else
      for (int i = 0; i < kBlock; i += 8)
        _mm256_store_ps(x[k] + i, _mm256_loadu_ps(reinterpret_cast<const float*>(in[k]) + i));
  }
  for (int i = 0; i < kBlock; ++i) y[i] = apply<Op>(x, i, p);
  Type::narrow(y, r);
}

template <class Op, class Type, int wide>
void half_flat(char* const* ptr, int64_t n, const void* params) {
  const Params<Op, float> local(params);
  auto* r = reinterpret_cast<uint16_t*>(ptr[0]);
  const char* in[Op::arity];
  std::copy_n(ptr + 1, Op::arity, in);
  auto item = [](int k) { return k < Op::arity - wide ? sizeof(uint16_t) : sizeof(float); };
  for (; n >= kBlock; n -= kBlock, r += kBlock) {
    block<Op, Type, wide>(r, in, local.p);
    for (int k = 0; k < Op::arity; ++k) in[k] += kBlock * item(k);
  }
  if (n == 0) return;
  char rest[Op::arity][kBlock * sizeof(float)] = {};
  uint16_t result[kBlock];
  for (int k = 0; k < Op::arity; ++k) {
    std::memcpy(rest[k], in[k], static_cast<size_t>(n) * item(k));
    in[k] = rest[k];
  }
  block<Op, Type, wide>(result, in, local.p);
  std::copy_n(result, n, r);
}

template <class Type, int wide, class... Op>
void add_halves(KernelTable& t, scalar::op_list<Op...>) {
  auto add = [&](int opcode, FlatFn all, FlatFn numbers) {
    t.map[opcode][static_cast<int>(Type::dtype)] = {all, Type::dtype, 1, numbers, wide};
  };
  (add(Op::code, half_flat<Op, Type, 0>, wide > 0 ? half_flat<Op, Type, wide> : nullptr), ...);
}
template <class Type>
void add_type(KernelTable& t) {
  using namespace scalar;
  add_halves<Type, 0>(t, op_list<square, reciprocal, sqrt, rsqrt, floor, ceil, trunc, round, relu, leaky_relu, hardtanh,
                                 hardswish, hardsigmoid, threshold, threshold_backward, leaky_relu_backward,
                                 hardtanh_backward, sigmoid_backward, tanh_backward, addcmul, addcdiv>{});
  add_halves<Type, 1>(t, op_list<add, sub, rsub, mul, div, maximum, minimum, clamp_min, clamp_max, lerp>{});
  add_halves<Type, 2>(t, op_list<clamp>{});
}

struct NegBits {
  FC_INLINE static uint16_t apply(uint16_t a, uint16_t) { return a ^ 0x8000; }
};
struct AbsBits {
  FC_INLINE static uint16_t apply(uint16_t a, uint16_t) { return a & 0x7fff; }
};
struct CopysignBits {
  FC_INLINE static uint16_t apply(uint16_t a, uint16_t b) { return static_cast<uint16_t>((a & 0x7fff) | (b & 0x8000)); }
};
template <class Op, int last>  // last: the operand that is b
void bits_flat(char* const* ptr, int64_t n, const void*) {
  auto* r = reinterpret_cast<uint16_t*>(ptr[0]);
  auto* a = reinterpret_cast<const uint16_t*>(ptr[1]);
  auto* b = reinterpret_cast<const uint16_t*>(ptr[last]);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) r[i] = Op::apply(a[i], b[i]);
}

}  // namespace

void fill_half(KernelTable& t) {
  add_type<Half>(t);
  add_type<BFloat>(t);
  for (DType type : {DType::Float16, DType::BFloat16}) {
    t.map[FC_MAP_neg][static_cast<int>(type)] = {bits_flat<NegBits, 1>, type};
    t.map[FC_MAP_abs][static_cast<int>(type)] = {bits_flat<AbsBits, 1>, type};
    t.map[FC_MAP_copysign][static_cast<int>(type)] = {bits_flat<CopysignBits, 2>, type};
  }
}

}  // namespace fc::cpu::FC_ISA

#else

namespace fc::cpu::FC_ISA {
void fill_half(KernelTable&) {}  // the walker converts
}  // namespace fc::cpu::FC_ISA

#endif
