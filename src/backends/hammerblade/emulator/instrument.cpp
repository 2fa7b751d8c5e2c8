// SPDX-License-Identifier: Apache-2.0
// The calls that a compiler puts before every access under -fsanitize=thread,
// answered for kernels of check mode; where somebody watches (told.cpp), with the values. Code that does not run on a
// tile's stack (the host's, start-up) is let through.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/hammerblade/emulator/check.h"
#include "backends/hammerblade/emulator/emulator.h"

using fc::hb::Cell;
using fc::hb::checked_tile;
using fc::hb::checked_window;
using fc::hb::Checker;
using fc::hb::CheckTile;
using fc::hb::Emulator;
using fc::hb::Tile;
using fc::hb::Window;

#define HB_EXPORT __attribute__((visibility("default")))
#define HB_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

// What most accesses are: a word on the tile's stack, or one of DRAM that nobody else touched in this launch.
template <bool write>
bool is_plain_word(CheckTile& c, uintptr_t address, uintptr_t pc) {
  if (address & 3) return false;
  if (address - c.stack < c.room) return true;
  const Window& window = checked_window;
  uintptr_t offset = address - window.base;
  if (offset >= window.span || window.valid[offset >> 3] < (offset & 7) + 4) return false;
  Cell& cell = window.cells[offset >> 2];
  auto quiet = [&](uint64_t seen) { return seen < c.launch_floor || seen >> 37 == c.mine; };
  if (!quiet(cell.write)) return false;
  // What all tiles read again and again: an argument, a number. Nothing new is to be noted of it.
  if (!write &&
      (cell.read[0] == (c.now | fc::hb::stamp::whole_word) || cell.read[1] == (c.now | fc::hb::stamp::whole_word)))
    return true;
  if (!quiet(cell.read[0])) return false;
  auto at = static_cast<uint32_t>(pc - c.library);
  if (!write) {
    cell.read[0] = c.now | fc::hb::stamp::whole_word;
    cell.read_pc = at;
    return true;
  }
  if (!quiet(cell.read[1]) || (cell.write & fc::hb::stamp::by_atomic)) return false;
  cell.write = c.now | fc::hb::stamp::whole_word;
  cell.write_pc = at;
  if (!c.wrote_pc) c.wrote_pc = pc;
  ++c.writes;
  return true;
}

enum Kind { Read, Write, ReadWrite };

template <uint32_t size, Kind kind>
void access(const volatile void* p, uintptr_t pc) {
  constexpr bool write = kind != Read;
  CheckTile* c = checked_tile;
  if (!c) return;
  auto address = reinterpret_cast<uintptr_t>(p);
  const bool watched = checked_window.watched;
  if (watched) c->told.settle();
  if (size == 4 && !watched && is_plain_word<write>(*c, address, pc)) {
    if (--c->budget) return;
    c->budget = 1;
  }
  Checker& checker = *Emulator::get().checker();
  Emulator::get().need_room(*c->tile, pc);
  c->tile->in_runtime = true;
  checker.access(*c->tile, address, size, write, pc);
  checker.turn(*c->tile, pc);
  if (watched) {  // another tile may have had its turn: now it happens
    if (kind != Write) c->told.load(address, size, pc);
    if (write) c->told.store_begins(address, size, pc);
  }
  c->tile->in_runtime = false;
}

// By words where it lies on words: a long range is neither one access nor many bytes.
void range(const volatile void* address, size_t size, bool write, uintptr_t pc) {
  if (!checked_tile) return;
  Tile* tile = checked_tile->tile;
  if (checked_window.watched) checked_tile->told.settle();
  Checker& checker = *Emulator::get().checker();
  Emulator::get().need_room(*tile, pc);
  tile->in_runtime = true;
  auto at = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t end = at + size; at < end;) {
    uint32_t step = at % 4 == 0 && end - at >= 4 ? 4 : 1;
    checker.access(*tile, at, step, write, pc);
    at += step;
  }
  checker.turn(*tile, pc);
  tile->in_runtime = false;
}

void looked_at(const volatile void* p, size_t n, uintptr_t pc) {
  range(p, n, false, pc);
  if (checked_tile && checked_window.watched) checked_tile->told.load(reinterpret_cast<uintptr_t>(p), n, pc);
}

// What memcpy and its kin do, told with values where somebody watches.
template <class F>
void moved(void* to, const void* from, size_t n, uintptr_t pc, const F& move) {
  if (from) range(from, n, false, pc);
  range(to, n, true, pc);
  CheckTile* c = checked_tile;
  if (!c || !checked_window.watched) return move();
  c->tile->in_runtime = true;
  if (from) c->told.load(reinterpret_cast<uintptr_t>(from), n, pc);
  c->told.store_begins(reinterpret_cast<uintptr_t>(to), n, pc);
  move();
  c->told.settle();
  c->tile->in_runtime = false;
}

// Orders as compilers number them: relaxed, consume, acquire, release, acq_rel, seq_cst.
bool acquires(int order) { return order == 1 || order == 2 || order >= 4; }
bool releases(int order) { return order >= 3; }

template <class T, class F>
T atomic(volatile T* word, int order, uintptr_t pc, F operation, facula_hb_access_kind kind = FACULA_HB_ATOMIC) {
  if (!checked_tile) return operation(word);
  Tile* tile = checked_tile->tile;
  if (checked_window.watched) checked_tile->told.settle();
  Checker& checker = *Emulator::get().checker();
  Emulator::get().need_room(*tile, pc);
  tile->in_runtime = true;
  auto address = reinterpret_cast<uintptr_t>(word);
  bool in_dram = !Emulator::get().is_tile_address(address) && !tile->wave->library->is_variable(address);
  if (in_dram) checker.atomic_access(*tile, address, sizeof(T), pc);
  T old = operation(word);
  if (in_dram) checker.synchronise(*tile, address, acquires(order), releases(order));
  if (checked_window.watched) tile->check->told.atomic(address, sizeof(T), static_cast<uint64_t>(old), kind, pc);
  checker.turn(*tile, pc);
  tile->in_runtime = false;
  return old;
}

template <class T>
T exchanged_if(volatile T* word, T wanted, T value, int order, uintptr_t pc) {
  return atomic(word, order, pc, [wanted, value](auto* w) {
    T expected = wanted;
    __atomic_compare_exchange_n(w, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
  });
}

}  // namespace

extern "C" {

HB_EXPORT void __tsan_init() {}
HB_EXPORT void __tsan_func_entry(void* pc) {
  if (!checked_tile) return;
  Tile& tile = *checked_tile->tile;
  Emulator::get().need_room(tile, HB_PC);
  Emulator::get().checker()->entered(tile, reinterpret_cast<uintptr_t>(pc),
                                     reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 16, HB_PC);
}
HB_EXPORT void __tsan_func_exit(void*) {
  if (checked_tile) Emulator::get().checker()->left(*checked_tile->tile);
}

#define HB_ACCESS(size)                                                                   \
  HB_EXPORT void __tsan_read##size(void* p) { access<size, Read>(p, HB_PC); }             \
  HB_EXPORT void __tsan_write##size(void* p) { access<size, Write>(p, HB_PC); }           \
  HB_EXPORT void __tsan_volatile_read##size(void* p) { access<size, Read>(p, HB_PC); }    \
  HB_EXPORT void __tsan_volatile_write##size(void* p) { access<size, Write>(p, HB_PC); }  \
  HB_EXPORT void __tsan_unaligned_read##size(void* p) { access<size, Read>(p, HB_PC); }   \
  HB_EXPORT void __tsan_unaligned_write##size(void* p) { access<size, Write>(p, HB_PC); } \
  HB_EXPORT void __tsan_read_write##size(void* p) { access<size, ReadWrite>(p, HB_PC); }  \
  HB_EXPORT void __tsan_unaligned_read_write##size(void* p) { access<size, ReadWrite>(p, HB_PC); }
HB_ACCESS(1)
HB_ACCESS(2)
HB_ACCESS(4)
HB_ACCESS(8)
HB_ACCESS(16)

HB_EXPORT void __tsan_read_range(void* p, size_t n) { looked_at(p, n, HB_PC); }
HB_EXPORT void __tsan_write_range(void* p, size_t n) {
  range(p, n, true, HB_PC);
  if (checked_tile && checked_window.watched) checked_tile->told.store_begins(reinterpret_cast<uintptr_t>(p), n, HB_PC);
}
HB_EXPORT void __tsan_vptr_update(void** p, void*) { access<8, Write>(p, HB_PC); }
HB_EXPORT void __tsan_vptr_read(void** p) { access<8, Read>(p, HB_PC); }

static void* copied(void* to, const void* from, size_t n, uintptr_t pc) {
  moved(to, from, n, pc, [&] { memmove(to, from, n); });
  return to;
}
static void* filled(void* to, int value, size_t n, uintptr_t pc) {
  moved(to, nullptr, n, pc, [&] { memset(to, value, n); });
  return to;
}
HB_EXPORT void* __wrap_memcpy(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __wrap_memmove(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __wrap_memset(void* to, int value, size_t n) { return filled(to, value, n, HB_PC); }
static int compared(const void* a, const void* b, size_t n, uintptr_t pc) {
  looked_at(a, n, pc);
  looked_at(b, n, pc);
  return memcmp(a, b, n);
}
HB_EXPORT int __wrap_memcmp(const void* a, const void* b, size_t n) { return compared(a, b, n, HB_PC); }
HB_EXPORT size_t __wrap_strlen(const char* text) {
  for (size_t n = 0;; ++n) {
    looked_at(text + n, 1, HB_PC);
    if (!text[n]) return n;
  }
}
HB_EXPORT void* __tsan_memcpy(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __tsan_memmove(void* to, const void* from, size_t n) { return copied(to, from, n, HB_PC); }
HB_EXPORT void* __tsan_memset(void* to, int value, size_t n) { return filled(to, value, n, HB_PC); }

// clang-format off
#define HB_ATOMIC(bits, T)                                                                                     \
  HB_EXPORT T __tsan_atomic##bits##_load(const volatile T* p, int o) {                                         \
    return atomic(const_cast<volatile T*>(p), o, HB_PC, [](auto* w) { return __atomic_load_n(w, __ATOMIC_SEQ_CST); },   \
                  FACULA_HB_LOAD);                                                                             \
  }                                                                                                            \
  HB_EXPORT void __tsan_atomic##bits##_store(volatile T* p, T v, int o) {                                      \
    atomic(p, o, HB_PC, [v](auto* w) { return __atomic_exchange_n(w, v, __ATOMIC_SEQ_CST); }, FACULA_HB_STORE); \
  }                                                                                                            \
  HB_EXPORT T __tsan_atomic##bits##_exchange(volatile T* p, T v, int o) {                                      \
    return atomic(p, o, HB_PC, [v](auto* w) { return __atomic_exchange_n(w, v, __ATOMIC_SEQ_CST); });          \
  }                                                                                                            \
  HB_FETCH(bits, T, add)                                                                                       \
  HB_FETCH(bits, T, sub)                                                                                       \
  HB_FETCH(bits, T, and)                                                                                       \
  HB_FETCH(bits, T, or)                                                                                        \
  HB_FETCH(bits, T, xor)                                                                                       \
  HB_FETCH(bits, T, nand)                                                                                      \
  HB_EXPORT T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T c, T v, int o, int) {                \
    return exchanged_if(p, c, v, o, HB_PC);                                                                    \
  }                                                                                                            \
  HB_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* c, T v, int o, int) {          \
    T wanted = *c;                                                                                             \
    return (*c = exchanged_if(p, wanted, v, o, HB_PC)) == wanted;                                              \
  }                                                                                                            \
  HB_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* c, T v, int o, int) {            \
    T wanted = *c;                                                                                             \
    return (*c = exchanged_if(p, wanted, v, o, HB_PC)) == wanted;                                              \
  }
#define HB_FETCH(bits, T, name)                                                                                \
  HB_EXPORT T __tsan_atomic##bits##_fetch_##name(volatile T* p, T v, int o) {                                  \
    return atomic(p, o, HB_PC, [v](auto* w) { return __atomic_fetch_##name(w, v, __ATOMIC_SEQ_CST); });        \
  }
HB_ATOMIC(8, uint8_t)
HB_ATOMIC(16, uint16_t)
HB_ATOMIC(32, uint32_t)
HB_ATOMIC(64, uint64_t)
// clang-format on

HB_EXPORT void __tsan_atomic_thread_fence(int) {
  if (checked_tile) Emulator::get().checker()->fence(*checked_tile->tile);
}
HB_EXPORT void __tsan_atomic_signal_fence(int) {}
}
