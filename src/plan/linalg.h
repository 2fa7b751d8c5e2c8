// SPDX-License-Identifier: Apache-2.0
// What factorisations and solvers of all devices share: checks of matrices, the shapes of results, and what is said
// when a factorisation fails. Results are laid out column by column, as LAPACK writes them.
#pragma once
#include <string>
#include <tuple>

#include "core/error.h"
#include "core/tensor.h"

namespace fc {

inline Dims batch_of(const Tensor& t) { return t.sizes().first(t.sizes().size() - 2); }  // sizes without the matrices'
inline Dims matrix_sizes(IntSpan batch, int64_t rows, int64_t columns) {
  Dims sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}
inline Dims vector_sizes(IntSpan batch, int64_t n) {
  Dims sizes(batch);
  sizes.push_back(n);
  return sizes;
}
Dims broadcast_batches(const char* op, IntSpan a, IntSpan b);

void check_matrices(const char* op, const Tensor& a, const char* name = "A");  // at least two dimensions
void check_square(const char* op, const Tensor& a, const char* name = "A");
// A type that LAPACK knows: float32, float64, complex64, complex128.
void check_lapack_type(const char* op, const Tensor& a);
void check_same_type(const char* op, const Tensor& a, const Tensor& b, const char* name_a = "A",
                     const char* name_b = "B");

// New matrices, stored column by column.
Tensor empty_matrices(IntSpan batch, int64_t rows, int64_t columns, const Tensor& like);
Tensor empty_integers(IntSpan sizes, const Tensor& like);  // int32, for pivots and info
// Whether the matrices lie one behind the other, column by column.
bool is_column_major(const Tensor& a);

// Shape rules: check the arguments and make the results.
using Pair = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
Three lu_results(const Tensor& a);                     // LU, pivots, info
Pair square_results(const char* op, const Tensor& a);  // a matrix like A, info
Tensor lu_solve_result(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left);
Tensor triangular_result(const Tensor& a, const Tensor& b, bool left);
Pair geqrf_results(const Tensor& a);  // reflectors, tau
Tensor householder_result(const Tensor& a, const Tensor& tau);
Tensor ormqr_result(const Tensor& a, const Tensor& tau, const Tensor& other, bool left);
Pair eigh_results(const Tensor& a, std::string_view uplo, bool vectors);  // values, vectors
Pair eig_results(const Tensor& a, bool vectors);                          // values, vectors
Three svd_results(const Tensor& a, bool full, bool vectors);              // U, S, Vh
Three lstsq_results(const Tensor& a, const Tensor& b);                    // X with max(m, n) rows, rank, S
Three ldl_results(const Tensor& a);                                       // LD, pivots, info
Tensor ldl_solve_result(const Tensor& ld, const Tensor& pivots, const Tensor& b);

// Throws LinAlgError if an `info` that a factorisation returned is not zero: `text` gets the first one's value.
void check_info(const char* op, const Tensor& info, std::string (*text)(int value));
// What is said of an `info`.
std::string zero_on_diagonal(int i);
std::string no_inverse(int i);
std::string no_solution(int);
std::string not_positive(int i);
std::string no_ldl(int i);
// Is B of A X = B a vector for each matrix A?
bool is_vector_case(const Tensor& a, const Tensor& b);

}  // namespace fc
