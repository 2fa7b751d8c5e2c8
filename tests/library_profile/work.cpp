// SPDX-License-Identifier: Apache-2.0
// A library whose calls are known: what tests/library_profile counts and samples.
#include <stdint.h>
#include <time.h>

namespace {
double cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// All arguments arrive: what comes back depends on each of them.
float sum(int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
          float beta, const float* c, int64_t ldc) {
  return static_cast<float>(m + n + k + lda + ldb + ldc) + alpha * a[0] + beta * b[0] + c[0];
}
}  // namespace

extern "C" {

int work_add(int a, int b) { return a + b; }
double work_mix(double a, int b, float c, double d) { return a + b * c - d; }

__attribute__((noinline)) double spin_hot(double seconds) {
  const double end = cpu() + seconds;
  volatile double x = 0;
  while (cpu() < end)
    for (int i = 0; i < 1000; ++i) x = x + i;
  return x;
}

// No unwinding table, registers pushed as generated code pushes them, the stack used below: only the loop's time
// counts.
void blind_loop(int64_t rounds);
asm(R"(
  .text
  .globl blind_loop
  .type blind_loop, @function
blind_loop:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  sub $88, %rsp
  mov $1, %rbp
  mov $2, %rbx
1: dec %rdi
  jnz 1b
  add $88, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .size blind_loop, . - blind_loop
)");
__attribute__((noinline)) void spin_blind(double seconds) {
  const double end = cpu() + seconds;
  while (cpu() < end) blind_loop(1000000);
}

void cblas_sgemm(int, int, int, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc) {
  *c = sum(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void cblas_sgemm64_(int, int, int, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
                    const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  *c = sum(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void sgemm_(const char*, const char*, const int* m, const int* n, const int* k, const float* alpha, const float* a,
            const int* lda, const float* b, const int* ldb, const float* beta, float* c, const int* ldc) {
  *c = sum(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
void cblas_sgemv(int, int, int m, int n, float alpha, const float* a, int lda, const float* x, int incx, float beta,
                 float* y, int incy) {
  *y = sum(m, n, incx, alpha, a, lda, x, incy, beta, y, 1);
}
}
