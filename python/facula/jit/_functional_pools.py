# SPDX-License-Identifier: Apache-2.0
"""Pools and folds of torch.nn.functional in the language of the script compiler (_functional.py)."""
# ruff: noqa: UP006, UP007, UP035, UP045

from typing import List, Optional, Tuple

import facula as torch
from facula import Tensor
from facula.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3  # type: ignore[attr-defined]
from facula.jit._builtins import Operators
from facula.jit._dispatch import by_flag

aten = Operators()


def max_pool1d_with_indices(
    input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return aten.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return aten.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = by_flag("return_indices", 6, max_pool1d_with_indices, _max_pool1d)
max_pool2d = by_flag("return_indices", 6, max_pool2d_with_indices, _max_pool2d)
max_pool3d = by_flag("return_indices", 6, max_pool3d_with_indices, _max_pool3d)


def _sizes_of(wanted: List[Optional[int]], have: List[int]) -> List[int]:
    if len(have) <= len(wanted):
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}")
    out = torch.jit.annotate(List[int], [])
    for i in range(len(wanted)):
        size = wanted[i]
        out.append(have[len(have) - len(wanted) + i] if size is None else size)
    return out


def _adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    if input.dim() <= 2:
        raise ValueError("Input dimension should be at least 3")
    return aten.adaptive_avg_pool2d(input, output_size)


def _adaptive_avg_pool2d_of(input: Tensor, output_size: List[Optional[int]]) -> Tensor:
    return aten.adaptive_avg_pool2d(input, _sizes_of(output_size, input.size()))


adaptive_avg_pool2d = (_adaptive_avg_pool2d, _adaptive_avg_pool2d_of)  # the first that takes the arguments


def _adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    if input.dim() <= 3:
        raise ValueError("Input dimension should be at least 4")
    return aten.adaptive_avg_pool3d(input, output_size)


def _adaptive_avg_pool3d_of(input: Tensor, output_size: List[Optional[int]]) -> Tensor:
    return aten.adaptive_avg_pool3d(input, _sizes_of(output_size, input.size()))


adaptive_avg_pool3d = (_adaptive_avg_pool3d, _adaptive_avg_pool3d_of)  # the first that takes the arguments


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool2d(input, output_size)


def _adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool3d(input, output_size)


def _adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool3d(input, output_size)[0]


adaptive_max_pool1d = by_flag("return_indices", 2, adaptive_max_pool1d_with_indices, _adaptive_max_pool1d)
adaptive_max_pool2d = by_flag("return_indices", 2, adaptive_max_pool2d_with_indices, _adaptive_max_pool2d)
adaptive_max_pool3d = by_flag("return_indices", 2, adaptive_max_pool3d_with_indices, _adaptive_max_pool3d)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int], output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if output_size is None:
        if output_ratio is None:
            raise ValueError("fractional_max_pool2d requires specifying either an output_size or an output_ratio")
        output_size = [int(input.size(-2) * output_ratio[0]), int(input.size(-1) * output_ratio[1])]
    if _random_samples is None:
        batch = 1 if input.dim() == 3 else input.size(0)
        _random_samples = torch.rand(batch, input.size(-3), 2, dtype=input.dtype, device=input.device)
    return aten.fractional_max_pool2d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None,
) -> Tensor:  # fmt: skip
    return fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int], output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if output_size is None:
        if output_ratio is None:
            raise ValueError("fractional_max_pool3d requires specifying either an output_size or an output_ratio")
        output_size = [int(input.size(-3) * output_ratio[0]), int(input.size(-2) * output_ratio[1]), int(input.size(-1) * output_ratio[2])]
    if _random_samples is None:
        batch = 1 if input.dim() == 4 else input.size(0)
        _random_samples = torch.rand(batch, input.size(-4), 3, dtype=input.dtype, device=input.device)
    return aten.fractional_max_pool3d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None,
) -> Tensor:  # fmt: skip
    return fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]


fractional_max_pool2d = by_flag("return_indices", 4, fractional_max_pool2d_with_indices, _fractional_max_pool2d)
fractional_max_pool3d = by_flag("return_indices", 4, fractional_max_pool3d_with_indices, _fractional_max_pool3d)


def _unpooled_size(input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_size: Optional[List[int]]) -> List[int]:
    n = len(kernel_size)
    usual = torch.jit.annotate(List[int], [])
    for d in range(n):
        usual.append((input.size(input.dim() - n + d) - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    if output_size is None:
        return usual
    size = output_size
    if len(size) == n + 2:
        size = size[2:]
    elif len(size) == n + 1 and input.dim() == n + 1:
        size = size[1:]
    if len(size) != n:
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'")
    for d in range(n):
        if size[d] <= usual[d] - stride[d] or size[d] >= usual[d] + stride[d]:
            raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {usual[d] - stride[d]} and {usual[d] + stride[d]})')
    return size


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
    output_size: Optional[List[int]] = None,
) -> Tensor:  # fmt: skip
    steps = kernel_size if stride is None else stride
    size = _unpooled_size(input, kernel_size, steps, padding, output_size)
    return aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
    output_size: Optional[List[int]] = None,
) -> Tensor:  # fmt: skip
    steps = kernel_size if stride is None else stride
    return aten.max_unpool2d(input, indices, _unpooled_size(input, kernel_size, steps, padding, output_size))


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
    output_size: Optional[List[int]] = None,
) -> Tensor:  # fmt: skip
    steps = kernel_size if stride is None else stride
    return aten.max_unpool3d(input, indices, _unpooled_size(input, kernel_size, steps, padding, output_size), steps, padding)


def _lp_of_means(means: Tensor, norm_type: float, count: int) -> Tensor:
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Optional[BroadcastingList1[int]] = None, ceil_mode: bool = False) -> Tensor:
    if stride is not None:
        means = torch.avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        means = torch.avg_pool1d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return _lp_of_means(means, norm_type, kernel_size)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, ceil_mode: bool = False
) -> Tensor:
    if stride is not None:
        means = aten.avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        means = aten.avg_pool2d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return _lp_of_means(means, norm_type, kernel_size[0] * kernel_size[1])


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, ceil_mode: bool = False
) -> Tensor:
    if stride is not None:
        means = aten.avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        means = aten.avg_pool3d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return _lp_of_means(means, norm_type, kernel_size[0] * kernel_size[1] * kernel_size[2])


def unfold(
    input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1
) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)
