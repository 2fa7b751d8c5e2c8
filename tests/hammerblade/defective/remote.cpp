// A tile outside of the mesh, and a pointer that is not in a scratchpad.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_remote_tile(int* p) {
  int local = 0;
  *bsg_remote_ptr(bsg_tiles_X, 0, &local) = *p;  // line: remote pointer
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_remote_tile, int*)

__attribute__((noinline)) int defect_remote_dram(int* p) {
  *bsg_remote_ptr(0, 0, p) = 1;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_remote_dram, int*)
}
