# SPDX-License-Identifier: Apache-2.0
"""Rounds of turns, and when to stop: at the wanted half-width, at so many rounds, or when the time is up.

A round is one turn of each side in random order. Rounds in which the machine took time from a turn (the hypervisor's
steal, pressure of other processes, switches that the process did not ask for) are dropped and counted, unless that is most
of them: then they are what there is. On one thread a turn's time leaves out what its thread waited for a core while it
could have run; sleeping stays. Every pass has fresh processes.
"""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from ._statistics import Judged, Round, judge

STOLEN, WAITED, PRESSED = 0.05, 0.05, 0.5  # shares of a turn's time above which it was disturbed
SIDES = ("a", "b", "c")


@dataclasses.dataclass
class Turn:
    """What a worker says of one turn, in seconds of one run."""

    wall: float
    cpu: float = 0.0  # of all threads
    waited: float = 0.0  # the longest that one of its threads wanted a core and had none
    own: float = 0.0  # the same of the thread that ran it
    stolen: float = 0.0  # by the hypervisor, of all cores
    pressed: float = 0.0  # some process waited for a core
    switches: int = 0  # that nobody asked for
    runs: int = 1

    def seconds(self, threads: int) -> float:
        return self.wall - min(self.own, self.wall / 2) if threads == 1 else self.wall

    def disturbed(self, threads: int, usual_switches: float) -> bool:
        if self.stolen > STOLEN * self.wall:
            return True
        if threads == 1:  # what it waited is left out; what it found in its caches afterwards is not
            return self.own > self.wall / 2
        return self.waited > WAITED * self.wall or (self.pressed > PRESSED * self.wall and self.switches > 3 * usual_switches + 2)


@dataclasses.dataclass
class Settings:
    rounds: int = 30
    passes: int = 3
    half_width: float = 0.01
    budget: float = 120.0
    threads: int = 1
    seed: int = 0


@dataclasses.dataclass
class Measured:
    judged: Judged
    seconds: dict  # side: median seconds of a run
    cpu_ratio: float | None  # the same ratio of processor time
    dropped: int
    stopped: str  # half-width, rounds or budget
    turns: list  # [pass][round]{side: Turn}
    passes: int


def _kept(turns: list, threads: int) -> tuple[list[list[Round]], int]:
    """Times by pass, without disturbed rounds; how many those were."""
    everything = [t for of_pass in turns for of_round in of_pass for t in of_round.values()]
    usual = statistics.median(t.switches for t in everything)
    disturbed = [[any(t.disturbed(threads, usual) for t in r.values()) for r in p] for p in turns]
    number = sum(map(sum, disturbed))
    everywhere = all(not all(p) for p in disturbed if p)
    drop = number * 2 <= sum(map(len, turns)) and sum(map(len, turns)) - number >= 3 and everywhere
    kept = [
        [tuple(r[s].seconds(threads) for s in SIDES) for r, bad in zip(of_pass, marks, strict=True) if not (drop and bad)]
        for of_pass, marks in zip(turns, disturbed, strict=True)
    ]
    return kept, number if drop else 0  # type: ignore[return-value]


def evaluate(turns: list, settings: Settings, stopped: str) -> Measured:
    turns = [of_pass for of_pass in turns if of_pass]
    kept, dropped = _kept(turns, settings.threads)
    medians = {s: statistics.median(r[i] for p in kept for r in p) for i, s in enumerate(SIDES)}
    pairs = [(r["a"].cpu, r["b"].cpu, r["c"].cpu) for p in turns for r in p]
    cpu = None
    if all(min(three) > 0 for three in pairs):
        cpu = math.exp(statistics.median((math.log(a) + math.log(b)) / 2 - math.log(c) for a, b, c in pairs))
    return Measured(judge(kept, settings.seed), medians, cpu, dropped, stopped, turns, len(turns))


def measure(
    start: Callable[[int], AbstractContextManager[Mapping[str, Callable[[], Turn]]]],
    settings: Settings,
    now: Callable[[], float] = time.monotonic,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Measured:
    """`start(number)` opens a pass: a callable for the turn of each side a, b, c, in fresh processes."""
    rng = random.Random(settings.seed)
    turns: list[list[dict[str, Turn]]] = []
    spent = 0.0  # in rounds: what starting processes takes is no measurement
    passes = max(1, min(settings.passes, settings.rounds))
    done, stopped = 0, "rounds"
    for number in range(passes):
        share = math.ceil((settings.rounds - done) / (passes - number))
        turns.append([])
        with start(number) as sides:
            entered = now()
            while len(turns[-1]) < share:
                order = list(SIDES)
                rng.shuffle(order)
                of_round = {side: sides[side]() for side in order}
                turns[-1].append(of_round)
                done += 1
                told(done, settings.rounds)
                if len(turns[-1]) >= share:
                    break
                of_pass = now() - entered
                if spent + of_pass > settings.budget or (len(turns[-1]) >= 2 and of_pass > settings.budget / passes):
                    stopped = "budget"
                    break
                if number > 0 and len(turns[-1]) >= 5 and evaluate(turns, settings, "").judged.half_width <= settings.half_width:
                    stopped = "half-width"
                    break
            spent += now() - entered
        if spent > settings.budget * (passes - 1) / passes or stopped == "half-width":
            break
    return evaluate(turns, settings, stopped)
