// SPDX-License-Identifier: Apache-2.0
// Normal numbers one by one, in pairs of which the second one may wait in the generator: section 6.1 of docs/random.md.
// The caller holds the generator's lock.
#pragma once

#include "core/generator.h"

namespace fc::cpu {

double next_normal(CpuGenerator& g);

}  // namespace fc::cpu
