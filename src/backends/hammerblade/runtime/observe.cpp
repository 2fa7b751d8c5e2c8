// SPDX-License-Identifier: Apache-2.0
// Loads and stores that a kernel written with facula_hb/kernel.h makes in check mode: told to one observer, if there
// is one.
#include "backends/hammerblade/runtime/observe.h"

#include <atomic>

namespace fc::hb {
namespace {

std::atomic<Observer> observer{nullptr};

}  // namespace

void observe_accesses(Observer seen) { observer.store(seen, std::memory_order_release); }

}  // namespace fc::hb

extern "C" FC_HB_API void hb_emul_observe(const volatile void* address, uint32_t bytes, int is_store,
                                          const void* value) {
  if (auto seen = fc::hb::observer.load(std::memory_order_acquire)) seen(address, bytes, is_store != 0, value);
}
