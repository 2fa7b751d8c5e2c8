// SPDX-License-Identifier: Apache-2.0
// Making sparse tensors, reading their parts, and going from one layout to another.
#include "core/device_record.h"
#include "ops/register.h"
#include "ops/sparse.h"

namespace fc {
namespace {

using OptType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

// --- rows as numbers, and as where each begins
Tensor coo_to_csr(const Tensor& rows, int64_t size, bool out_int32) {
  FC_CHECK(is_integral(rows.dtype(), false), "_convert_indices_from_coo_to_csr: expected rows as integers, got ",
           rows.dtype());
  return to_dtype(call<"aten::_sparse_compress", Tensor>(int64(rows), size), out_int32 ? DType::Int32 : DType::Int64);
}
Tensor csr_to_coo(const Tensor& crow, const Tensor& col, bool out_int32, bool transpose) {
  FC_CHECK(crow.dim() == 1 && col.dim() == 1, "_convert_indices_from_csr_to_coo: expected two vectors, got ",
           crow.sizes(), " and ", col.sizes());
  const Tensor row = call<"aten::_sparse_decompress", Tensor>(int64(crow), col.size(0)), column = int64(col);
  const Tensor both[] = {transpose ? column : row, transpose ? row : column};
  return to_dtype(stack(both), out_int32 ? DType::Int32 : DType::Int64);
}

// --- making

void must_be_strided(const char* op, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors)
    FC_CHECK(!is_sparse(*t), op, ": indices and values must be strided, got torch.", to_string(layout_of(*t)));
}

Tensor make_coo(const Tensor& indices, const Tensor& values, IntSpan size, OptType, OptLayout, OptDevice, OptBool,
                OptBool is_coalesced) {
  must_be_strided("sparse_coo_tensor", {&indices, &values});
  FC_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  FC_CHECK(indices.dtype() == DType::Int64, "indices must be an int64 tensor, got ", indices.dtype());
  FC_CHECK(values.dim() > 0 && indices.size(1) == values.size(0),
           "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
           ", nnz from values: ", values.dim() ? values.size(0) : 1);
  const int64_t sparse_dim = indices.size(0), dense_dim = values.dim() - 1;
  FC_CHECK(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim,
           "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.size(),
           ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  Dims expected{values.size(0)};
  for (size_t d = static_cast<size_t>(sparse_dim); d < size.size(); ++d) expected.push_back(size[d]);
  FC_CHECK(Dims::same(expected, values.sizes()), "values has incorrect size, expected ", expected, ", got ",
           values.sizes());
  return coo_tensor(size, indices, values, is_coalesced.value_or(false));
}

Tensor make_compressed(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntSpan size, OptType,
                       OptLayout layout, OptDevice, OptBool) {
  must_be_strided("sparse_compressed_tensor", {&compressed, &plain, &values});
  FC_CHECK(layout && *layout > Layout::SparseCoo,
           "sparse_compressed_tensor expected sparse compressed tensor layout but got ",
           layout ? legacy_name(*layout) : "none");
  FC_CHECK_AS(NotImplementedError, *layout == Layout::SparseCsr || *layout == Layout::SparseCsc,
              "sparse tensors of layout torch.", to_string(*layout), " are not implemented: use COO, CSR or CSC");
  const bool by_rows = *layout == Layout::SparseCsr;
  const char* outer = by_rows ? "crow_indices" : "ccol_indices";
  const char* inner = by_rows ? "col_indices" : "row_indices";
  FC_CHECK(compressed.dtype() == plain.dtype() && (plain.dtype() == DType::Int64 || plain.dtype() == DType::Int32),
           outer, " and ", inner, " must both be int32 or both int64, but got ", compressed.dtype(), " and ",
           plain.dtype());
  FC_CHECK_AS(NotImplementedError, compressed.dim() < 2,
              "batches of compressed sparse tensors are not implemented: ", outer, " is ", compressed.sizes());
  FC_CHECK(compressed.dim() == 1 && plain.dim() == 1 && values.dim() > 0, outer, " and ", inner,
           " must have one dimension and values at least one, got ", compressed.sizes(), ", ", plain.sizes(), " and ",
           values.sizes());
  FC_CHECK(plain.size(0) == values.size(0), inner, " and values must have the same number of entries, but got ",
           plain.size(0), " and ", values.size(0));
  FC_CHECK(static_cast<int64_t>(size.size()) == values.dim() + 1, "size must have two sparse and ", values.dim() - 1,
           " dense dimensions, got ", size);
  for (size_t d = 2; d < size.size(); ++d)
    FC_CHECK(size[d] == values.sizes()[d - 1], "values has incorrect size: expected ", size.subspan(2),
             " after the entries, got ", values.sizes());
  const int64_t rows = size[by_rows ? 0 : 1];
  FC_CHECK(compressed.size(0) - 1 == rows, outer, " must have ", rows, " + 1 elements for size ", size, ", got ",
           compressed.size(0));
  return compressed_tensor(*layout, size, compressed, plain, values);
}

// Throws unless indices are in range, and sorted and without repetition where the layout says so.
void check_invariants(const Tensor& t) {
  if (!is_sparse(t)) return;
  const SparseParts& p = sparse_parts(t);
  if (p.layout == Layout::SparseCoo) {
    const Tensor at = positions(t);
    if (!p.coalesced || p.nnz() < 2) return;
    FC_CHECK(all_true(lt(slice(at, 0, 0, -1), slice(at, 0, 1, {}))),
             "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
    return;
  }
  const bool by_rows = p.layout == Layout::SparseCsr;
  const Tensor outer = call<"aten::_sparse_decompress", Tensor>(int64(p.compressed), p.nnz());
  const Tensor both[] = {outer, int64(p.indices)};
  const int64_t rows = t.sizes()[by_rows ? 0 : 1], columns = t.sizes()[by_rows ? 1 : 0];
  const Tensor at = positions_of(stack(both), Dims{rows, columns});
  FC_CHECK(p.nnz() < 2 || all_true(lt(slice(at, 0, 0, -1), slice(at, 0, 1, {}))), by_rows ? "col" : "row",
           "_indices must be sorted and distinct in each ", by_rows ? "row" : "column");
}

Tensor zeros_sparse(IntSpan size, OptType dtype, OptLayout layout, OptDevice device, OptBool) {
  return empty_sparse(size, static_cast<int64_t>(size.size()), dtype.value_or(default_dtype()),
                      device.value_or(default_device()), layout.value_or(Layout::SparseCoo));
}
Tensor empty_kernel(IntSpan size, OptType dtype, OptLayout layout, OptDevice device, OptBool pin, OptFormat) {
  return zeros_sparse(size, dtype, layout, device, pin);
}
Tensor zeros_like_kernel(const Tensor& self, OptType dtype, OptLayout layout, OptDevice device, OptBool, OptFormat) {
  const int64_t dims = is_sparse(self) ? sparse_parts(self).sparse_dim() : self.dim();
  const DType t = dtype.value_or(self.dtype());
  const Device d = device.value_or(self.device());
  const Layout l = layout.value_or(layout_of(self));
  if (l == Layout::Strided) return zeros(self.sizes(), t, d);
  return empty_sparse(self.sizes(), dims, t, d, l);
}

Tensor new_empty_kernel(const Tensor& self, IntSpan size, OptType dtype, OptLayout layout, OptDevice device,
                        OptBool pin) {
  return zeros_sparse(size, dtype.value_or(self.dtype()), layout.value_or(layout_of(self)),
                      device.value_or(self.device()), pin);
}
// The only element: entries that are repeated are added up, and without any it is 0.
Scalar only_element(const Tensor& self) {
  FC_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return call<"aten::_local_scalar_dense", Scalar>(call<"aten::to_dense", Tensor>(self, OptType(), OptBool()));
}
Tensor resize_as_kernel(const Tensor& self, const Tensor& other, OptFormat) {
  must_be_coo("resize_as_", self);
  must_be_coo("resize_as_", other);
  const SparseParts& p = sparse_parts(other);
  return call<"aten::sparse_resize_", Tensor>(self, other.sizes(), p.sparse_dim(), p.dense_dim());
}
// --- parts

// As the device's programs know them: what it keeps are int64.
Tensor given_indices(const Tensor& self) {
  const Tensor indices = part(sparse_parts(self).indices);
  return has_int32_indices(self.device()) ? to_dtype(indices, DType::Int32) : indices;
}
Tensor raw_indices(const Tensor& self) {
  must_be_coo("_indices", self);
  return given_indices(self);
}
Tensor raw_values(const Tensor& self) {
  must_be_coo("_values", self);
  return part(sparse_parts(self).values);
}
Tensor indices_kernel(const Tensor& self) {
  must_be_coo("indices", self);
  FC_CHECK(sparse_parts(self).coalesced, "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return given_indices(self);
}
Tensor values_kernel(const Tensor& self) {
  FC_CHECK(is_sparse(self), "values expected sparse tensor layout but got Strided");
  FC_CHECK(sparse_parts(self).coalesced, "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return part(sparse_parts(self).values);
}
void values_grad(Grad& g) { g.set(0, recorded_with_values(g.in(0), g.out())); }

template <Layout layout, bool compressed>
Tensor compressed_part(const Tensor& self) {
  constexpr bool rows = layout == Layout::SparseCsr;
  constexpr const char* name =
      compressed ? (rows ? "crow_indices" : "ccol_indices") : (rows ? "col_indices" : "row_indices");
  FC_CHECK(layout_of(self) == layout, name, " expected sparse ", rows ? "row" : "column",
           " compressed tensor layout but got ", legacy_name(layout_of(self)));
  return part(compressed ? sparse_parts(self).compressed : sparse_parts(self).indices);
}

int64_t nnz(const Tensor& self) {
  FC_CHECK_AS(NotImplementedError, is_sparse(self), "_nnz expected a sparse tensor, but got a strided one");
  return sparse_parts(self).nnz();
}
int64_t sparse_dim(const Tensor& self) { return is_sparse(self) ? sparse_parts(self).sparse_dim() : 0; }
int64_t dense_dim(const Tensor& self) { return is_sparse(self) ? sparse_parts(self).dense_dim() : self.dim(); }
bool is_coalesced(const Tensor& self) {
  must_be_coo("is_coalesced", self);
  return sparse_parts(self).coalesced;
}
Tensor coalesce_kernel(const Tensor& self) {
  must_be_coo("coalesce", self);
  return sparse_parts(self).coalesced ? self : call<"aten::_coalesce", Tensor>(self);
}
Tensor set_coalesced(const Tensor& self, bool yes) {
  must_be_coo("_coalesced_", self);
  const SparseParts& p = sparse_parts(self);
  replace_sparse(self, coo_tensor(self.sizes(), p.indices, p.values, yes));
  return self;
}

// --- from one layout to another

Tensor to_dense_kernel(const Tensor& self, OptType dtype, OptBool masked_grad) {
  if (is_sparse(self)) return call<"aten::_to_dense", Tensor>(self, dtype, masked_grad);
  return dtype ? to_dtype(self, *dtype) : self;
}
Tensor to_dense_inside(const Tensor& self, OptType dtype, OptBool) {
  FC_CHECK(is_sparse(self), "_to_dense expected sparse tensor layout but got Strided");
  const Tensor out = to_strided(self);
  return dtype ? to_dtype(out, *dtype) : out;
}
void to_dense_grad(Grad& g) {
  const Tensor self = g.in(0);
  const bool masked = g.arg(2).is_none() || g.arg(2).boolean();
  if (masked) g.set(0, call<"aten::sparse_mask", Tensor>(g.out(), self));
  else
    g.set(0,
          call<"aten::_sparse_convert", Tensor>(
              call<"aten::_to_sparse.sparse_dim", Tensor>(g.out(), sparse_parts(self).sparse_dim()), layout_of(self)));
}

Tensor dense_to_coo(const Tensor& self, int64_t dims) {
  FC_CHECK(dims >= 0 && dims <= self.dim(), "dense_to_sparse: sparse_dim argument must be in [0,", self.dim(),
           "] range, but ", dims, " is given");
  FC_CHECK(dims > 0 || self.dim() == 0, "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0");
  Tensor present = ne(self, 0);
  if (dims < self.dim()) {
    Dims dense;
    for (int64_t d = dims; d < self.dim(); ++d) dense.push_back(d);
    present = call<"aten::any.dims", Tensor>(present, std::optional<IntSpan>(dense), false);
  }
  const Tensor indices = contiguous(t(call<"aten::nonzero", Tensor>(present)));
  const Tensor values = dims == 0 ? slice(reshape(self, Dims{1}), 0, 0, indices.size(1)) : values_at(self, indices);
  return coo_tensor(self.sizes(), indices, values, true);
}
Tensor to_sparse_dims(const Tensor& self, int64_t dims) {
  if (!is_sparse(self)) return call<"aten::_to_sparse.sparse_dim", Tensor>(self, dims);
  FC_CHECK(is_coo(self) && sparse_parts(self).sparse_dim() == dims,
           "to_sparse: a sparse tensor keeps its sparse dimensions, ", sparse_parts(self).sparse_dim(), ", but ", dims,
           " were asked for: to_dense() first");
  return self;
}
Tensor to_layout_kernel(const Tensor& self, OptLayout layout, std::optional<IntSpan> blocksize,
                        std::optional<int64_t> dense) {
  const Layout to = layout.value_or(Layout::SparseCoo);
  if (to == Layout::Strided) return to_dense_kernel(self, {}, {});
  FC_CHECK(!blocksize, "to_sparse: blocksize is for the layouts BSR and BSC, which are not implemented");
  if (is_sparse(self)) return layout_of(self) == to ? self : call<"aten::_sparse_convert", Tensor>(self, to);
  FC_CHECK(dense.value_or(0) >= 0 && dense.value_or(0) <= self.dim(), "to_sparse: dense_dim must be in [0, ",
           self.dim(), "], got ", dense.value_or(0));
  const int64_t dims = self.dim() - dense.value_or(0);
  FC_CHECK(to == Layout::SparseCoo || dims == 2, "to_sparse: a tensor of layout torch.", to_string(to),
           " has two sparse dimensions here, got sizes ", self.sizes(), " with dense_dim ", dense.value_or(0));
  const Tensor coo = call<"aten::_to_sparse.sparse_dim", Tensor>(self, dims);
  return to == Layout::SparseCoo ? coo : call<"aten::_sparse_convert", Tensor>(coo, to);
}
template <Layout layout>
Tensor to_compressed(const Tensor& self, std::optional<int64_t> dense) {
  return to_layout_kernel(self, layout, {}, dense);
}
Tensor convert_kernel(const Tensor& self, Layout layout) {
  FC_CHECK(is_sparse(self), "_sparse_convert expected sparse tensor layout but got Strided");
  return as_layout(self, layout);
}

Tensor mask_kernel(const Tensor& self, const Tensor& mask) {
  FC_CHECK_AS(NotImplementedError, is_sparse(mask), "sparse_mask: the mask must be sparse, got a strided tensor");
  FC_CHECK(Dims::same(self.sizes(), mask.sizes()), "sparse_mask(): operands have incompatible sizes; self has size ",
           self.sizes(), " but mask has size ", mask.sizes());
  const Tensor pattern = coalesced(as_coo(mask));
  return as_layout(with_values(pattern, values_at(self, sparse_parts(pattern).indices)), layout_of(mask));
}
Tensor values_at_kernel(const Tensor& self, const Tensor& indices) {
  must_be_strided("_sparse_values_at", {&indices});
  FC_CHECK(indices.dim() == 2 && indices.size(0) <= self.dim(),
           "_sparse_values_at: expected indices [dimensions, n], got ", indices.sizes());
  return values_at(self, indices);
}
// --- changing a tensor

void check_dims(IntSpan size, int64_t dims, int64_t dense) {
  FC_CHECK(dims >= 0 && dense >= 0 && dense <= static_cast<int64_t>(size.size()) &&
               dims == static_cast<int64_t>(size.size()) - dense,
           "number of dimensions must be sparse_dim (", dims, ") + dense_dim (", dense, "), but got ", size.size());
}
Tensor resize_kernel(const Tensor& self, IntSpan size, int64_t dims, int64_t dense) {
  must_be_coo("sparse_resize_", self);
  check_dims(size, dims, dense);
  const SparseParts& p = sparse_parts(self);
  if (p.nnz() == 0) {
    replace_sparse(self, empty_sparse(size, dims, self.dtype(), self.device()));
    return self;
  }
  FC_CHECK(dims == p.sparse_dim() && dense == p.dense_dim(), "changing the number of sparse dimensions (from ",
           p.sparse_dim(), " to ", dims, ") or dense dimensions (from ", p.dense_dim(), " to ", dense,
           ") on a non-empty sparse tensor is not supported.");
  for (size_t d = 0; d < size.size(); ++d)
    FC_CHECK(size[d] >= self.sizes()[d], "shrinking the size of ", d < static_cast<size_t>(dims) ? "sparse" : "dense",
             " dimensions (from ", self.sizes(), " to ", size, ") on a non-empty sparse tensor is not supported.");
  Dims shape{p.nnz()};
  for (size_t d = static_cast<size_t>(dims); d < size.size(); ++d) shape.push_back(size[d]);
  Tensor values = p.values;
  if (!Dims::same(shape, values.sizes())) {
    values = zeros(shape, self.dtype(), self.device());
    Tensor old = values;
    for (int64_t d = 1; d < values.dim(); ++d) old = narrow(old, d, 0, p.values.size(d));
    copy_(old, p.values);
  }
  replace_sparse(self, coo_tensor(size, p.indices, values, p.coalesced));
  return self;
}
Tensor resize_and_clear(const Tensor& self, IntSpan size, int64_t dims, int64_t dense) {
  must_be_coo("sparse_resize_and_clear_", self);
  check_dims(size, dims, dense);
  replace_sparse(self, empty_sparse(size, dims, self.dtype(), self.device()));
  return self;
}

Tensor alias_kernel(const Tensor& self) { return shallow_copy(self, true); }
Tensor clone_kernel(const Tensor& self, OptFormat format) {
  FC_CHECK(!format || *format == MemoryFormat::Preserve, "unsupported memory format option for a sparse tensor");
  const SparseParts& p = sparse_parts(self);
  if (p.layout == Layout::SparseCoo) return coo_tensor(self.sizes(), clone(p.indices), clone(p.values), p.coalesced);
  return compressed_tensor(p.layout, self.sizes(), clone(p.compressed), clone(p.indices), clone(p.values));
}
Tensor moved(const Tensor& t, OptType dtype, Device device) {
  return call<"aten::to.dtype_layout", Tensor>(t, dtype, OptLayout(), OptDevice(device), OptBool(), false, true,
                                               OptFormat());
}
Tensor to_copy(const Tensor& self, OptType dtype, OptLayout layout, OptDevice device, OptBool, bool, OptFormat) {
  FC_CHECK(!layout || *layout == layout_of(self), "to: a sparse tensor keeps its layout: use to_dense or to_sparse");
  const SparseParts& p = sparse_parts(self);
  const Device d = device.value_or(self.device());
  const Tensor values = moved(p.values, dtype, d), indices = moved(p.indices, {}, d);
  if (p.layout == Layout::SparseCoo) return coo_tensor(self.sizes(), indices, values, p.coalesced);
  return compressed_tensor(p.layout, self.sizes(), moved(p.compressed, {}, d), indices, values);
}
Tensor copy_kernel(const Tensor& self, const Tensor& src, bool) {
  FC_CHECK(layout_of(self) == layout_of(src), "copy_: both tensors must have one layout, got torch.",
           to_string(layout_of(self)), " and torch.", to_string(layout_of(src)), ": use to_dense or to_sparse");
  if (!self.same(src)) replace_sparse(self, to_copy(src, self.dtype(), {}, self.device(), {}, false, {}));
  return self;
}
Tensor zero_kernel(const Tensor& self) {
  replace_sparse(
      self, empty_sparse(self.sizes(), sparse_parts(self).sparse_dim(), self.dtype(), self.device(), layout_of(self)));
  return self;
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
constexpr OpDef defs[] = {
    {.schema = "_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, " OPTIONS
               ", bool? is_coalesced=None) -> Tensor",
     .node = "SparseCooTensorWithDimsAndTensorsBackward0",
     .all = kernel<&make_coo>(),
     .saves = "indices",
     .grad = [](Grad& g) { g.set(1, call<"aten::_sparse_values_at", Tensor>(g.out(), g.in(0))); },
     .hidden = true},
    {.schema = "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
               "SymInt[] size, *, " OPTIONS ") -> Tensor",
     .node = "SparseCompressedTensorBackward0",
     .all = kernel<&make_compressed>(),
     .saves = "compressed_indices plain_indices layout",
     .grad =
         [](Grad& g) {
           const Tensor entries = entries_of_compressed(g.in(0), g.in(1), g.arg(5).layout());
           g.set(2, call<"aten::_sparse_values_at", Tensor>(g.out(), entries));
         },
     .hidden = true},
    {.schema = "_sparse_check_invariants(Tensor self) -> ()",
     .all = kernel<&check_invariants>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "_sparse_values_at(Tensor self, Tensor indices) -> Tensor",
     .all = kernel<&values_at_kernel>(),
     .saves = "indices",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::_sparse_coo_tensor_unsafe", Tensor>(g.in(1), g.out(), g.sizes(0), OptType(),
                                                                    OptLayout(), OptDevice(), OptBool(), OptBool()));
         },
     .hidden = true},

    {.schema = "_indices(Tensor(a) self) -> Tensor(a)", .all = kernel<&raw_indices>(), .differentiable = false},
    {.schema = "_values(Tensor(a) self) -> Tensor(a)", .all = kernel<&raw_values>(), .differentiable = false},
    {.schema = "indices(Tensor(a) self) -> Tensor(a)",
     .doc = "The indices of a coalesced sparse COO tensor.",
     .all = kernel<&indices_kernel>(),
     .differentiable = false},
    {.schema = "values(Tensor(a) self) -> Tensor(a)",
     .doc = "The values of a sparse tensor.",
     .all = kernel<&values_kernel>(),
     .saves = "self",
     .grad = values_grad},
    {.schema = "crow_indices(Tensor(a) self) -> Tensor(a)",
     .doc = "Where the rows of a sparse CSR tensor begin.",
     .all = kernel<&compressed_part<Layout::SparseCsr, true>>(),
     .differentiable = false},
    {.schema = "col_indices(Tensor(a) self) -> Tensor(a)",
     .doc = "The columns of a sparse CSR tensor's entries.",
     .all = kernel<&compressed_part<Layout::SparseCsr, false>>(),
     .differentiable = false},
    {.schema = "ccol_indices(Tensor(a) self) -> Tensor(a)",
     .doc = "Where the columns of a sparse CSC tensor begin.",
     .all = kernel<&compressed_part<Layout::SparseCsc, true>>(),
     .differentiable = false},
    {.schema = "row_indices(Tensor(a) self) -> Tensor(a)",
     .doc = "The rows of a sparse CSC tensor's entries.",
     .all = kernel<&compressed_part<Layout::SparseCsc, false>>(),
     .differentiable = false},
    {.schema = "_nnz(Tensor self) -> int", .all = kernel<&nnz>(), .differentiable = false},
    {.schema = "sparse_dim(Tensor self) -> int",
     .doc = "How many dimensions of a tensor are sparse.",
     .all = kernel<&sparse_dim>(),
     .differentiable = false},
    {.schema = "dense_dim(Tensor self) -> int",
     .doc = "How many dimensions of a tensor are dense.",
     .all = kernel<&dense_dim>(),
     .differentiable = false},
    {.schema = "is_coalesced(Tensor self) -> bool",
     .doc = "Whether a sparse COO tensor's entries are sorted and none is repeated.",
     .all = kernel<&is_coalesced>(),
     .differentiable = false},
    {.schema = "coalesce(Tensor(a) self) -> Tensor(a)",
     .doc = "A sparse COO tensor with its entries sorted and repeated ones added up.",
     .composite = kernel<&coalesce_kernel>()},
    {.schema = "_coalesce(Tensor self) -> Tensor",
     .all = kernel<&coalesced>(),
     .grad = [](Grad& g) { g.set(0, g.out()); },
     .hidden = true},
    {.schema = "_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)",
     .all = kernel<&set_coalesced>(),
     .differentiable = false,
     .writes = Writes::Geometry},

    {.schema = "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
     .doc = "The strided tensor of a sparse one.",
     .composite = kernel<&to_dense_kernel>()},
    {.schema = "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
     .all = kernel<&to_dense_inside>(),
     .saves = "self masked_grad",
     .grad = to_dense_grad,
     .hidden = true},
    {.schema = "to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
     .doc = "The sparse tensor of a strided one, COO unless told otherwise.",
     .composite = kernel<&to_sparse_dims>()},
    {.schema = "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
     .composite = kernel<&to_layout_kernel>()},
    {.schema = "to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor",
     .doc = "The tensor in compressed sparse rows.",
     .composite = kernel<&to_compressed<Layout::SparseCsr>>()},
    {.schema = "to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor",
     .doc = "The tensor in compressed sparse columns.",
     .composite = kernel<&to_compressed<Layout::SparseCsc>>()},
    {.schema = "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
     .composite = kernel<&coo_to_csr>()},
    {.schema = "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, "
               "bool transpose=False) -> Tensor",
     .composite = kernel<&csr_to_coo>()},
    {.schema = "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
     .all = kernel<&dense_to_coo>(),
     .grad = [](Grad& g) { g.set(0, to_dense_kernel(g.out(), {}, {})); },
     .hidden = true},
    {.schema = "_sparse_convert(Tensor self, Layout layout) -> Tensor",
     .node = "ToSparseBackward1",
     .all = kernel<&convert_kernel>(),
     .saves = "self",
     .grad =
         [](Grad& g) {
           const Tensor self = g.in(0);
           if (is_sparse(g.out())) g.set(0, call<"aten::_sparse_convert", Tensor>(g.out(), layout_of(self)));
           else g.set(0, call<"aten::sparse_mask", Tensor>(g.out(), self));
         },
     .hidden = true},
    {.schema = "sparse_mask(Tensor self, Tensor mask) -> Tensor",
     .doc = "The elements that a sparse tensor has entries for.",
     .all = kernel<&mask_kernel>(),
     .saves = "self",
     .grad = [](Grad& g) { g.set(0, is_sparse(g.in(0)) ? g.out() : to_dense_kernel(g.out(), {}, {})); }},

    {.schema = "sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
     .doc = "Gives a sparse tensor larger sizes.",
     .all = kernel<&resize_kernel>(),
     .differentiable = false,
     .writes = Writes::Geometry},
    {.schema = "sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
     .doc = "Gives a sparse tensor other sizes and no entries.",
     .all = kernel<&resize_and_clear>(),
     .differentiable = false,
     .writes = Writes::Geometry},
};
#undef OPTIONS

}  // namespace

void define_sparse() {
  define_sparse_rows(defs);
  constexpr std::pair<const char*, Kernel> kernels[] = {
      {"aten::zeros", kernel<&zeros_sparse>()},
      {"aten::empty.memory_format", kernel<&empty_kernel>()},
      {"aten::zeros_like", kernel<&zeros_like_kernel>()},
      {"aten::empty_like", kernel<&zeros_like_kernel>()},
      {"aten::detach", kernel<&alias_kernel>()},
      {"aten::alias", kernel<&alias_kernel>()},
      {"aten::clone", kernel<&clone_kernel>()},
      {"aten::_to_copy", kernel<&to_copy>()},
      {"aten::copy_", kernel<&copy_kernel>()},
      {"aten::zero_", kernel<&zero_kernel>()},
      {"aten::new_empty", kernel<&new_empty_kernel>()},
      {"aten::new_zeros", kernel<&new_empty_kernel>()},
      {"aten::_local_scalar_dense", kernel<&only_element>()},
      {"aten::resize_as_", kernel<&resize_as_kernel>()},
  };
  for (const auto& [name, k] : kernels) set_sparse_kernel(name, k);
}

}  // namespace fc
