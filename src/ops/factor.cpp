// SPDX-License-Identifier: Apache-2.0
// Factorisations of matrices: LU, Cholesky, QR, eigenvalues, singular values. The CPU's kernels are in
// backends/cpu/linalg.cpp. Derivatives follow from differentiating what defines the factors; gX stands for the gradient
// of X, and ^H for the conjugate transpose.
#include <cmath>

#include "define/row.h"
#include "dispatch/warn_once.h"
#include "ops/matrix_calls.h"
#include "ops/register.h"

namespace fc {
namespace {

using OptText = std::optional<std::string_view>;

Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : add(a, b); }

// --- LU
Three lu_factor_ex_meta(const Tensor& a, bool, bool) { return lu_results(a); }
Three lu_factor_checked(const Tensor& a, bool pivot, bool check) {
  Three out = call<"aten::linalg_lu_factor_ex", Three>(a, pivot, false);
  if (check) check_info_of("torch.linalg.lu_factor", std::get<2>(out), zero_on_diagonal);
  return out;
}
Pair lu_factor(const Tensor& a, bool pivot) {
  auto [lu, pivots, info] = lu_factor_checked(a, pivot, true);
  return {lu, pivots};
}

Tensor lu_permutation_meta(const Tensor& pivots, int64_t rows) {
  FC_CHECK(pivots.dim() > 0, "_lu_permutation: pivots along the last dimension are expected, got a scalar");
  return empty_tensor(vector_sizes(pivots.sizes().first(pivots.sizes().size() - 1), rows), DType::Int64,
                      pivots.device());
}
Tensor permutation_matrix(const Tensor& lu, const Tensor& pivots) {
  Tensor order = call<"aten::_lu_permutation", Tensor>(pivots, lu.size(-2));
  // Row order[i] of P has its one in column i.
  Dims sizes = matrix_sizes(batch_of(lu), lu.size(-2), lu.size(-2));
  return scatter(zeros(sizes, lu.dtype(), lu.device()), -2, unsqueeze(order, -2),
                 full(sizes, 1, lu.dtype(), lu.device()));
}
Three lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  FC_CHECK(lu.dim() >= 2, "torch.lu_unpack: The input tensor LU_data must have at least 2 dimensions.");
  FC_CHECK(!unpack_pivots || pivots.dtype() == DType::Int32,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
           "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor");
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  FC_CHECK(!unpack_pivots || (pivots.dim() == lu.dim() - 1 && pivots.size(-1) <= m),
           "torch.lu_unpack: LU_pivots of sizes ", pivots.sizes(), " do not belong to LU_data of sizes ", lu.sizes());
  Tensor none = empty_tensor(Dims{0}, lu.dtype(), lu.device()),
         p = unpack_pivots ? permutation_matrix(lu, pivots) : none;
  if (!unpack_data) return {p, none, none};
  Tensor l = tril(narrow(lu, -1, 0, k), -1), u = triu(narrow(lu, -2, 0, k));
  Tensor ones = full(vector_sizes(batch_of(lu), k), 1, lu.dtype(), lu.device());
  return {p, add(l, k == m ? diag_embed(ones) : eye_part(m, k, lu)), u};
}
Three lu(const Tensor& a, bool pivot) {
  auto [factors, pivots, info] = lu_factor_checked(a, pivot, false);
  return lu_unpack(factors, pivots, true, true);
}

// A = P L U. With T the triangle's part of what stands in the brackets (strictly lower for L, upper for U):
//   square: gA = P L^-H [T(L^H gL) + T(gU U^H)] U^-H.
// A wide matrix has U = [U1 U2] with U2 = L^-1 P^T A2, a tall one L2 = P2^T A U^-1 likewise.
Tensor lu_gradient(const Tensor& lu, const Tensor& pivots, const Tensor& g) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  auto [p, l, u] = lu_unpack(lu, pivots, true, true);
  Tensor l1 = narrow(l, -2, 0, k), u1 = narrow(u, -1, 0, k), g1 = narrow(narrow(g, -1, 0, k), -2, 0, k);
  Tensor lower = matmul(mH(l1), tril(g1, -1)), upper = matmul(triu(g1), mH(u1)), rest;
  if (n > k) {
    Tensor gu2 = narrow(g, -1, k, n - k);
    lower = sub(lower, matmul(gu2, mH(narrow(u, -1, k, n - k))));
    rest = solve_triangular(mH(l1), gu2, true, true, true);
  } else if (m > k) {
    Tensor gl2 = narrow(g, -2, k, m - k);
    upper = sub(upper, matmul(mH(narrow(l, -2, k, m - k)), gl2));
    rest = solve_triangular(mH(u1), gl2, false, false);
  }
  Tensor ga = add(tril(lower, -1), triu(upper));
  ga = solve_triangular(mH(u1), solve_triangular(mH(l1), ga, true, true, true), false, false);
  if (rest.defined()) ga = cat(std::array{ga, rest}, n > k ? -1 : -2);
  return matmul(p, ga);
}

// With gA as for a solver, the factors get its parts: gL = P^T gA U^H, gU = L^H P^T gA.
void lu_solve_grad(Grad& g) {
  const bool left = g.arg(3).boolean(), adjoint = g.arg(4).boolean();
  Tensor lu = g.in(0), pivots = g.in(1);
  Tensor gb = lu_solve(lu, pivots, g.out(), left, !adjoint);
  if (g.needs(2)) g.set(2, gb);
  if (!g.needs(0)) return;
  Tensor x = g.result(), ga = neg(left ? matmul(gb, mH(x)) : matmul(mH(x), gb));
  if (adjoint) ga = mH(ga);
  auto [p, l, u] = lu_unpack(lu, pivots, true, true);
  Tensor inner = matmul(mT(p), ga);
  g.set(0, add(tril(matmul(inner, mH(u)), -1), triu(matmul(mH(l), inner))));
}

Tensor lu_solve_meta(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool) {
  return lu_solve_result(lu, pivots, b, left);
}
Tensor old_lu_solve(const Tensor& b, const Tensor& lu, const Tensor& pivots) {
  static std::atomic<bool> said;
  warn_once(said,
            "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve and will be removed in a future PyTorch "
            "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\n"
            "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)");
  return lu_solve(lu, pivots, b);
}

// --- Cholesky
Pair cholesky_ex_meta(const Tensor& a, bool, bool) { return square_results("linalg.cholesky", a); }
Tensor linalg_cholesky(const Tensor& a, bool upper) {
  auto [l, info] = call<"aten::linalg_cholesky_ex", Pair>(a, upper, false);
  check_info_of("linalg.cholesky", info, not_positive);
  return l;
}
// gA = L^-H F(L^H gL) L^-1, symmetric; F keeps the lower triangle and half of the diagonal.
void cholesky_grad(Grad& g) {
  if (!g.out().defined()) return;
  const bool upper = g.arg(1).boolean();
  Tensor l = upper ? mH(g.result()) : g.result(), gl = upper ? mH(g.out()) : g.out();
  Tensor inner = tril(matmul(mH(l), gl));
  inner = add(inner, mH(tril(inner, -1)));
  if (is_complex(l.dtype())) inner = sub(inner, mul(diag_embed(sub(diagonal(inner), conj(diagonal(inner)))), 0.5));
  g.set(0, mul(solve_triangular(l, solve_triangular(mH(l), inner, true), false, false), 0.5));
}

// --- QR
Pair geqrf_meta(const Tensor& a) { return geqrf_results(a); }
bool mode_is_known(std::string_view mode) { return mode == "reduced" || mode == "complete" || mode == "r"; }
Pair qr_kernel(const Tensor& a, std::string_view mode) {
  FC_CHECK(mode_is_known(mode), "linalg.qr: qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  check_matrices("linalg.qr", a);
  check_lapack_type("linalg.qr", a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), columns = mode == "complete" ? m : k;
  auto [reflectors, tau] = call<"aten::geqrf", Pair>(a);
  Tensor r = triu(narrow(reflectors, -2, 0, k));
  if (mode == "complete" && m > k)
    r = cat(std::array{r, zeros(matrix_sizes(batch_of(a), m - k, n), a.dtype(), a.device())}, -2);
  if (mode == "r") return {empty_tensor(Dims{0}, a.dtype(), a.device()), r};
  Tensor start = narrow(reflectors, -1, 0, k);
  if (columns > k)
    start = cat(std::array{start, zeros(matrix_sizes(batch_of(a), m, columns - k), a.dtype(), a.device())}, -1);
  return {call<"aten::_householder_product", Tensor>(start, tau), r};
}
// gA = [gQ + Q S(gR R^H - Q^H gQ)] R^-H, where S(M) is the Hermitian matrix with M's upper triangle. A wide matrix is
// [X Y] with R2 = Q^H Y, which sends gY = Q gR2 and adds Y gR2^H to gQ.
void qr_grad(Grad& g) {
  const std::string_view mode = g.arg(1).text();
  FC_CHECK(mode != "r",
           "linalg.qr: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
           "linalg.qr(A, "
           "mode='reduced') if you are going to require gradients.");
  Tensor q = g.result(0), r = g.result(1), gq = g.out(0), gr = g.out(1);
  const int64_t m = q.size(-2), n = r.size(-1), k = std::min(m, n);
  FC_CHECK(mode != "complete" || m <= n,
           "linalg.qr: The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  if (!gq.defined() && !gr.defined()) return;
  Tensor gy, gr1 = gr, r1 = r;
  if (n > k) {
    r1 = narrow(r, -1, 0, k);
    if (gr.defined()) {
      Tensor gr2 = narrow(gr, -1, k, n - k), y = matmul(q, narrow(r, -1, k, n - k));
      gr1 = narrow(gr, -1, 0, k);
      gy = matmul(q, gr2);
      gq = plus(gq, matmul(y, mH(gr2)));
    }
  }
  Tensor inner;
  if (gr1.defined()) inner = matmul(gr1, mH(r1));
  if (gq.defined()) inner = plus(inner, neg(matmul(mH(q), gq)));
  Tensor upper = triu(inner);
  Tensor symmetric =
      sub(add(upper, mH(upper)), diag_embed(call<"aten::to.dtype", Tensor>(real(diagonal(upper)), upper.dtype(), false,
                                                                           false, std::optional<MemoryFormat>())));
  Tensor gx = solve_triangular(mH(r1), plus(gq, matmul(q, symmetric)), false, false);
  if (n > k)
    gx = cat(std::array{gx, gy.defined() ? gy : zeros(matrix_sizes(batch_of(q), m, n - k), gx.dtype(), gx.device())},
             -1);
  g.set(0, gx);
}

// The product of reflections I - tau_i v_i v_i^H written out, for derivatives: v_i is column i of a below its diagonal.
Tensor reflect(const Tensor& a, const Tensor& tau, const Tensor& x, int64_t i, bool adjoint, bool left) {
  Tensor v = narrow(tril(a, -1), -1, i, 1);
  Tensor unit = zeros(Dims{a.size(-2), 1}, a.dtype(), a.device());
  fill_(select(unit, 0, i), 1);
  v = add(v, unit);
  Tensor factor = unsqueeze(narrow(tau, -1, i, 1), -1);
  if (adjoint) factor = conj(factor);
  return sub(x, mul(factor, left ? matmul(v, matmul(mH(v), x)) : matmul(matmul(x, v), mH(v))));
}
Tensor householder_product_meta(const Tensor& a, const Tensor& tau) { return householder_result(a, tau); }
Tensor householder_product(const Tensor& a, const Tensor& tau) {
  if (!records({&a, &tau})) return call<"aten::_householder_product", Tensor>(a, tau);
  Tensor x = householder_result(a, tau);
  x = eye_part(a.size(-2), a.size(-1), a);
  if (a.dim() > 2) x = expand(x, a.sizes());
  for (int64_t i = tau.size(-1); i-- > 0;) x = reflect(a, tau, x, i, false, true);
  return x;
}
Tensor ormqr_meta(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool) {
  return ormqr_result(a, tau, other, left);
}
Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
  if (!records({&a, &tau, &other})) return call<"aten::_ormqr", Tensor>(a, tau, other, left, transposed);
  ormqr_result(a, tau, other, left);
  Tensor x = other;
  const int64_t k = tau.size(-1);
  for (int64_t i = 0; i < k; ++i) x = reflect(a, tau, x, left == transposed ? i : k - 1 - i, transposed, left);
  return x;
}

// --- eigenvalues
Pair eigh_meta(const Tensor& a, std::string_view uplo, bool vectors) { return eigh_results(a, uplo, vectors); }
Pair eig_meta(const Tensor& a) { return eig_results(a, true); }
Tensor eigvals_meta(const Tensor& a) { return std::get<0>(eig_results(a, false)); }
Pair linalg_eigh(const Tensor& a, std::string_view uplo) { return call<"aten::_linalg_eigh", Pair>(a, uplo, true); }
Tensor eigvalsh(const Tensor& a, std::string_view uplo) {
  return std::get<0>(call<"aten::_linalg_eigh", Pair>(a, uplo, records({&a})));
}
Tensor eigvals(const Tensor& a) {
  return records({&a}) ? std::get<0>(call<"aten::linalg_eig", Pair>(a)) : call<"aten::_linalg_eigvals", Tensor>(a);
}

// What separates the values: l_j - l_i, and one on the diagonal.
Tensor gaps(const Tensor& values) {
  Tensor e = sub(unsqueeze(values, -2), unsqueeze(values, -1));
  return add(e, eye(values.size(-1), e));
}
// gA = V [skew(V^H gV) / E + diag(gL)] V^H. Only the skew part of V^H gV turns the vectors: the rest would make them
// longer, which no change of A does.
void eigh_grad(Grad& g) {
  Tensor values = g.result(0), v = g.result(1), gl = g.out(0), gv = g.out(1);
  if (!gl.defined() && !gv.defined()) return;
  FC_CHECK(v.dim() >= 2, "linalg.eigh: the derivative needs the eigenvectors, which were not computed");
  if (!gv.defined()) {
    g.set(0, matmul(mul(v, unsqueeze(gl, -2)), mH(v)));
    return;
  }
  Tensor inner = matmul(mH(v), gv);
  inner = mul(sub(inner, mH(inner)), 0.5);
  Tensor off = div(sub(inner, diag_embed(diagonal(inner))), gaps(values));
  if (gl.defined()) off = add(off, diag_embed(gl));
  g.set(0, matmul(v, matmul(off, mH(v))));
}
// gA = V^-H [(V^H gV - V^H V diag(Re(V^H gV))) / conj(E) + diag(gL)] V^H
void eig_grad(Grad& g) {
  Tensor values = g.result(0), v = g.result(1), gl = g.out(0), gv = g.out(1);
  if (!gl.defined() && !gv.defined()) return;
  Tensor inner;
  if (gv.defined()) {
    Tensor vgv = matmul(mH(v), gv);
    inner = sub(vgv, mul(matmul(mH(v), v), unsqueeze(real(diagonal(vgv)), -2)));
    inner = div(sub(inner, diag_embed(diagonal(inner))), conj(gaps(values)));
  }
  if (gl.defined()) inner = plus(inner, diag_embed(gl));
  Tensor ga = solve(mH(v), matmul(inner, mH(v)));
  g.set(0, is_complex(g.dtype(0)) ? ga : real(ga));
}

// --- singular values
Three svd_meta(const Tensor& a, bool full, bool vectors, OptText) { return svd_results(a, full, vectors); }
Three linalg_svd(const Tensor& a, bool full, OptText driver) {
  return call<"aten::_linalg_svd", Three>(a, full, true, driver);
}
Tensor linalg_svdvals(const Tensor& a, OptText driver) {
  return std::get<1>(call<"aten::_linalg_svd", Three>(a, false, records({&a}), driver));
}
Three old_svd(const Tensor& a, bool some, bool vectors) {
  FC_CHECK(a.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ", a.dim(),
           " dimensions instead");
  if (vectors) {
    auto [u, s, vh] = linalg_svd(a, !some, {});
    return {u, s, mH(vh)};
  }
  Tensor s = linalg_svdvals(a, {});
  return {zeros(matrix_sizes(batch_of(a), a.size(-2), a.size(-2)), a.dtype(), a.device()), s,
          zeros(matrix_sizes(batch_of(a), a.size(-1), a.size(-1)), a.dtype(), a.device())};
}
// With K(M) = (M - M^H) / E, E_ij = s_j^2 - s_i^2 off the diagonal:
//   gA = U [K(U^H gU) S + S K(V^H gV) + diag(gS)] V^H + (1 - U U^H) gU S^-1 V^H + U S^-1 gV^H (1 - V V^H).
// Complex vectors have a free phase: its part of the diagonal, which both sides share, is divided by S.
void svd_grad(Grad& g) {
  Tensor u = g.result(0), s = g.result(1), vh = g.result(2), gu = g.out(0), gs = g.out(1), gvh = g.out(2);
  if (!gu.defined() && !gs.defined() && !gvh.defined()) return;
  FC_CHECK(u.dim() >= 2, "linalg.svd: the derivative needs the singular vectors, which were not computed");
  const int64_t k = s.size(-1), m = u.size(-2), n = vh.size(-1);
  u = narrow(u, -1, 0, k), vh = narrow(vh, -2, 0, k);
  if (gu.defined()) gu = narrow(gu, -1, 0, k);
  if (gvh.defined()) gvh = narrow(gvh, -2, 0, k);
  if (!gu.defined() && !gvh.defined()) {
    g.set(0, m >= n ? matmul(u, mul(unsqueeze(gs, -1), vh)) : matmul(mul(u, unsqueeze(gs, -2)), vh));
    return;
  }
  auto skew = [](const Tensor& x) { return sub(x, mH(x)); };
  Tensor e = gaps(square(s)), inner, row = unsqueeze(s, -2), column = unsqueeze(s, -1), ugu;
  if (gu.defined()) {
    ugu = skew(matmul(mH(u), gu));
    inner = mul(div(ugu, e), row);
  }
  if (gvh.defined()) inner = plus(inner, mul(column, div(skew(matmul(vh, mH(gvh))), e)));
  if (is_complex(u.dtype())) {
    inner = sub(inner, diag_embed(diagonal(inner)));
    if (gu.defined()) inner = add(inner, diag_embed(div(diagonal(ugu), mul(s, 2))));
  }
  if (gs.defined()) inner = add(inner, diag_embed(gs));
  Tensor ga = matmul(matmul(u, inner), vh);
  if (gu.defined() && m > k) {
    Tensor scaled = div(gu, row);
    ga = add(ga, matmul(sub(scaled, matmul(u, matmul(mH(u), scaled))), vh));
  }
  if (gvh.defined() && n > k) {
    Tensor scaled = div(gvh, column);
    ga = add(ga, matmul(u, sub(scaled, matmul(matmul(scaled, mH(vh)), vh))));
  }
  g.set(0, ga);
}

constexpr OpDef defs[] = {
    {.schema = "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor "
               "pivots, Tensor info)",
     .doc = "lu_factor that reports failures in `info` instead of raising.",
     .meta = kernel<&lu_factor_ex_meta>(),
     .saves = "result result1",
     .grad = [](Grad& g) { g.set(0, lu_gradient(g.result(0), g.result(1), g.out())); },
     .differentiable_results = 1,
     .out = true},
    {.schema = "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
     .doc = "The LU factorisation with pivoting, packed into one matrix, and the exchanged rows.",
     .composite = kernel<&lu_factor>(),
     .out = true},
    {.schema = "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, "
               "Tensor info)",
     .composite = kernel<&lu_factor_checked>(),
     .hidden = true},
    {.schema = "_lu_permutation(Tensor pivots, int rows) -> Tensor",
     .meta = kernel<&lu_permutation_meta>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor "
               "P, Tensor L, Tensor U)",
     .doc = "P, L and U from what lu_factor returns.",
     .composite = kernel<&lu_unpack>(),
     .out = true},
    {.schema = "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
     .doc = "Permutation, lower and upper triangle whose product is the matrix.",
     .composite = kernel<&lu>(),
     .out = true},
    {.schema = "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
     .doc = "The solution X of A X = B, given the LU factorisation of A.",
     .meta = kernel<&lu_solve_meta>(),
     .saves = "LU pivots left adjoint result",
     .grad = lu_solve_grad,
     .out = true},
    {.schema = "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
     .doc = "The solution X of A X = input, given the LU factorisation of A; linalg.lu_solve is its successor.",
     .composite = kernel<&old_lu_solve>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema =
         "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
     .doc = "cholesky that reports failures in `info` instead of raising.",
     .meta = kernel<&cholesky_ex_meta>(),
     .saves = "upper result",
     .grad = cholesky_grad,
     .differentiable_results = 1,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
     .doc = "The triangular L with L L^H equal to the Hermitian positive-definite matrix.",
     .composite = kernel<&linalg_cholesky>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "cholesky(Tensor self, bool upper=False) -> Tensor",
     .doc = "The triangular L with L L^H equal to the Hermitian positive-definite matrix.",
     .composite = kernel<&linalg_cholesky>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
     .doc =
         "A QR factorisation as LAPACK stores it: R above the diagonal, Householder vectors below, and their factors.",
     .meta = kernel<&geqrf_meta>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
     .doc = "Q with orthonormal columns and the upper triangle R whose product is the matrix.",
     .all = kernel<&qr_kernel>(),
     .saves = "mode result result1",
     .grad = qr_grad,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_householder_product(Tensor input, Tensor tau) -> Tensor",
     .meta = kernel<&householder_product_meta>(),
     .hidden = true},
    {.schema = "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
     .doc = "The first columns of the product of the Householder reflections that geqrf stores.",
     .composite = kernel<&householder_product>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "orgqr(Tensor self, Tensor input2) -> Tensor",
     .doc = "The first columns of the product of the Householder reflections that geqrf stores.",
     .composite = kernel<&householder_product>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
     .meta = kernel<&ormqr_meta>(),
     .hidden = true},
    {.schema = "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
     .doc = "A matrix times the product of the Householder reflections that geqrf stores.",
     .composite = kernel<&ormqr>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema =
         "_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
     .meta = kernel<&eigh_meta>(),
     .saves = "result result1",
     .grad = eigh_grad,
     .hidden = true},
    {.schema = "linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
     .doc = "Eigenvalues in ascending order and eigenvectors of a Hermitian matrix.",
     .composite = kernel<&linalg_eigh>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
     .doc = "Eigenvalues of a Hermitian matrix, in ascending order.",
     .composite = kernel<&eigvalsh>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
     .doc = "Eigenvalues and eigenvectors of a square matrix, as complex numbers.",
     .meta = kernel<&eig_meta>(),
     .saves = "result result1",
     .grad = eig_grad,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_linalg_eigvals(Tensor self) -> Tensor", .meta = kernel<&eigvals_meta>(), .hidden = true},
    {.schema = "linalg_eigvals(Tensor self) -> Tensor",
     .doc = "Eigenvalues of a square matrix, as complex numbers.",
     .composite = kernel<&eigvals>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor "
               "U, Tensor S, Tensor Vh)",
     .meta = kernel<&svd_meta>(),
     .saves = "result result1 result2",
     .grad = svd_grad,
     .hidden = true},
    {.schema = "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     .doc = "The singular value decomposition A = U diag(S) Vh.",
     .composite = kernel<&linalg_svd>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
     .doc = "Singular values in descending order.",
     .composite = kernel<&linalg_svdvals>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
     .doc = "The singular value decomposition U diag(S) V^H; linalg.svd is its successor.",
     .composite = kernel<&old_svd>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
};

}  // namespace

void define_factor() { define_all(defs); }

}  // namespace fc
