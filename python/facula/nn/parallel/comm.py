# SPDX-License-Identifier: Apache-2.0
"""Tensors from one device to several, and from several to one."""

import facula as torch
from facula.nn.parallel.scatter_gather import _device

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _one_of(name, first, second):
    if (first is None) == (second is None):
        raise RuntimeError(f"Exactly one of '{name}' and 'out' must be specified, but got {name}={first} and out={second}")


def _target(destination, tensor):
    if destination is None:
        return tensor.device
    return torch.device("cpu") if destination == -1 else _device(destination)


def broadcast(tensor, devices=None, *, out=None):
    """The tensor on each of the devices, or in each tensor of out."""
    _one_of("devices", devices, out)
    if out is not None:
        return tuple(o.copy_(tensor) for o in out)
    return tuple(tensor.to(_device(d)) for d in devices)


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """A list of tensors on each of the devices. buffer_size: accepted, each tensor goes by itself."""
    return [[t.to(_device(d)) for t in tensors] for d in devices]


def reduce_add(inputs, destination=None):
    """The sum of tensors of one size, on one device: the first one's, unless destination says another (-1: the CPU)."""
    if not inputs:
        raise RuntimeError("reduce_add expects at least one tensor")
    shapes = {tuple(t.shape) for t in inputs}
    if len(shapes) > 1:
        raise ValueError(f"reduce_add expects tensors of one size, got {sorted(shapes)}")
    target = _target(destination, inputs[0])
    total = inputs[0].to(target, copy=True)
    for t in inputs[1:]:
        total += t.to(target)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """The sums of lists of tensors, a list for each device. buffer_size: accepted, each tensor goes by itself."""
    return tuple(reduce_add(same, destination) for same in zip(*inputs, strict=True))


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """Pieces of the tensor along dim, on each of the devices or in each tensor of out."""
    _one_of("devices", devices, out)
    if out is not None:
        pieces = tensor.split([o.shape[dim] for o in out], dim)
        return tuple(o.copy_(piece) for o, piece in zip(out, pieces, strict=True))
    pieces = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(piece.to(_device(d)) for piece, d in zip(pieces, devices, strict=False))


def gather(tensors, dim=0, destination=None, *, out=None):
    """Tensors joined along dim, on one device: the first one's, unless destination says another (-1: the CPU)."""
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
        return torch.cat([t.to(out.device) for t in tensors], dim, out=out)
    target = _target(destination, tensors[0])
    return torch.cat([t.to(target) for t in tensors], dim)
