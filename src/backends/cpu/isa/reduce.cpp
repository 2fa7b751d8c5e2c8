// SPDX-License-Identifier: Apache-2.0
// Sums of all kinds, products, any and all.
#include "backends/cpu/isa/fold.h"

namespace fc::cpu::FC_ISA {
namespace {

struct SumFold : Plain {
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};
struct ProdFold : Plain {
  template <class V>
  static V join(V a, V b) {
    return a * b;
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
}

}  // namespace fc::cpu::FC_ISA
