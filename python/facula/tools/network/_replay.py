# SPDX-License-Identifier: Apache-2.0
"""Replays a recorded schedule on a modelled machine: what each rank computed between its calls takes as long as it took,
what it waited for takes as long as the model says.

Rank i of a larger run does what recorded rank i mod R did, so the state of R ranks is the state of all."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from facula.distributed.schedule import Call, RankSchedule
from facula.tools.network._algorithms import steps
from facula.tools.network._machine import Machine


@dataclass
class Prediction:
    """Seconds, of the slowest rank. `waiting`: of them, the mean over ranks of what a rank spent waiting for calls."""

    ranks: int
    algorithm: str
    total: float
    waiting: float
    calls: dict[str, float] = field(default_factory=dict)  # by operator: the time its calls took, whoever waited


@dataclass
class _Event:
    call: Call
    key: tuple
    gap: float  # computed before it, since the event before
    waits: bool


class ReplayError(ValueError):
    """A schedule that cannot be replayed."""


def recorded(schedules: list[RankSchedule]) -> tuple[float, float]:
    """What the run itself took from its first call to its last event, and waited: as Prediction says it."""
    spans = [(min(s.calls[0].called for s in schedules), max(max(c.called, c.wait_to) for c in s.calls)) for s in schedules if s.calls]
    waits = [sum(c.wait_to - c.wait_from for c in s.calls) for s in schedules]
    return max((b - a for a, b in spans), default=0) / 1e9, sum(waits) / max(len(waits), 1) / 1e9


def replay(schedules: list[RankSchedule], machine: Machine, ranks: int, algorithm: str = "ring", gathers_grow: bool = False) -> Prediction:
    """`algorithm` is of reductions and gathers. What gathers and scatters move keeps its size as a whole, as a sharded
    model does; with `gathers_grow` each rank's part does. Raises ReplayError."""
    if ranks < 1 or ranks > machine.most_ranks():
        raise ReplayError(f"{ranks} ranks on {machine.name}: it has room for 1 to {machine.most_ranks()}")
    if any(s.lost for s in schedules):
        raise ReplayError(f"{max(s.lost for s in schedules)} calls were not kept: record a shorter part of the run")
    return _Replay(schedules, machine, ranks, algorithm, gathers_grow).run()


class _Replay:
    def __init__(self, schedules: list[RankSchedule], machine: Machine, ranks: int, algorithm: str, gathers_grow: bool) -> None:
        self.schedules, self.machine, self.ranks, self.algorithm, self.gathers_grow = schedules, machine, ranks, algorithm, gathers_grow
        self.world = len(schedules)
        self.events = [_events(s) for s in schedules]
        self.costs: dict[tuple, float] = {}
        self.arrived: dict[tuple, dict[int, float]] = defaultdict(dict)  # of calls: when each rank made it
        self.ended: dict[tuple, float] = {}
        self.free: dict[tuple, float] = defaultdict(float)  # of a group's thread on a rank: when it has done what came before
        self.spent: dict[str, float] = defaultdict(float)

    def run(self) -> Prediction:
        first = min((s.calls[0].called for s in self.schedules if s.calls), default=0)
        clocks = [(s.calls[0].called - first) / 1e9 if s.calls else 0.0 for s in self.schedules]
        waited, at = [0.0] * self.world, [0] * self.world
        moved = True
        while moved:
            moved = False
            for rank, events in enumerate(self.events):
                while at[rank] < len(events):
                    event = events[at[rank]]
                    if event.waits:
                        if event.key not in self.ended:
                            break  # somebody has not called it yet
                        now = clocks[rank] + event.gap
                        end = max(now, self.ended[event.key])
                        waited[rank] += end - now
                        clocks[rank] = end
                    else:
                        clocks[rank] += event.gap
                        self._call(rank, event, clocks[rank])
                    at[rank] += 1
                    moved = True
        for rank, events in enumerate(self.events):
            if at[rank] < len(events):
                c = events[at[rank]].call
                raise ReplayError(f"rank {rank} waits for {c.op} number {c.sequence} of group '{c.group}' at {c.where}, which not all ranks of the schedule called")
        return Prediction(self.ranks, self.algorithm, max(clocks, default=0.0), sum(waited) / max(self.world, 1), dict(self.spent))

    def _call(self, rank: int, event: _Event, now: float) -> None:
        call, key = event.call, event.key
        here = self.arrived[key]
        here[rank] = now
        members = call.ranks if call.sequence else sorted(key[1:3])
        if len(here) < len(members):
            return
        lane = (call.group,) if call.sequence else key
        start = max(max(here[r], self.free[lane, r]) for r in members)
        took = self._cost(call, members)
        self.ended[key] = start + took
        self.spent[call.op] += took
        for r in members:
            self.free[lane, r] = start + took
        del self.arrived[key]

    def _cost(self, call: Call, members: list[int]) -> float:
        """Of one call in the larger run; calls of one kind cost the same."""
        all_of_them = len(members) == self.world
        n = self.ranks if all_of_them else len(members)
        size = call.bytes
        if call.op in ("all_gather", "reduce_scatter") and self.gathers_grow and all_of_them:
            size = size * n // self.world
        elif call.op in ("all_to_all", "all_to_all_single", "gather", "scatter") and not self.gathers_grow and all_of_them:
            size = size * self.world // n if call.op in ("gather", "scatter") else size
        root = _root(call)
        kind = (call.op, size, n, None if all_of_them else tuple(members), root)
        if kind not in self.costs:
            on = range(n) if all_of_them else members
            if call.sequence:
                made = steps(call.op, size, n, self.algorithm, min(root, n - 1))
            else:
                from facula.tools.network._algorithms import Step

                made = [Step([(0, 1, size)])]
            self.costs[kind] = self.machine.seconds(made, on)
        return self.costs[kind]


def _root(call: Call) -> int:
    found = re.search(r"\b(?:from|to) (\d+)", call.detail)
    return int(found[1]) if found else 0


def _events(schedule: RankSchedule) -> list[_Event]:
    """Calls and waits of a rank in the order in which it came to them, with what it computed before each."""
    counts: dict[tuple, int] = defaultdict(int)
    found: list[tuple[int, int, bool, Call, tuple]] = []  # begun, ended
    for call in schedule.calls:
        if call.sequence:
            key: tuple = (call.group, call.sequence)
        else:
            key = _pair(call, schedule.rank, counts)
        found.append((call.called, call.called, False, call, key))
        if call.wait_from:
            found.append((max(call.wait_from, call.called), max(call.wait_to, call.called), True, call, key))
    found.sort(key=lambda f: (f[0], f[2]))
    events, before = [], found[0][0] if found else 0
    for begun, ended, waits, call, key in found:
        events.append(_Event(call, key, max(begun - before, 0) / 1e9, waits))
        before = max(before, ended)
    return events


def _pair(call: Call, own: int, counts: dict[tuple, int]) -> tuple:
    """What a send and its recv have in common: group, source, target, tag, which of them."""
    found = re.match(r"(to|from) (-?\d+)(.*)", call.detail)
    if not found or int(found[2]) < 0:
        raise ReplayError(f"{call.op} at {call.where}: what it receives from any rank cannot be replayed")
    other = call.ranks[int(found[2])]
    ends = (own, other) if found[1] == "to" else (other, own)
    key = (call.group, *ends, found[3])
    counts[key] += 1
    return (*key, counts[key])
