// What the processor itself refuses: an address that is nobody's, a division by zero, an endless stack.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_null(int* p) {
  if (__bsg_id == 2) *p = 1;  // line: null
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_null, int*)

__attribute__((noinline)) int defect_division(volatile int* p) {
  if (__bsg_id == 1) *p = 5 / *p;  // line: division
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_division, volatile int*)

__attribute__((noinline)) static int deeper(volatile int* p, int n) {
  volatile int here[64];
  here[n % 64] = n;
  return n == 1 << 30 ? 0 : deeper(p, n + 1) + here[n % 64] + *p;
}
__attribute__((noinline)) int defect_recursion(volatile int* p) {
  if (__bsg_id == 0) *p = deeper(p, 0);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_recursion, volatile int*)
}
