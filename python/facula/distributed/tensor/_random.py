# SPDX-License-Identifier: Apache-2.0
"""Random numbers of DTensors: parts of one tensor draw different numbers, copies of it the same."""

from contextlib import contextmanager

import facula
from facula.distributed import distributed_c10d as c10d
from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor.placement_types import Shard

__all__ = ["manual_seed"]

_seeds: dict[DeviceMesh, list[int]] = {}  # of a mesh: its seed, how often was drawn with it


def manual_seed(seed: int, device_mesh: DeviceMesh) -> None:
    """Sets what DTensors of a mesh draw from. All its ranks call it with one seed."""
    given = [None] * c10d.get_world_size()
    c10d.all_gather_object(given, int(seed))
    wrong = [r for r in device_mesh.mesh.flatten().tolist() if given[r] != seed]
    if wrong:
        raise RuntimeError(f"manual_seed: rank {wrong[0]} gives {given[wrong[0]]}, and rank {c10d.get_rank()} {seed}")
    _seeds[device_mesh] = [int(seed), 0]


def _agreed(mesh: DeviceMesh) -> list[int]:
    """The seed of the mesh's first rank, unless the program set one."""
    if mesh not in _seeds:
        seed = facula.tensor([facula.initial_seed() % (1 << 62)])
        for d in range(mesh.ndim):
            c10d.broadcast(seed, group=mesh.get_group(d), group_src=0)
        _seeds[mesh] = [int(seed), 0]
    return _seeds[mesh]


@contextmanager
def drawing(mesh: DeviceMesh, placements):
    """Within, the default generator draws what this rank's part of a tensor of these placements is to have."""
    state = _agreed(mesh)
    part, place = 0, mesh.get_coordinate() or [0] * mesh.ndim
    for d, p in enumerate(placements):
        if isinstance(p, Shard):
            part = part * mesh.size(d) + place[d] + 1
    number, state[1] = state[1], state[1] + 1
    with facula.random.fork_rng(devices=[]):
        facula.default_generator.manual_seed(hash((state[0], number, part)) % (1 << 63))
        yield
