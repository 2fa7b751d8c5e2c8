// SPDX-License-Identifier: Apache-2.0
// Reading and writing by index on the CPU: the gather and scatter families, and kernels by name for operators whose
// result depends on data (nonzero, masked_select …).
#pragma once
#include "facula/families.h"

namespace fc::cpu {

void gather(void*, const fc_gather& c);
void scatter(void*, const fc_scatter& c);
void register_index();  // named kernels

}  // namespace fc::cpu
