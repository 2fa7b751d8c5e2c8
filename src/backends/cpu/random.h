// SPDX-License-Identifier: Apache-2.0
// The CPU's random numbers: words are drawn one after the other, and turned into numbers in parallel.
#pragma once
#include "facula/families.h"
#include "plan/random.h"

namespace fc::cpu {

void random_fill(const Tensor& target, const RandomFill& what, CpuGenerator& generator);
void random(void* context, Device device, const fc_random& call);  // section 9
double next_normal(CpuGenerator& generator);                       // section 6.1; the caller holds the generator's lock

}  // namespace fc::cpu
