// SPDX-License-Identifier: Apache-2.0
// The library behind BLAS=, through its cblas interface.
#pragma once
#include "backends/cpu/matmul.h"

namespace fc::cpu {

bool blas_available();                                    // loads it
void blas_product(DType dtype, const LibraryProduct& p);  // float32, float64, complex64, complex128

}  // namespace fc::cpu
