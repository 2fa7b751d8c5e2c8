# SPDX-License-Identifier: Apache-2.0
"""A stream of the samples of a pipe by key, in random order."""

from facula.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from facula.utils.data.datapipes.iter.combinatorics import RandomOrder

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(RandomOrder, IterDataPipe):
    """All samples in random order; indices are their keys, 0, 1, … if none are given."""

    datapipe: MapDataPipe
    _running = (*IterDataPipe._running, "_order")

    def __init__(self, datapipe: MapDataPipe, *, indices: list | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._start_random()

    def reset(self) -> None:
        self._seed_order()
        self._order = self._rng.sample(self.indices, len(self.indices))[::-1] if self._enabled else self.indices

    def __iter__(self):
        for index in self._order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
