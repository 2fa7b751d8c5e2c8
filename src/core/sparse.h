// SPDX-License-Identifier: Apache-2.0
// A sparse tensor is a tensor whose storage holds no elements but other tensors: where its elements are, and which.
// Its layer bit (layer::Sparse) keeps it away from kernels of strided tensors; those that know it read its parts here.
//
// COO:      indices [sparse_dim, nnz] int64, values [nnz, dense sizes…]. Entries may repeat, and add up, unless
//           coalesced.
// CSR, CSC: compressed [rows + 1], indices [nnz] (both int64 or both int32), values [nnz, dense sizes…].
//
// Parts are never changed: an operator that writes to a sparse tensor gives it others. The tensors inside are strided,
// on one device, without history, and never handed out themselves (part() makes an alias), so their sizes stay what
// they were. Their elements do not: whoever reads indices checks them again.
#pragma once
#include "core/error.h"
#include "core/tensor.h"

namespace fc {

class SparseParts final : public Storage {
 public:
  SparseParts(Layout layout, Tensor compressed, Tensor indices, Tensor values, bool coalesced);

  const Layout layout;
  const bool coalesced;     // COO: sorted and without repetition; true for the others
  const Tensor compressed;  // undefined for COO
  const Tensor indices;
  const Tensor values;

  int64_t nnz() const { return values.sizes()[0]; }
  int64_t sparse_dim() const { return layout == Layout::SparseCoo ? indices.sizes()[0] : 2; }
  int64_t dense_dim() const { return values.dim() - 1; }
};

inline bool is_sparse(const Tensor& t) { return t.defined() && t.impl().is_sparse(); }
// Throws for a strided tensor: operators on sparse ones are reached by name with any.
inline const SparseParts& sparse_parts(const Tensor& t) {
  FC_CHECK(is_sparse(t), "expected a sparse tensor, but got a strided one");
  return static_cast<const SparseParts&>(*t.impl().storage());
}
inline Layout layout_of(const Tensor& t) { return is_sparse(t) ? sparse_parts(t).layout : Layout::Strided; }
inline bool is_coo(const Tensor& t) { return layout_of(t) == Layout::SparseCoo; }
inline bool is_compressed(const Tensor& t) { return layout_of(t) > Layout::SparseCoo; }
inline Tensor part(const Tensor& t) { return shallow_copy(t, true); }

// Tensors of these parts, whose counts must agree (the elements of indices are the caller's to check).
Tensor sparse_tensor(IntSpan sizes, Ref<SparseParts> parts);
Tensor coo_tensor(IntSpan sizes, const Tensor& indices, const Tensor& values, bool coalesced);
Tensor compressed_tensor(Layout layout, IntSpan sizes, const Tensor& compressed, const Tensor& indices,
                         const Tensor& values);
// Gives `self`, a sparse tensor, the parts and sizes of another.
void replace_sparse(const Tensor& self, const Tensor& other);

}  // namespace fc
