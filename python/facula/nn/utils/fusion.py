# SPDX-License-Identifier: Apache-2.0
"""Batch norms of trained models, absorbed by the layer before them."""

from __future__ import annotations

import copy

from facula._tensor import Tensor
from facula.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, var, eps, bn_weight, bn_bias, shape):
    """Scaled weight and bias; shape: how a factor per channel is spread over the weight."""
    bias_dtype = weight.dtype if bias is None else bias.dtype
    trained = bias is not None and bias.requires_grad
    scale = (var + eps).rsqrt()
    if bn_weight is not None:
        scale = scale * bn_weight
    new_bias = (-mean if bias is None else bias - mean) * scale
    if bn_bias is not None:
        new_bias = new_bias + bn_bias
    new_weight = weight * scale.reshape(shape)
    return (
        Parameter(new_weight.detach().to(dtype=weight.dtype), weight.requires_grad),
        Parameter(new_bias.detach().to(dtype=bias_dtype), trained),
    )


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of a convolution that does what it and the batch norm behind it do."""
    shape = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A copy of a convolution that does what it and the batch norm behind it do; both in evaluation mode."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear map that does what it and the batch norm behind it do."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_linear_bn_eval(linear, bn):
    """A copy of a linear map that does what it and the batch norm behind it do; both in evaluation mode."""
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
