// SPDX-License-Identifier: Apache-2.0
// The gradients of a recurrent layer in operators that have derivatives themselves, for backward with create_graph.
#pragma once
#include <span>

#include "core/tensor.h"
#include "plan/rnn_modes.h"

namespace fc {

// A layer's arguments; cx, biases and w_hr may be undefined.
struct RnnLayer {
  Tensor x, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr;
  IntSpan batch_sizes;
  int64_t mode;
  bool reverse;
};
// `out` gets the gradients of the eight tensors, in their order, that are `wanted`. g_out, g_hy and g_cy may be
// undefined. The forward, whose sizes were checked when it ran, is computed again.
void differentiable_rnn_gradients(const RnnLayer& layer, const Tensor& g_out, const Tensor& g_hy, const Tensor& g_cy,
                                  std::span<const bool> wanted, std::span<Tensor> out);

}  // namespace fc
