// SPDX-License-Identifier: Apache-2.0
// Of graphs whose weights are constants, as freezing makes them: what follows a convolution or a linear layer goes into
// its weight and bias, and dropout that does nothing goes away. Only what a single reader has is folded, and only where
// the result keeps its dtype.
//   %c = aten::conv2d(%x, %w, %b, …)                        %w_fused_bn = prim::Constant[…]
//   %y = aten::batch_norm(%c, %nw, %nb, %m, %v, …)    =>    %b_fused_bn = prim::Constant[…]
//                                                           %c = aten::conv2d(%x, %w_fused_bn, %b_fused_bn, …)
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool fold_frozen_conv_bn(Graph& g, PassContext& context);
bool fold_frozen_conv_add_or_sub(Graph& g, PassContext& context);  // of a number, or a value for each channel
bool fold_frozen_conv_mul_or_div(Graph& g, PassContext& context);
bool fold_frozen_linear_bn(Graph& g, PassContext& context);
// Linear layers of one input, on a device: one product, whose result is sliced.
bool concat_frozen_linear(Graph& g, PassContext& context);
// linear(x, w, b) becomes matmul(x, w transposed now) + b.
bool transpose_frozen_linear(Graph& g, PassContext& context);
bool remove_dropout(Graph& g, PassContext& context);
bool optimize_frozen_graph(Graph& g, PassContext& context);  // all but the transposing, until nothing changes

}  // namespace fc::jit
