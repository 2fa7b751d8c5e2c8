// SPDX-License-Identifier: Apache-2.0
// The CPU's matmul family: c = alpha * a @ b + beta * c over a batch. Who computes it is decided per call by type and
// shape (docs/performance.md has the measurements): our own kernel, oneDNN or BLAS; or by the program (blas_choice.h).
// The libraries are optional when building and when running; they are loaded by the first product that is large enough
// for them.
#pragma once
#include "core/device.h"
#include "core/dtype.h"
#include "facula/families.h"

namespace fc::cpu {

// A product as libraries want it: row-major c, operands row-major or transposed, leading dimensions in elements.
struct LibraryProduct {
  bool transpose_a, transpose_b;
  int m, n, k, lda, ldb, ldc;
  const void *a, *b;
  void* c;
  double alpha, beta;
};

void matmul(void* context, Device device, const fc_matmul& c);

}  // namespace fc::cpu
