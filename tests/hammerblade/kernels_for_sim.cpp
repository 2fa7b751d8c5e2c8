// What the simulated machine's numbers are measured with: one kernel for each (tests/hammerblade/test_sim_timed.py).
#include <facula_hb/kernel.h>
#ifdef HB_EMUL
#define ON_CHIP(...) ((void)0)
#else
#define ON_CHIP(...) __asm__ volatile(__VA_ARGS__)
#endif
// The sum of n words that each depend on the one before: a chain of loads, in DRAM or in the scratchpad.
void measure_dram_chain(hb::DenseOut<int32_t> list, int32_t n) {
  int32_t* const next = list.data;
  int at = 0;
  if (__bsg_id == 0)
    for (int i = 0; i < n; ++i) at = next[at];
  if (__bsg_id == 0) next[n] = at;
}
HB_KERNEL_PLAIN(measure_dram_chain, "")

void measure_local_chain(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  volatile int next[4];
  for (int i = 0; i < 4; ++i) next[i] = (i + 1) & 3;
  int at = 0;
  for (int i = 0; i < n; ++i) at = next[at];
  if (__bsg_id == 0) *out = at;
}
HB_KERNEL_PLAIN(measure_local_chain, "")

void measure_divide(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  int value = 0x7fffffff;
  for (int i = 0; i < n; ++i) ON_CHIP("div %0, %0, %1" : "+r"(value) : "r"(n));
  if (__bsg_id == 0) *out = value;
}
HB_KERNEL_PLAIN(measure_divide, "")

void measure_float_add(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  float value = 0;
  for (int i = 0; i < n; ++i) ON_CHIP("fadd.s %0, %0, %0" : "+f"(value));
  if (__bsg_id == 0) *out = (int)value;
}
HB_KERNEL_PLAIN(measure_float_add, "")

void measure_nothing(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  int value = 0;
  for (int i = 0; i < n; ++i) ON_CHIP("" : "+r"(value));
  if (__bsg_id == 0) *out = value;
}
HB_KERNEL_PLAIN(measure_nothing, "")

// A forward branch that is taken: predicted wrong.
void measure_branch(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  int value = 0;
  for (int i = 0; i < n; ++i) ON_CHIP("beqz zero, 1f\n\tnop\n1:" : "+r"(value));
  if (__bsg_id == 0) *out = value;
}
HB_KERNEL_PLAIN(measure_branch, "")

void measure_barriers(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  for (int i = 0; i < n; ++i) g_barrier.sync();
  if (__bsg_id == 0) *out = n;
}
HB_KERNEL_PLAIN(measure_barriers, "")

// Tile (0,0) reads a word of tile (x,0)'s scratchpad, again and again.
void measure_hops(hb::DenseOut<int32_t> to, int32_t n, int32_t x) {
  int32_t* const out = to.data;
  volatile int mine = 0;
  g_barrier.sync();
  if (__bsg_id == 0) {
    volatile int* theirs = bsg_remote_ptr(x, 0, &mine);
    int value = (int)(uintptr_t)theirs * 0;
    for (int i = 0; i < n; ++i) ON_CHIP("lw %0, 0(%1)\n\tadd %0, %0, zero" : "=r"(value) : "r"(theirs) : "memory");
    *out = value;
  }
}
HB_KERNEL_PLAIN(measure_hops, "")

// A kernel as in the measurements of the port: every tile scales its share, one element after the other.
void measure_scale(hb::DenseOut<float> to, hb::DenseIn<float> from_in, int32_t n) {
  float* const out = to.data;
  const float* const in = from_in.data;
  const int each = n / (bsg_tiles_X * bsg_tiles_Y), from = each * __bsg_id;
  for (int i = from; i < from + each; ++i) {
    float value = 0;
    ON_CHIP("flw %0, 0(%1)\n\tfadd.s %0, %0, %0" : "=&f"(value) : "r"(in + i) : "memory");
    out[i] = value;
  }
}
HB_KERNEL_PLAIN(measure_scale, "")
