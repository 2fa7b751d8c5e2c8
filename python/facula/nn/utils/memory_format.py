# SPDX-License-Identifier: Apache-2.0
"""The memory layout of convolutions' weights."""

from facula.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, kinds):
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay out the weights of all 2-d convolutions of a module, such as channels last."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay out the weights of all 3-d convolutions of a module, such as channels last."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
