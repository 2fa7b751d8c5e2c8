// SPDX-License-Identifier: Apache-2.0
// What a tile's program may ask of the machine: remote pointers, waiting, printing,
// statistics. The names are those of the BSG manycore library; with HB_EMUL they end in the emulator, otherwise in the
// chip's instructions and addresses.
#ifndef BSG_MANYCORE_H_DEVICE
#define BSG_MANYCORE_H_DEVICE

#include "bsg_set_tile_x_y.h"
#include "hammerblade_emul.hpp"

typedef volatile int* bsg_remote_int_ptr;
typedef volatile float* bsg_remote_float_ptr;
typedef volatile unsigned char* bsg_remote_uint8_ptr;
typedef volatile unsigned short* bsg_remote_uint16_ptr;
typedef volatile void* bsg_remote_void_ptr;

// Hints. The BSG compilers schedule loads through bsg_attr_remote for DRAM's latency; others need no hint.
#ifndef bsg_attr_remote
#define bsg_attr_remote
#endif
#define bsg_attr_noalias __restrict__
#define HB_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define bsg_unroll(n) HB_PRAGMA(unroll n)
#else
#define bsg_unroll(n) HB_PRAGMA(GCC unroll n)
#endif

#define bsg_id_to_x(id) ((id) % bsg_tiles_X)
#define bsg_id_to_y(id) ((id) / bsg_tiles_X)
#define bsg_x_y_to_id(x, y) (bsg_tiles_X * (y) + (x))
#define bsg_num_tiles (bsg_tiles_X * bsg_tiles_Y)

#define bsg_compiler_memory_barrier() __asm__ volatile("" ::: "memory")
#define bsg_volatile_access(var) (*((bsg_remote_int_ptr) & (var)))

#define BSG_CUDA_PRINT_STAT_ID_START 0
#define BSG_CUDA_PRINT_STAT_ID_END 1
#define BSG_CUDA_PRINT_STAT_ID_KERNEL_START 2
#define BSG_CUDA_PRINT_STAT_ID_KERNEL_END 3

#ifdef HB_EMUL

// The same variable of another tile: counted from the own group's origin, or from the mesh's.
#define bsg_remote_ptr(x, y, local) ((bsg_remote_int_ptr)hb_emul_remote((x), (y), (const volatile void*)(local), 1))
#define bsg_global_ptr(x, y, local) ((bsg_remote_int_ptr)hb_emul_remote((x), (y), (const volatile void*)(local), 0))
#define bsg_dram_ptr(address) ((bsg_remote_int_ptr)(uintptr_t)(address))

static inline void bsg_fence() {
#ifdef HB_EMUL_CHECK
  hb_emul_fence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
// Load-reserved sleeps on the chip until somebody writes the word: here the others may go on before it is read.
static inline int bsg_lr(int* p) { return *(volatile int*)p; }
static inline int bsg_lr_aq(int* p) {
  hb_emul_yield();
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
#define bsg_wait_while(condition) \
  do { hb_emul_yield(); } while (condition)
static inline void bsg_wait_local(int* p, int value) { hb_emul_wait_local(p, value); }

#define bsg_fail() hb_emul_fail(__FILE__, __LINE__, "bsg_fail")
#define bsg_fail_x(x) bsg_fail()
#define bsg_finish() hb_emul_finish()
#define bsg_finish_x(x) bsg_finish()
#define bsg_print_time() ((void)0)
#define bsg_putchar(c) bsg_printf("%c", (c))
#define bsg_print_int(i) bsg_printf("%d", (int)(i))
#define bsg_print_unsigned(u) bsg_printf("%u", (unsigned)(u))
#define bsg_print_hexadecimal(u) bsg_printf("%08X", (unsigned)(u))
#define bsg_print_float(f) bsg_printf("%f", (double)(f))
#define bsg_print_stat(tag) hb_emul_stat((tag), BSG_CUDA_PRINT_STAT_ID_START)
#define bsg_cuda_print_stat_type(tag, kind) hb_emul_stat((tag), (kind))
#define bsg_saif_start() ((void)0)
#define bsg_saif_end() ((void)0)
#define bsg_nop() __asm__ volatile("nop")

#else  // the chip

// Where things lie: the compile command has it from the machine file.
#ifndef HB_TILE_ADDRESS
#define HB_TILE_ADDRESS 0x40000000u
#define HB_GROUP_ADDRESS 0x20000000u
#define HB_DRAM_ADDRESS 0x80000000u
#endif
#ifndef BSG_HOST_IO_X
#define BSG_HOST_IO_X 127  // the host's words lie where no mesh has a tile
#define BSG_HOST_IO_Y 127
#endif
#define HB_EVA_GLOBAL(x, y, offset)                                              \
  ((uintptr_t)(HB_TILE_ADDRESS | ((uint32_t)(y) << 23) | ((uint32_t)(x) << 16) | \
               ((uint32_t)(uintptr_t)(offset)&0xffffu)))
#define HB_EVA_GROUP(x, y, offset)                                                \
  ((uintptr_t)(HB_GROUP_ADDRESS | ((uint32_t)(y) << 24) | ((uint32_t)(x) << 18) | \
               ((uint32_t)(uintptr_t)(offset)&0x3ffffu)))
#define bsg_remote_ptr(x, y, local) ((bsg_remote_int_ptr)HB_EVA_GROUP((x), (y), (local)))
#define bsg_global_ptr(x, y, local) ((bsg_remote_int_ptr)HB_EVA_GLOBAL((x), (y), (local)))
#define bsg_dram_ptr(address) ((bsg_remote_int_ptr)(uintptr_t)(address))

#define bsg_remote_ptr_io(word) bsg_global_ptr(BSG_HOST_IO_X, BSG_HOST_IO_Y, (word))

static inline void bsg_fence() { __asm__ volatile("fence" ::: "memory"); }
static inline int bsg_lr(int* p) {
  int value;
  __asm__ volatile("lr.w %0, (%1)" : "=r"(value) : "r"(p) : "memory");
  return value;
}
static inline int bsg_lr_aq(int* p) {
  int value;
  __asm__ volatile("lr.w.aq %0, (%1)" : "=r"(value) : "r"(p) : "memory");
  return value;
}
#define bsg_wait_while(condition) \
  do {                            \
  } while (condition)
static inline void bsg_wait_local(int* p, int value) {
  while (bsg_lr(p) != value && bsg_lr_aq(p) != value) {}
}

#define HB_HOST_WORD(word) \
  do { *bsg_remote_ptr_io(word) = (int)(((__bsg_grp_org_y + __bsg_y) << 16) + __bsg_grp_org_x + __bsg_x); } while (0)
#define bsg_fail()        \
  do {                    \
    HB_HOST_WORD(0xEAD8); \
    while (1) {}          \
  } while (0)
#define bsg_fail_x(x) bsg_fail()
#define bsg_finish()      \
  do {                    \
    HB_HOST_WORD(0xEAD0); \
    while (1) {}          \
  } while (0)
#define bsg_finish_x(x) bsg_finish()
#define bsg_print_time() HB_HOST_WORD(0xEAD4)
#define bsg_putchar(c) \
  do { *(bsg_remote_uint8_ptr)bsg_remote_ptr_io(0xEADC) = (char)(c); } while (0)
extern "C" {
int bsg_printf(const char* form, ...);
void bsg_print_int(int);
void bsg_print_unsigned(unsigned);
void bsg_print_hexadecimal(unsigned);
void bsg_print_float(float);
}
#define bsg_print_stat(tag) \
  do { *bsg_remote_ptr_io(0x0D0C) = (int)(tag); } while (0)
#define bsg_cuda_print_stat_type(tag, kind)                                                \
  bsg_print_stat(((unsigned)(kind) << 30) | (((__bsg_grp_org_y + __bsg_y) & 0x3f) << 24) | \
                 (((__bsg_grp_org_x + __bsg_x) & 0x3f) << 18) | ((__bsg_tile_group_id & 0x3fff) << 4) | ((tag)&0xf))
#define bsg_saif_start() \
  do { *bsg_remote_ptr_io(0xFFF0) = 0; } while (0)
#define bsg_saif_end() \
  do { *bsg_remote_ptr_io(0xFFF4) = 0; } while (0)
#define bsg_nop() __asm__ volatile("nop")

#endif

#define bsg_tile_group_remote_ptr(type, x, y, local) ((volatile type*)bsg_remote_ptr((x), (y), (local)))
#define bsg_remote_store(x, y, local, value) \
  do { *(bsg_remote_ptr((x), (y), (local))) = (int)(value); } while (0)
#define bsg_remote_load(x, y, local, value) \
  do { value = *(bsg_remote_ptr((x), (y), (local))); } while (0)
#define bsg_global_store(x, y, local, value) \
  do { *(bsg_global_ptr((x), (y), (local))) = (int)(value); } while (0)
#define bsg_global_load(x, y, local, value) \
  do { value = *(bsg_global_ptr((x), (y), (local))); } while (0)

template <class T>
static inline T* bsg_tile_group_remote_pointer(int x, int y, T* local) {
  return (T*)(uintptr_t)bsg_remote_ptr(x, y, local);
}

#define bsg_cuda_print_stat_start(tag) bsg_cuda_print_stat_type((tag), BSG_CUDA_PRINT_STAT_ID_START)
#define bsg_cuda_print_stat_end(tag) bsg_cuda_print_stat_type((tag), BSG_CUDA_PRINT_STAT_ID_END)
#define bsg_cuda_print_stat_kernel_start() bsg_cuda_print_stat_type(0, BSG_CUDA_PRINT_STAT_ID_KERNEL_START)
#define bsg_cuda_print_stat_kernel_end() bsg_cuda_print_stat_type(0, BSG_CUDA_PRINT_STAT_ID_KERNEL_END)

#endif
