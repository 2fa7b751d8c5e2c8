# SPDX-License-Identifier: Apache-2.0
"""Padding at both ends of the last one to three dimensions: (N, C, *) or (C, *).

A padding is one number, or (left, right, top, bottom, front, back) as far as there are dimensions.
"""

from __future__ import annotations

from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    __constants__ = ["padding"]
    _mode: str
    _rank: int

    def __init__(self, padding) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._rank)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise ValueError(f"expected {self._rank + 1}D or {self._rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads a sequence with its other end."""

    _rank = 1


class CircularPad2d(_CircularPadNd):
    """Pads an image with its other ends."""

    _rank = 2


class CircularPad3d(_CircularPadNd):
    """Pads a volume with its other ends."""

    _rank = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads a sequence with its mirror image."""

    _rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads an image with its mirror image."""

    _rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads a volume with its mirror image."""

    _rank = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads a sequence with its outermost elements."""

    _rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads an image with its outermost elements."""

    _rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads a volume with its outermost elements."""

    _rank = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads a sequence with a value."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads an image with a value."""

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads a volume with a value."""

    _rank = 3


class _Zeros(_ConstantPadNd):
    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Pads a sequence with zeros."""


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Pads an image with zeros."""


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Pads a volume with zeros."""
