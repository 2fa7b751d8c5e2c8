/* GVProf's value flow in CUDA-Lite: the same array copied to the device twice, half of one onto its equal, one onto itself, a kernel that
 * writes what it reads and one that rewrites odd elements with what they hold. */
#include <bsg_manycore_cuda.h>
#include <bsg_manycore_regression.h>
#include <stdint.h>

#define N 1000

static hb_mc_device_t device;

#define RUN(kernel, argc, argv)                                                         \
  do {                                                                                  \
    hb_mc_dimension_t group = {.x = 2, .y = 2}, grid = {.x = 1, .y = 1};                \
    BSG_CUDA_CALL(hb_mc_kernel_enqueue(&device, grid, group, kernel, argc, argv));      \
    BSG_CUDA_CALL(hb_mc_device_tile_groups_execute(&device));                           \
  } while (0)

static int flow(const char* kernels) {
  static int32_t host[N];
  hb_mc_eva_t a, b;
  for (int i = 0; i < N; ++i) host[i] = 9;
  BSG_CUDA_CALL(hb_mc_device_init(&device, "value_flow", 0));
  BSG_CUDA_CALL(hb_mc_device_program_init(&device, kernels, "default_allocator", 0));
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, sizeof host, &a));
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, sizeof host, &b));
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, (void*)(intptr_t)a, host, sizeof host, HB_MC_MEMCPY_TO_DEVICE));
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, (void*)(intptr_t)a, host, sizeof host, HB_MC_MEMCPY_TO_DEVICE)); /* REPEATED */
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, (void*)(intptr_t)b, host, sizeof host, HB_MC_MEMCPY_TO_DEVICE));
  uint32_t half[] = {b, a, N / 2};
  RUN("copy_words", 3, half); /* HALF */
  uint32_t self[] = {a, a, N};
  RUN("copy_words", 3, self); /* SELF */
  uint32_t one[] = {a, N};
  RUN("same", 2, one); /* SAME */
  RUN("odd", 2, one);  /* ODD */
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, host, (void*)(intptr_t)a, sizeof host, HB_MC_MEMCPY_TO_HOST));
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, host, (void*)(intptr_t)b, sizeof host, HB_MC_MEMCPY_TO_HOST));
  BSG_CUDA_CALL(hb_mc_device_free(&device, a));
  BSG_CUDA_CALL(hb_mc_device_free(&device, b));
  BSG_CUDA_CALL(hb_mc_device_finish(&device));
  return HB_MC_SUCCESS;
}

int main(int argc, char** argv) { return argc == 2 && flow(argv[1]) == HB_MC_SUCCESS ? 0 : 1; }
