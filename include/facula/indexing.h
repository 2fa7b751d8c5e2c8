// SPDX-License-Identifier: Apache-2.0
// What x[…] is indexed with, for both fronts: integers, slices, None, Ellipsis, booleans and tensors.
#pragma once
#include <optional>

#include <facula/tensor_impl.h>

namespace fc {

struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
};

class TensorIndex {
 public:
  enum class Kind : uint8_t { None, Ellipsis, Integer, Boolean, Slice, Tensor };

  TensorIndex(std::nullopt_t) : kind(Kind::None) {}
  TensorIndex(int64_t i) : kind(Kind::Integer), integer(i) {}
  TensorIndex(int i) : TensorIndex(static_cast<int64_t>(i)) {}
  TensorIndex(bool b) : kind(Kind::Boolean), integer(b) {}
  TensorIndex(const Slice& s) : kind(Kind::Slice), slice(s) {}
  TensorIndex(Tensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  static TensorIndex ellipsis() {
    TensorIndex i(std::nullopt);
    i.kind = Kind::Ellipsis;
    return i;
  }

  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};

}  // namespace fc
