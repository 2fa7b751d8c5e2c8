// The kernel of vector_add.c: tile groups share the vectors, tiles of a group their part.
#include <bsg_manycore.h>
#include <bsg_set_tile_x_y.h>
#include <bsg_tile_group_barrier.hpp>

extern "C" {
__attribute__((noinline)) int kernel_vector_add(int* a, int* b, int* c, int n) {
  const int tiles = bsg_tiles_X * bsg_tiles_Y, groups = __bsg_grid_dim_x * __bsg_grid_dim_y;
  for (int i = __bsg_tile_group_id * tiles + __bsg_id; i < n; i += tiles * groups) c[i] = a[i] + b[i];
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(kernel_vector_add, int*, int*, int*, int)
}
