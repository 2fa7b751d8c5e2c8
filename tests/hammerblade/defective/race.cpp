// Neighbours read what their owner writes, and no barrier lies between.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_race(int* p) {
  const int tiles = bsg_tiles_X * bsg_tiles_Y;
  p[__bsg_id] = p[(__bsg_id + 1) % tiles] + 1;  // line: race
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_race, int*)

// A lock that is let go without .rl: the stores before it may arrive after it.
__attribute__((noinline)) int defect_unlock(int* lock, int* sum) {
  while (bsg_amoswap_aq(lock, 1) != 0) {}
  *sum += 1;  // line: race without release
  bsg_amoswap(lock, 0);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_unlock, int*, int*)
}
