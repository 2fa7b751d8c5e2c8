// SPDX-License-Identifier: Apache-2.0
// Row and column kernels of softmax, logsumexp, the normalisations and mse_loss, compiled once per instruction set
// (isa/rows.cpp), for float32 and float64. "Rows" run along contiguous elements. "Columns" run along the outer of two
// axes: element (i, j) lies at i * stride + j, j < m. Every sum has a fixed tree. Element pointers are of the table's
// type.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"
#include "core/dtype.h"

namespace fc::cpu {

struct RowKernels {
  void (*softmax)(const void* x, void* y, int64_t rows, int64_t n, bool log);
  void (*softmax_backward)(const void* g, const void* y, void* dx, int64_t rows, int64_t n, bool log);
  void (*softmax_columns)(const void* x, void* y, int64_t n, int64_t stride, int64_t m, bool log);
  void (*softmax_columns_backward)(const void* g, const void* y, void* dx, int64_t n, int64_t stride, int64_t m,
                                   bool log);

  // The logarithm of the sum of exponentials of each row, of each column.
  void (*logsumexp)(const void* x, void* y, int64_t rows, int64_t n);
  void (*logsumexp_columns)(const void* x, void* y, int64_t n, int64_t stride, int64_t m);

  // What the log_softmax of each row subtracts: terms[2 * row], its largest element, and terms[2 * row + 1], the
  // logarithm of the sum of exponentials then. y[i] = exp(x[i] - terms[0] - terms[1]) * scale.
  void (*softmax_terms)(const void* x, void* terms, int64_t rows, int64_t n);
  void (*scaled_softmax)(const void* x, void* y, int64_t n, const void* terms, double scale);

  // The parts of a softmax, for rows that come in pieces: the largest element (NaN does not count); x[i] = exp(x[i] -
  // shift), and their sum.
  double (*largest)(const void* x, int64_t n);
  double (*exp_less)(void* x, int64_t n, double shift);

  // Mean and sum of squared deviations of a row.
  void (*moments)(const void* x, int64_t n, double* mean, double* deviations);
  // y[i] = (x[i] - mean) * rstd * weight[i] + bias[i]; weight and bias may be null
  void (*normalise)(const void* x, void* y, int64_t n, double mean, double rstd, const void* weight, const void* bias);
  // sums[0] = sum of g[i] * w[i], sums[1] = sum of g[i] * w[i] * (x[i] - mean); w may be null
  void (*pair_sums)(const void* g, const void* x, int64_t n, double mean, const void* weight, double* sums);
  // The sum of (a[i] - b[i])^2.
  double (*squared_distance)(const void* a, const void* b, int64_t n);
  // y[i] = a * g[i] * w[i] + b * x[i] + c, w may be null; without x y[i] = a * (g[i] - b) + c, in which a mean b far
  // from 0 costs no digits
  void (*affine)(const void* g, const void* x, void* y, int64_t n, double a, double b, double c, const void* weight);
  // the same with a, b, c per column, over rows of m columns; x may be null
  void (*affine_columns)(const void* g, const void* x, void* y, int64_t n, int64_t stride, int64_t m, const void* a,
                         const void* b, const void* c);
  // dw[j] += sum over i of g (x - mean[j or i]) * rstd[i], db[j] += sum over i of g; rstd null: 1, means per column
  void (*column_sums)(const void* g, const void* x, int64_t n, int64_t stride, int64_t m, const void* mean,
                      const void* rstd, void* dw, void* db);
};

FC_VARIANTS(extern const RowKernels row_table[2];)  // isa/rows.cpp; index 0 for float32, 1 for float64
inline const RowKernels& row_kernels(DType t) {     // Float32 or Float64
  static const RowKernels* const table = *FC_VARIANT(row_table);
  return table[t == DType::Float64];
}

}  // namespace fc::cpu
