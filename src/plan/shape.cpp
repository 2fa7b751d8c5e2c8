// SPDX-License-Identifier: Apache-2.0
#include "plan/shape.h"

#include <algorithm>

namespace fc {

Dims infer_shape(const char* op, IntSpan shape, int64_t numel) {
  Dims out(shape);
  int64_t known = 1;
  size_t unknown = shape.size();
  bool overflow = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      FC_CHECK(unknown == shape.size(), op, ": only one dimension can be inferred, got shape ", shape);
      unknown = i;
    } else {
      FC_CHECK(shape[i] >= 0, op, ": invalid shape dimension ", shape[i], " at index ", i, " of shape ", shape);
      overflow |= __builtin_mul_overflow(known, shape[i], &known);
    }
  }
  if (unknown < shape.size()) {
    FC_CHECK(known != 0, op, ": cannot reshape tensor of ", numel, " elements into shape ", shape,
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    FC_CHECK(!overflow && numel % known == 0, op, ": shape '", shape, "' is invalid for input of size ", numel);
    out[unknown] = numel / known;
    return out;
  }
  bool zero = std::find(shape.begin(), shape.end(), 0) != shape.end();
  FC_CHECK((zero ? 0 : known) == numel && (zero || !overflow), op, ": shape '", shape,
           "' is invalid for input of size ", numel);
  return out;
}

std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan wanted) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return Dims::same(sizes, wanted) ? Dims(strides) : contiguous_strides(wanted);
  Dims out(wanted.size(), 1);
  if (sizes.empty()) return out;
  // Old dimensions merge, from the innermost outwards, into blocks within which elements are evenly spaced. Each
  // block must be cut into whole new dimensions.
  size_t next = wanted.size();
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t step = strides[d];
    int64_t block = sizes[d];
    while (d > 0 && (sizes[d - 1] == 1 || strides[d - 1] == block * step)) block *= sizes[--d];
    int64_t filled = 1;
    while (next > 0 && (filled < block || wanted[next - 1] == 1)) {
      out[--next] = filled * step;
      filled *= wanted[next];
    }
    if (filled != block) return std::nullopt;
  }
  if (next > 0) return std::nullopt;
  return out;
}

Dims wrap_dims(const char* op, IntSpan dims, int64_t ndim) {
  Dims out(dims);
  uint64_t seen = 0;
  for (int64_t& d : out) {
    d = wrap_dim(d, ndim, op);
    FC_CHECK(!(seen >> d & 1), op, ": dim ", d, " appears multiple times in the list of dims ", dims);
    seen |= uint64_t{1} << d;
  }
  return out;
}

uint64_t dim_bits(const char* op, IntSpan dims, int64_t ndim) {
  uint64_t bits = 0;
  for (int64_t d : wrap_dims(op, dims, ndim)) bits |= uint64_t{1} << d;
  return bits;
}

void check_in_storage(const char* op, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype, size_t bytes) {
  FC_CHECK(sizes.size() == strides.size(), op, ": mismatch in length of strides and shape: shape is ", sizes,
           ", strides are ", strides);
  for (int64_t s : strides)
    FC_CHECK(s >= 0, op, ": negative strides are not supported at the moment, got strides: ", strides);
  FC_CHECK(offset >= 0, op, ": storage offset must be non-negative, got ", offset);
  for (int64_t s : sizes) FC_CHECK(s >= 0, op, ": sizes must be non-negative, got ", sizes);
  checked_numel(sizes);
  // Also where a dimension is empty: parts of this view are found by the same arithmetic.
  bool small = offset <= kMaxStride;
  int64_t last = offset, reach;
  for (size_t d = 0; d < sizes.size(); ++d)
    small = small && strides[d] <= kMaxStride &&
            !__builtin_mul_overflow(std::max<int64_t>(sizes[d], 1) - 1, strides[d], &reach) &&
            !__builtin_add_overflow(last, reach, &last) && last <= kMaxStride;
  FC_CHECK(small, op, ": strides ", strides, " or storage offset ", offset, " are beyond what memory can hold");
  size_t need = storage_bytes_needed(sizes, strides, offset, dtype);
  FC_CHECK(need <= bytes, op, ": setStorage: sizes ", sizes, ", strides ", strides, ", storage offset ", offset,
           ", and itemsize ", item_size(dtype), " requiring a storage size of ", need,
           " are out of bounds for storage of size ", bytes);
}

int64_t scale_stride(int64_t stride, int64_t step) {
  int64_t product;
  return __builtin_mul_overflow(stride, step, &product) || product > kMaxStride ? stride : product;
}

SliceRange slice_range(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  auto clamp = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
  int64_t from = clamp(start.value_or(0));
  int64_t to = std::max(clamp(end.value_or(size)), from);
  return {from, (to - from) / step + ((to - from) % step != 0)};
}

}  // namespace fc
