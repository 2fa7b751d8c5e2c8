// SPDX-License-Identifier: Apache-2.0
// Arithmetic on shapes that several operator files share. Everything here is checked: sizes and strides come from
// the user.
#pragma once
#include <bit>
#include <optional>

#include "core/error.h"
#include "core/tensor.h"

namespace fc {

// A requested shape with at most one -1, which is worked out from the number of elements.
Dims infer_shape(const char* op, IntSpan shape, int64_t numel);
// Strides that give `wanted` without moving elements, if there are any.
std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan wanted);
// Wraps a list of dimensions and refuses duplicates. As bits: which dimensions are named.
uint64_t dim_bits(const char* op, IntSpan dims, int64_t ndim);
Dims wrap_dims(const char* op, IntSpan dims, int64_t ndim);
// Throws unless every element of this geometry lies inside `bytes` of storage.
void check_in_storage(const char* op, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype, size_t bytes);
// stride * step; a dimension that has at most one element keeps its stride where the product has no room.
int64_t scale_stride(int64_t stride, int64_t step);
// Start and length of a Python slice with positive step.
struct SliceRange {
  int64_t start, length;
};
SliceRange slice_range(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

}  // namespace fc
