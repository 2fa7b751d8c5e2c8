// Each tile does one element too many: the last one leaves the tensor.
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int defect_out_of_bounds(hb_tensor_t* t0) {
  HBTensor<float> t(t0);
  float* data = (float*)t.data_ptr();
  if (__bsg_id == bsg_tiles_X * bsg_tiles_Y - 1)
    for (uint32_t i = 0; i <= t.numel(); ++i) data[i] = 1;  // line: out of bounds
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_out_of_bounds, hb_tensor_t*)
}
