// SPDX-License-Identifier: Apache-2.0
// Transposing, picking and joining sparse tensors. They have no memory of their own, so nothing here is a view.
#include "ops/register.h"
#include "ops/sparse.h"
#include "plan/shape.h"

namespace fc {
namespace {

Tensor arange(int64_t n, Device device) {
  return call<"aten::arange", Tensor>(Scalar(n), std::optional<DType>(DType::Int64), std::optional<Layout>(),
                                      std::optional<Device>(device), std::optional<bool>());
}
Tensor index_tensor(const Dims& order, Device device) {
  Tensor t = empty_tensor(Dims{static_cast<int64_t>(order.size())}, DType::Int64, Device{});
  std::copy(order.begin(), order.end(), t.data_as<int64_t>());
  return device.is_cpu()
             ? t
             : call<"aten::to.device", Tensor>(t, device, DType::Int64, false, false, std::optional<MemoryFormat>());
}
bool is_identity(const Dims& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

Tensor permute_kernel(const Tensor& self, IntSpan dims) {
  FC_CHECK(static_cast<int64_t>(dims.size()) == self.dim(),
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
           "ordering of dimensions i.e. input.dim() = ",
           self.dim(), " is not equal to len(dims) = ", dims.size());
  const Dims order = wrap_dims("permute", dims, self.dim());
  const SparseParts& p = sparse_parts(self);
  Dims sizes(order.size()), sparse, dense{0};
  for (size_t i = 0; i < order.size(); ++i) {
    sizes[i] = self.size(order[i]);
    const bool is_sparse_dim = static_cast<int64_t>(i) < p.sparse_dim();
    FC_CHECK((order[i] < p.sparse_dim()) == is_sparse_dim,
             "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
             "transpositions within sparse and dense dimensions are supported.");
    if (is_sparse_dim) sparse.push_back(order[i]);
    else dense.push_back(order[i] - p.sparse_dim() + 1);
  }
  const Tensor values = is_identity(dense) ? p.values : permute(p.values, dense);
  if (is_compressed(self)) {  // exchanging rows and columns is reading rows as columns
    const Layout other = p.layout == Layout::SparseCsr ? Layout::SparseCsc : Layout::SparseCsr;
    return compressed_tensor(is_identity(sparse) ? p.layout : other, sizes, p.compressed, p.indices, values);
  }
  if (is_identity(sparse)) return coo_tensor(sizes, p.indices, values, p.coalesced);
  return coo_tensor(sizes, index_select(p.indices, 0, index_tensor(sparse, self.device())), values, false);
}
Tensor transpose_kernel(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim(), "transpose"), b = wrap_dim(dim1, self.dim(), "transpose");
  const int64_t sparse = sparse_parts(self).sparse_dim();
  FC_CHECK(a == b || (a < sparse && b < sparse),
           "sparse transpose: transposed dimensions must be sparse Got sparse_dim: ", sparse, ", d0: ", a, ", d1: ", b);
  Dims order(static_cast<size_t>(self.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  if (a != b) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return permute_kernel(self, order);
}
Tensor t_kernel(const Tensor& self) {
  FC_CHECK(self.dim() <= 2 && sparse_parts(self).dense_dim() == 0,
           "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got ", sparse_parts(self).sparse_dim(),
           " sparse and ", sparse_parts(self).dense_dim(), " dense dimensions");
  return transpose_kernel(self, 0, self.dim() < 2 ? 0 : 1);
}
Tensor transpose_in_place(const Tensor& self, int64_t dim0, int64_t dim1) {
  const Tensor turned = transpose_kernel(self, dim0, dim1);
  FC_CHECK(layout_of(turned) == layout_of(self), "transpose_: the transposed tensor has layout torch.",
           to_string(layout_of(turned)), ": use transpose");
  replace_sparse(self, turned);
  return self;
}

Tensor unsqueeze_kernel(const Tensor& self, int64_t dim) {
  must_be_coo("unsqueeze", self);
  const int64_t at = wrap_dim(dim, self.dim() + 1, "unsqueeze");
  const SparseParts& p = sparse_parts(self);
  Dims sizes;
  for (int64_t d = 0; d <= self.dim(); ++d) {
    if (d == at) sizes.push_back(1);
    if (d < self.dim()) sizes.push_back(self.size(d));
  }
  if (at > p.sparse_dim())
    return coo_tensor(sizes, p.indices, unsqueeze(p.values, at - p.sparse_dim() + 1), p.coalesced);
  const Tensor rows[] = {slice(p.indices, 0, 0, at), zeros(Dims{1, p.nnz()}, DType::Int64, self.device()),
                         slice(p.indices, 0, at, {})};
  return coo_tensor(sizes, cat(rows, 0), p.values, p.coalesced);
}

// All rows of the indices but one.
Tensor without_row(const Tensor& indices, int64_t row) {
  const Tensor rows[] = {slice(indices, 0, 0, row), slice(indices, 0, row + 1, {})};
  return cat(rows, 0);
}

Tensor select_kernel(const Tensor& given, int64_t dim, int64_t index) {
  FC_CHECK(given.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const int64_t at = wrap_dim(dim, given.dim(), "select"), size = given.size(at);
  FC_CHECK_AS(IndexError, index >= -size && index < size, "select(): index ", index,
              " out of range for tensor of size ", given.sizes(), " at dimension ", at);
  const int64_t row = index < 0 ? index + size : index;
  const Tensor self = as_coo(given);
  const SparseParts& p = sparse_parts(self);
  Dims sizes;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != at) sizes.push_back(self.size(d));
  if (at >= p.sparse_dim())
    return coo_tensor(sizes, p.indices, select(p.values, at - p.sparse_dim() + 1, row), p.coalesced);
  const Tensor hit = reshape(call<"aten::nonzero", Tensor>(eq(select(p.indices, 0, at), Scalar(row))), Dims{-1});
  const Tensor values = index_select(p.values, 0, hit);
  if (p.sparse_dim() == 1) return sum(values, Dims{0});  // no sparse dimension is left
  return coo_tensor(sizes, without_row(index_select(p.indices, 1, hit), at), values, p.coalesced);
}

Tensor narrow_copy_kernel(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  must_be_coo("narrow_copy", self);
  const int64_t at = wrap_dim(dim, self.dim(), "narrow_copy"), size = self.size(at);
  FC_CHECK(start >= 0 && length >= 0 && start <= size && length <= size - start,
           "Invalid range to narrow. range(start, start+length) must be a subset of range(0, ", size, ").");
  const SparseParts& p = sparse_parts(self);
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(at)] = length;
  if (at >= p.sparse_dim())
    return coo_tensor(sizes, clone(p.indices), clone(narrow(p.values, at - p.sparse_dim() + 1, start, length)),
                      p.coalesced);
  const Tensor row = select(p.indices, 0, at);
  const Tensor hit = reshape(
      call<"aten::nonzero", Tensor>(logical_and(ge(row, Scalar(start)), lt(row, Scalar(start + length)))), Dims{-1});
  const Tensor found = index_select(p.indices, 1, hit);
  const Tensor rows[] = {slice(found, 0, 0, at), sub(slice(found, 0, at, at + 1), Scalar(start)),
                         slice(found, 0, at + 1, {})};
  return coo_tensor(sizes, cat(rows, 0), index_select(p.values, 0, hit), p.coalesced);
}

// For each index in turn the entries of that row, found in the rows sorted.
Tensor index_select_kernel(const Tensor& given, int64_t dim, const Tensor& index) {
  FC_CHECK(is_sparse(given) && !is_sparse(index), "index_select: a sparse index is not supported");
  FC_CHECK(index.dim() <= 1 && (index.dtype() == DType::Int64 || index.dtype() == DType::Int32),
           "index_select(): Index is supposed to be a vector of int32 or int64, got ", index.dtype(), " ",
           index.sizes());
  const int64_t at = wrap_dim(dim, given.dim(), "index_select"), size = given.size(at);
  const Tensor self = coalesced(as_coo(given)), picks = reshape(int64(index), Dims{-1});
  const SparseParts& p = sparse_parts(self);
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(at)] = picks.size(0);
  if (at >= p.sparse_dim())
    return coo_tensor(sizes, p.indices, index_select(p.values, at - p.sparse_dim() + 1, picks), true);
  FC_CHECK_AS(IndexError, all_true(logical_and(ge(picks, 0), lt(picks, Scalar(size)))),
              "index_select(): index out of range for a dimension of size ", size);
  const auto [rows, order] =
      call<"aten::sort.stable", Two>(select(p.indices, 0, at), std::optional<bool>(true), 0, false);
  const Tensor begin = searchsorted(rows, picks), count = sub(searchsorted(rows, picks, true), begin);
  const Tensor pick = call<"aten::repeat_interleave.Tensor", Tensor>(count, std::optional<int64_t>());
  const Tensor before = sub(call<"aten::cumsum", Tensor>(count, 0, std::optional<DType>()), count);
  const Tensor entry = index_select(
      order, 0,
      add(sub(arange(pick.size(0), self.device()), index_select(before, 0, pick)), index_select(begin, 0, pick)));
  const Tensor found = index_select(p.indices, 1, entry);
  const Tensor joined[] = {slice(found, 0, 0, at), unsqueeze(pick, 0), slice(found, 0, at + 1, {})};
  return coalesced(coo_tensor(sizes, cat(joined, 0), index_select(p.values, 0, entry), false));
}

Tensor cat_kernel(TensorSpan tensors, int64_t dim) {
  FC_CHECK(!tensors.empty(), "cat: expected a non-empty list of tensors");
  for (const Tensor& t : tensors) must_be_coo("cat", t);
  const Tensor& first = tensors[0];
  const int64_t at = wrap_dim(dim, first.dim(), "cat"), sparse = sparse_parts(first).sparse_dim();
  Dims sizes(first.sizes());
  int64_t total = 0;
  DType type = first.dtype();
  for (const Tensor& t : tensors) {
    FC_CHECK(t.dim() == first.dim() && sparse_parts(t).sparse_dim() == sparse,
             "cat: all tensors must have as many sparse and dense dimensions as the first, ", first.sizes(), ", got ",
             t.sizes());
    for (int64_t d = 0; d < first.dim(); ++d)
      FC_CHECK(d == at || t.size(d) == first.size(d), "cat: sizes must match except in dimension ", at, ": ",
               first.sizes(), " and ", t.sizes());
    FC_CHECK(!__builtin_add_overflow(total, t.size(at), &total), "cat: sizes along dimension ", at,
             " add up to more than ", INT64_MAX);
    type = promote(type, t.dtype());
  }
  sizes[static_cast<size_t>(at)] = total;
  std::vector<Tensor> indices, values;
  int64_t before = 0;
  for (const Tensor& t : tensors) {
    const SparseParts& p = sparse_parts(t);
    Tensor entries = p.indices, terms = to_dtype(p.values, type);
    if (at < sparse) {
      const Tensor rows[] = {slice(entries, 0, 0, at), add(slice(entries, 0, at, at + 1), Scalar(before)),
                             slice(entries, 0, at + 1, {})};
      entries = cat(rows, 0);
    } else {  // along a dense dimension every entry is padded with zeros to the whole length
      Dims shape(terms.sizes());
      const int64_t d = at - sparse + 1;
      shape[static_cast<size_t>(d)] = total;
      const Tensor wide = zeros(shape, type, t.device());
      copy_(narrow(wide, d, before, t.size(at)), terms);
      terms = wide;
    }
    indices.push_back(entries);
    values.push_back(terms);
    before += t.size(at);
  }
  return coo_tensor(sizes, cat(indices, 1), cat(values, 0), false);
}
Tensor stack_kernel(TensorSpan tensors, int64_t dim) {
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) rows.push_back(unsqueeze_kernel(t, dim));
  return cat_kernel(rows, dim);
}

constexpr OpDef defs[] = {
    {.schema = "_sparse_narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
     .all = kernel<&narrow_copy_kernel>(),
     .differentiable = false,
     .hidden = true},
};

}  // namespace

void define_sparse_shape() {
  define_sparse_rows(defs);
  constexpr std::pair<const char*, Kernel> kernels[] = {
      {"aten::permute", kernel<&permute_kernel>()},
      {"aten::transpose.int", kernel<&transpose_kernel>()},
      {"aten::transpose_", kernel<&transpose_in_place>()},
      {"aten::t", kernel<&t_kernel>()},
      {"aten::unsqueeze", kernel<&unsqueeze_kernel>()},
      {"aten::select.int", kernel<&select_kernel>()},
      {"aten::index_select", kernel<&index_select_kernel>()},
      {"aten::cat", kernel<&cat_kernel>()},
      {"aten::stack", kernel<&stack_kernel>()},
  };
  for (const auto& [name, k] : kernels) set_sparse_kernel(name, k);
}

}  // namespace fc
