// SPDX-License-Identifier: Apache-2.0
// What the normalisations' kernels on all devices check and know alike.
#pragma once
#include "core/tensor.h"

namespace fc {

// Throws unless weight and bias (where given) have the normalised shape and it ends input's. Returns the number of rows.
int64_t check_layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight, const Tensor& bias);
// Sizes of mean and rstd: input's, 1 along the normalised dimensions.
Dims layer_norm_stat_sizes(const Tensor& input, IntSpan normalized_shape);
void check_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training);
void check_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t hxw,
                      int64_t group);

}  // namespace fc
