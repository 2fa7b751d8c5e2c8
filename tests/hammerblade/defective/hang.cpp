// One tile never comes out of its loop; the others wait for it at the barrier.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_hang(volatile int* p) {
  if (__bsg_x == 1 && __bsg_y == 1) {
    while (*p == 0) {}  // line: hang
  }
  g_barrier.sync();  // line: waits
  return 0;
}
HB_EMUL_REG_KERNEL(defect_hang, volatile int*)
}
