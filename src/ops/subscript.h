// SPDX-License-Identifier: Apache-2.0
// x[…] as Python means it, for both fronts: integers, slices, None, Ellipsis, booleans and tensors in any mixture.
// Integers, slices and None make views; tensors go through aten::index and aten::index_put_.
#pragma once
#include <facula/indexing.h>

#include "core/scalar.h"
#include "core/tensor.h"

namespace fc {

Tensor get_item(const Tensor& self, std::span<const TensorIndex> indices);
// The value is broadcast into self[indices]; leading dimensions of size 1 that it has too many are dropped.
void set_item(const Tensor& self, std::span<const TensorIndex> indices, const Tensor& value);
void set_item(const Tensor& self, std::span<const TensorIndex> indices, const Scalar& value);

}  // namespace fc
