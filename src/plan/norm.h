// SPDX-License-Identifier: Apache-2.0
// What the normalisations' kernels on all devices check and know alike.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>

#include "core/tensor.h"

namespace fc {

// Throws unless weight and bias (where given) have the normalised shape and it ends input's. Returns the number of
// rows.
int64_t check_layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight, const Tensor& bias);
// Sizes of mean and rstd: input's, 1 along the normalised dimensions.
Dims layer_norm_stat_sizes(const Tensor& input, IntSpan normalized_shape);
// The same of rms_norm and its backward, and the number added to the mean square: of the input's type, unless given.
int64_t check_rms_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight);
int64_t check_rms_norm_backward(const Tensor& grad, const Tensor& input, IntSpan normalized_shape, const Tensor& rstd,
                                const Tensor& weight, std::span<const bool> mask);
double rms_norm_eps(const Tensor& input, std::optional<double> eps);
void check_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training);
void check_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t hxw,
                      int64_t group);
// What a backward operator takes besides, checked before memory is read: its flags, a gradient of the input's shape,
// and each of the statistics with `count` elements.
void check_norm_backward(const char* op, const Tensor& grad, const Tensor& input,
                         std::initializer_list<const Tensor*> statistics, int64_t count, std::span<const bool> mask,
                         size_t flags = 3);
void check_batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                               const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                               const Tensor& save_invstd, bool training, std::span<const bool> mask);

}  // namespace fc
