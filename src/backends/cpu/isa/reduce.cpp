// SPDX-License-Identifier: Apache-2.0
// Sums of all kinds, products, any and all.
#include "backends/cpu/isa/fold.h"
#include "core/half.h"

namespace fc::cpu::FC_ISA {
namespace {

struct SumFold : Plain {
  static constexpr bool by_parts = true;
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};
struct ProdFold : Plain {
  template <class V>
  static V join(V a, V b) {
    if constexpr (scalar::is_complex_v<V>) return math::times(a, b);
    else return a * b;
  }
};
struct AnyFold : Plain {
  template <class V, class S>
  static V map(V x, S) {
    return x != V{} ? V{} + 1 : V{};
  }
  template <class V>
  static V join(V a, V b) {
    return a | b;
  }
};
struct AllFold : AnyFold {
  template <class V>
  static V join(V a, V b) {
    return a & b;
  }
};
struct NanSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x != x ? V{} : x;
  }
};
struct AbsSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x < V{} ? -x : x;
  }
};
struct SquareSumFold : SumFold {
  template <class V, class S>
  static V map(V x, S) {
    return x * x;
  }
};
struct DeviationFold : SumFold {
  static constexpr bool shifts = true;
  template <class V, class S>
  static V map(V x, S shift) {
    V d = x - shift;
    return d * d;
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
  for (int opcode : {FC_REDUCE_SUM, FC_REDUCE_MEAN})
    t.reduce[opcode][static_cast<int>(type)].rows = rows<SumFold, float, Source>;
}
#endif

template <class Fold, class... T>
void add_all(KernelTable& t, int opcode) {
  (add<Fold, T>(t, opcode), ...);
}

}  // namespace

void fill_reduce(KernelTable& t) {
  using c64 = std::complex<float>;
  using c128 = std::complex<double>;
  // Integers as unsigned ones: they wrap around.
  add<SumFold, uint64_t, int64_t>(t, FC_REDUCE_SUM);
  add<ProdFold, uint64_t, int64_t>(t, FC_REDUCE_PROD);
  add_all<SumFold, float, double, c64, c128>(t, FC_REDUCE_SUM);
  add_all<SumFold, float, double, c64, c128>(t, FC_REDUCE_MEAN);
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Float32)].finish = divide<float>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Float64)].finish = divide<double>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Complex64)].finish = divide<c64>;
  t.reduce[FC_REDUCE_MEAN][static_cast<int>(DType::Complex128)].finish = divide<c128>;
  add_all<ProdFold, float, double, c64, c128>(t, FC_REDUCE_PROD);
  add_all<NanSumFold, float, double>(t, FC_REDUCE_NANSUM);
  add_all<AbsSumFold, float, double>(t, FC_REDUCE_SUM_ABS);
  add_all<SquareSumFold, float, double>(t, FC_REDUCE_SUM_SQUARES);
  add_all<DeviationFold, float, double>(t, FC_REDUCE_SUM_DEVIATIONS);
  add<AnyFold, uint8_t, bool>(t, FC_REDUCE_ANY);
  add<AllFold, uint8_t, bool>(t, FC_REDUCE_ALL);
#if defined(__F16C__)
  add_half<FromHalf>(t, DType::Float16);
  add_half<FromBFloat>(t, DType::BFloat16);
#endif
}

}  // namespace fc::cpu::FC_ISA
