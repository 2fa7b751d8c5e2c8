// SPDX-License-Identifier: Apache-2.0
// What operators on sparse tensors are written in: their parts, and the loops of sparse_primitives.cpp.
#pragma once
#include "core/sparse.h"
#include "define/row.h"
#include "dispatch/sparse.h"
#include "plan/sparse.h"

namespace fc {

std::string_view legacy_name(Layout layout);  // as PyTorch's messages have it: "SparseCsr"
void must_be_coo(const char* op, const Tensor& t);

// Rows whose kernels take sparse tensors as well as strided ones.
void define_sparse_rows(std::span<const OpDef> defs);

inline IntSpan sparse_sizes(const Tensor& coo) {
  return coo.sizes().first(static_cast<size_t>(sparse_parts(coo).sparse_dim()));
}
Dims flat_sizes(IntSpan sizes, int64_t sparse_dim);  // with the sparse dimensions as one
inline Tensor index_select(const Tensor& t, int64_t dim, const Tensor& index) {
  return call<"aten::index_select", Tensor>(t, dim, index);
}
inline Tensor positions_of(const Tensor& indices, IntSpan sizes) {  // checks them
  return call<"aten::_sparse_flat_index", Tensor>(indices, sizes);
}
inline Tensor positions(const Tensor& coo) { return positions_of(sparse_parts(coo).indices, sparse_sizes(coo)); }
inline Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false) {
  return call<"aten::searchsorted.Tensor", Tensor>(contiguous(sorted), contiguous(values), false, right,
                                                   std::optional<std::string_view>(), Tensor());
}
inline Tensor int64(const Tensor& t) { return to_dtype(t, DType::Int64); }

Tensor entries_of_compressed(const Tensor& compressed, const Tensor& plain, Layout layout);  // rows and columns
Tensor coalesced(const Tensor& coo);                                                         // itself if it is
Tensor as_coo(const Tensor& sparse);                                                         // itself if it is
Tensor as_layout(const Tensor& sparse, Layout layout);                                       // COO, CSR or CSC
Tensor with_values(const Tensor& sparse, const Tensor& values);           // the same entries with other values
Tensor recorded_with_values(const Tensor& sparse, const Tensor& values);  // the same as an operator, for derivatives
Tensor to_strided(const Tensor& sparse);
Tensor values_at(const Tensor& from, const Tensor& indices);  // elements of a strided or COO tensor; 0 if it has none
Tensor empty_sparse(IntSpan sizes, int64_t sparse_dim, DType dtype, Device device, Layout layout = Layout::SparseCoo);
// The sum or the concatenation of two COO tensors, b times alpha.
Tensor add_coo(const Tensor& a, const Tensor& b, const Scalar& alpha);

}  // namespace fc
