# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional: operators under their functional names."""

from facula import _C

for _name in (
    "relu", "relu_", "gelu", "silu", "mish", "leaky_relu", "elu", "celu", "selu", "hardtanh", "hardswish", "hardsigmoid",
    "softplus", "threshold", "sigmoid", "tanh", "linear", "conv1d", "conv2d", "conv3d", "max_pool2d", "avg_pool2d",
    "pad", "relu6", "prelu",
):  # fmt: skip
    if _name in _C._functions:
        globals()[_name] = _C._functions[_name]
del _name
