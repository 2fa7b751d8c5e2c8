// Half of the tiles take a way without the barrier.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_divergent_barrier(int* p) {
  if (__bsg_x == 0) {
    p[__bsg_y] = 1;
    g_barrier.sync();  // line: divergent barrier
  }
  return 0;
}
HB_EMUL_REG_KERNEL(defect_divergent_barrier, int*)
}
