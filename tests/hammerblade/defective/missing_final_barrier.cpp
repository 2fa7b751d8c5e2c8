// Tile 0 may be done long before the others.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_missing_final_barrier(int* p) {
  g_barrier.sync();
  p[__bsg_id] = __bsg_id;  // line: missing final barrier
  return 0;
}
HB_EMUL_REG_KERNEL(defect_missing_final_barrier, int*)
}
