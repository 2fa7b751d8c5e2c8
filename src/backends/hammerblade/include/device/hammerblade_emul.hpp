// SPDX-License-Identifier: Apache-2.0
// The emulator's side of the kernel headers (HB_EMUL): who a tile is, what it asks the runtime for, and the table by which
// a library of kernels tells their names. Nothing here exists on the chip.
//
// A tile runs on a stack of its own that lies, 64 KiB long, at the tile's global address (0x4000'0000 and up). So a stack
// pointer says which tile runs, a pointer to a local variable is a 32-bit device address, and the same offset in another
// tile's 64 KiB is the same variable there.
#ifndef HAMMERBLADE_EMUL_HPP
#define HAMMERBLADE_EMUL_HPP

#include <stddef.h>
#include <stdint.h>

#ifdef HB_EMUL

#include "hb_emul_records.h"

// In check mode kernels are instrumented; what belongs to the emulator is not.
#define HB_EMUL_OWN __attribute__((no_sanitize("thread")))

HB_EMUL_OWN static inline hb_emul_tile_t* hb_emul_tile() {
  uintptr_t sp;
#if defined(__x86_64__)
  __asm__("movq %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
  __asm__("mov %0, sp" : "=r"(sp));
#else
  sp = (uintptr_t)__builtin_frame_address(0);
#endif
  return (hb_emul_tile_t*)((sp | (HB_EMUL_TILE_BYTES - 1)) + 1 - HB_EMUL_BLOCK_BYTES);
}

#define HB_EMUL_BUILTIN(name, field) \
  HB_EMUL_OWN static inline int name() { return hb_emul_tile()->field; }
HB_EMUL_BUILTIN(hb_emul_x, x)
HB_EMUL_BUILTIN(hb_emul_y, y)
HB_EMUL_BUILTIN(hb_emul_id, id)
HB_EMUL_BUILTIN(hb_emul_group_origin_x, group_origin_x)
HB_EMUL_BUILTIN(hb_emul_group_origin_y, group_origin_y)
HB_EMUL_BUILTIN(hb_emul_grid_dim_x, grid_dim_x)
HB_EMUL_BUILTIN(hb_emul_grid_dim_y, grid_dim_y)
HB_EMUL_BUILTIN(hb_emul_group_id_x, group_id_x)
HB_EMUL_BUILTIN(hb_emul_group_id_y, group_id_y)
HB_EMUL_BUILTIN(hb_emul_group_id, group_id)
HB_EMUL_BUILTIN(hb_emul_group_dim_x, group_dim_x)
HB_EMUL_BUILTIN(hb_emul_group_dim_y, group_dim_y)
HB_EMUL_OWN static inline void* hb_emul_reduction_buffer() { return (void*)(uintptr_t)hb_emul_tile()->reduction_buffer; }

extern "C" {
void hb_emul_barrier(void);
void hb_emul_yield(void);  // a loop that waits on memory lets the others go on
void hb_emul_wait_local(const volatile int* word, int value);
void* hb_emul_remote(int x, int y, const volatile void* local, int in_group);
void hb_emul_stat(int tag, int kind);
int hb_emul_wide(void);  // whether the processor has 512-bit vectors
[[noreturn]] void hb_emul_fail(const char* file, int line, const char* form, ...) __attribute__((format(printf, 3, 4)));
[[noreturn]] void hb_emul_finish(void);
// A tensor's record is opened as one of these elements: another launch packet says otherwise.
void hb_emul_tensor(const void* record, uint32_t element);
int bsg_printf(const char* form, ...) __attribute__((format(printf, 1, 2)));
#ifdef HB_EMUL_CHECK
int hb_emul_amo(int what, volatile int* word, int value, int order);  // what: 's', '|', '+'; order: 1 acquire, 2 release
void hb_emul_fence(void);
#endif

// The linker gathers the records of a library; a function of the library tells where they lie.
extern const hb_emul_kernel_t __start_hb_kernels[] __attribute__((weak, visibility("hidden")));
extern const hb_emul_kernel_t __stop_hb_kernels[] __attribute__((weak, visibility("hidden")));
__attribute__((weak, visibility("default"))) const hb_emul_kernel_t* hb_emul_kernels(const hb_emul_kernel_t** end);
__attribute__((weak, visibility("default"))) const hb_emul_kernel_t* hb_emul_kernels(const hb_emul_kernel_t** end) {
  *end = __stop_hb_kernels;
  return __start_hb_kernels;
}
#ifdef HB_EMUL_CHECK
__attribute__((weak, visibility("default"))) int hb_emul_instrumented(void);
__attribute__((weak, visibility("default"))) int hb_emul_instrumented(void) { return 1; }
#endif
}

namespace hb_emul {

template <class T>
struct From {
  static_assert(sizeof(T) <= 4, "arguments of a kernel are 32-bit words: pass a larger value by pointer");
  static T word(uint32_t w) {
    T value;
    __builtin_memcpy(&value, &w, sizeof value);
    return value;
  }
};
template <class T>
struct From<T*> {
  static T* word(uint32_t w) { return (T*)(uintptr_t)w; }
};

template <size_t... i>
struct Indices {};
template <size_t n, size_t... i>
struct MakeIndices : MakeIndices<n - 1, n - 1, i...> {};
template <size_t... i>
struct MakeIndices<0, i...> {
  typedef Indices<i...> type;
};

// The parameters' types are the function's own.
template <class R, class... A, size_t... i>
inline void call(R (*kernel)(A...), const uint32_t* argv, Indices<i...>) {
  (void)argv;
  kernel(From<A>::word(argv[i])...);
}
template <class R, class... A>
inline void call(R (*kernel)(A...), const uint32_t* argv) {
  call(kernel, argv, typename MakeIndices<sizeof...(A)>::type());
}
template <class R, class... A>
constexpr uint32_t arity(R (*)(A...)) {
  return sizeof...(A);
}

}  // namespace hb_emul

// Makes `kernel` launchable by its name. The types may be left out: they are the function's.
#define HB_EMUL_REG_KERNEL(kernel, ...)                                                                             \
  static void hb_emul_call_##kernel(const uint32_t* argv) { hb_emul::call(&kernel, argv); }                         \
  __attribute__((section("hb_kernels"), used)) static const hb_emul_kernel_t hb_emul_record_##kernel = {           \
      #kernel, hb_emul::arity(&kernel), &hb_emul_call_##kernel, #__VA_ARGS__, __FILE__, __LINE__, nullptr};

#else  // on the chip the loader finds a kernel by its symbol
#define HB_EMUL_REG_KERNEL(kernel, ...)
#endif

#endif
