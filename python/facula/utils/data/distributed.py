# SPDX-License-Identifier: Apache-2.0
"""The sampler of one process among several that train together."""

import math

import facula as torch
from facula.utils.data.sampler import Sampler


def _group():
    from facula import distributed

    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed


class DistributedSampler(Sampler):
    """Process `rank` of `num_replicas` draws every num_replicas-th key. set_epoch makes the next order another one."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None:
            num_replicas = _group().get_world_size()
        if rank is None:
            rank = _group().get_rank()
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        n = len(self.dataset)
        order = torch.randperm(n, generator=torch.Generator().manual_seed(self.seed + self.epoch)) if self.shuffle else None
        there = n if self.drop_last or n == 0 else math.ceil(self.total_size / n) * n  # the first again, so that all draw equally many
        if there < self.total_size:
            raise AssertionError(f"Number of indices ({there}) does not match total_size ({self.total_size})")
        return self._keys(range(self.rank, self.total_size, self.num_replicas), order, n)

    @staticmethod
    def _keys(places, order, n):
        if order is None:
            yield from (place % n for place in places)
            return
        for first in range(0, len(places), 4096):
            part = places[first : first + 4096]
            yield from order[torch.arange(part.start, part.stop, part.step) % n].tolist()

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch: int):
        self.epoch = epoch
