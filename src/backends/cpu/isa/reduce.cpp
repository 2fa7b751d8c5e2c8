// SPDX-License-Identifier: Apache-2.0
// The base reductions: sums, products, any and all.
#include "backends/cpu/isa/fold.h"
#include "core/half.h"
#include "kernels/formulas/base_folds.h"
#include "kernels/formulas/shared_folds.h"

namespace fc::cpu::FC_ISA {
namespace {

#if defined(__F16C__)
// Half types are widened in registers. The sum is float32's, with its bits. (AVX-512 with masks that leave nothing out:
// GCC 12 warns of the plain forms' own headers.)
struct FromHalf {
  using Stored = uint16_t;
  static float one(const uint16_t* p) { return _cvtsh_ss(*p); }
  static Vec<float> some(const uint16_t* p) {
#if defined(__AVX512F__)
    return Vec<float>(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#else
    return Vec<float>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#endif
  }
};
struct FromBFloat {
  using Stored = uint16_t;
  static float one(const uint16_t* p) { return bfloat_to_float(*p); }
  static Vec<float> some(const uint16_t* p) {
#if defined(__AVX512F__)
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return Vec<float>(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, bits), 16));
#else
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return Vec<float>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#endif
  }
};
template <class Source>
void add_half(KernelTable& t, DType type) {
  for (int opcode : {folds::sum::code, folds::mean::code})
    t.reduce[opcode][static_cast<int>(type)].rows = rows<folds::sum, float, Source>;
}
#endif

}  // namespace

void fill_reduce(KernelTable& t) {
#define FC_SUM(number, name, ...) add_fold<folds::name>(t);
#define FC_FOLD FC_SUM
#include "facula/formulas/rest.h"
//
#include "facula/formulas/base_folds.def"
//
#include "facula/formulas/end.h"
#if defined(__F16C__)
  add_half<FromHalf>(t, DType::Float16);
  add_half<FromBFloat>(t, DType::BFloat16);
#endif
}

}  // namespace fc::cpu::FC_ISA
