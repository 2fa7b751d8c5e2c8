// The host frees the block between two launches.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_use_after_free(int* p, int* result) {
  if (__bsg_id == 0) *result = p[3];  // line: use after free
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_use_after_free, int*, int*)
}
