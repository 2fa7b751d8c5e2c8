// Assertions name the tile and the line; so does an index out of range.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_assertion(int* p) {
  const bool second = __bsg_x == 1 && __bsg_y == 0;
  hb_assert_msg(!second, "p is 0x%x, tile %d", (unsigned)(uintptr_t)p, __bsg_id);  // line: assertion
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_assertion, int*)

__attribute__((noinline)) int defect_index(hb_tensor_t* t0) {
  HBTensor<float> t(t0);
  if (__bsg_id == 0) t(t.numel()) = 1;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_index, hb_tensor_t*)
}
