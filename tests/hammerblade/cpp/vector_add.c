/* A host program as it is written for CUDA-Lite: two vectors, one kernel, several tile groups. */
#include <bsg_manycore_cuda.h>
#include <bsg_manycore_errno.h>
#include <bsg_manycore_regression.h>
#include <bsg_manycore_tile.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

static int run(const char* program) {
  hb_mc_device_t device;
  uint32_t a[N], b[N], c[N], i;
  uint64_t cycle = 1;
  hb_mc_eva_t a_eva, b_eva, c_eva;
  hb_mc_dimension_t tg_dim = {.x = 2, .y = 2}, grid_dim = {.x = 3, .y = 2};
  hb_mc_dma_dtoh_t job;

  BSG_CUDA_CALL(hb_mc_device_init(&device, "vector_add", 0));
  BSG_CUDA_CALL(hb_mc_device_program_init(&device, program, "default_allocator", 0));
  BSG_CUDA_CALL(hb_mc_manycore_get_cycle(device.mc, &cycle));
  for (i = 0; i < N; ++i) {
    a[i] = i;
    b[i] = 7 * i;
    c[i] = 0;
  }
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, sizeof a, &a_eva));
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, sizeof b, &b_eva));
  BSG_CUDA_CALL(hb_mc_device_malloc(&device, sizeof c, &c_eva));
  BSG_CUDA_CALL(hb_mc_device_memcpy(&device, (void*)(intptr_t)a_eva, a, sizeof a, HB_MC_MEMCPY_TO_DEVICE));
  hb_mc_dma_htod_t to = {.d_addr = b_eva, .h_addr = b, .size = sizeof b};
  BSG_CUDA_CALL(hb_mc_device_dma_to_device(&device, &to, 1));
  BSG_CUDA_CALL(hb_mc_device_memset(&device, &c_eva, 0xff, sizeof c));

  uint32_t argv[4] = {a_eva, b_eva, c_eva, N};
  BSG_CUDA_CALL(hb_mc_kernel_enqueue(&device, grid_dim, tg_dim, "kernel_vector_add", 4, argv));
  argv[0] = c_eva; /* enqueued launches keep their words, and run in order */
  BSG_CUDA_CALL(hb_mc_kernel_enqueue(&device, grid_dim, tg_dim, "kernel_vector_add", 4, argv));
  BSG_CUDA_CALL(hb_mc_device_tile_groups_execute(&device));

  job.d_addr = c_eva;
  job.h_addr = c;
  job.size = sizeof c;
  BSG_CUDA_CALL(hb_mc_device_dma_to_host(&device, &job, 1));
  for (i = 0; i < N; ++i)
    if (c[i] != 15 * i) {
      fprintf(stderr, "c[%u] is %u, not %u\n", i, c[i], 15 * i);
      return HB_MC_FAIL;
    }
  if (hb_mc_kernel_enqueue(&device, grid_dim, tg_dim, "kernel_vector_sub", 4, argv) != HB_MC_NOTFOUND) return HB_MC_FAIL;
  BSG_CUDA_CALL(hb_mc_device_free(&device, a_eva));
  BSG_CUDA_CALL(hb_mc_device_program_finish(&device));
  if (hb_mc_device_malloc(&device, 4, &a_eva) != HB_MC_UNINITIALIZED) return HB_MC_FAIL;
  BSG_CUDA_CALL(hb_mc_device_finish(&device));
  printf("%u x %u groups of %u x %u: passed, cycle %d\n", grid_dim.x, grid_dim.y, tg_dim.x, tg_dim.y, (int)cycle);
  return HB_MC_SUCCESS;
}

int main(int argc, char** argv) { return argc == 2 && run(argv[1]) == HB_MC_SUCCESS ? 0 : 1; }
