# SPDX-License-Identifier: Apache-2.0
"""Pipes that make one of several."""

from collections.abc import Sized

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _check(datapipes):
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(p, MapDataPipe) for p in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(isinstance(p, Sized) for p in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """One pipe after the other, by number."""

    datapipes: tuple[MapDataPipe, ...]

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _check(datapipes)

    def __getitem__(self, index):
        rest = index
        for pipe in self.datapipes:
            if rest < len(pipe):
                return pipe[rest]
            rest -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(p) for p in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of what every pipe has at a key."""

    datapipes: tuple[MapDataPipe, ...]

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _check(datapipes)

    def __getitem__(self, index):
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as e:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from e
        return tuple(found)

    def __len__(self) -> int:
        return min(len(p) for p in self.datapipes)
