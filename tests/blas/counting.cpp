// SPDX-License-Identifier: Apache-2.0
// A BLAS for tests/test_blas.py: slow, right, and it keeps count. BLAS_NAME(x) says how its routines are called and
// BLAS_INT what integers they take; BLAS_FORTRAN gives the Fortran interface, BLAS_LACKS_DGEMM half a library,
// BLAS_WRONG one whose products are wrong, BLAS_SERIAL one that may be called by one thread at a time, BLAS_LAYERS one
// that takes its threads from a layer as MKL does: Intel's OpenMP (0), unless another is chosen before the first call.
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<int64_t> calls, work;  // products, and multiplications in them
std::atomic<int> threads;          // what the caller asked for last
std::atomic<int> inside;           // calls under way
std::atomic<bool> crowded;         // there were several at once

struct Matrix {
  bool transposed;
  int64_t ld;
  int64_t at(int64_t row, int64_t column) const { return transposed ? column * ld + row : row * ld + column; }
};

// Row-major c = alpha * a @ b + beta * c.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, T alpha, const T* a, Matrix la, const T* b, Matrix lb, T beta, T* c,
              int64_t ldc) {
  ++calls;
  work += m * n * k;
  if (++inside > 1) crowded = true;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum{};
      for (int64_t q = 0; q < k; ++q) sum += a[la.at(i, q)] * b[lb.at(q, j)];
#ifdef BLAS_WRONG
      sum += T(1);
#endif
      T& to = c[i * ldc + j];
      to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
    }
  --inside;
}

}  // namespace

EXPORT int64_t counting_calls() { return calls; }
EXPORT int64_t counting_work() { return work; }
EXPORT int counting_threads() { return threads; }
EXPORT bool counting_crowded() { return crowded; }
#ifdef BLAS_SERIAL
EXPORT int openblas_get_parallel() { return 0; }
#endif
#ifdef BLAS_LAYERS
static bool loaded;
EXPORT int MKL_Set_Threading_Layer(int asked) {
  static int layer;
  if (!loaded) layer = asked;
  return layer;
}
#endif
EXPORT void openblas_set_num_threads(int n) { threads = n; }

#ifdef BLAS_FORTRAN
template <class T>
static void fortran(const char* ta, const char* tb, const BLAS_INT* m, const BLAS_INT* n, const BLAS_INT* k,
                    const T* alpha, const T* a, const BLAS_INT* lda, const T* b, const BLAS_INT* ldb, const T* beta,
                    T* c, const BLAS_INT* ldc) {
  // Column-major c is row-major c.T = b.T @ a.T.
  multiply<T>(*n, *m, *k, *alpha, b, {*tb != 'N', *ldb}, a, {*ta != 'N', *lda}, *beta, c, *ldc);
}
#define GEMM(letter, T)                                                                                               \
  EXPORT void BLAS_NAME(letter##gemm)(const char* ta, const char* tb, const BLAS_INT* m, const BLAS_INT* n,           \
                                      const BLAS_INT* k, const T* alpha, const T* a, const BLAS_INT* lda, const T* b, \
                                      const BLAS_INT* ldb, const T* beta, T* c, const BLAS_INT* ldc) {                \
    fortran<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                 \
  }
GEMM(s, float)
GEMM(d, double)
GEMM(c, std::complex<float>)
GEMM(z, std::complex<double>)
#else
#define GEMM(letter, T, Scalar, VALUE)                                                                       \
  EXPORT void BLAS_NAME(letter##gemm)(int, int ta, int tb, BLAS_INT m, BLAS_INT n, BLAS_INT k, Scalar alpha, \
                                      const T* a, BLAS_INT lda, const T* b, BLAS_INT ldb, Scalar beta, T* c, \
                                      BLAS_INT ldc) {                                                        \
    multiply<T>(m, n, k, VALUE alpha, a, {ta != 111, lda}, b, {tb != 111, ldb}, VALUE beta, c, ldc);         \
  }
GEMM(s, float, float, )
#ifndef BLAS_LACKS_DGEMM
GEMM(d, double, double, )
GEMM(c, std::complex<float>, const std::complex<float>*, *)
GEMM(z, std::complex<double>, const std::complex<double>*, *)
#endif
EXPORT double BLAS_NAME(ddot)(BLAS_INT n, const double* x, BLAS_INT, const double* y, BLAS_INT) {
#ifdef BLAS_LAYERS
  loaded = true;
#endif
  double sum = 0;
  for (BLAS_INT i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
#endif
