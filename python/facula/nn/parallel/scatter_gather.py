# SPDX-License-Identifier: Apache-2.0
"""Arguments spread over devices, and results brought together."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor

__all__ = ["scatter", "scatter_kwargs", "gather"]


def _device(device):
    return _C.device("cuda", device) if isinstance(device, int) else _C.device(device)


def _is_namedtuple(obj):
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus, dim: int = 0):
    """Pieces of every tensor along dim, one for each device, in the containers that the inputs have."""
    devices = [_device(d) for d in target_gpus]

    def spread(obj):
        if isinstance(obj, Tensor):
            return [piece.to(device) for piece, device in zip(obj.chunk(len(devices), dim), devices)]
        if _is_namedtuple(obj):
            return [type(obj)(*parts) for parts in zip(*map(spread, obj))]
        if isinstance(obj, (tuple, list)) and len(obj) > 0:
            return [type(obj)(parts) for parts in zip(*map(spread, obj))]
        if isinstance(obj, dict) and len(obj) > 0:
            return [type(obj)(parts) for parts in zip(*map(spread, obj.items()))]
        return [obj] * len(devices)

    out = spread(inputs)
    return tuple(out) if isinstance(inputs, Tensor) else out


def scatter_kwargs(inputs: tuple, kwargs: dict | None, target_gpus, dim: int = 0):
    """Arguments and keyword arguments for each device."""
    args = list(scatter(inputs, target_gpus, dim)) if inputs else []
    kwargs = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(args), len(kwargs))
    return (*args, *[()] * (count - len(args))), (*kwargs, *[{} for _ in range(count - len(kwargs))])


def gather(outputs: Any, target_device, dim: int = 0):
    """The results of all devices joined along dim, on one device (-1: the CPU)."""
    device = _C.device("cpu") if isinstance(target_device, int) and target_device == -1 else _device(target_device)

    def joined(parts):
        first = parts[0]
        if isinstance(first, Tensor):
            parts = [p.to(device) for p in parts]
            return _C._functions["stack"](parts) if first.dim() == 0 and dim == 0 else _C._functions["cat"](parts, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(first) != len(p) for p in parts):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((k, joined([p[k] for p in parts])) for k in first)
        if _is_namedtuple(first):
            return type(first)._make(map(joined, zip(*parts)))
        return type(first)(map(joined, zip(*parts)))

    return joined(list(outputs))
