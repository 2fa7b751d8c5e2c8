// SPDX-License-Identifier: Apache-2.0
// Sums of all kinds, products, any and all.
#include "backends/cpu/isa/fold.h"
#include "core/half.h"
#include "kernels/formulas/base_folds.h"
#include "kernels/formulas/folds.h"

namespace fc::cpu::FC_ISA {
namespace {

// bool as bytes: anything but 0 is true.
struct Truth {
  using Stored = uint8_t;
  static uint8_t one(const uint8_t* p) { return *p != 0; }
  static Vec<uint8_t> some(const uint8_t* p) { return load(p) != 0 ? Vec<uint8_t>{} + 1 : Vec<uint8_t>{}; }
};
// The same, to be counted.
struct Counted {
  using Stored = uint8_t;
  static uint64_t one(const uint8_t* p) { return *p != 0; }
  static uint64_t fold(const uint8_t* x, int64_t n) {
    constexpr int W = kWidth<uint8_t>;
    uint64_t count = 0;
    int64_t i = 0;
    while (i + W <= n) {
      Vec<uint8_t> lanes{};  // each holds 255 at most
      for (int k = 0; k < 255 && i + W <= n; ++k, i += W) lanes += Truth::some(x + i);
      uint8_t lane[W];
      store(lane, lanes);
      for (int l = 0; l < W; ++l) count += lane[l];
    }
    for (; i < n; ++i) count += one(x + i);
    return count;
  }
};

template <class T>
void divide(char* a, int64_t m, int64_t count) {
  auto* x = reinterpret_cast<T*>(a);
  for (int64_t j = 0; j < m; ++j) x[j] /= static_cast<scalar::real_t<T>>(count);
}

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

template <class Fold, class... T>
void add_all(KernelTable& t) {
  (add<Fold, T>(t), ...);
  if constexpr (Fold::is_mean) ((t.reduce[Fold::code][static_cast<int>(dtype_of<T>())].finish = divide<T>), ...);
}
template <class Fold>
void add_fold(KernelTable& t) {
  using namespace scalar;
  if constexpr (Fold::accepts & kInt) add<Fold, uint64_t, int64_t>(t);
  if constexpr (Fold::accepts & kReal) add_all<Fold, float, double>(t);
  if constexpr (Fold::accepts & kComplex) add_all<Fold, std::complex<float>, std::complex<double>>(t);
  if constexpr ((Fold::accepts & kBool) && Fold::is_sum) add<Fold, uint64_t, bool, Counted>(t, DType::Int64);
  else if constexpr (Fold::accepts & kBool) add<Fold, uint8_t, bool, Truth>(t);
}

}  // namespace

void fill_reduce(KernelTable& t) {
#define FC_SUM(number, name, ...) add_fold<folds::name>(t);
#define FC_MEAN FC_SUM
#define FC_FOLD FC_SUM
#include "facula/formulas/rest.h"
//
#include "facula/formulas/base_folds.def"
#include "facula/formulas/folds.def"
//
#include "facula/formulas/end.h"
#if defined(__F16C__)
  add_half<FromHalf>(t, DType::Float16);
  add_half<FromBFloat>(t, DType::BFloat16);
#endif
}

}  // namespace fc::cpu::FC_ISA
