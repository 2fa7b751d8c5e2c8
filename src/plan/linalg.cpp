// SPDX-License-Identifier: Apache-2.0
#include "plan/linalg.h"

#include <algorithm>
#include <limits>

namespace fc {

void check_matrices(const char* op, const Tensor& a, const char* name) {
  FC_CHECK(a.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions.");
  const int64_t limit = std::numeric_limits<int32_t>::max();
  FC_CHECK(a.size(-1) <= limit && a.size(-2) <= limit, op, ": matrices of up to 2^31 - 1 rows and columns, got ",
           a.size(-2), " by ", a.size(-1));
}

void check_square(const char* op, const Tensor& a, const char* name) {
  check_matrices(op, a, name);
  FC_CHECK(a.size(-1) == a.size(-2), op, ": ", name, " must be batches of square matrices, but they are ", a.size(-2),
           " by ", a.size(-1), " matrices");
}

void check_lapack_type(const char* op, const Tensor& a) {
  FC_CHECK_AS(NotImplementedError, is_floating(a.dtype()) || is_complex(a.dtype()), op,
              ": Expected a floating point or complex tensor as input. Got ", info(a.dtype()).legacy);
  FC_CHECK_AS(NotImplementedError, !is_reduced(a.dtype()), op, ": Low precision dtypes not supported. Got ",
              info(a.dtype()).legacy);
}

void check_same_type(const char* op, const Tensor& a, const Tensor& b, const char* name_a, const char* name_b) {
  FC_CHECK(a.dtype() == b.dtype(), op, ": Expected ", name_a, " and ", name_b, " to have the same dtype, but found ",
           name_a, " of type ", info(a.dtype()).legacy, " and ", name_b, " of type ", info(b.dtype()).legacy,
           " instead");
}

Dims broadcast_batches(const char* op, IntSpan a, IntSpan b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims out(a);
  const size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& n = out[lead + i];
    FC_CHECK(n == b[i] || n == 1 || b[i] == 1, op, ": The batch dimensions ", a, " and ", b,
             " cannot be broadcast to one shape");
    if (n == 1) n = b[i];
  }
  return out;
}

Tensor empty_matrices(IntSpan batch, int64_t rows, int64_t columns, const Tensor& like) {
  Dims sizes = matrix_sizes(batch, rows, columns);
  checked_numel(sizes);
  Dims strides = contiguous_strides(sizes);
  strides[sizes.size() - 2] = 1;
  strides[sizes.size() - 1] = std::max<int64_t>(rows, 1);
  return empty_strided_tensor(sizes, strides, like.dtype(), like.device());
}

Tensor empty_integers(IntSpan sizes, const Tensor& like) { return empty_tensor(sizes, DType::Int32, like.device()); }

bool is_column_major(const Tensor& a) {
  int64_t expected = a.size(-2) * a.size(-1);
  if ((a.size(-2) > 1 && a.stride(-2) != 1) || (a.size(-1) > 1 && a.stride(-1) != a.size(-2))) return false;
  for (int64_t d = a.dim() - 3; d >= 0; --d) {
    if (a.size(d) > 1 && a.stride(d) != expected) return false;
    expected *= a.size(d);
  }
  return true;
}

void check_info(const char* op, const Tensor& info, std::string (*text)(int value)) {
  const auto* values = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (values[i] == 0) continue;
    const std::string where = info.dim() ? str("(Batch element ", i, "): ") : "";
    FC_CHECK(values[i] > 0, op, ": ", where, "Argument ", -values[i],
             " has illegal value. Most certainly there is a bug in the implementation calling the backend library.");
    raise<LinAlgError>(op, ": ", where, text(values[i]));
  }
}

Three lu_results(const Tensor& a) {
  check_matrices("linalg.lu_factor", a);
  check_lapack_type("linalg.lu_factor", a);
  return {empty_matrices(batch_of(a), a.size(-2), a.size(-1), a),
          empty_integers(vector_sizes(batch_of(a), std::min(a.size(-1), a.size(-2))), a),
          empty_integers(batch_of(a), a)};
}

Pair square_results(const char* op, const Tensor& a) {
  check_square(op, a);
  check_lapack_type(op, a);
  return {empty_matrices(batch_of(a), a.size(-2), a.size(-1), a), empty_integers(batch_of(a), a)};
}

namespace {
// Op(A) X = B with square A, or X Op(A) = B.
void check_solvable(const char* op, const Tensor& a, const Tensor& b, bool left, const char* name) {
  check_square(op, a, name);
  check_matrices(op, b, "B");
  const int64_t d = left ? -2 : -1;
  FC_CHECK(a.size(-2) == b.size(d), op, ": Incompatible shapes of ", name, " and B for the equation ",
           left ? "AX = B" : "XA = B", " (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  check_lapack_type(op, a);
  check_same_type(op, a, b, name, "B");
}
Tensor solution(const char* op, const Tensor& a, const Tensor& b) {
  return empty_matrices(broadcast_batches(op, batch_of(a), batch_of(b)), b.size(-2), b.size(-1), b);
}
void check_pivots(const char* op, const Tensor& a, const Tensor& pivots) {
  FC_CHECK(pivots.dtype() == DType::Int32, op, ": pivots should be a Tensor of scalar type torch.int32. Got ",
           info(pivots.dtype()).legacy);
  FC_CHECK(pivots.dim() == a.dim() - 1 && std::ranges::equal(pivots.sizes(), a.sizes().first(a.sizes().size() - 1)), op,
           ": Number of pivots per batch should be same as the dimension of the matrix: pivots of sizes ",
           a.sizes().first(a.sizes().size() - 1), " expected, got ", pivots.sizes());
}
}  // namespace

Tensor lu_solve_result(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left) {
  const char* op = "linalg.lu_solve";
  check_solvable(op, lu, b, left, "LU");
  check_pivots(op, lu, pivots);
  Tensor out = solution(op, lu, b);
  return left ? out : empty_tensor(out.sizes(), out.dtype(), out.device());  // its transpose is solved for
}

Tensor triangular_result(const Tensor& a, const Tensor& b, bool left) {
  check_solvable("linalg.solve_triangular", a, b, left, "A");
  return solution("linalg.solve_triangular", a, b);
}

Pair geqrf_results(const Tensor& a) {
  check_matrices("geqrf", a, "input");
  check_lapack_type("geqrf", a);
  return {empty_matrices(batch_of(a), a.size(-2), a.size(-1), a),
          empty_tensor(vector_sizes(batch_of(a), std::min(a.size(-1), a.size(-2))), a.dtype(), a.device())};
}

Tensor householder_result(const Tensor& a, const Tensor& tau) {
  const char* op = "torch.linalg.householder_product";
  FC_CHECK(a.dim() >= 2, op, ": input must have at least 2 dimensions.");
  FC_CHECK(a.size(-2) >= a.size(-1), op, ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  FC_CHECK(a.dim() - tau.dim() == 1, op,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
           " and input.ndim is equal to ", a.dim());
  FC_CHECK(a.size(-1) >= tau.size(-1), op, ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  FC_CHECK(std::ranges::equal(tau.sizes().first(tau.sizes().size() - 1), batch_of(a)), op,
           ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           tau.sizes().first(tau.sizes().size() - 1));
  FC_CHECK(a.dtype() == tau.dtype(), op, ": tau dtype ", info(tau.dtype()).legacy, " does not match input dtype ",
           info(a.dtype()).legacy);
  check_matrices(op, a, "input");
  check_lapack_type(op, a);
  return empty_matrices(batch_of(a), a.size(-2), a.size(-1), a);
}

Tensor ormqr_result(const Tensor& a, const Tensor& tau, const Tensor& other, bool left) {
  const char* op = "torch.ormqr";
  FC_CHECK(a.dim() >= 2, op, ": input must have at least 2 dimensions.");
  FC_CHECK(other.dim() >= 2, op, ": other must have at least 2 dimensions.");
  FC_CHECK(a.dim() - tau.dim() == 1, op,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
           " and input.ndim is equal to ", a.dim());
  const int64_t d = left ? -2 : -1;
  FC_CHECK(other.size(d) >= tau.size(-1), op, ": other.shape[", d, "] must be greater than or equal to tau.shape[-1]");
  FC_CHECK(other.size(d) == a.size(-2), op, ": other.shape[", d, "] must be equal to input.shape[-2]");
  FC_CHECK(tau.size(-1) <= a.size(-1), op, ": tau.shape[-1] must be less than or equal to input.shape[-1]");
  FC_CHECK(a.dim() == other.dim(), op,
           ": Expected other to have the same number of dimensions as input, but got other.ndim equal to ", other.dim(),
           " and input.ndim is equal to ", a.dim());
  FC_CHECK(std::ranges::equal(tau.sizes().first(tau.sizes().size() - 1), batch_of(a)), op,
           ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           tau.sizes().first(tau.sizes().size() - 1));
  FC_CHECK(std::ranges::equal(batch_of(other), batch_of(a)), op,
           ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ", batch_of(other));
  FC_CHECK(a.dtype() == tau.dtype() && a.dtype() == other.dtype(), op,
           ": Expected input, tau and other to have the same dtype, but found ", info(a.dtype()).legacy, ", ",
           info(tau.dtype()).legacy, " and ", info(other.dtype()).legacy);
  check_matrices(op, other, "other");
  check_lapack_type(op, a);
  return empty_matrices(batch_of(other), other.size(-2), other.size(-1), other);
}

Pair eigh_results(const Tensor& a, std::string_view uplo, bool vectors) {
  const char* op = "linalg.eigh";
  check_square(op, a);
  check_lapack_type(op, a);
  FC_CHECK(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", op,
           ": Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return {
      empty_tensor(vector_sizes(batch_of(a), a.size(-1)), real_of(a.dtype()), a.device()),
      vectors ? empty_matrices(batch_of(a), a.size(-1), a.size(-1), a) : empty_tensor(Dims{0}, a.dtype(), a.device())};
}

Pair eig_results(const Tensor& a, bool vectors) {
  const char* op = "linalg.eig";
  check_square(op, a);
  check_lapack_type(op, a);
  const DType type = complex_of(a.dtype());
  Dims strides = contiguous_strides(a.sizes());
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return {
      empty_tensor(vector_sizes(batch_of(a), a.size(-1)), type, a.device()),
      vectors ? empty_strided_tensor(a.sizes(), strides, type, a.device()) : empty_tensor(Dims{0}, type, a.device())};
}

Three svd_results(const Tensor& a, bool full, bool vectors) {
  check_matrices("linalg.svd", a);
  check_lapack_type("linalg.svd", a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_of(a);
  Tensor s = empty_tensor(vector_sizes(batch, k), real_of(a.dtype()), a.device());
  if (vectors) return {empty_matrices(batch, m, full ? m : k, a), s, empty_matrices(batch, full ? n : k, n, a)};
  return {empty_tensor(Dims{0}, a.dtype(), a.device()), s, empty_tensor(Dims{0}, a.dtype(), a.device())};
}

Three lstsq_results(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), n = a.size(-1);
  return {empty_matrices(batch_of(a), std::max(m, n), b.size(-1), a),
          empty_tensor(batch_of(a), DType::Int64, a.device()),
          empty_tensor(vector_sizes(batch_of(a), std::min(m, n)), real_of(a.dtype()), a.device())};
}

Three ldl_results(const Tensor& a) {
  const char* op = "torch.linalg.ldl_factor_ex";
  check_square(op, a);
  check_lapack_type(op, a);
  return {empty_matrices(batch_of(a), a.size(-2), a.size(-1), a),
          empty_integers(a.sizes().first(a.sizes().size() - 1), a), empty_integers(batch_of(a), a)};
}

Tensor ldl_solve_result(const Tensor& ld, const Tensor& pivots, const Tensor& b) {
  const char* op = "torch.linalg.ldl_solve";
  FC_CHECK(b.dim() >= 2, op, ": Expected B to have at least 2 dimensions, but it has ", b.dim(), " dimensions instead");
  check_solvable(op, ld, b, true, "LD");
  check_pivots(op, ld, pivots);
  return solution(op, ld, b);
}

std::string zero_on_diagonal(int i) {
  return str("U[", i, ",", i,
             "] is zero and using it on lu_solve would result in a division by zero. If you still want ",
             "to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
}
std::string no_inverse(int i) {
  return str("The diagonal element ", i,
             " is zero, the inversion could not be completed because the input matrix is singular.");
}
std::string no_solution(int) { return "The solver failed because the input matrix is singular."; }
std::string not_positive(int i) {
  return str(
      "The factorization could not be completed because the input is not positive-definite (the leading minor of ",
      "order ", i, " is not positive-definite).");
}
std::string no_ldl(int i) {
  return str("D[", i, ",", i, "] is zero: the factorization cannot be used to solve equations.");
}

bool is_vector_case(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 ||
         (a.dim() - 1 == b.dim() && std::ranges::equal(b.sizes(), a.sizes().first(a.sizes().size() - 1)));
}

}  // namespace fc
