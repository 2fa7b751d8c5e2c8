# SPDX-License-Identifier: Apache-2.0
"""Which pipes a pipe is made of."""

import collections
import functools
import warnings
from collections.abc import Mapping, Set

from facula.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

_PLAIN = frozenset((int, float, complex, bool, str, bytes, bytearray, range, type(None)))
_SEQUENCES = (list, tuple, Set, collections.deque)


def _connected(pipe, only_datapipe):
    """The pipes among a pipe's attributes and inside of their containers; unless only_datapipe, inside of objects, too."""
    found, seen = {}, set()
    waiting = collections.deque([vars(pipe)])
    while waiting:
        x = waiting.popleft()
        if isinstance(x, (IterDataPipe, MapDataPipe)):
            found.setdefault(id(x), x)
            continue
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, Mapping):
            parts = [*x.keys(), *x.values()]
        elif isinstance(x, _SEQUENCES):
            parts = x
        elif only_datapipe or isinstance(x, type):
            continue
        elif isinstance(x, functools.partial):
            parts = [x.func, x.args, x.keywords]
        else:
            parts = [getattr(x, "__self__", None), getattr(x, "__dict__", None)]
        kinds = set(map(type, parts))
        if not kinds <= _PLAIN:
            waiting.extendleft(reversed([p for p in parts if type(p) not in _PLAIN]))  # depth first, in order
    return list(found.values())


def _traverse(pipe, only_datapipe, above):
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    below = {}
    path = above | {id(pipe)}
    for part in _connected(pipe, only_datapipe):
        if id(part) not in path:  # a pipe that is made of itself
            below.update(_traverse(part, only_datapipe, path))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe):
    """The graph of a pipe: {id: (pipe, the graph of what it is made of)}."""
    return _traverse(datapipe, True, frozenset())


def traverse(datapipe, only_datapipe: bool | None = None):
    """The older traverse_dps. With only_datapipe=False pipes inside of other objects are found, too."""
    warnings.warn(
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead.", FutureWarning, stacklevel=2
    )
    if only_datapipe is None:
        warnings.warn("`only_datapipe` is False unless it is given; `traverse_dps` does as if it were True.", FutureWarning, stacklevel=2)
    return _traverse(datapipe, bool(only_datapipe), frozenset())
