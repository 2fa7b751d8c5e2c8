// SPDX-License-Identifier: Apache-2.0
// Who looks at the loads and stores of kernels in check mode, with their values. Called on the stack of the tile
// that makes
// the access, one at a time: it must be short, and neither throw nor launch.
#pragma once

#include <cstdint>

#include "backends/hammerblade/runtime/device.h"

namespace fc::hb {

using Observer = void (*)(const volatile void* address, uint32_t bytes, bool is_store, const void* value);

FC_HB_API void observe_accesses(Observer);  // null: nobody

}  // namespace fc::hb
