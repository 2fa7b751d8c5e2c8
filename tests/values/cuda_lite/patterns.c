/* GVProf's patterns in CUDA-Lite: arrays of 1000 floats of which a kernel reads or writes 500 elements, of one 250. */
#include <bsg_manycore_cuda.h>
#include <bsg_manycore_regression.h>
#include <stdint.h>

#define N 1000

static int patterns(const char* kernels) {
  hb_mc_device_t device;
  hb_mc_dimension_t group = {.x = 2, .y = 2}, grid = {.x = 1, .y = 1};
  uint32_t argv[7];
  BSG_CUDA_CALL(hb_mc_device_init(&device, "patterns", 0));
  BSG_CUDA_CALL(hb_mc_device_program_init(&device, kernels, "default_allocator", 0));
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[0])); /* zeros */
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[1])); /* ones */
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[2])); /* half */
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[3])); /* line */
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[4])); /* threes */
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, N * sizeof(float), &argv[5])); /* odds */
  BSG_CUDA_CALL(hb_mc_device_memset(&device, &argv[0], 0, N * sizeof(float)));
  argv[6] = N;
  BSG_CUDA_CALL(hb_mc_kernel_enqueue(&device, grid, group, "patterns", 7, argv));
  BSG_CUDA_CALL(hb_mc_device_tile_groups_execute(&device));
  BSG_CUDA_CALL(hb_mc_device_finish(&device));
  return HB_MC_SUCCESS;
}

int main(int argc, char** argv) { return argc == 2 && patterns(argv[1]) == HB_MC_SUCCESS ? 0 : 1; }
