# SPDX-License-Identifier: Apache-2.0
"""Convolutions and transposed convolutions of one to three dimensions."""

from __future__ import annotations

import math

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.lazy import LazyModuleMixin
from facula.nn.modules.linear import _draw_bias
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _add_parameters, _ntuple, _reverse_repeat_tuple
from facula.nn.parameter import UninitializedParameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions share. Sizes are tuples here, one number for each dimension."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: str | tuple[int, ...],
        dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str,
        device=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_of_both_ends(padding, kernel_size, dilation)
        _add_parameters(self, device, dtype, weight=self._weight_shape(), bias=out_channels if bias else None)
        self.reset_parameters()

    def _weight_shape(self):
        a, b = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        return (a, b // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw weight and bias evenly from ±1 / sqrt(the number of terms per output)."""
        if self.weight.is_contiguous():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        else:  # values do not depend on the layout
            dense = _C._functions["empty_like"](self.weight, memory_format=_C.contiguous_format)
            with no_grad():
                self.weight.copy_(init.kaiming_uniform_(dense, a=math.sqrt(5)))
        _draw_bias(self)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _padding_of_both_ends(padding, kernel_size, dilation):
    """Paddings in the order of F.pad: the last dimension first, both ends of each."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size)]
    return [end for t in reversed(total) for end in (t // 2, t - t // 2)]


class _Conv(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device=None, dtype=None,
    ) -> None:  # fmt: skip
        each = _ntuple(self._rank)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), padding if isinstance(padding, str) else each(padding),
            each(dilation), False, each(0), groups, bias, padding_mode, device=device, dtype=dtype,
        )  # fmt: skip

    def _convolve(self, function, input, weight, bias):
        if self.padding_mode == "zeros":
            return function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return function(input, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of sequences: (N, in_channels, L) -> (N, out_channels, L'), or without N."""

    _rank = 1

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv1d, input, weight, bias)


class Conv2d(_Conv):
    """Convolution of images: (N, in_channels, H, W) -> (N, out_channels, H', W'), or without N."""

    _rank = 2

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv2d, input, weight, bias)


class Conv3d(_Conv):
    """Convolution of volumes: (N, in_channels, D, H, W) -> (N, out_channels, D', H', W'), or without N."""

    _rank = 3

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv3d, input, weight, bias)


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1, bias: bool = True,
        dilation=1, padding_mode: str = "zeros", device=None, dtype=None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._rank)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), each(padding), each(dilation), True, each(output_padding), groups,
            bias, padding_mode, device=device, dtype=dtype,
        )  # fmt: skip

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """What is added at the end of each dimension, so that the output has the size that is asked for."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims
        first = input.dim() - n
        if len(output_size) == first + n:
            output_size = output_size[first:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {first + n} elements (got {len(output_size)})"
            )
        dilation = dilation or (1,) * n
        smallest = [
            (input.size(first + d) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1 for d in range(n)
        ]
        largest = [size + stride[d] - 1 for d, size in enumerate(smallest)]
        if any(not low <= size <= high for size, low, high in zip(output_size, smallest, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input of "
                f"{input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest)]

    def _convolve(self, function, input, output_size):
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._rank, self.dilation)
        return function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d: (N, in_channels, L) -> (N, out_channels, L'), or without N."""

    _rank = 1

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d: (N, in_channels, H, W) -> (N, out_channels, H', W'), or without N."""

    _rank = 2

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d: (N, in_channels, D, H, W) -> (N, out_channels, D', H', W'), or without N."""

    _rank = 3

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose3d, input, output_size)


class _LazyConvXdMixin(LazyModuleMixin):
    def _make_lazy(self, out_channels, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args, **kwargs) -> None:
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise RuntimeError(
                f"Expected {self._rank + 1}D (unbatched) or {self._rank + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {input.shape}"
            )
        self.in_channels = input.shape[-self._rank - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device=device, dtype=dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1, bias: bool = True, dilation=1,
        padding_mode: str = "zeros", device=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device=device, dtype=dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d, with in_channels taken from the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d, with in_channels taken from the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d, with in_channels taken from the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d, with in_channels taken from the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d, with in_channels taken from the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d, with in_channels taken from the first input."""

    cls_to_become = ConvTranspose3d
