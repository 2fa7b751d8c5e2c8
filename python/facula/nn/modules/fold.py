# SPDX-License-Identifier: Apache-2.0
"""Sliding blocks of images as columns, and back."""

from __future__ import annotations

from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class _Blocks(Module):
    def __init__(self, kernel_size, dilation, padding, stride):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class Unfold(_Blocks):
    """Every block of an image as a column: (N, C, H, W) -> (N, C * prod(kernel_size), blocks)."""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Blocks):
    """Columns summed back into images of output_size: (N, C * prod(kernel_size), blocks) -> (N, C, *output_size)."""

    __constants__ = ["output_size", *Unfold.__constants__]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
