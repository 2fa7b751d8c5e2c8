// Everybody waits for a word that its neighbour writes after waiting for his.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_deadlock() {
  int flag = 0;
  bsg_wait_local(&flag, 1);  // line: deadlock
  *bsg_remote_ptr(__bsg_x, __bsg_y, &flag) = 1;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_deadlock)

// Who has the lock goes on without letting it go.
__attribute__((noinline)) int defect_kept_lock(int* lock) {
  while (bsg_amoswap_aq(lock, 1) != 0) {}  // line: kept lock
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_kept_lock, int*)
}
