// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse.h"

namespace fc {

Dims flat_sizes(IntSpan sizes, int64_t sparse_dim) {
  const auto first = static_cast<size_t>(sparse_dim);
  Dims flat{checked_numel(sizes.first(first))};
  for (size_t d = first; d < sizes.size(); ++d) flat.push_back(sizes[d]);
  return flat;
}

std::string_view legacy_name(Layout layout) {
  constexpr std::string_view names[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
  return names[static_cast<size_t>(layout)];
}
void must_be_coo(const char* op, const Tensor& t) {
  FC_CHECK(is_coo(t), op, " expected sparse coordinate tensor layout but got ", legacy_name(layout_of(t)));
}

void define_sparse_rows(std::span<const OpDef> defs) {
  for (const OpDef& d : defs) set_sparse_kernel(define(d).name(), d.all ? d.all : d.composite);
}

Tensor empty_sparse(IntSpan sizes, int64_t sparse_dim, DType dtype, Device device, Layout layout) {
  checked_numel(sizes);
  Dims rest{0};
  for (size_t d = static_cast<size_t>(sparse_dim); d < sizes.size(); ++d) rest.push_back(sizes[d]);
  const Tensor values = empty_tensor(rest, dtype, device);
  if (layout == Layout::SparseCoo)
    return coo_tensor(sizes, empty_tensor(Dims{sparse_dim, 0}, DType::Int64, device), values, true);
  FC_CHECK_AS(NotImplementedError, layout == Layout::SparseCsr || layout == Layout::SparseCsc,
              "sparse tensors of layout torch.", to_string(layout), " are not implemented: use COO, CSR or CSC");
  FC_CHECK(sizes.size() == 2, "a tensor of layout torch.", to_string(layout), " has two dimensions here, got ", sizes);
  const int64_t rows = sizes[layout == Layout::SparseCsc];
  FC_CHECK(rows < INT64_MAX, "a sparse tensor cannot have ", rows, " rows");
  return compressed_tensor(layout, sizes, zeros(Dims{rows + 1}, DType::Int64, device),
                           empty_tensor(Dims{0}, DType::Int64, device), values);
}

Tensor coalesced(const Tensor& coo) {
  const SparseParts& p = sparse_parts(coo);
  if (p.coalesced) return coo;
  const IntSpan sizes = sparse_sizes(coo);
  const auto [first, values] =
      call<"aten::_sparse_coalesce_entries", Two>(positions(coo), p.values, std::max<int64_t>(checked_numel(sizes), 1));
  return coo_tensor(coo.sizes(), index_select(p.indices, 1, first), values, true);
}

Tensor entries_of_compressed(const Tensor& compressed, const Tensor& plain, Layout layout) {
  const Tensor outer = call<"aten::_sparse_decompress", Tensor>(int64(compressed), plain.size(0)), inner = int64(plain);
  const bool by_rows = layout == Layout::SparseCsr;
  const Tensor both[] = {by_rows ? outer : inner, by_rows ? inner : outer};
  return stack(both);
}

Tensor as_coo(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  if (p.layout == Layout::SparseCoo) return t;
  const Tensor coo = coo_tensor(t.sizes(), entries_of_compressed(p.compressed, p.indices, p.layout), p.values, false);
  return coalesced(coo);  // columns of a row may be in any order
}

static Tensor compress_coo(const Tensor& coo, Layout layout) {
  FC_CHECK_AS(NotImplementedError, layout == Layout::SparseCsr || layout == Layout::SparseCsc,
              "conversion to layout torch.", to_string(layout), " is not implemented: use COO, CSR or CSC");
  FC_CHECK(sparse_parts(coo).sparse_dim() == 2, "a tensor of layout torch.", to_string(layout),
           " has two sparse dimensions here, got sizes ", coo.sizes(), " with ", sparse_parts(coo).sparse_dim());
  const bool by_rows = layout == Layout::SparseCsr;
  const SparseParts* p = &sparse_parts(coo);
  Tensor turned;
  if (!by_rows) {  // sorted by columns
    const Tensor rows[] = {select(p->indices, 0, 1), select(p->indices, 0, 0)};
    Dims sizes(coo.sizes());
    std::swap(sizes[0], sizes[1]);
    turned = coalesced(coo_tensor(sizes, stack(rows), p->values, false));
    p = &sparse_parts(turned);
  }
  const Tensor compressed =
      call<"aten::_sparse_compress", Tensor>(contiguous(select(p->indices, 0, 0)), coo.sizes()[by_rows ? 0 : 1]);
  return compressed_tensor(layout, coo.sizes(), compressed, contiguous(select(p->indices, 0, 1)), p->values);
}
Tensor as_layout(const Tensor& t, Layout layout) {
  if (layout_of(t) == layout) return t;
  const Tensor coo = as_coo(t);
  return layout == Layout::SparseCoo ? coo : compress_coo(coalesced(coo), layout);
}

// Of a tensor with these sparse sizes and values.
static Dims sizes_with(const Tensor& t, const Tensor& values) {
  Dims sizes(t.sizes().first(static_cast<size_t>(sparse_parts(t).sparse_dim())));
  for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
  return sizes;
}
Tensor with_values(const Tensor& t, const Tensor& values) {
  const SparseParts& p = sparse_parts(t);
  const Dims sizes = sizes_with(t, values);
  if (p.layout == Layout::SparseCoo) return coo_tensor(sizes, p.indices, values, p.coalesced);
  return compressed_tensor(p.layout, sizes, p.compressed, p.indices, values);
}
Tensor recorded_with_values(const Tensor& t, const Tensor& values) {
  const SparseParts& p = sparse_parts(t);
  const Dims sizes = sizes_with(t, values);
  const std::optional<DType> dtype;
  const std::optional<Device> device;
  const std::optional<bool> pin;
  if (p.layout == Layout::SparseCoo)
    return call<"aten::_sparse_coo_tensor_unsafe", Tensor>(
        part(p.indices), values, sizes, dtype, std::optional<Layout>(), device, pin, std::optional(p.coalesced));
  return call<"aten::_sparse_compressed_tensor_unsafe", Tensor>(part(p.compressed), part(p.indices), values, sizes,
                                                                dtype, std::optional(p.layout), device, pin);
}

Tensor to_strided(const Tensor& sparse) {
  const Tensor coo = as_coo(sparse);
  const bool logical = coo.dtype() == DType::Bool;  // of which repeated entries add up to "any"
  const Tensor whole = logical ? coalesced(coo) : coo;
  const SparseParts& p = sparse_parts(whole);
  const Tensor zero = zeros(flat_sizes(coo.sizes(), p.sparse_dim()), coo.dtype(), coo.device());
  const Tensor out = p.coalesced ? call<"aten::index_copy", Tensor>(zero, 0, positions(whole), p.values)
                                 : call<"aten::index_add", Tensor>(zero, 0, positions(whole), p.values, Scalar(1));
  return view(out, coo.sizes());
}

Tensor values_at(const Tensor& from, const Tensor& indices) {
  const auto dims = static_cast<size_t>(indices.size(0));
  const IntSpan sizes = from.sizes().first(dims);
  const Tensor at = positions_of(indices, sizes);
  if (!is_sparse(from)) {
    const Dims flat = flat_sizes(from.sizes(), indices.size(0));
    if (from.is_contiguous()) return index_select(view(from, flat), 0, at);
    std::vector<Tensor> rows;
    for (size_t d = 0; d < dims; ++d) rows.push_back(select(indices, 0, static_cast<int64_t>(d)));
    return rows.empty() ? index_select(reshape(from, flat), 0, at) : call<"aten::index.Tensor", Tensor>(from, rows);
  }
  const Tensor sorted = coalesced(as_coo(from));
  const SparseParts& p = sparse_parts(sorted);
  FC_CHECK(p.sparse_dim() == indices.size(0), "sparse tensors with ", p.sparse_dim(), " and ", indices.size(0),
           " sparse dimensions do not fit");
  Dims shape(p.values.sizes());
  shape[0] = at.size(0);
  if (p.nnz() == 0) return zeros(shape, from.dtype(), from.device());
  const Tensor keys = positions(sorted);
  const Tensor near = call<"aten::clamp_max", Tensor>(searchsorted(keys, at), Scalar(p.nnz() - 1));
  Dims column(shape.size(), 1);
  column[0] = -1;
  const Tensor hit = view(call<"aten::eq.Tensor", Tensor>(index_select(keys, 0, near), at), column);
  return where(hit, index_select(p.values, 0, near), Scalar(0));
}

}  // namespace fc
