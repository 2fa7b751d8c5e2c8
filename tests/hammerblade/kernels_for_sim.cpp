// What the simulated machine's numbers are measured with: one kernel for each (tests/hammerblade/test_sim_timed.py).
#include <facula_hb/kernel.h>
#ifdef HB_EMUL
#define ON_CHIP(...) ((void)0)
#else
#define ON_CHIP(...) __asm__ volatile(__VA_ARGS__)
#endif
// The sum of n words that each depend on the one before: a chain of loads, in DRAM.
void measure_dram_chain(hb::DenseOut<int32_t> list, int32_t n) {
  int32_t* const next = list.data;
  int at = 0;
  if (__bsg_id == 0)
    for (int i = 0; i < n; ++i) at = next[at];
  if (__bsg_id == 0) next[n] = at;
}
HB_KERNEL_PLAIN(measure_dram_chain, "")

// A turn of the loop is `code`, which reads and writes `value`; one tile does it.
#define MEASURE(name, type, constraint, code, ...)                                                          \
  void measure_##name(hb::DenseOut<int32_t> to, int32_t n) {                                                \
    int32_t* const out = to.data;                                                                           \
    volatile int here[2] = {0, 0};                                                                          \
    type value = (type)(n + 1);                                                                             \
    if (__bsg_id == 0) {                                                                                    \
      for (int i = 0; i < n; ++i) ON_CHIP(code : "+" constraint(value) : "r"(here) : __VA_ARGS__ "memory"); \
      *out = (int)value;                                                                                    \
    }                                                                                                       \
  }                                                                                                         \
  HB_KERNEL_PLAIN(measure_##name, "")
#define TIMES(n, code) ".rept " #n "\n\t" code "\n\t.endr"

MEASURE(add, int, "r", TIMES(32, "add %0, %0, %0"))
MEASURE(multiply, int, "r", TIMES(32, "mul %0, %0, %0"))
MEASURE(divide, int, "r", TIMES(8, "div %0, %0, %0"))
MEASURE(float_add, float, "f", TIMES(32, "fadd.s %0, %0, %0"))
MEASURE(float_multiply, float, "f", TIMES(32, "fmul.s %0, %0, %0"))
MEASURE(float_fused, float, "f", TIMES(32, "fmadd.s %0, %0, %0, %0"))
MEASURE(float_divide, float, "f", TIMES(8, "fdiv.s %0, %0, %0"))
// Loads from the tile's own scratchpad, each with one who uses it; stores there.
MEASURE(local_load, int, "r", TIMES(32, "lw t0, 0(%1)\n\tadd %0, t0, zero"), "t0", )
MEASURE(local_load_float, float, "f", TIMES(32, "flw ft0, 0(%1)\n\tfsgnj.s %0, ft0, ft0"), "ft0", )
MEASURE(local_store, int, "r", TIMES(32, "sw %0, 4(%1)"))
// Forward branches that are taken, and jumps to where no call returns to: predicted wrong.
MEASURE(branch, int, "r", TIMES(32, "beqz zero, 1f\n\tnop\n1:"))
MEASURE(jump, int, "r", TIMES(32, "la t0, 1f\n\tjr t0\n1:"), "t0", )
// More code than the instruction cache holds: 512 of its blocks.
MEASURE(much_code, int, "r", TIMES(2048, "nop"))

void measure_nothing(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  int value = 0;
  for (int i = 0; i < n; ++i) ON_CHIP("" : "+r"(value));
  if (__bsg_id == 0) *out = value;
}
HB_KERNEL_PLAIN(measure_nothing, "")

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

// All tiles read one word, so one bank.
void measure_one_bank(hb::DenseOut<int32_t> to, int32_t n) {
  int32_t* const out = to.data;
  int value = 0;
  for (int i = 0; i < n; ++i) ON_CHIP("lw %0, 0(%1)\n\tadd %0, %0, zero" : "=r"(value) : "r"(out + 1) : "memory");
  g_barrier.sync();
  if (__bsg_id == 0) *out = value;
}
HB_KERNEL_PLAIN(measure_one_bank, "")

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
