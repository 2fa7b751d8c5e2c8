// The chip has no loads across words.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_misaligned(char* p) {
  if (__bsg_x == 1 && __bsg_y == 0) *(int*)(p + 2) = 7;  // line: misaligned access
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_misaligned, char*)
}
