// SPDX-License-Identifier: Apache-2.0
// Our own matrix product, compiled once per instruction set (isa/product.cpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/variants.h"
#include "core/dtype.h"

namespace fc::cpu {

// c = alpha * a @ b + beta * c, strides in bytes; with beta == 0 c is not read. Each element of c is summed in one
// fixed order, whatever part of the matrix a call covers and however many threads there are.
struct Product {
  int64_t m, n, k;
  const char *a, *b;
  char* c;
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  double alpha, beta;
};
using ProductFn = void (*)(const Product& p);
struct ProductKernels {
  ProductFn blocks = nullptr;  // on one thread
  ProductFn dots = nullptr;    // every element of c as one sum along k, on all threads: for vectors and thin matrices
};
void* product_workspace(size_t bytes);  // this thread's, until the next call; 64-byte aligned

using ProductTable = ProductKernels[kDTypeSlots];
FC_VARIANTS(void fill_product(ProductTable& t);)

}  // namespace fc::cpu
