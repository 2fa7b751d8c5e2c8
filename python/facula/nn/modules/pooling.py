# SPDX-License-Identifier: Apache-2.0
"""Pooling of one to three dimensions. All take (N, C, *) or (C, *)."""

from __future__ import annotations

from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _ntuple, _pair, _single, _triple

__all__ = [
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of every window of a sequence; with return_indices also where it stood."""

    def forward(self, input: Tensor):
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of every window of an image; with return_indices also where it stood."""

    def forward(self, input: Tensor):
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of every window of a volume; with return_indices also where it stood."""

    def forward(self, input: Tensor):
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        each = _ntuple(self._rank)
        self.kernel_size = each(kernel_size)
        self.stride = each(kernel_size if stride is None else stride)
        self.padding = each(padding)

    def _unpool(self, function, input, indices, output_size):
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima that MaxPool1d found back where they stood; the rest is zero."""

    _rank = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._unpool(F.max_unpool1d, input, indices, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima that MaxPool2d found back where they stood; the rest is zero."""

    _rank = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._unpool(F.max_unpool2d, input, indices, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima that MaxPool3d found back where they stood; the rest is zero."""

    _rank = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._unpool(F.max_unpool3d, input, indices, output_size)


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pool(self, function, input):
        return function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of a sequence."""

    __constants__ = _AvgPoolNd.__constants__[:-1]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(_single(kernel_size), _single(stride), _single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of an image."""

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolNd):
    """The mean of every window of a volume."""

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None) -> None:
        super().__init__()
        each = self._each
        if any(k <= 0 for k in each(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _pool(self, function, input):
        return function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows at random positions, so that the output has any size (Graham, 2014)."""

    _each = staticmethod(_pair)

    def forward(self, input: Tensor):
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows at random positions of a volume, so that the output has any size (Graham, 2014)."""

    _each = staticmethod(_triple)

    def forward(self, input: Tensor):
        return self._pool(F.fractional_max_pool3d, input)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        if norm_type == 0:
            raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """sum(x ** p) ** (1 / p) of every window of a sequence."""

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """sum(x ** p) ** (1 / p) of every window of an image."""

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """sum(x ** p) ** (1 / p) of every window of a volume."""

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool3d, input)


class _AdaptivePoolNd(Module):
    __constants__ = ["output_size"]

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of a sequence as output_size says."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of an image as output_size says; None keeps a size."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of a volume as output_size says; None keeps a size."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    def __init__(self, output_size) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows of a sequence as output_size says."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows of an image as output_size says; None keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows of a volume as output_size says; None keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
