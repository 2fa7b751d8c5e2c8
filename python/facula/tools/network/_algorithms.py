# SPDX-License-Identifier: Apache-2.0
"""Collectives as steps: in a step some ranks send to others at the same time, and the next begins when all have arrived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ALGORITHMS = ("ring", "tree", "halving-doubling")
_SHIFTS = 64  # of an all-to-all among more ranks than this, as many rounds stand for all


@dataclass
class Step:
    """Messages (source, target, bytes) between members 0 … n-1, `repeat` times one after the other."""

    flows: list[tuple[int, int, float]]
    repeat: float = 1
    combines: float = 0  # bytes that each receiver adds to its own


def steps(op: str, total: int, n: int, algorithm: str, root: int = 0) -> list[Step]:
    """Of a call on `n` members. `total` is what the schedule says of its bytes: the tensor's, of gathers all parts together."""
    if n < 2:
        return []
    part = total / n
    if op == "all_reduce":
        return _all_reduce(total, n, algorithm)
    if op == "reduce_scatter":
        return list(_halving(total, n)) if algorithm == "halving-doubling" and not n & (n - 1) else [_ring(n, n - 1, part, combines=part)]
    if op == "all_gather":
        return list(_doubling(total, n)) if algorithm == "halving-doubling" and not n & (n - 1) else [_ring(n, n - 1, part)]
    if op == "broadcast":
        return list(_spread(total, n, root))
    if op == "reduce":
        if algorithm == "ring":
            return [_ring(n, n - 1, part, combines=part), _to_root(n, part, root)]
        return _turned(_spread(total, n, root), total)
    if op == "gather":
        return [_to_root(n, total, root)]
    if op == "scatter":
        return _turned([_to_root(n, total, root)], 0)
    if op in ("all_to_all", "all_to_all_single"):
        return _direct(n, part)
    if op == "barrier":
        return [Step([(i, (i + (1 << k)) % n, 0) for i in range(n)]) for k in range((n - 1).bit_length())]
    raise ValueError(f"{op}: no collective that a network model knows")


def _all_reduce(total: int, n: int, algorithm: str) -> list[Step]:
    part = total / n
    if algorithm == "ring":
        return [_ring(n, n - 1, part, combines=part), _ring(n, n - 1, part)]
    if algorithm == "tree":
        down = list(_spread(total, n, 0))
        return [*_turned(down, total), *down]
    if algorithm != "halving-doubling":
        raise ValueError(f"unknown algorithm {algorithm!r}: expected one of {', '.join(ALGORITHMS)}")
    power = 1 << (n.bit_length() - 1)
    extra = n - power  # their partners work for them
    before = [Step([(power + i, i, total) for i in range(extra)], combines=total)] if extra else []
    after = _turned(before, 0)
    return [*before, *_halving(total, power), *_doubling(total, power), *after]


def _ring(n: int, times: int, part: float, combines: float = 0) -> Step:
    return Step([(i, (i + 1) % n, part) for i in range(n)], times, combines)


def _to_root(n: int, part: float, root: int) -> Step:
    return Step([(i, root, part) for i in range(n) if i != root])


def _spread(total: float, n: int, root: int) -> Iterator[Step]:
    """A binomial tree: those who have it send it on, twice as many each time."""
    have = 1
    while have < n:
        yield Step([((root + i) % n, (root + i + have) % n, total) for i in range(min(have, n - have))])
        have *= 2


def _turned(made, combines: float) -> list[Step]:
    """The same messages the other way, last first."""
    return [Step([(b, a, size) for a, b, size in step.flows], step.repeat, combines) for step in reversed(list(made))]


def _halving(total: float, power: int) -> Iterator[Step]:
    distance, part = power // 2, total / 2
    while distance:
        yield Step([(i, i ^ distance, part) for i in range(power)], combines=part)
        distance, part = distance // 2, part / 2


def _doubling(total: float, power: int) -> Iterator[Step]:
    return iter(_turned(_halving(total, power), 0))


def _direct(n: int, part: float) -> list[Step]:
    shifts = range(1, n) if n <= _SHIFTS else sorted({1 + i * (n - 2) // (_SHIFTS - 1) for i in range(_SHIFTS)})
    each = (n - 1) / len(shifts)
    return [Step([(i, (i + shift) % n, part) for i in range(n)], each) for shift in shifts]
