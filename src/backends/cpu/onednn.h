// SPDX-License-Identifier: Apache-2.0
// oneDNN, through its C interface (version 3).
#pragma once
#include "backends/cpu/matmul.h"

namespace facula::cpu {

bool onednn_available();                       // loads it
void onednn_product(const LibraryProduct& p);  // float32

}  // namespace facula::cpu
