// Kernels as the PyTorch port writes them, without defects: every loop, class and intrinsic of the headers.
#include <hb_reduction.hpp>
#include <kernel_common.hpp>

#include <algorithm>
#include <random>

static int counter = 40;  // private to a tile, and kept between launches
static int table[4] = {1, 2, 3, 4};

extern "C" {

__attribute__((noinline)) int tensorlib_add(hb_tensor_t* t0, hb_tensor_t* t1, hb_tensor_t* t2, float* alpha_p) {
  HBTensor<float> c(t0), a(t1), b(t2);
  float alpha = *alpha_p;
  bsg_cuda_print_stat_kernel_start();
  bsg_saif_start();
  hb_tiled_foreach([alpha](float x, float y) { return x + alpha * y; }, c, a, b);
  bsg_saif_end();
  bsg_cuda_print_stat_kernel_end();
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_add, hb_tensor_t*, hb_tensor_t*, hb_tensor_t*, float*)

__attribute__((noinline)) int tensorlib_max_all(hb_tensor_t* t0, hb_tensor_t* t1) {
  HBTensor<float> out(t0), in(t1);
  binary_reduction(
      out, in, in.ndim(), in.ndim(), in.numel(), [](float& best, float x) { best = x > best ? x : best; },
      [](float best) { return best; });
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_max_all, hb_tensor_t*, hb_tensor_t*)

__attribute__((noinline)) int tensorlib_sum_rows(hb_tensor_t* t0, hb_tensor_t* t1, uint32_t* dims) {
  HBTensor<float> out(t0), in(t1);
  binary_reduction(
      out, in, in.ndim(), *dims, calc_elements_per_output(out, in, *dims), [](float& sum, float x) { sum += x; },
      [](float sum) { return sum; });
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_sum_rows, hb_tensor_t*, hb_tensor_t*, uint32_t*)

__attribute__((noinline)) int tensorlib_to_int(hb_tensor_t* t0, hb_tensor_t* t1) {
  HBTensor<int> out(t0);
  HBTensor<float> in(t1);
  hb_tiled_foreach_conversion(out, in, [](float x) { return (int)x; });
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_to_int, hb_tensor_t*, hb_tensor_t*)

// Each index once, whatever loop: counted in out.
__attribute__((noinline)) int loops(int* out, uint32_t n) {
  const size_t tiles = (size_t)(bsg_tiles_X * bsg_tiles_Y);
  hb_tiled_for(n, [&](size_t i) { out[i] += 1; });
  g_barrier.sync();
  hb_tiled_for(tiles, n, [&](size_t i) { out[i] += 10; });
  g_barrier.sync();
  hb_tiled_for(
      tiles, [&](size_t i, size_t j, size_t k, size_t l) { out[((i * 2 + j) * 3 + k) * 1 + l] += 100; }, n / 6, 2, 3,
      1);
  g_barrier.sync();
  hb_blocked_for(tiles, n, [&](size_t i, size_t block) { hb_tiled_for(block, 1, [&](size_t) { out[i] += 1000; }); });
  g_barrier.sync();
  hb_spatial_for(n / 6, 6, [&](size_t i, size_t j) { out[i * 6 + j] += 10000; });
  g_barrier.sync();
  hb_tiled_range(n,
                 [&](size_t start, size_t end) { hb_for(end - start, [&](size_t i) { out[start + i] += 100000; }); });
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(loops, int*, uint32_t)

// A sum under a lock, and the same by amoadd.
__attribute__((noinline)) int locked_sum(int* lock, int* sum, int* counted) {
  for (int i = 0; i < 3; ++i) {
    while (bsg_amoswap_aq(lock, 1) != 0) {}
    *sum += __bsg_id;
    bsg_amoswap_rl(lock, 0);
    bsg_amoadd(counted, 1);
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(locked_sum, int*, int*, int*)

// Each tile hands its id to the right through its neighbour's scratchpad.
__attribute__((noinline)) int ring(int* out) {
  int inbox = -1, full = 0;
  g_barrier.sync();  // the neighbour's are there
  const int x = (__bsg_x + 1) % bsg_tiles_X;
  *bsg_remote_ptr(x, __bsg_y, &inbox) = __bsg_id;
  *bsg_tile_group_remote_pointer(x, __bsg_y, &full) = 1;
  bsg_wait_local(&full, 1);
  out[__bsg_id] = bsg_volatile_access(inbox);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(ring, int*)

// Variables are the tile's own; a neighbour's can be reached.
__attribute__((noinline)) int variables(int* out) {
  counter += __bsg_id;
  table[1] += 1;
  g_barrier.sync();
  out[__bsg_id] = counter + table[1];
  if (__bsg_id == 0) out[bsg_tiles_X * bsg_tiles_Y] = *bsg_remote_ptr(bsg_tiles_X - 1, bsg_tiles_Y - 1, &counter);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(variables, int*)

__attribute__((noinline)) int who(int* out) {
  const int tiles = bsg_tiles_X * bsg_tiles_Y, me = __bsg_tile_group_id * tiles + __bsg_id;
  out[me] = __bsg_x + 100 * __bsg_y + 10000 * __bsg_tile_group_id_x + 100000 * __bsg_tile_group_id_y +
            1000000 * __bsg_grid_dim_x + 10000000 * __bsg_grid_dim_y;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(who, int*)

__attribute__((noinline)) int say(hb_vector_t* v0) {
  HBVector<int> v(v0);
  hb_tile_print(1, "tile %d of %d sees %d\n", __bsg_id, bsg_tiles_X * bsg_tiles_Y, v[v.numel() - 1]);
  if (__bsg_id == 0) bsg_print_int(7);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(say, hb_vector_t*)

// Waits in a loop of its own, which only an interruption ends where one thread runs all tiles.
__attribute__((noinline)) int spin(volatile int* flag) {
  if (__bsg_id == 0) {
    while (*flag == 0) {}
  } else if (__bsg_id == bsg_tiles_X * bsg_tiles_Y - 1) {
    *flag = 1;
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(spin, volatile int*)

__attribute__((noinline)) int copies(char* to, const char* from, uint32_t n) {
  if (__bsg_id == 0) {
    char buffer[64];
    hb_memcpy(to, from, n);
    memcpy(buffer, from, 32);
    memset(buffer + 32, 9, 32);
    memcpy(to + n, buffer, 64);
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(copies, char*, const char*, uint32_t)

__attribute__((noinline)) int fixed_shape(hb_tensor_t* t0, float* value) {
  HBTensor4d<float, 2, 3, 4, 5> t(t0);
  t.init(*value);
  g_barrier.sync();
  if (__bsg_id == 0) t(1, 2, 3, 4) = (float)HBTensor<float, 4>(t0).dim(3);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(fixed_shape, hb_tensor_t*, float*)

// Every engine and distribution that the port's kernels draw from.
__attribute__((noinline)) int draws(int* out, float* near, uint32_t seed) {
  if (__bsg_id == 0) {
    std::default_random_engine engine(seed);
    std::minstd_rand other(seed);
    std::uniform_real_distribution<float> real(-1.5f, 2.5f);
    std::uniform_int_distribution<int> few(-3, 6), all(-2147483647 - 1, 2147483647);
    std::bernoulli_distribution often(0.75);
    std::normal_distribution<float> normal(0.5f, 2.0f);
    std::exponential_distribution<float> exponential(2.0f);
    for (int i = 0; i < 100; ++i) {
      const float value = real(engine);
      out[i] = (int)engine();
      out[100 + i] = few(engine);
      memcpy(&out[200 + i], &value, 4);
      out[300 + i] = (int)std::min<uint32_t>(other(), std::max<uint32_t>(seed, 7));
      out[400 + i] = all(other);
      out[500 + i] = often(engine);
    }
    for (int i = 0; i < 50; ++i) {
      near[i] = normal(engine);
      near[50 + i] = exponential(engine);
    }
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(draws, int*, float*, uint32_t)

int nothing() {
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(nothing)
}
