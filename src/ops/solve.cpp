// SPDX-License-Identifier: Apache-2.0
// What is computed with factorisations: solutions of linear equations, inverses, determinants, least squares.
// Notation of derivatives as in factor.cpp.
#include <cmath>
#include <limits>

#include "define/row.h"
#include "dispatch/forward_level.h"
#include "dispatch/warn_once.h"
#include "ops/matrix_calls.h"
#include "ops/register.h"

namespace fc {
namespace {

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using OptReal = std::optional<double>;
using OptText = std::optional<std::string_view>;

Three factor(const Tensor& a) { return call<"aten::linalg_lu_factor_ex", Three>(a, true, false); }

// --- inverse
Pair inv_ex_meta(const Tensor& a, bool) { return square_results("linalg.inv", a); }
Tensor inv(const Tensor& a) {
  auto [inverse, info] = call<"aten::linalg_inv_ex", Pair>(a, false);
  check_info_of("linalg.inv", info, no_inverse);
  return inverse;
}
void inv_grad(Grad& g) {
  Tensor h = mH(g.result());
  g.set(0, neg(matmul(h, matmul(g.out(), h))));
}

// --- A X = B
Four solve_ex_kernel(const Tensor& a, const Tensor& b, bool left, bool check) {
  const char* op = "linalg.solve";
  check_square(op, a);
  check_lapack_type(op, a);
  check_same_type(op, a, b);
  FC_CHECK(b.dim() >= 1, op, ": B must have at least 1 dimension.");
  const bool vector = is_vector_case(a, b);
  FC_CHECK(left || !vector, op,
           ": Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve "
           "is equivalent to B / A.squeeze(-1)");
  Tensor right = vector ? unsqueeze(b, -1) : b;
  FC_CHECK(a.size(-1) == right.size(left ? -2 : -1), op, ": Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", a.size(-2), "x", a.size(-1), " and ", right.size(-2), "x", right.size(-1),
           ")");
  auto [lu, pivots, info] = factor(a);
  if (check) check_info_of("torch.linalg.solve_ex", info, no_solution);
  Tensor x = lu_solve(lu, pivots, right, left);
  return {vector ? squeeze(x, -1) : x, lu, pivots, info};
}
Pair solve_ex(const Tensor& a, const Tensor& b, bool left, bool check) {
  auto [x, lu, pivots, info] = call<"aten::_linalg_solve_ex", Four>(a, b, left, check);
  return {x, info};
}
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  auto [x, lu, pivots, info] = call<"aten::_linalg_solve_ex", Four>(a, b, left, false);
  check_info_of("torch.linalg.solve", info, no_solution);
  return x;
}
// gB = A^-H gX, gA = -gB X^H. The factors serve again unless the derivative itself is to be differentiated.
void solve_grad(Grad& g) {
  if (!g.out().defined()) return;
  const bool left = g.arg(2).boolean();
  Tensor a = g.in(0), x = g.result(0), gx = g.out();
  const bool vector = x.dim() == a.dim() - 1 || x.dim() == 1;
  if (vector) x = unsqueeze(x, -1), gx = unsqueeze(gx, -1);
  Tensor gb = is_differentiated() ? solve(mH(a), gx, left) : lu_solve(g.result(1), g.result(2), gx, left, true);
  if (g.needs(0)) g.set(0, neg(left ? matmul(gb, mH(x)) : matmul(mH(x), gb)));
  if (g.needs(1)) g.set(1, vector ? squeeze(gb, -1) : gb);
}

Tensor triangular_meta(const Tensor& a, const Tensor& b, bool, bool left, bool) {
  return triangular_result(a, b, left);
}
void triangular_grad(Grad& g) {
  const bool upper = g.arg(2).boolean(), left = g.arg(3).boolean(), unit = g.arg(4).boolean();
  Tensor gb = solve_triangular(mH(g.in(0)), g.out(), !upper, left, unit);
  if (g.needs(1)) g.set(1, gb);
  if (!g.needs(0)) return;
  Tensor x = g.result(), ga = neg(left ? matmul(gb, mH(x)) : matmul(mH(x), gb));
  g.set(0, upper ? triu(ga, unit ? 1 : 0) : tril(ga, unit ? -1 : 0));
}
Pair old_triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transposed, bool unit) {
  static std::atomic<bool> said;
  warn_once(said,
            "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and will be removed in a "
            "future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a "
            "copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
            "X = torch.linalg.solve_triangular(A, B).");
  FC_CHECK(b.dim() >= 2 && a.dim() >= 2,
           "torch.triangular_solve: Expected b and A to have at least 2 dimensions, but they have ", b.dim(), " and ",
           a.dim(), " dimensions");
  Dims batch = broadcast_batches("torch.triangular_solve", batch_of(a), batch_of(b));
  Tensor x = solve_triangular(transposed ? mT(a) : a, b, upper != transposed, true, unit);
  return {x, clone(expand(a, matrix_sizes(batch, a.size(-2), a.size(-1))))};
}

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper) {
  FC_CHECK(b.dim() >= 2, "cholesky_solve: b should have at least 2 dimensions, but has ", b.dim(),
           " dimensions instead");
  FC_CHECK(l.dim() >= 2, "cholesky_solve: u should have at least 2 dimensions, but has ", l.dim(),
           " dimensions instead");
  check_square("cholesky_solve", l);
  FC_CHECK(l.size(-1) == b.size(-2), "Incompatible matrix sizes for cholesky_solve: each A matrix is ", l.size(-1),
           " by ", l.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  if (upper) return solve_triangular(l, solve_triangular(mH(l), b, false), true);
  return solve_triangular(mH(l), solve_triangular(l, b, false), true);
}
Tensor cholesky_inverse(const Tensor& l, bool upper) {
  FC_CHECK(l.dim() >= 2, "cholesky_inverse: The input tensor A must have at least 2 dimensions.");
  check_square("cholesky_inverse", l);
  return cholesky_solve(eye(l.size(-1), l), l, upper);
}

// --- determinants
// The sign of the exchanges: pivot i is not i + 1 where two rows were exchanged.
Tensor parity(const Tensor& pivots, DType type) {
  Tensor places = call<"aten::arange.start", Tensor>(Scalar(1), Scalar(pivots.size(-1) + 1),
                                                     std::optional<DType>(DType::Int32), std::optional<Layout>(),
                                                     std::optional<Device>(pivots.device()), std::optional<bool>());
  const int64_t last[] = {-1};
  Tensor swaps = sum(call<"aten::ne.Tensor", Tensor>(pivots, places), last);
  return to_dtype(rsub(mul(call<"aten::remainder.Scalar", Tensor>(swaps, Scalar(2)), 2), 1), type);
}
Three det_kernel(const Tensor& a) {
  check_square("linalg.det", a);
  check_lapack_type("linalg.det", a);
  auto [lu, pivots, info] = factor(a);
  return {mul(prod(diagonal(lu), -1), parity(pivots, a.dtype())), lu, pivots};
}
Tensor linalg_det(const Tensor& a) { return std::get<0>(call<"aten::_linalg_det", Three>(a)); }
// adj(A)^H from A = U S V^H: it needs no inverse, and is what gA / g is for matrices without one, too.
Tensor cofactors(const Tensor& a) {
  auto [u, s, vh] = svd(a);
  const int64_t n = s.size(-1);
  auto scan = [&](const Tensor& x) { return call<"aten::cumprod", Tensor>(x, int64_t{-1}, std::optional<DType>()); };
  Tensor one =
      ones_like(narrow(s, -1, 0, 1));  // the products of all singular values but one: of those before and after it
  Tensor before = scan(cat(std::array{one, narrow(s, -1, 0, n - 1)}, -1)),
         after = flip(scan(cat(std::array{one, flip(narrow(s, -1, 1, n - 1), Dims{-1})}, -1)), Dims{-1});
  Tensor phase = conj(mul(linalg_det(u), linalg_det(vh)));
  return mul(matmul(mul(u, unsqueeze(mul(before, after), -2)), vh), unsqueeze(unsqueeze(phase, -1), -1));
}
// gA = g conj(det) A^-H. A singular matrix gets a pivot of the size of rounding instead of zero.
void det_grad(Grad& g) {
  Tensor a = g.in(0), det = g.result(0), lu = g.result(1);
  if (!g.out().defined()) return;
  if (a.numel() == 0) return g.set(0, zeros_like(a));
  auto spread = [](const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); };
  const double eps = real_of(a.dtype()) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                                          : std::numeric_limits<float>::epsilon();
  if (!is_differentiated()) {
    Tensor d = diagonal(lu);
    Tensor factors = add(lu, diag_embed(to_dtype(mul(to_dtype(eq(d, 0), real_of(a.dtype())), eps), a.dtype())));
    Tensor changed =
        mul(prod(diagonal(factors), -1), parity(g.result(2), a.dtype()));  // the determinant that belongs to it
    Tensor right = mul(spread(mul(g.out(), conj(changed))), eye(a.size(-1), a));
    g.set(0, lu_solve(factors, g.result(2), right, true, true));
  } else if (all_true(gt(abs(detach(det)), 100 * eps))) {
    g.set(0, solve(mH(a), mul(spread(mul(g.out(), conj(det))), eye(a.size(-1), a))));
  } else {
    g.set(0, mul(spread(g.out()), cofactors(a)));
  }
}

Four slogdet_kernel(const Tensor& a) {
  check_square("linalg.slogdet", a);
  check_lapack_type("linalg.slogdet", a);
  auto [lu, pivots, info] = factor(a);
  Tensor d = diagonal(lu);
  const int64_t last[] = {-1};
  return {mul(prod(sgn(d), -1), parity(pivots, a.dtype())), sum(log(abs(d)), last), lu, pivots};
}
Pair linalg_slogdet(const Tensor& a) {
  auto [sign, logabsdet, lu, pivots] = call<"aten::_linalg_slogdet", Four>(a);
  return {sign, logabsdet};
}
// log det(A) has the derivative A^-H; the sign of a complex determinant turns with its imaginary part.
void slogdet_grad(Grad& g) {
  Tensor a = g.in(0), sign = g.result(0), gs = g.out(0), gl = g.out(1), factor;
  const bool turns = is_complex(a.dtype()) && gs.defined();
  if (!gl.defined() && !turns) return;
  if (a.numel() == 0) return g.set(0, zeros_like(a));
  if (gl.defined()) factor = to_dtype(gl, a.dtype());
  if (turns) {
    Tensor turn = imag(mul(conj(gs), sign));
    turn = call<"aten::complex", Tensor>(zeros_like(turn), neg(turn));
    factor = factor.defined() ? add(factor, turn) : turn;
  }
  Tensor right = mul(unsqueeze(unsqueeze(factor, -1), -1), eye(a.size(-1), a));
  g.set(0, is_differentiated() ? solve(mH(a), right) : lu_solve(g.result(2), g.result(3), right, true, true));
}
Tensor logdet(const Tensor& a) {
  check_square("logdet", a);
  auto [sign, logabsdet] = linalg_slogdet(a);
  if (is_complex(a.dtype())) return add(log(sign), logabsdet);
  return where(eq(sign, -1), std::numeric_limits<double>::quiet_NaN(), logabsdet);
}

// --- least squares
Three lstsq_meta(const Tensor& a, const Tensor& b, double, std::string_view) { return lstsq_results(a, b); }
Four lstsq_kernel(const Tensor& a, const Tensor& b, OptReal rcond, OptText driver) {
  const char* op = "torch.linalg.lstsq";
  FC_CHECK(a.dim() >= 2, op, ": input must have at least 2 dimensions.");
  FC_CHECK(b.dim() >= 1, op, ": other must have at least 1 dimension.");
  FC_CHECK(a.dtype() == b.dtype(), op, ": Expected input and other to have the same dtype, but got input's dtype ",
           info(a.dtype()).legacy, " and other's dtype ", info(b.dtype()).legacy);
  check_matrices(op, a, "input");
  check_lapack_type(op, a);
  FC_CHECK(a.dim() - b.dim() <= 1, op,
           ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1");
  const bool vector = is_vector_case(a, b);
  Tensor right = vector ? unsqueeze(b, -1) : b;
  FC_CHECK(a.dim() >= right.dim() || right.dim() >= 2, op, ": input.dim() must be greater or equal to other.dim()");
  FC_CHECK(a.size(-2) == right.size(-2), op,
           vector ? ": input.size(-2) should match other.size(-1)" : ": input.size(-2) should match other.size(-2)");
  const std::string_view how = driver.value_or("gelsy");
  FC_CHECK(how == "gels" || how == "gelsy" || how == "gelsd" || how == "gelss", op,
           ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  const Dims batch = broadcast_batches(op, batch_of(a), batch_of(right));
  const int64_t m = a.size(-2), n = a.size(-1);
  const double eps = real_of(a.dtype()) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                                          : std::numeric_limits<float>::epsilon();
  Tensor matrices = expand(a, matrix_sizes(batch, m, n));
  auto [x, rank, s] = call<"aten::_lstsq", Three>(matrices, expand(right, matrix_sizes(batch, m, right.size(-1))),
                                                  rcond.value_or(eps * static_cast<double>(std::max(m, n))), how);
  auto none = [&] { return empty_tensor(Dims{0}, real_of(a.dtype()), a.device()); };
  Tensor residuals = none(), solution = narrow(x, -2, 0, n);
  const bool full_rank = how == "gels" || (m > n && !a.device().is_meta() && all_true(eq(rank, n)));
  if (m > n && how != "gelsy" && full_rank) {
    const int64_t rows[] = {-2};
    residuals = sum(square(abs(narrow(x, -2, n, m - n))), rows);
    if (vector) residuals = squeeze(residuals, -1);
  }
  if (vector) solution = squeeze(solution, -1);
  return {solution, residuals, how == "gels" ? empty_tensor(Dims{0}, DType::Int64, a.device()) : rank,
          how == "gelsd" || how == "gelss" ? s : none()};
}
// X = pinv(A) B. The residuals |A X - B|^2 do not change with X, since it makes them smallest.
void lstsq_grad(Grad& g) {
  Tensor a = g.in(0), b = g.in(1), x = g.result(0), gx = g.out(0), gr = g.out(1), ga, gb;
  const bool vector = is_vector_case(a, b);
  auto column = [&](const Tensor& t) { return vector ? unsqueeze(t, -1) : t; };
  b = column(b);
  if (gx.defined()) {
    Tensor inverse = pinv(a);
    gb = matmul(mH(inverse), column(gx));
    if (g.needs(0)) ga = pinv_gradient(matmul(column(gx), mH(b)), inverse, a);
  }
  if (gr.defined() && gr.numel() > 0) {
    Tensor rest = mul(mul(sub(matmul(a, column(x)), b), unsqueeze(column(gr), -2)), 2);
    gb = gb.defined() ? sub(gb, rest) : neg(rest);
    Tensor more = matmul(rest, mH(column(x)));
    ga = ga.defined() ? add(ga, more) : more;
  }
  if (g.needs(0)) g.set(0, ga);
  if (g.needs(1) && gb.defined()) g.set(1, vector ? squeeze(gb, -1) : gb);
}

// --- symmetric indefinite
Three ldl_meta(const Tensor& a, bool, bool) { return ldl_results(a); }
Tensor ldl_solve_meta(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool) {
  return ldl_solve_result(ld, pivots, b);
}
Pair ldl_factor(const Tensor& a, bool hermitian) {
  auto [ld, pivots, info] = call<"aten::linalg_ldl_factor_ex", Three>(a, hermitian, false);
  check_info_of("torch.linalg.ldl_factor", info, no_ldl);
  return {ld, pivots};
}

// --- equations between tensors
Tensor tensorinv(const Tensor& a, int64_t ind) {
  FC_CHECK(ind > 0, "linalg.tensorinv: Expected a strictly positive integer for 'ind', but got ", ind);
  const auto sizes = a.sizes();
  const size_t cut = std::min(static_cast<size_t>(ind), sizes.size());
  const int64_t first = checked_numel(sizes.first(cut)), rest = checked_numel(sizes.subspan(cut));
  FC_CHECK(first == rest,
           "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
           "prod(self.shape[:ind]), but got ",
           rest, " != ", first);
  Dims out(sizes.subspan(cut));
  for (int64_t s : sizes.first(cut)) out.push_back(s);
  auto [inverse, info] = call<"aten::linalg_inv_ex", Pair>(reshape(a, Dims{rest, first}), false);
  if (!a.device().is_meta() && call<"aten::_local_scalar_dense", Scalar>(info).to_int() != 0)
    raise<Error>("linalg.tensorinv: Failed to invert the input tensor, because it is singular.");
  return reshape(inverse, out);
}
Tensor tensorsolve(const Tensor& self, const Tensor& b, std::optional<IntSpan> dims) {
  Tensor a = self;
  if (dims) {
    Dims to(dims->size());
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<int64_t>(i) - static_cast<int64_t>(to.size());
    a = call<"aten::movedim.intlist", Tensor>(a, *dims, IntSpan(to));
  }
  const size_t cut = std::min(static_cast<size_t>(b.dim()), a.sizes().size());
  const int64_t first = checked_numel(a.sizes().first(cut)), rest = checked_numel(a.sizes().subspan(cut));
  FC_CHECK(first == rest,
           "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
           "prod(self.shape[:other.ndim]), "
           "but got ",
           rest, " != ", first);
  return reshape(solve(reshape(a, Dims{rest, rest}), reshape(b, Dims{-1}), true), a.sizes().subspan(cut));
}

constexpr OpDef defs[] = {
    {.schema = "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     .doc = "inv that reports failures in `info` instead of raising.",
     .meta = kernel<&inv_ex_meta>(),
     .saves = "result",
     .grad = inv_grad,
     .differentiable_results = 1,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_inv(Tensor A) -> Tensor",
     .doc = "The inverse of a square matrix.",
     .composite = kernel<&inv>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "inverse(Tensor self) -> Tensor",
     .doc = "The inverse of a square matrix.",
     .composite = kernel<&inv>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, "
               "Tensor LU, Tensor pivots, "
               "Tensor info)",
     .node = "LinalgSolveExBackward0",
     .all = kernel<&solve_ex_kernel>(),
     .saves = "A left result result1 result2",
     .grad = solve_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, "
               "Tensor info)",
     .doc = "solve that reports failures in `info` instead of raising.",
     .composite = kernel<&solve_ex>(),
     .out = true},
    {.schema = "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
     .doc = "The solution X of A X = B, or of X A = B.",
     .composite = kernel<&linalg_solve>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
               "unitriangular=False) -> Tensor",
     .doc = "The solution X of A X = B with a triangular matrix A.",
     .meta = kernel<&triangular_meta>(),
     .saves = "self upper left unitriangular result",
     .grad = triangular_grad,
     .out = true},
    {.schema = "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
               "unitriangular=False) -> (Tensor solution, "
               "Tensor cloned_coefficient)",
     .doc = "The solution of equations with a triangular matrix; linalg.solve_triangular is its successor.",
     .composite = kernel<&old_triangular_solve>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
     .doc = "The solution X of A X = input, given the Cholesky factor of A.",
     .composite = kernel<&cholesky_solve>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
     .doc = "The inverse of a matrix, given its Cholesky factor.",
     .composite = kernel<&cholesky_inverse>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     .node = "LinalgDetBackward0",
     .all = kernel<&det_kernel>(),
     .saves = "A result result1 result2",
     .grad = det_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "linalg_det(Tensor A) -> Tensor",
     .doc = "The determinant.",
     .composite = kernel<&linalg_det>(),
     .out = true},
    {.schema = "det(Tensor self) -> Tensor", .doc = "The determinant.", .composite = kernel<&linalg_det>()},
    {.schema = "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
     .node = "LinalgSlogdetBackward0",
     .all = kernel<&slogdet_kernel>(),
     .saves = "A result result2 result3",
     .grad = slogdet_grad,
     .differentiable_results = 2,
     .hidden = true},
    {.schema = "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
     .doc = "The determinant's sign and the logarithm of its absolute value.",
     .composite = kernel<&linalg_slogdet>(),
     .out = true},
    {.schema = "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
     .doc = "The determinant's sign and the logarithm of its absolute value.",
     .composite = kernel<&linalg_slogdet>(),
     .out = true},
    {.schema = "logdet(Tensor self) -> Tensor",
     .doc = "The logarithm of the determinant.",
     .composite = kernel<&logdet>()},
    {.schema = "_lstsq(Tensor self, Tensor b, float rcond, str driver) -> (Tensor, Tensor, Tensor)",
     .meta = kernel<&lstsq_meta>(),
     .hidden = true},
    {.schema = "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
               "Tensor residuals, Tensor rank, "
               "Tensor singular_values)",
     .doc = "The X that makes A X - B shortest: solution, residuals, rank and singular values of A.",
     .all = kernel<&lstsq_kernel>(),
     .saves = "self b result",
     .grad = lstsq_grad,
     .differentiable_results = 2,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, "
               "Tensor pivots, Tensor info)",
     .doc = "ldl_factor that reports failures in `info` instead of raising.",
     .meta = kernel<&ldl_meta>(),
     .differentiable_results = 1,
     .out = true},
    {.schema = "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
     .doc = "The LDL factorisation of a symmetric or Hermitian matrix, packed into one.",
     .composite = kernel<&ldl_factor>(),
     .out = true},
    {.schema = "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
     .doc = "The solution X of A X = B, given the LDL factorisation of A.",
     .meta = kernel<&ldl_solve_meta>(),
     .out = true},
    {.schema = "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
     .doc = "The inverse of tensordot with the tensor: the first ind dimensions are the rows.",
     .composite = kernel<&tensorinv>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
     .doc = "The solution X of tensordot(A, X) = other.",
     .composite = kernel<&tensorsolve>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
};

}  // namespace

void define_solve() { define_all(defs); }

}  // namespace fc
