// What compiles for the chip and cannot run on it; tests/hammerblade/test_lint.py looks for each.
#include <kernel_common.hpp>

extern "C" {
int multiplies(uint32_t* p) {
  p[0] = (uint32_t)((uint64_t)p[0] * p[1] >> 32);  // mulhu
  g_barrier.sync();
  return 0;
}
int doubles(float* p) {
  p[0] = p[0] * 1.1;        // __muldf3
  p[1] = (float)exp(p[1]);  // exp
  g_barrier.sync();
  return 0;
}
int longs(int64_t* p) {
  p[0] = p[0] / p[1];  // __divdi3
  g_barrier.sync();
  return 0;
}
int large(volatile float* p) {
  volatile float buffer[1100];  // stack
  for (int i = 0; i < 1100; ++i) buffer[i] = p[i];
  p[0] = buffer[7];
  g_barrier.sync();
  return 0;
}
}
