// SPDX-License-Identifier: Apache-2.0
// The most float32 operations that this processor does in a second, measured: what rates of products are compared with.
#pragma once
#include "backends/cpu/variants.h"

namespace fc::cpu {

FC_VARIANTS(double core_peak(double seconds);)

double peak_rate(int threads, double seconds);  // operations per second of so many cores at once

}  // namespace fc::cpu
