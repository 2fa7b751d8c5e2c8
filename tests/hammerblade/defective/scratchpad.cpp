// 8 KB on a stack of 4 KB.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_scratchpad(float* p) {  // line: scratchpad overflow
  volatile float buffer[2048];
  for (int i = 0; i < 2048; ++i) buffer[i] = p[0];
  g_barrier.sync();
  if (__bsg_id == 0) p[0] = buffer[17];
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_scratchpad, float*)
}
