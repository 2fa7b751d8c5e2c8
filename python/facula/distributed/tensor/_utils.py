# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of placements: which part of a tensor a rank holds."""

from collections.abc import Sequence

from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor.placement_types import Placement, Shard, _StridedShard

__all__ = ["compute_global_tensor_info", "compute_local_shape", "compute_local_shape_and_global_offset", "cutting_order", "normalized"]


def cutting_order(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of the mesh, in the order in which they cut a tensor: first to last, those of _StridedShard at the end."""
    return sorted(range(len(placements)), key=lambda d: isinstance(placements[d], _StridedShard))


def local_box(
    global_shape: Sequence[int], sizes: Sequence[int], place: Sequence[int], placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and begin of the part at a place in a mesh of these sizes."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for dim in cutting_order(placements):
        placement = placements[dim]
        if isinstance(placement, Shard):
            d = placement.dim
            shape[d], begin = Shard.local_shard_size_and_offset(shape[d], sizes[dim], place[dim])
            offset[d] += begin
    return tuple(shape), tuple(offset)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this rank's part of a tensor, and where in the tensor it begins. A rank outside of the mesh has none."""
    place = mesh.get_coordinate()
    if place is None:
        return (0,), ()
    return local_box(global_shape, mesh.shape, place, normalized(placements, len(global_shape)))


def compute_local_shape(global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """The shape of this rank's part of a tensor."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]


def compute_global_tensor_info(tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[list[int], list[int]]:
    """Shape and strides of a tensor whose parts all have the size of this one."""
    shape, stride = list(tensor.shape), list(tensor.stride())
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            if not -len(shape) <= placement.dim < len(shape):
                raise AssertionError(f"Sharding dim {placement.dim} greater than tensor ndim {len(shape)} for placement number {dim}.")
            d = range(len(shape))[placement.dim]
            for i, s in enumerate(stride):
                if i != d and s >= stride[d]:
                    stride[i] = s * mesh.size(dim)
            shape[d] *= mesh.size(dim)
    return shape, stride


def normalized(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """Placements whose dimensions count from the front."""
    found = []
    for p in placements:
        if not isinstance(p, Placement):
            raise TypeError(f"a placement is Shard(dim), Replicate() or Partial(), got {p!r}")
        if isinstance(p, Shard):
            if not -ndim <= p.dim < ndim:
                raise IndexError(f"{p}: the tensor has {ndim} dimensions")
            if p.dim < 0:
                p = _StridedShard(p.dim + ndim, p.split_factor) if isinstance(p, _StridedShard) else Shard(p.dim + ndim)
        found.append(p)
    return tuple(found)
