// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices.
#include "ops/register.h"
#include "ops/sparse.h"

namespace fc {
namespace {

void check_product(const char* op, const Tensor& a, const Tensor& b) {
  FC_CHECK(a.dim() == 2 && b.dim() == 2, op, ": expected two matrices, got ", a.sizes(), " and ", b.sizes());
  FC_CHECK(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1),
           " and ", b.size(0), "x", b.size(1), ")");
  FC_CHECK(a.dtype() == b.dtype(), op, ": expected two matrices of one type, got ", a.dtype(), " and ", b.dtype());
  for (const Tensor* t : {&a, &b})
    FC_CHECK(!is_sparse(*t) || sparse_parts(*t).sparse_dim() == 2, op,
             ": a sparse matrix has two sparse dimensions, got ", is_sparse(*t) ? sparse_parts(*t).sparse_dim() : 0);
}

Tensor times_strided(const Tensor& a, const Tensor& b) {
  if (layout_of(a) == Layout::SparseCsr) {
    const SparseParts& p = sparse_parts(a);
    return call<"aten::_sparse_csr_mm", Tensor>(int64(p.compressed), int64(p.indices), p.values, b);
  }
  const Tensor coo = as_coo(a);
  if (const SparseParts& p = sparse_parts(coo); p.coalesced && !a.device().is_cpu()) {  // rows need not be searched for
    const Tensor rows = call<"aten::_sparse_compress", Tensor>(contiguous(select(p.indices, 0, 0)), a.size(0));
    return call<"aten::_sparse_csr_mm", Tensor>(rows, contiguous(select(p.indices, 0, 1)), p.values, b);
  }
  return call<"aten::_sparse_coo_mm", Tensor>(sparse_parts(coo).indices, sparse_parts(coo).values, b, a.size(0));
}

// Rows and columns that occur, numbered: tables as long as the numbers are then as short as the entries.
struct Numbered {
  Numbered(const Tensor& used, int64_t size) : count(size) {
    if (size / 4 <= used.size(0) || size <= 1 << 16) return;
    names = std::get<0>(call<"aten::_unique2", Three>(used, true, false, false));
    count = names.size(0);
  }
  Tensor inside(const Tensor& t) const { return names.defined() ? searchsorted(names, t) : t; }
  Tensor outside(const Tensor& t) const { return names.defined() ? index_select(names, 0, t) : t; }
  Tensor names;
  int64_t count;
};

Tensor times_sparse(const Tensor& left, const Tensor& right) {
  const Tensor a = coalesced(as_coo(left)), b = coalesced(as_coo(right));
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  const Tensor row = select(p.indices, 0, 0), middle = select(p.indices, 0, 1);
  const Tensor middle2 = select(q.indices, 0, 0), column = select(q.indices, 0, 1);
  const Tensor middles[] = {middle, middle2};
  const Numbered rows(row, a.size(0)), inner(cat(middles), a.size(1)), columns(column, b.size(1));
  const auto compress = [](const Tensor& t, int64_t size) { return call<"aten::_sparse_compress", Tensor>(t, size); };
  const auto [starts, at, values] = call<"aten::_sparse_csr_csr_mm", Three>(
      compress(rows.inside(row), rows.count), inner.inside(middle), p.values,
      compress(inner.inside(middle2), inner.count), columns.inside(column), q.values, columns.count);
  const Tensor indices[] = {rows.outside(call<"aten::_sparse_decompress", Tensor>(starts, at.size(0))),
                            columns.outside(at)};
  const Tensor product = coo_tensor(Dims{a.size(0), b.size(1)}, stack(indices), values, true);
  return is_compressed(left) ? as_layout(product, layout_of(left)) : product;
}

Tensor product(const char* op, const Tensor& a, const Tensor& b) {
  check_product(op, a, b);
  if (is_sparse(a)) return is_sparse(b) ? times_sparse(a, b) : times_strided(a, b);
  return contiguous(t(times_strided(t(b), t(a))));
}
Tensor mm_kernel(const Tensor& a, const Tensor& b) { return product("mm", a, b); }

Tensor plus_product(const char* op, const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
  FC_CHECK(!is_sparse(self), op, ": the tensor that is added must be strided, got torch.", to_string(layout_of(self)));
  Tensor out = product(op, a, b);
  if (is_sparse(out)) out = to_strided(out);
  FC_CHECK(self.dtype() == out.dtype(), op, ": expected tensors of one type, got ", self.dtype(), " and ", out.dtype());
  const Tensor start = expand(self, out.sizes());
  if (alpha.is_complex() || alpha.to_double() != 1) out = mul(out, alpha);
  if (!beta.to_bool()) return out;  // not even what is not a number
  return add(out, start, beta);
}
Tensor addmm_kernel(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return plus_product("addmm", self, a, b, beta, alpha);
}
Tensor addmm_in_place(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return copy_(self, addmm_kernel(self, a, b, beta, alpha));
}
Tensor sparse_addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return plus_product("sparse.addmm", self, a, b, beta, alpha);
}

Tensor mv_kernel(const Tensor& a, const Tensor& v) {
  FC_CHECK(a.dim() == 2 && v.dim() == 1 && is_sparse(a) && !is_sparse(v),
           "mv: expected a sparse matrix and a strided vector, got ", a.sizes(), " and ", v.sizes());
  FC_CHECK(a.size(1) == v.size(0), "mv: expected self.size(-1) == vec.size(-1), got ", a.size(1), " and ", v.size(0));
  return select(product("mv", a, unsqueeze(v, 1)), 1, 0);
}

// A batch is one matrix with the batch's matrices along its diagonal.
Tensor bmm_kernel(const Tensor& a, const Tensor& b) {
  FC_CHECK(a.dim() == 3 && b.dim() == 3 && is_coo(a) && !is_sparse(b) && sparse_parts(a).sparse_dim() == 3,
           "bmm: expected a sparse COO tensor of three sparse dimensions and a strided one, got ", a.sizes(), " and ",
           b.sizes());
  FC_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), "bmm: batches of matrices do not fit: ", a.sizes(),
           " and ", b.sizes());
  FC_CHECK(a.dtype() == b.dtype(), "bmm: expected tensors of one type, got ", a.dtype(), " and ", b.dtype());
  const SparseParts& p = sparse_parts(a);
  positions(a);  // checks the indices of each dimension
  const Tensor batch = select(p.indices, 0, 0);
  const Tensor both[] = {add(mul(batch, Scalar(a.size(1))), select(p.indices, 0, 1)),
                         add(mul(batch, Scalar(a.size(2))), select(p.indices, 0, 2))};
  const Tensor flat = reshape(b, Dims{checked_numel(b.sizes().first(2)), b.size(2)});
  const Tensor out =
      call<"aten::_sparse_coo_mm", Tensor>(stack(both), p.values, flat, checked_numel(a.sizes().first(2)));
  return view(out, Dims{a.size(0), a.size(1), b.size(2)});
}

// Of a @ b.T what a sparse matrix has entries for.
Tensor sampled_kernel(const Tensor& a, const Tensor& b, const Tensor& pattern) {
  FC_CHECK(is_sparse(pattern) && pattern.dim() == 2 && sparse_parts(pattern).sparse_dim() == 2,
           "_sparse_sampled: expected a sparse matrix, got ", pattern.sizes());
  if (is_sparse(a) || is_sparse(b)) return call<"aten::sparse_mask", Tensor>(product("mm", a, t(b)), pattern);
  const Tensor coo = coalesced(as_coo(pattern));
  const Tensor values =
      call<"aten::_sparse_sampled_mm", Tensor>(sparse_parts(coo).indices, contiguous(a), contiguous(b));
  return as_layout(with_values(coo, values), layout_of(pattern));
}
Tensor scaled(const Tensor& g, const Scalar& by) { return by.is_complex() || by.to_double() != 1 ? mul(g, by) : g; }
void sampled_grad(Grad& g) {  // of a: G @ b, of b: G.T @ a, G having the pattern
  if (g.needs(0)) g.set(0, mm(g.out(), conj(g.in(1))));
  if (g.needs(1)) g.set(1, mm(t(g.out()), conj(g.in(0))));
}
// A matrix product at the entries of a sparse matrix only.
Tensor sampled_product(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                       const Scalar& alpha) {
  constexpr const char* op = "sampled_addmm";
  FC_CHECK(layout_of(self) == Layout::SparseCsr, op, ": Expected self to have sparse csr layout, but got torch.",
           to_string(layout_of(self)));
  for (const auto& [name, m] : {std::pair("mat1", &mat1), std::pair("mat2", &mat2)}) {
    FC_CHECK(!is_sparse(*m), op, ": Expected ", name, " to have strided layout, but got torch.",
             to_string(layout_of(*m)));
    FC_CHECK(m->dim() == 2, op, ": Expected ", name, " to be a matrix, got ", m->dim(), "-D tensor");
    FC_CHECK(m->dtype() == self.dtype(), op, ": Expected ", name, " and self to have the same dtype, but got ",
             info(m->dtype()).legacy, " and ", info(self.dtype()).legacy);
  }
  FC_CHECK(mat1.size(1) == mat2.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", mat1.size(0), "x",
           mat1.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  FC_CHECK(self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1), op, ": self of size ", self.sizes(),
           " does not have the shape of the product, [", mat1.size(0), ", ", mat2.size(1), "]");
  const Tensor at = call<"aten::_sparse_sampled", Tensor>(mat1, t(mat2), call<"aten::detach", Tensor>(self));
  const Tensor product = scaled(at, alpha);
  return beta.is_zero() ? product : add(scaled(self, beta), product);
}
// Gradients of a sparse factor have its entries.
Tensor factor_grad(Grad& g, int arg, const Tensor& a, const Tensor& b) {
  const Tensor factor = g.in(arg);
  if (!is_sparse(factor)) return mm(a, t(b));
  return call<"aten::_sparse_sampled", Tensor>(a, b, call<"aten::detach", Tensor>(factor));
}
void sparse_addmm_grad(Grad& g) {
  const Tensor G = g.out();
  if (g.needs(0)) g.set(0, scaled(G, g.arg(3).scalar()));
  if (g.needs(1)) g.set(1, scaled(factor_grad(g, 1, G, conj(g.in(2))), g.arg(4).scalar()));
  if (g.needs(2)) g.set(2, scaled(factor_grad(g, 2, t(conj(g.in(1))), t(G)), g.arg(4).scalar()));
}
void sparse_matmul_grad(Grad& g) {
  const Tensor G = g.out();
  if (g.needs(0)) g.set(0, factor_grad(g, 0, G, conj(g.in(1))));
  if (g.needs(1)) g.set(1, factor_grad(g, 1, t(conj(g.in(0))), t(G)));
}

Tensor sparse_matmul(const Tensor& a, const Tensor& b) {
  FC_CHECK(is_sparse(a) && is_sparse(b), "_sparse_sparse_matmul: expected two sparse matrices");
  return product("mm", a, b);
}
Tensor sparse_mm(const Tensor& a, const Tensor& b) {
  if (is_sparse(a) && is_sparse(b)) return call<"aten::_sparse_sparse_matmul", Tensor>(a, b);
  check_product("sparse.mm", a, b);
  const Tensor none = zeros(Dims{1, 1}, a.dtype(), a.device());
  return call<"aten::_sparse_addmm", Tensor>(none, a, b, Scalar(0), Scalar(1));
}
Tensor hspmm_kernel(const Tensor& a, const Tensor& b) {
  check_product("hspmm", a, b);
  must_be_coo("hspmm", a);
  const Tensor whole = coalesced(a);
  const Tensor row = select(sparse_parts(whole).indices, 0, 0);
  const Tensor used = std::get<0>(call<"aten::_unique2", Three>(row, true, false, false));
  const Tensor both[] = {searchsorted(used, row), select(sparse_parts(whole).indices, 0, 1)};
  const Tensor rows = call<"aten::_sparse_coo_mm", Tensor>(stack(both), sparse_parts(whole).values, b, used.size(0));
  return coo_tensor(Dims{a.size(0), b.size(1)}, unsqueeze(used, 0), rows, true);
}

Tensor hsmm(const Tensor& a, const Tensor& b) { return call<"aten::hspmm", Tensor>(a, b); }
// beta * self, and alpha * a @ b whose rows are whole where a has an entry: the entries of both, not added up.
Tensor sspaddmm_kernel(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  check_product("sspaddmm", a, b);
  for (const Tensor* t : {&self, &a}) must_be_coo("sspaddmm", *t);
  FC_CHECK(!is_sparse(b), "sspaddmm: mat2 must be strided, got torch.", to_string(layout_of(b)));
  FC_CHECK(
      self.dim() == 2 && self.size(0) == a.size(0) && self.size(1) == b.size(1) && sparse_parts(self).sparse_dim() == 2,
      "sspaddmm: expected a sparse matrix of ", a.size(0), " x ", b.size(1), " to add to, got ", self.sizes());
  FC_CHECK(self.dtype() == a.dtype(), "sspaddmm: expected tensors of one type, got ", self.dtype(), " and ", a.dtype());
  const Tensor product = call<"aten::hspmm", Tensor>(a, b);
  const SparseParts &p = sparse_parts(self), &q = sparse_parts(product);
  const int64_t columns = b.size(1);
  const Dims shape{q.nnz(), columns};
  const Tensor across =
      call<"aten::arange", Tensor>(Scalar(columns), std::optional<DType>(DType::Int64), std::optional<Layout>(),
                                   std::optional<Device>(self.device()), std::optional<bool>());
  const Tensor places[] = {reshape(expand(view(q.indices, Dims{-1, 1}), shape), Dims{-1}),
                           reshape(expand(across, shape), Dims{-1})};
  const Tensor indices[] = {p.indices, stack(places)};
  const Tensor values[] = {scaled(p.values, beta), scaled(reshape(q.values, Dims{-1}), alpha)};
  if (!beta.to_bool()) return coo_tensor(self.sizes(), indices[1], values[1], false);
  return coo_tensor(self.sizes(), cat(indices, 1), cat(values), false);
}
Tensor smm(const Tensor& self, const Tensor& b) {
  check_product("smm", self, b);
  const Tensor none = empty_sparse(Dims{self.size(0), b.size(1)}, 2, self.dtype(), self.device());
  return call<"aten::sspaddmm", Tensor>(none, self, b, Scalar(0), Scalar(1));
}

// Rows of terms, a value of a row times a row of the strided matrix, joined by another operator than the sum; 0 for
// rows without entries.
Tensor sparse_mm_reduce(const Tensor& a, const Tensor& b, std::string_view reduce) {
  check_product("sparse.mm", a, b);
  FC_CHECK(layout_of(a) == Layout::SparseCsr && !is_sparse(b),
           "sparse.mm: reduce is for a CSR matrix times a strided one, got layouts torch.", to_string(layout_of(a)),
           " and torch.", to_string(layout_of(b)));
  FC_CHECK(reduce == "sum" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           "sparse.mm: reduce must be 'sum', 'mean', 'amax' or 'amin', got '", reduce, "'");
  if (reduce == "sum") return sparse_mm(a, b);
  const SparseParts& p = sparse_parts(a);
  const Tensor starts = int64(p.compressed), columns = int64(p.indices);
  if (reduce == "mean") {
    const Tensor counts = sub(slice(starts, 0, 1, {}), slice(starts, 0, 0, -1));
    return div(sparse_mm(a, b), unsqueeze(to_dtype(call<"aten::clamp_min", Tensor>(counts, Scalar(1)), a.dtype()), 1));
  }
  const Tensor terms = mul(unsqueeze(call<"aten::values", Tensor>(a), 1), index_select(b, 0, columns));
  const Tensor row = call<"aten::_sparse_decompress", Tensor>(starts, columns.size(0));
  return call<"aten::scatter_reduce.two", Tensor>(zeros(Dims{a.size(0), b.size(1)}, a.dtype(), a.device()), 0,
                                                  expand(unsqueeze(row, 1), terms.sizes()), terms, reduce, false);
}

// The kernels as rows of a sparse matrix, times the windows of the images as columns.
Tensor sparse_conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan padding, IntSpan stride,
                     IntSpan dilation, int64_t groups) {
  const char* op = "conv2d";
  must_be_coo(op, weight);
  FC_CHECK(!is_sparse(input) && input.dim() == 4 && weight.dim() == 4, op,
           ": expected strided images [n, channels, height, width] and sparse kernels of four dimensions, got ",
           input.sizes(), " and ", weight.sizes());
  FC_CHECK(sparse_parts(weight).sparse_dim() == 4, op, ": all four dimensions of the kernels must be sparse, got ",
           sparse_parts(weight).sparse_dim(), " sparse ones");
  FC_CHECK(groups == 1, op, ": groups must be 1, got ", groups);
  FC_CHECK(input.size(1) == weight.size(1), op, ": the images have ", input.size(1), " channels, the kernels ",
           weight.size(1));
  FC_CHECK(input.dtype() == weight.dtype(), op, ": expected tensors of one type, got ", input.dtype(), " and ",
           weight.dtype());
  const auto two = [&](const char* name, IntSpan given) {
    FC_CHECK(given.size() == 1 || given.size() == 2, op, ": expected one or two numbers as ", name, ", got ",
             given.size());
    return Dims{given.front(), given.back()};
  };
  const Dims pads = two("padding", padding), steps = two("stride", stride), spread = two("dilation", dilation);
  const Tensor whole = call<"aten::coalesce", Tensor>(weight);
  const Tensor indices = sparse_parts(whole).indices;
  const IntSpan kernel = weight.sizes().last(3);
  const Tensor both[] = {select(indices, 0, 0), positions_of(narrow(indices, 0, 1, 3), kernel)};
  const Tensor rows = call<"aten::_sparse_coo_tensor_unsafe", Tensor>(
      stack(both), call<"aten::values", Tensor>(whole), Dims{weight.size(0), checked_numel(kernel)},
      std::optional<DType>(), std::optional<Layout>(), std::optional<Device>(), std::optional<bool>(),
      std::optional<bool>(true));
  const Tensor windows =
      call<"aten::im2col", Tensor>(input, kernel.last(2), spread, pads, steps);  // [n, depth, places]
  const Tensor columns = reshape(transpose(windows, 0, 1), Dims{windows.size(1), -1});
  const auto places = [&](size_t d) {
    return (input.sizes()[d + 2] + 2 * pads[d] - spread[d] * (kernel[d + 1] - 1) - 1) / steps[d] + 1;
  };
  Tensor out = reshape(call<"aten::_sparse_mm", Tensor>(rows, columns),
                       Dims{weight.size(0), input.size(0), places(0), places(1)});
  out = contiguous(transpose(out, 0, 1));
  if (!bias.defined()) return out;
  FC_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), op, ": expected a bias of ", weight.size(0),
           " elements, got sizes ", bias.sizes());
  return add(out, view(bias, Dims{-1, 1, 1}));
}

constexpr OpDef defs[] = {
    {.schema = "_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", .composite = kernel<&sparse_mm>(), .hidden = true},
    {.schema = "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .all = kernel<&sparse_addmm>(),
     .saves = "mat1 mat2 beta alpha",
     .grad = sparse_addmm_grad,
     .hidden = true},
    {.schema = "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
     .all = kernel<&sparse_matmul>(),
     .saves = "self other",
     .grad = sparse_matmul_grad,
     .hidden = true},
    {.schema = "_sparse_sampled(Tensor a, Tensor b, Tensor pattern) -> Tensor",
     .all = kernel<&sampled_kernel>(),
     .saves = "a b",
     .grad = sampled_grad,
     .hidden = true},
    {.schema =
         "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .composite = kernel<&sampled_product>(),
     .hidden = true},
    {.schema = "_sparse_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] stride, int[] dilation, "
               "int groups) -> Tensor",
     .composite = kernel<&sparse_conv2d>(),
     .hidden = true},
    {.schema = "_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor",
     .composite = kernel<&sparse_mm_reduce>(),
     .hidden = true},
    {.schema = "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * self + alpha * (mat1 @ mat2) with sparse self and mat1, as a sparse matrix.",
     .all = kernel<&sspaddmm_kernel>()},
    {.schema = "smm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "The product of a sparse matrix and a strided one, as a sparse matrix.",
     .composite = kernel<&smm>()},
    {.schema = "hspmm(Tensor mat1, Tensor mat2) -> Tensor",
     .doc = "The product of a sparse and a dense matrix, with sparse rows.",
     .all = kernel<&hspmm_kernel>()},
    {.schema = "hsmm(Tensor mat1, Tensor mat2) -> Tensor", .doc = "The same as hspmm.", .composite = kernel<&hsmm>()},
};

}  // namespace

void define_sparse_matrix() {
  define_sparse_rows(defs);
  constexpr std::pair<const char*, Kernel> kernels[] = {
      {"aten::mm", kernel<&mm_kernel>()},       {"aten::mv", kernel<&mv_kernel>()},
      {"aten::addmm", kernel<&addmm_kernel>()}, {"aten::addmm_", kernel<&addmm_in_place>()},
      {"aten::bmm", kernel<&bmm_kernel>()},
  };
  for (const auto& [name, k] : kernels) set_sparse_kernel(name, k);
}

}  // namespace fc
