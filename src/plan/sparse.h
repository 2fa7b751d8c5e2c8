// SPDX-License-Identifier: Apache-2.0
// What the operators on indices and values check, on every device, and the type their kernels compute in. The operators
// are hidden, but a program may still call them with anything.
#pragma once
#include "define/calls.h"

namespace fc {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

inline void check_index_type(const char* op, const char* name, const Tensor& t) {
  FC_CHECK(t.dtype() == DType::Int64, op, ": ", name, " must be int64, got ", t.dtype());
}
[[noreturn]] inline void raise_bad_index(const char* op, int64_t index, int64_t size) {
  raise<IndexError>(op, ": index ", index, " is out of range for a dimension of size ", size,
                    " (were the indices changed after the tensor was made?)");
}

// A matrix times a dense one: `count` entries, of which each names a row and a column.
inline void check_entries(const char* op, const Tensor& indices, const Tensor& values) {
  check_index_type(op, "indices", indices);
  FC_CHECK(values.dim() == 1 && indices.size(-1) == values.size(0), op, ": expected one value per entry, got indices ",
           indices.sizes(), " and values ", values.sizes());
}
inline void check_factor(const char* op, const Tensor& values, const Tensor& dense) {
  FC_CHECK(dense.dim() == 2, op, ": expected a matrix, got ", dense.sizes());
  FC_CHECK(values.dtype() == dense.dtype(), op, ": expected two matrices of one type, got ", values.dtype(), " and ",
           dense.dtype());
}
inline void check_compressed(const char* op, const Tensor& compressed, const Tensor& indices, const Tensor& values) {
  check_index_type(op, "compressed indices", compressed);
  FC_CHECK(compressed.dim() == 1 && compressed.size(0) > 0, op,
           ": expected compressed indices of one dimension and at least one element, got ", compressed.sizes());
  FC_CHECK(indices.dim() == 1, op, ": expected indices of one dimension, got ", indices.sizes());
  check_entries(op, indices, values);
}

}  // namespace fc
