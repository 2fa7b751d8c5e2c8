// Kernels of GVProf's samples for the device: one that writes what is there, one for odd elements, and patterns.
#include <kernel_common.hpp>

extern "C" {
__attribute__((noinline)) int copy_words(int* to, int* from, int n) {
  for (int i = __bsg_id; i < n; i += bsg_tiles_X * bsg_tiles_Y) to[i] = from[i];
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(copy_words, int*, int*, int)

__attribute__((noinline)) int same(volatile int* p, int n) {
  for (int i = __bsg_id; i < n; i += bsg_tiles_X * bsg_tiles_Y) p[i] = p[i];
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(same, volatile int*, int)

__attribute__((noinline)) int odd(int* p, int n) {
  for (int i = 2 * __bsg_id + 1; i < n; i += 2 * bsg_tiles_X * bsg_tiles_Y) p[i] = 9;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(odd, int*, int)

// Half of each array of n elements: of `zeros` is read; the others are written.
__attribute__((noinline)) int patterns(float* zeros, float* ones, float* half, float* line, float* threes, float* odds,
                                       int n) {
  for (int i = __bsg_id; i < n / 2; i += bsg_tiles_X * bsg_tiles_Y) {
    ones[i] = zeros[i] + 1.0f;
    if (i % 2 == 0) half[i] = 0.0f;
    line[i] = 1.0f + i / 10000.0f;
    threes[i] = 3.0f;
    odds[2 * i + 1] = static_cast<float>(2 * i + 1);
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(patterns, float*, float*, float*, float*, float*, float*, int)
}
