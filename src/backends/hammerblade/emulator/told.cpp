// SPDX-License-Identifier: Apache-2.0
// Accesses as watchers are told of them (runtime/watch.h). All on the stack of the tile, or after it has left.
#include <cstring>
#include <new>

#include "backends/hammerblade/emulator/check.h"
#include "backends/hammerblade/runtime/watch.h"

namespace fc::hb {
namespace {

bool in_dram(uintptr_t address) { return address - checked_window.base < checked_window.span; }

uint64_t value_at(uintptr_t address, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<const void*>(address), bytes);
  return value;
}

// By pieces of 8, 4, 2 and 1 bytes, each on its own boundary of at most 4.
template <class F>
void in_pieces(uintptr_t address, size_t size, const F& f) {
  while (size) {
    size_t step = size >= 8 && address % 4 == 0   ? 8
                  : size >= 4 && address % 4 == 0 ? 4
                  : size >= 2 && address % 2 == 0 ? 2
                                                  : 1;
    f(address, static_cast<uint8_t>(step));
    address += step, size -= step;
  }
}

}  // namespace

void Told::load(uintptr_t address, size_t size, uintptr_t pc) noexcept {
  if (!in_dram(address)) return;
  in_pieces(address, size, [&](uintptr_t at, uint8_t bytes) {
    Watchers::get().tell(
        {pc, value_at(at, bytes), 0, static_cast<uint32_t>(at), tile, bytes, FACULA_HB_LOAD, FACULA_HB_UNKNOWN, {}});
  });
}

void Told::store_begins(uintptr_t address, size_t size, uintptr_t pc) noexcept {
  if (!in_dram(address)) return;
  in_pieces(address, size, [&](uintptr_t at, uint8_t bytes) {
    try {
      stores.push_back(
          {pc, 0, value_at(at, bytes), static_cast<uint32_t>(at), tile, bytes, FACULA_HB_STORE, FACULA_HB_UNKNOWN, {}});
    } catch (const std::bad_alloc&) { Watchers::get().lost(1); }
  });
}

void Told::settle() noexcept {
  for (facula_hb_access_t& store : stores) {
    store.value = value_at(store.address, store.bytes);
    Watchers::get().tell(store);
  }
  stores.clear();
}

void Told::atomic(uintptr_t address, uint32_t size, uint64_t before, facula_hb_access_kind kind,
                  uintptr_t pc) noexcept {
  if (!in_dram(address)) return;
  Watchers::get().tell({pc,
                        value_at(address, size),
                        before,
                        static_cast<uint32_t>(address),
                        tile,
                        static_cast<uint8_t>(size),
                        static_cast<uint8_t>(kind),
                        FACULA_HB_INTEGER,
                        {}});
}

}  // namespace fc::hb
