# SPDX-License-Identifier: Apache-2.0
"""What interleaved times say: the ratio of two sides, its interval, the noise beside it, and a verdict.

A round has one turn of each side: the baseline twice (a, b: two processes that do the same) and the candidate (c). Ratios
are taken within rounds, so that what disturbs a round disturbs both of its sides; logarithms make "twice as fast" and "half
as fast" opposites. Passes are resampled, and rounds within them, because rounds of one set of processes share its luck.
The interval of a against b is the noise floor: what differs by less is the same.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

RESAMPLES = 1000
TELLING = 0.10  # where noise is above this, nothing can be said

Round = tuple[float, float, float]  # seconds of a, b and c


@dataclasses.dataclass
class Judged:
    ratio: float  # of the baseline's time to the candidate's: 2.0 is twice as fast
    low: float  # its 95 % interval
    high: float
    floor: float  # 0.02: two sides that are the same differ by up to 2 %
    verdict: str  # FASTER, SLOWER, SAME, UNKNOWN
    rounds: int

    @property
    def half_width(self) -> float:
        return math.sqrt(self.high / self.low) - 1 if self.low > 0 else math.inf


# A bootstrap of few rounds is too sure of itself; Student's factors, of rounds less one.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09)


def _widening(rounds: int) -> float:
    freedom = rounds - 1
    student = STUDENT[freedom - 1] if freedom <= len(STUDENT) else 1.96 + 2.6 / freedom
    return student / 1.96 * math.sqrt(rounds / freedom)


def _interval(passes: Sequence[Sequence[float]], seed: int) -> tuple[float, float, float]:
    """The middle of logarithms and its interval: mean of the passes' medians, passes and their rounds resampled."""
    import numpy

    middle = statistics.fmean(statistics.median(logs) for logs in passes)
    rounds = sum(map(len, passes))
    if rounds < 2:
        return middle, -math.inf, math.inf
    rng = numpy.random.default_rng(seed)
    medians = [numpy.median(numpy.asarray(logs)[rng.integers(len(logs), size=(RESAMPLES, len(logs)))], 1) for logs in passes]
    if len(passes) > 1:
        chosen = rng.integers(len(passes), size=(RESAMPLES, len(passes)))
        estimates = numpy.stack(medians, 1)[numpy.arange(RESAMPLES)[:, None], chosen].mean(1)
    else:
        estimates = medians[0]
    low, high = (float(v) for v in numpy.quantile(estimates, (0.025, 0.975)))
    wider = _widening(rounds)
    return middle, middle - (middle - low) * wider, middle + (high - middle) * wider


def judge(passes: Sequence[Sequence[Round]], seed: int = 0) -> Judged:
    """Of at least one pass with at least one round."""
    kept = [rounds for rounds in passes if rounds]
    same, other = ([[f(*r) for r in rounds] for rounds in kept] for f in (_same, _other))
    _, floor_low, floor_high = _interval(same, seed)
    ratio, low, high = _interval(other, seed + 1)
    floor = max(abs(floor_low), abs(floor_high))
    if low > floor:
        verdict = "FASTER"
    elif high < -floor:
        verdict = "SLOWER"
    else:
        verdict = "SAME" if max(floor, (high - low) / 2) <= TELLING else "UNKNOWN"
    return Judged(math.exp(ratio), _exp(low), _exp(high), _exp(floor) - 1, verdict, sum(map(len, kept)))


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 700 else math.inf


def _same(a: float, b: float, c: float) -> float:
    return math.log(a / b)


def _other(a: float, b: float, c: float) -> float:
    return (math.log(a) + math.log(b)) / 2 - math.log(c)


@dataclasses.dataclass
class Mean:
    """The end of a run, which hides no failure."""

    of_ran: float | None  # geometric mean of what ran, slow ones included
    ran: int
    failed: int
    with_failures: float | None  # each failure counted as half of the worst that ran

    def __str__(self) -> str:
        if self.of_ran is None:
            return f"none ran, {self.failed} failed"
        text = f"geometric mean {self.of_ran:.3f}x over {self.ran}"
        return text + (f", {self.failed} did not run ({self.with_failures:.3f}x with each as half of the worst)" if self.failed else "")


def mean(ratios: Sequence[float], failed: int) -> Mean:
    if not ratios:
        return Mean(None, 0, failed, None)
    logs = [math.log(r) for r in ratios]
    worst = min(logs) - math.log(2)
    return Mean(math.exp(statistics.fmean(logs)), len(logs), failed, math.exp(statistics.fmean(logs + [worst] * failed)))
