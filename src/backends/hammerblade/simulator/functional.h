// SPDX-License-Identifier: Apache-2.0
// Kernels run for their results: every tile as far as it comes, one after the other. The order is the same each time.
#pragma once

#include <cstdint>

#include "backends/hammerblade/simulator/mesh.h"

namespace fc::hb::sim {

// Until nobody can go on, or the mesh has stopped: what the host wrote is there. Returns the instructions done.
uint64_t run_functional(Mesh&, double watchdog_seconds);
// Writes the host's words at once.
void write_words(Mesh&, const std::vector<HostWord>&);

}  // namespace fc::hb::sim
