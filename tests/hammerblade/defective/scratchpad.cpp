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

// More on the stack than a tile has addresses: what lies below is its neighbour's.
#define ENORMOUS(kib)                                          \
  __attribute__((noinline)) int defect_frame_##kib(float* p) { \
    volatile char buffer[(kib)*1024];                          \
    buffer[0] = static_cast<char>(p[0]);                       \
    g_barrier.sync();                                          \
    if (__bsg_id == 0) p[0] = buffer[0];                       \
    g_barrier.sync();                                          \
    return 0;                                                  \
  }                                                            \
  HB_EMUL_REG_KERNEL(defect_frame_##kib, float*)
ENORMOUS(40)
ENORMOUS(48)
ENORMOUS(51)
ENORMOUS(52)
ENORMOUS(56)
ENORMOUS(60)
ENORMOUS(64)
ENORMOUS(70)
ENORMOUS(200)

// As large as the launch says, and what the runtime says itself must find room.
__attribute__((noinline)) int defect_grown(float* p, int bytes) {
  volatile char* buffer = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(bytes)));
  buffer[0] = 1;
  if (__bsg_id == 0) bsg_printf("%f %d\n", static_cast<double>(p[0]), buffer[0]);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_grown, float*, int)
}
