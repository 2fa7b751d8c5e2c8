// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/blas.h"

#include <algorithm>
#include <complex>
#include <string_view>

#if FC_HAVE_CBLAS
#include "backends/cpu/library.h"
#include "core/instruction_set.h"
#endif

namespace fc::cpu {

#if FC_HAVE_CBLAS
namespace {

// The cblas interface is older than its headers' disagreements (enum types, const, complex): numbers and pointers.
enum : int { RowMajor = 101, Plain = 111, Transposed = 112 };
template <class Scalar>
using Gemm = void(int order, int ta, int tb, int m, int n, int k, Scalar alpha, const void* a, int lda, const void* b,
                  int ldb, Scalar beta, void* c, int ldc);
template <class Scalar>
using Gemv = void(int order, int t, int m, int n, Scalar alpha, const void* a, int lda, const void* x, int incx,
                  Scalar beta, void* y, int incy);

struct Blas {
  Gemm<float>* sgemm;
  Gemm<double>* dgemm;
  Gemm<const void*>*cgemm, *zgemm;
  Gemv<float>* sgemv;
  Gemv<double>* dgemv;
  bool found = false;

  Blas() {
    void* lib = open_library(FC_CBLAS_PATH, FC_CBLAS_NAME);
    found = lib && find_symbol(lib, "cblas_sgemm", sgemm) && find_symbol(lib, "cblas_dgemm", dgemm) &&
            find_symbol(lib, "cblas_cgemm", cgemm) && find_symbol(lib, "cblas_zgemm", zgemm) &&
            find_symbol(lib, "cblas_sgemv", sgemv) && find_symbol(lib, "cblas_dgemv", dgemv) && knows_processor(lib);
  }

  // An OpenBLAS older than the processor falls back to kernels of a decade ago, several times slower than our own.
  static bool knows_processor(void* lib) {
    char* (*core_name)();
    if (cpu_level() == CpuLevel::Baseline || !find_symbol(lib, "openblas_get_corename", core_name)) return true;
    static constexpr std::string_view without_avx[] = {
        "Katmai",  "Coppermine", "Northwood", "Prescott",     "Banias",    "Atom",   "Core2", "Penryn", "Dunnington",
        "Nehalem", "Athlon",     "Opteron",   "Opteron_SSE3", "Barcelona", "Bobcat", "Nano",  "Generic"};
    return std::ranges::find(without_avx, core_name()) == std::end(without_avx);
  }
};
const Blas& blas() {
  static const Blas library;
  return library;
}

// Vectors are worth their own routine: the general one packs them first.
template <class Scalar>
void real_product(Gemm<Scalar>* gemm, Gemv<Scalar>* gemv, const LibraryProduct& p) {
  auto alpha = static_cast<Scalar>(p.alpha), beta = static_cast<Scalar>(p.beta);
  if (p.n == 1) {
    gemv(RowMajor, p.transpose_a ? Transposed : Plain, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, alpha, p.a,
         p.lda, p.b, p.transpose_b ? 1 : p.ldb, beta, p.c, p.ldc);
  } else if (p.m == 1) {
    gemv(RowMajor, p.transpose_b ? Plain : Transposed, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, alpha, p.b,
         p.ldb, p.a, p.transpose_a ? p.lda : 1, beta, p.c, 1);
  } else {
    gemm(RowMajor, p.transpose_a ? Transposed : Plain, p.transpose_b ? Transposed : Plain, p.m, p.n, p.k, alpha, p.a,
         p.lda, p.b, p.ldb, beta, p.c, p.ldc);
  }
}

template <class Real>
void complex_product(Gemm<const void*>* gemm, const LibraryProduct& p) {
  std::complex<Real> alpha(static_cast<Real>(p.alpha)), beta(static_cast<Real>(p.beta));
  gemm(RowMajor, p.transpose_a ? Transposed : Plain, p.transpose_b ? Transposed : Plain, p.m, p.n, p.k, &alpha, p.a,
       p.lda, p.b, p.ldb, &beta, p.c, p.ldc);
}

}  // namespace

bool blas_available() { return blas().found; }

void blas_product(DType dtype, const LibraryProduct& p) {
  const Blas& lib = blas();
  switch (dtype) {
    case DType::Float32: return real_product(lib.sgemm, lib.sgemv, p);
    case DType::Float64: return real_product(lib.dgemm, lib.dgemv, p);
    case DType::Complex64: return complex_product<float>(lib.cgemm, p);
    default: return complex_product<double>(lib.zgemm, p);
  }
}
#else
bool blas_available() { return false; }
void blas_product(DType, const LibraryProduct&) {}
#endif

}  // namespace fc::cpu
