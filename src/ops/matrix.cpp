// SPDX-License-Identifier: Apache-2.0
// Functions of matrices: norms, condition, rank, pseudoinverse, powers, the exponential; and products of vectors.
#include <cmath>
#include <limits>

#include "define/row.h"
#include "dispatch/warn_once.h"
#include "ops/matrix_calls.h"
#include "ops/register.h"

namespace fc {
namespace {

using OptScalar = std::optional<Scalar>;
using OptDims = std::optional<IntSpan>;
using OptType = std::optional<DType>;
using OptReal = std::optional<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double epsilon(const Tensor& a) {
  return real_of(a.dtype()) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                              : std::numeric_limits<float>::epsilon();
}
Tensor vector_norm(const Tensor& a, const Scalar& ord, OptDims dim, bool keepdim, OptType dtype) {
  return call<"aten::linalg_vector_norm", Tensor>(a, ord, dim, keepdim, dtype);
}
Tensor inv(const Tensor& a) { return call<"aten::linalg_inv", Tensor>(a); }

// --- norms
void check_norm_input(const Tensor& a, OptType dtype, const char* op) {
  check_matrices(op, a);
  FC_CHECK(is_floating(a.dtype()) || is_complex(a.dtype()), op,
           ": Expected a floating point or complex tensor as input. Got ", info(a.dtype()).legacy);
  FC_CHECK(!dtype || is_floating(*dtype) || is_complex(*dtype), op, ": dtype should be floating point or complex. Got ",
           info(*dtype).legacy);
}
// The two dimensions, from 0 on, of a matrix norm.
std::pair<int64_t, int64_t> matrix_dims(const Tensor& a, IntSpan dim, const char* op) {
  FC_CHECK(dim.size() == 2, op, ": dim must be a 2-tuple. Got ", dim);
  const int64_t rows = wrap_dim(dim[0], a.dim(), op), columns = wrap_dim(dim[1], a.dim(), op);
  FC_CHECK(rows != columns, op, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return {rows, columns};
}
// Singular values of the matrices in two dimensions, in the last dimension.
Tensor singular_values(const Tensor& a, int64_t rows, int64_t columns) {
  const int64_t from[] = {rows, columns}, to[] = {-2, -1};
  return svdvals(call<"aten::movedim.intlist", Tensor>(a, IntSpan(from), IntSpan(to)));
}
Tensor kept(Tensor norm, int64_t rows, int64_t columns, bool keepdim) {
  if (!keepdim) return norm;
  return unsqueeze(unsqueeze(norm, std::min(rows, columns)), std::max(rows, columns));
}

Tensor matrix_norm(const Tensor& self, const Scalar& ord, IntSpan dim, bool keepdim, OptType dtype) {
  const char* op = "linalg.matrix_norm";
  check_norm_input(self, dtype, op);
  const double p = ord.to_double(), size = std::fabs(p);
  FC_CHECK(size == 1 || size == 2 || size == kInfinity, op, ": Order ", ord, " not supported.");
  auto [rows, columns] = matrix_dims(self, dim, op);
  Tensor a = dtype ? to_dtype(self, *dtype) : self;
  const int64_t last[] = {-1};
  if (size == 2) {
    Tensor s = singular_values(a, rows, columns);
    return kept(p > 0 ? amax(s, last) : amin(s, last), rows, columns, keepdim);
  }
  if (size == kInfinity) std::swap(rows, columns);
  Tensor sums = vector_norm(a, 1, IntSpan(&rows, 1), true, {});
  Tensor norm = p > 0 ? amax(sums, IntSpan(&columns, 1), true) : amin(sums, IntSpan(&columns, 1), true);
  if (keepdim) return norm;
  return squeeze(squeeze(norm, std::max(rows, columns)), std::min(rows, columns));
}
Tensor matrix_norm_named(const Tensor& self, std::string_view ord, IntSpan dim, bool keepdim, OptType dtype) {
  const char* op = "linalg.matrix_norm";
  check_norm_input(self, dtype, op);
  FC_CHECK(ord == "fro" || ord == "nuc", op, ": Order ", ord, " not supported.");
  auto [rows, columns] = matrix_dims(self, dim, op);
  const int64_t both[] = {rows, columns}, last[] = {-1};
  if (ord == "fro") return vector_norm(self, 2, IntSpan(both), keepdim, dtype);
  return kept(sum(singular_values(dtype ? to_dtype(self, *dtype) : self, rows, columns), last), rows, columns, keepdim);
}

constexpr int64_t kLastTwo[] = {-2, -1};
Tensor linalg_norm(const Tensor& self, OptScalar ord, OptDims dim, bool keepdim, OptType dtype) {
  if (dim)
    FC_CHECK(dim->size() == 1 || dim->size() == 2,
             "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  else
    FC_CHECK(!ord || self.dim() == 1 || self.dim() == 2,
             "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  if (ord && (dim ? dim->size() == 2 : self.dim() == 2))
    return call<"aten::linalg_matrix_norm", Tensor>(self, *ord, dim ? *dim : IntSpan(kLastTwo), keepdim, dtype);
  return vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor linalg_norm_named(const Tensor& self, std::string_view ord, OptDims dim, bool keepdim, OptType dtype) {
  if (dim)
    FC_CHECK(dim->size() == 2 || dim->size() == 1,
             "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  else
    FC_CHECK(self.dim() == 1 || self.dim() == 2,
             "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  return call<"aten::linalg_matrix_norm.str_ord", Tensor>(self, ord, dim ? *dim : IntSpan(kLastTwo), keepdim, dtype);
}
Tensor nuclear_norm(const Tensor& self, bool keepdim) { return matrix_norm_named(self, "nuc", kLastTwo, keepdim, {}); }
Tensor nuclear_norm_dim(const Tensor& self, IntSpan dim, bool keepdim) {
  return matrix_norm_named(self, "nuc", dim, keepdim, {});
}
Tensor frobenius_norm(const Tensor& self, IntSpan dim, bool keepdim) { return vector_norm(self, 2, dim, keepdim, {}); }

// --- condition and rank
void check_cond(const Tensor& a) {
  FC_CHECK(a.dim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
  check_lapack_type("linalg.cond", a);
}
// norm(A) norm(A^-1), infinite for matrices without an inverse.
template <class Norm>
Tensor cond_by_inverse(const Tensor& a, const Norm& norm) {
  auto [inverse, info] = call<"aten::linalg_inv_ex", Pair>(a, false);
  Tensor result = mul(norm(a), norm(inverse));
  return info.numel() == 0 ? result : masked_fill(result, ne(info, 0), kInfinity);
}
Tensor cond(const Tensor& a, OptScalar p) {
  check_cond(a);
  const double order = p ? p->to_double() : 2, size = std::fabs(order);
  FC_CHECK_AS(ValueError, size == 1 || size == 2 || size == kInfinity, "linalg.cond got an invalid norm type: ", *p);
  const Dims batch = batch_of(a);
  if (a.numel() == 0) return zeros(batch, real_of(a.dtype()), a.device());
  if (size == 2) {
    Tensor s = svdvals(a), largest = select(s, -1, 0), smallest = select(s, -1, s.size(-1) - 1);
    return order > 0 ? div(largest, smallest) : div(smallest, largest);
  }
  FC_CHECK(a.size(-1) == a.size(-2), "linalg.cond(ord=", *p, "): A must be batches of square matrices, but they are ",
           a.size(-2), " by ", a.size(-1), " matrices");
  return cond_by_inverse(a, [&](const Tensor& x) { return matrix_norm(x, *p, kLastTwo, false, {}); });
}
Tensor cond_named(const Tensor& a, std::string_view p) {
  check_cond(a);
  FC_CHECK_AS(ValueError, p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p);
  FC_CHECK(a.size(-1) == a.size(-2), "linalg.cond(ord=", p, "): A must be batches of square matrices, but they are ",
           a.size(-2), " by ", a.size(-1), " matrices");
  if (a.numel() == 0) return zeros(batch_of(a), real_of(a.dtype()), a.device());
  return cond_by_inverse(a, [&](const Tensor& x) { return matrix_norm_named(x, p, kLastTwo, false, {}); });
}

// max(atol, rtol * largest singular value): what counts as zero.
struct Tolerance {
  Tensor atol, rtol;
};
Tolerance tolerance(const char* op, const Tensor& a, const Tensor& atol, const Tensor& rtol) {
  for (const Tensor& t : {atol, rtol})
    if (t.defined())
      FC_CHECK(!is_complex(t.dtype()), op, ": tol tensor of complex type is not supported. Got ",
               info(t.dtype()).legacy);
  const DType type = DType::Float64;
  auto number = [&](double v) { return full(Dims{}, v, type, a.device()); };
  Tolerance out{atol.defined() ? to_dtype(atol, type) : number(0), rtol.defined() ? to_dtype(rtol, type) : Tensor()};
  if (!rtol.defined()) {
    const double standard = epsilon(a) * static_cast<double>(std::max(a.size(-1), a.size(-2)));
    out.rtol = atol.defined() ? where(gt(out.atol, 0), 0, number(standard)) : number(standard);
  }
  return out;
}
// Which singular values are not zero; both sides keep a last dimension.
Tensor significant(const Tensor& s, const Tolerance& t) {
  if (s.numel() == 0) return gt(s, 0);
  const int64_t last[] = {-1};
  Tensor largest = to_dtype(amax(s, last, true), DType::Float64);
  Tensor limit = call<"aten::maximum", Tensor>(unsqueeze(t.atol, -1), mul(unsqueeze(t.rtol, -1), largest));
  return gt(s, to_dtype(limit, s.dtype()));
}
Tensor matrix_rank(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  const char* op = "torch.linalg.matrix_rank";
  check_matrices(op, a, "input");
  Tensor s =
      hermitian ? abs(call<"aten::linalg_eigvalsh", Tensor>(detach(a), std::string_view("L"))) : svdvals(detach(a));
  const int64_t last[] = {-1};
  return sum(significant(s, tolerance(op, a, atol, rtol)), last);
}
Tensor as_tensor(OptReal v, const Tensor& like) {
  return v ? full(Dims{}, *v, DType::Float64, like.device()) : Tensor();
}
Tensor matrix_rank_floats(const Tensor& a, OptReal atol, OptReal rtol, bool hermitian) {
  return matrix_rank(a, as_tensor(atol, a), as_tensor(rtol, a), hermitian);
}
Tensor matrix_rank_tol(const Tensor& a, double tol, bool hermitian) {
  return matrix_rank(a, as_tensor(tol, a), as_tensor(0.0, a), hermitian);
}
Tensor matrix_rank_tol_tensor(const Tensor& a, const Tensor& tol, bool hermitian) {
  return matrix_rank(a, tol, as_tensor(0.0, a), hermitian);
}

// --- pseudoinverse
Tensor pinv_kernel(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  const char* op = "linalg.pinv";
  FC_CHECK(a.dim() >= 2, op, "(", info(a.dtype()).legacy, "{", a.sizes(),
           "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types");
  check_matrices(op, a);
  check_lapack_type(op, a);
  if (a.numel() == 0) return empty_tensor(matrix_sizes(batch_of(a), a.size(-1), a.size(-2)), a.dtype(), a.device());
  const Tolerance t = tolerance(op, a, atol, rtol);
  auto inverted = [&](const Tensor& s, const Tensor& size) {
    return masked_fill(reciprocal(s), logical_not(significant(size, t)), 0);
  };
  if (hermitian) {
    check_square(op, a);
    auto [values, v] = call<"aten::linalg_eigh", Pair>(a, std::string_view("L"));
    return matmul(mul(v, unsqueeze(inverted(values, abs(values)), -2)), mH(v));
  }
  auto [u, s, vh] = svd(a);
  return matmul(mul(mH(vh), unsqueeze(inverted(s, s), -2)), mH(u));
}
Tensor pinv_floats(const Tensor& a, OptReal atol, OptReal rtol, bool hermitian) {
  return call<"aten::linalg_pinv.atol_rtol_tensor", Tensor>(a, as_tensor(atol, a), as_tensor(rtol, a), hermitian);
}
Tensor pinv_rcond(const Tensor& a, double rcond, bool hermitian) { return pinv_floats(a, 0.0, rcond, hermitian); }
Tensor pinv_rcond_tensor(const Tensor& a, const Tensor& rcond, bool hermitian) {
  return call<"aten::linalg_pinv.atol_rtol_tensor", Tensor>(a, as_tensor(0.0, a), rcond, hermitian);
}
Tensor pinverse(const Tensor& a, double rcond) { return pinv_rcond(a, rcond, false); }

// --- powers and the exponential
Tensor matrix_power(const Tensor& self, int64_t n) {
  const char* op = "linalg.matrix_power";
  check_square(op, self);
  if (n == 0) return copy_(clone(self), eye(self.size(-1), self));
  Tensor square = n < 0 ? inv(self) : self, out;
  for (uint64_t rest = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;) {
    if (rest & 1) out = out.defined() ? matmul(out, square) : square;
    if (!(rest >>= 1)) return n == 1 ? clone(out) : out;
    square = matmul(square, square);
  }
}

// Scaling and squaring around the Pade approximant of degree 13 (Higham 2005), which is exact to rounding for norms up
// to 5.37. Each matrix of a batch is scaled by its own power of two.
Tensor matrix_exp_kernel(const Tensor& a) {
  const char* op = "linalg.matrix_exp";
  check_square(op, a);
  FC_CHECK_AS(NotImplementedError, is_floating(a.dtype()) || is_complex(a.dtype()), op,
              ": Expected a floating point or complex tensor as input. Got ", info(a.dtype()).legacy);
  if (a.numel() == 0 || a.device().is_meta()) return empty_tensor(a.sizes(), a.dtype(), a.device());
  if (is_reduced(a.dtype())) return to_dtype(matrix_exp_kernel(to_dtype(a, DType::Float32)), a.dtype());
  if (a.size(-1) == 1) return exp(a);
  static constexpr double b[] = {64764752532480000,
                                 32382376266240000,
                                 7771770303897600,
                                 1187353796428800,
                                 129060195264000,
                                 10559470521600,
                                 670442572800,
                                 33522128640,
                                 1323241920,
                                 40840800,
                                 960960,
                                 16380,
                                 182,
                                 1};
  Tensor norm = matrix_norm(a, 1, kLastTwo, true, {});
  Tensor halvings =
      call<"aten::clamp", Tensor>(call<"aten::ceil", Tensor>(call<"aten::log2", Tensor>(div(norm, 5.371920351148152))),
                                  OptScalar(0), OptScalar(1100));
  halvings = call<"aten::nan_to_num", Tensor>(halvings, OptReal(0), OptReal(0), OptReal(0));
  const auto rounds =
      static_cast<int64_t>(call<"aten::_local_scalar_dense", Scalar>(call<"aten::max", Tensor>(halvings)).to_double());
  Tensor x = mul(a, exp2(neg(halvings))), one = eye(a.size(-1), a);
  Tensor x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x4, x2);
  auto terms = [&](double c6, double c4, double c2) { return add(add(mul(x6, c6), x4, c4), x2, c2); };
  Tensor odd = matmul(x, add(add(matmul(x6, terms(b[13], b[11], b[9])), terms(b[7], b[5], b[3])), one, b[1]));
  Tensor even = add(add(matmul(x6, terms(b[12], b[10], b[8])), terms(b[6], b[4], b[2])), one, b[0]);
  Tensor result = call<"aten::linalg_solve", Tensor>(sub(even, odd), add(even, odd), true);
  for (int64_t i = 0; i < rounds; ++i) result = where(gt(halvings, i), matmul(result, result), result);
  return result;
}
Tensor matrix_exp(const Tensor& a) { return call<"aten::linalg_matrix_exp", Tensor>(a); }
// The derivative of exp at A in the direction G is the upper right block of exp([A G; 0 A]).
void matrix_exp_grad(Grad& g) {
  Tensor a = mH(g.in(0)), direction = g.out();
  const int64_t n = a.size(-1);
  if (a.numel() == 0) return g.set(0, direction);
  Tensor top = cat(std::array{a, direction}, -1), bottom = cat(std::array{zeros_like(a), a}, -1);
  g.set(0,
        narrow(narrow(call<"aten::linalg_matrix_exp", Tensor>(cat(std::array{top, bottom}, -2)), -2, 0, n), -1, n, n));
}

// Square root of a Hermitian positive semi-definite matrix, and the polar factors A = U H.
Tensor matrix_sqrth(const Tensor& a) {
  check_square("linalg.matrix_sqrth", a);
  auto [values, v] = call<"aten::linalg_eigh", Pair>(a, std::string_view("L"));
  return matmul(mul(v, unsqueeze(sqrt(call<"aten::clamp_min", Tensor>(values, Scalar(0))), -2)), mH(v));
}
Pair polar(const Tensor& a) {
  check_matrices("linalg.polar", a);
  auto [u, s, vh] = svd(a);
  return {matmul(u, vh), matmul(mul(mH(vh), unsqueeze(s, -2)), vh)};
}

// --- products
Tensor cross_kernel(const Tensor& a, const Tensor& b, int64_t dim) {
  const char* op = "linalg.cross";
  FC_CHECK(a.dim() == b.dim(), op, ": inputs must have the same number of dimensions.");
  const int64_t d = wrap_dim(dim, a.dim(), op);
  FC_CHECK(a.dim() > 0 && a.size(d) == 3 && b.size(d) == 3, op, ": inputs dimension ", dim, " must have length 3. Got ",
           a.dim() ? a.size(d) : 1, " and ", b.dim() ? b.size(d) : 1);
  auto part = [&](const Tensor& x, int64_t i) { return select(x, d, i % 3); };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i)
    parts.push_back(sub(mul(part(a, i + 1), part(b, i + 2)), mul(part(a, i + 2), part(b, i + 1))));
  return stack(parts, d);
}
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim) {
  return call<"aten::linalg_cross", Tensor>(a, b, dim);
}
void cross_grad(Grad& g) {
  const int64_t dim = g.arg(2).integer();
  if (g.needs(0)) g.set(0, linalg_cross(conj(g.in(1)), g.out(), dim));
  if (g.needs(1)) g.set(1, linalg_cross(g.out(), conj(g.in(0)), dim));
}
Tensor old_cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(a, b, *dim);
  static std::atomic<bool> said;
  warn_once(said,
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release.");
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) == 3) return linalg_cross(a, b, d);
  raise<Error>("cross: no dimension of size 3 in input");
}
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  const char* op = "linalg.vecdot";
  FC_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), op,
           ": Expected a floating point or complex tensor as input. Got ", info(x.dtype()).legacy);
  if (x.dim() == 1 && y.dim() == 1) {
    wrap_dim(dim, 1, op);
    return call<"aten::vdot", Tensor>(x, y);
  }
  return sum(mul(conj(x), y), IntSpan(&dim, 1));
}
Tensor linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return call<"aten::diagonal", Tensor>(a, offset, dim1, dim2);
}
Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return matmul(a, b); }

#define NORM_TAIL "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"

constexpr OpDef defs[] = {
    {.schema = "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], " NORM_TAIL,
     .doc = "A norm of matrices: 'fro', 'nuc', or 1, 2, inf and their negatives.",
     .composite = kernel<&matrix_norm>(),
     .out = true},
    {.schema = "linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2,-1], " NORM_TAIL,
     .composite = kernel<&matrix_norm_named>(),
     .out = true},
    {.schema = "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, " NORM_TAIL,
     .doc = "A norm of vectors or matrices, by the number of dimensions.",
     .composite = kernel<&linalg_norm>(),
     .out = true},
    {.schema = "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, " NORM_TAIL,
     .composite = kernel<&linalg_norm_named>(),
     .out = true},
    {.schema = "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
     .doc = "The sum of singular values.",
     .composite = kernel<&nuclear_norm>(),
     .out = true},
    {.schema = "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
     .composite = kernel<&nuclear_norm_dim>(),
     .out = true},
    {.schema = "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .doc = "The root of the sum of squares.",
     .composite = kernel<&frobenius_norm>(),
     .out = true},
    {.schema = "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
     .doc = "The condition number with respect to a norm.",
     .composite = kernel<&cond>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_cond.p_str(Tensor self, str p) -> Tensor",
     .composite = kernel<&cond_named>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
               "hermitian=False) -> Tensor",
     .composite = kernel<&matrix_rank>(),
     .differentiable = false,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
               "hermitian=False) -> Tensor",
     .doc = "How many singular values are larger than a tolerance.",
     .composite = kernel<&matrix_rank_floats>(),
     .differentiable = false,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
     .composite = kernel<&matrix_rank_tol>(),
     .differentiable = false,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
     .composite = kernel<&matrix_rank_tol_tensor>(),
     .differentiable = false,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
               "hermitian=False) -> Tensor",
     .node = "LinalgPinvBackward0",
     .all = kernel<&pinv_kernel>(),
     .saves = "self result",
     .grad = [](Grad& g) { g.set(0, pinv_gradient(g.out(), g.result(), g.in(0))); },
     .out = true},
    {.schema = "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
               "-> Tensor",
     .doc = "The Moore-Penrose pseudoinverse.",
     .composite = kernel<&pinv_floats>(),
     .out = true},
    {.schema = "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
     .composite = kernel<&pinv_rcond>(),
     .out = true},
    {.schema = "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
     .composite = kernel<&pinv_rcond_tensor>(),
     .out = true},
    {.schema = "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
     .doc = "The Moore-Penrose pseudoinverse.",
     .composite = kernel<&pinverse>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "linalg_matrix_power(Tensor self, int n) -> Tensor",
     .doc = "A matrix to an integer power.",
     .composite = kernel<&matrix_power>(),
     .out = true},
    {.schema = "matrix_power(Tensor self, int n) -> Tensor",
     .doc = "A matrix to an integer power.",
     .composite = kernel<&matrix_power>(),
     .out = true},
    {.schema = "linalg_matrix_exp(Tensor self) -> Tensor",
     .doc = "The exponential of a square matrix.",
     .all = kernel<&matrix_exp_kernel>(),
     .saves = "self",
     .grad = matrix_exp_grad,
     .out = true},
    {.schema = "matrix_exp(Tensor self) -> Tensor",
     .doc = "The exponential of a square matrix.",
     .composite = kernel<&matrix_exp>()},
    {.schema = "linalg_matrix_sqrth(Tensor self) -> Tensor",
     .doc = "The square root of a Hermitian positive semi-definite matrix.",
     .composite = kernel<&matrix_sqrth>(),
     .out = true},
    {.schema = "linalg_polar(Tensor A) -> (Tensor U, Tensor H)",
     .doc = "The polar decomposition A = U H.",
     .composite = kernel<&polar>(),
     .out = true},
    {.schema = "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
     .doc = "The cross product of vectors with three elements.",
     .all = kernel<&cross_kernel>(),
     .saves = "self:other other:self dim",
     .grad = cross_grad,
     .out = true,
     .writes = Writes::Apart},
    {.schema = "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
     .doc = "The cross product of vectors with three elements, along the first dimension of that size.",
     .composite = kernel<&old_cross>(),
     .out = true},
    {.schema = "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
     .doc = "The dot product of vectors along a dimension, the first conjugated.",
     .composite = kernel<&vecdot>(),
     .out = true},
    {.schema = "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
     .doc = "The diagonals of matrices, as a view.",
     .composite = kernel<&linalg_diagonal>()},
    {.schema = "linalg_matmul(Tensor self, Tensor other) -> Tensor",
     .doc = "The product of two tensors as matrices.",
     .composite = kernel<&linalg_matmul>(),
     .out = true},
};

}  // namespace

void define_matrix() { define_all(defs); }

}  // namespace fc
