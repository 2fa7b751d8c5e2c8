# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of placements."""

from collections.abc import Sequence

from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor.placement_types import Placement, Shard

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this rank's part of a tensor, and where in the tensor it begins. A rank outside of the mesh has none."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    place = mesh.get_coordinate()
    if place is None:
        return (0,), ()
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            d = range(len(shape))[placement.dim]
            shape[d], begin = Shard.local_shard_size_and_offset(shape[d], mesh.size(dim), place[dim])
            offset[d] += begin
    return tuple(shape), tuple(offset)
