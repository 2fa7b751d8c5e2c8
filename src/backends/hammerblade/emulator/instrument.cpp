// SPDX-License-Identifier: Apache-2.0
// The calls that a compiler puts before every access under -fsanitize=thread,
// answered for kernels of check mode. Code that does not run on a tile's stack (the host's, start-up) is let through.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/hammerblade/emulator/check.h"
#include "backends/hammerblade/emulator/engine.h"

using fc::hb::Checker;
using fc::hb::Engine;
using fc::hb::Tile;

#define HB_EXPORT __attribute__((visibility("default")))
#define HB_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

Tile* checked_tile() {
  Tile* tile = Engine::current();
  return tile && Engine::get().options().check && tile->check ? tile : nullptr;
}

void access(const volatile void* address, size_t size, bool write, uintptr_t pc) {
  Tile* tile = checked_tile();
  if (!tile) return;
  Checker& checker = *Engine::get().checker();
  tile->in_runtime = true;
  checker.access(*tile, reinterpret_cast<uintptr_t>(address), static_cast<uint32_t>(size), write, pc);
  checker.turn(*tile);
  tile->in_runtime = false;
}

// By words where it lies on words: a long range is neither one access nor many bytes.
void range(const volatile void* address, size_t size, bool write, uintptr_t pc) {
  Tile* tile = checked_tile();
  if (!tile) return;
  Checker& checker = *Engine::get().checker();
  tile->in_runtime = true;
  auto at = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t end = at + size; at < end;) {
    uint32_t step = at % 4 == 0 && end - at >= 4 ? 4 : 1;
    checker.access(*tile, at, step, write, pc);
    at += step;
  }
  checker.turn(*tile);
  tile->in_runtime = false;
}

// Orders as compilers number them: relaxed, consume, acquire, release, acq_rel, seq_cst.
bool acquires(int order) { return order == 1 || order == 2 || order >= 4; }
bool releases(int order) { return order >= 3; }

template <class T, class F>
T atomic(volatile T* word, int order, uintptr_t pc, F operation) {
  Tile* tile = checked_tile();
  if (!tile) return operation(word);
  Checker& checker = *Engine::get().checker();
  tile->in_runtime = true;
  auto address = reinterpret_cast<uintptr_t>(word);
  bool in_dram = !Engine::get().is_tile_address(address) && !tile->wave->launch->library->is_variable(address);
  if (in_dram) checker.atomic_access(*tile, address, sizeof(T), pc);
  T old = operation(word);
  if (in_dram) checker.synchronise(*tile, address, acquires(order), releases(order));
  checker.turn(*tile);
  tile->in_runtime = false;
  return old;
}

}  // namespace

extern "C" {

HB_EXPORT void __tsan_init() {}
HB_EXPORT void __tsan_func_entry(void* pc) {
  if (Tile* tile = checked_tile())
    Engine::get().checker()->entered(*tile, reinterpret_cast<uintptr_t>(pc),
                                     reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 16, HB_PC);
}
HB_EXPORT void __tsan_func_exit(void*) {
  if (Tile* tile = checked_tile()) Engine::get().checker()->left(*tile);
}

#define HB_ACCESS(size)                                                                  \
  HB_EXPORT void __tsan_read##size(void* p) { access(p, size, false, HB_PC); }           \
  HB_EXPORT void __tsan_write##size(void* p) { access(p, size, true, HB_PC); }           \
  HB_EXPORT void __tsan_volatile_read##size(void* p) { access(p, size, false, HB_PC); }  \
  HB_EXPORT void __tsan_volatile_write##size(void* p) { access(p, size, true, HB_PC); }  \
  HB_EXPORT void __tsan_unaligned_read##size(void* p) { access(p, size, false, HB_PC); } \
  HB_EXPORT void __tsan_unaligned_write##size(void* p) { access(p, size, true, HB_PC); } \
  HB_EXPORT void __tsan_read_write##size(void* p) { access(p, size, true, HB_PC); }      \
  HB_EXPORT void __tsan_unaligned_read_write##size(void* p) { access(p, size, true, HB_PC); }
HB_ACCESS(1)
HB_ACCESS(2)
HB_ACCESS(4)
HB_ACCESS(8)
HB_ACCESS(16)

HB_EXPORT void __tsan_read_range(void* p, size_t n) { range(p, n, false, HB_PC); }
HB_EXPORT void __tsan_write_range(void* p, size_t n) { range(p, n, true, HB_PC); }
HB_EXPORT void __tsan_vptr_update(void** p, void*) { access(p, 8, true, HB_PC); }
HB_EXPORT void __tsan_vptr_read(void** p) { access(p, 8, false, HB_PC); }

static void* copied(void* to, const void* from, size_t n, uintptr_t pc) {
  range(from, n, false, pc);
  range(to, n, true, pc);
  return memmove(to, from, n);
}
static void* filled(void* to, int value, size_t n, uintptr_t pc) {
  range(to, n, true, pc);
  return memset(to, value, n);
}
HB_EXPORT void* __wrap_memcpy(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __wrap_memmove(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __wrap_memset(void* to, int value, size_t n) { return filled(to, value, n, HB_PC); }
HB_EXPORT void* __tsan_memcpy(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __tsan_memmove(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __tsan_memset(void* to, int value, size_t n) { return filled(to, value, n, HB_PC); }

#define HB_FETCH(bits, name)                                                                                         \
  HB_EXPORT uint##bits##_t __tsan_atomic##bits##_fetch_##name(volatile uint##bits##_t* p, uint##bits##_t v, int o) { \
    return atomic(p, o, HB_PC, [v](auto* w) { return __atomic_fetch_##name(w, v, __ATOMIC_SEQ_CST); });              \
  }
#define HB_ATOMIC(bits)                                                                                          \
  HB_EXPORT uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* p, int o) {                 \
    return atomic(const_cast<volatile uint##bits##_t*>(p), o, HB_PC,                                             \
                  [](auto* w) { return __atomic_load_n(w, __ATOMIC_SEQ_CST); });                                 \
  }                                                                                                              \
  HB_EXPORT void __tsan_atomic##bits##_store(volatile uint##bits##_t* p, uint##bits##_t v, int o) {              \
    atomic(p, o, HB_PC, [v](auto* w) { return __atomic_exchange_n(w, v, __ATOMIC_SEQ_CST); });                   \
  }                                                                                                              \
  HB_EXPORT uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* p, uint##bits##_t v, int o) { \
    return atomic(p, o, HB_PC, [v](auto* w) { return __atomic_exchange_n(w, v, __ATOMIC_SEQ_CST); });            \
  }                                                                                                              \
  HB_FETCH(bits, add)                                                                                            \
  HB_FETCH(bits, sub) HB_FETCH(bits, and) HB_FETCH(bits, or) HB_FETCH(bits, xor) HB_FETCH(bits, nand)            \
      HB_EXPORT uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                       \
          volatile uint##bits##_t* p, uint##bits##_t c, uint##bits##_t v, int o, int) {                          \
    return atomic(p, o, HB_PC, [c, v](auto* w) {                                                                 \
      uint##bits##_t expected = c;                                                                               \
      __atomic_compare_exchange_n(w, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
      return expected;                                                                                           \
    });                                                                                                          \
  }                                                                                                              \
  HB_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* p, uint##bits##_t* c,     \
                                                              uint##bits##_t v, int o, int) {                    \
    uint##bits##_t wanted = *c;                                                                                  \
    *c = atomic(p, o, HB_PC, [wanted, v](auto* w) {                                                              \
      uint##bits##_t expected = wanted;                                                                          \
      __atomic_compare_exchange_n(w, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
      return expected;                                                                                           \
    });                                                                                                          \
    return *c == wanted;                                                                                         \
  }                                                                                                              \
  HB_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* p, uint##bits##_t* c,       \
                                                            uint##bits##_t v, int o, int f) {                    \
    return __tsan_atomic##bits##_compare_exchange_strong(p, c, v, o, f);                                         \
  }
HB_ATOMIC(8)
HB_ATOMIC(16)
HB_ATOMIC(32)
HB_ATOMIC(64)

HB_EXPORT void __tsan_atomic_thread_fence(int) {
  if (Tile* tile = checked_tile()) Engine::get().checker()->fence(*tile);
}
HB_EXPORT void __tsan_atomic_signal_fence(int) {}
}
