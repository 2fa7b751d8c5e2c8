# SPDX-License-Identifier: Apache-2.0
"""The machine that measures: what disturbs it, how to quiet it, how much its measurements vary (docs/machine.md).

    facula machine check     # what disturbs a measurement here
    facula machine lock      # change it (root), unlock takes it back
    facula machine noise     # how much two measurements of the same differ

A program stores the machine's state beside its result:

    before = facula.machine.snapshot()
    ...
    result["machine"] = facula.machine.snapshot(since=before)

This package needs nothing but Python, so it works where Facula is not built: `python3 python/facula/machine check`.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Optional
from collections.abc import Callable

from . import _gpu, _grub, _judge, _lock, _noise, _pin, _read
from ._judge import Finding, status
from ._lock import MachineError
from ._noise import Noise, NotMeasured
from ._pin import pin
from ._read import System, show_cpus

__all__ = ["Finding", "MachineError", "Noise", "NotMeasured", "System", "check", "cores", "noise", "pin", "snapshot", "status"]


def _facts(system: System) -> _read.Facts:
    known = _read.facts(system)
    try:
        found = _lock.state(system) if known.gpus else None
    except MachineError:
        found = None  # `facula machine check` tells
    if found:
        clocks = {c.target.split(" ")[0]: int(c.new) for c in found["changes"] if c.target.endswith(" clock")}
        for gpu in known.gpus:
            gpu.locked = clocks.get(gpu.uuid)
    return known


def check(
    seconds: float = 2.0, required: tuple = (), system: Optional[System] = None, measure: Optional[Callable[[float, int], list]] = None
) -> list[Finding]:
    """What disturbs a measurement here. Measures noise for so many seconds; 0 looks at settings only."""
    system = system or System()
    known = _facts(system)
    if not seconds:
        return _judge.judge(known, required=required)
    before, found, why = _read.counters(system, known), None, ""
    try:
        found = (measure or _noise_of)(seconds, _pin.cores(known))
    except NotMeasured as error:
        why = str(error)
        time.sleep(seconds)  # what other programs do can be seen nevertheless
    after = _read.counters(system, known)
    return _judge.judge(known, _read.window(before, after, known), found, why, required)


def _noise_of(seconds: float, threads: int) -> list[Noise]:
    return _noise.measure(seconds, 1, threads)


def noise(seconds: float = 6.0, passes: int = 3, threads: Optional[int] = None, progress: Callable[[float], None] = lambda share: None) -> list[Noise]:
    """How much two measurements of the same work differ, by kind of work."""
    return _noise.measure(seconds, passes, threads or cores(), progress=progress)


def cores(system: Optional[System] = None) -> int:
    """How many threads a benchmark has unless it is told: one for each isolated core, or for each CPU that it is allowed."""
    return _pin.cores(_read.facts(system or System(), gpus=False))


class Snapshot(dict):
    """A dictionary for JSON, and the counters that a later snapshot starts from."""

    counters: _read.Counters


def snapshot(since: Optional[Snapshot] = None, system: Optional[System] = None) -> Snapshot:
    """The machine's state for a result's file; `since` an earlier snapshot, with what happened from then on."""
    system = system or System()
    known = _facts(system)
    counters = _read.counters(system, known)
    during = _read.window(since.counters, counters, known) if since is not None else None
    result = Snapshot(
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        model=known.model,
        kernel=known.kernel,
        cpus={name: show_cpus(getattr(known, name)) for name in ("online", "allowed", "isolated")},
        gpus=[{k: v for k, v in dataclasses.asdict(gpu).items() if k != "supported"} for gpu in known.gpus],
        state={f.name: {"state": f.state, "observed": f.observed} for f in _judge.judge(known, during) if f.name != "noise"},
    )
    if during is not None:
        result["during"] = dataclasses.asdict(during)
    result.counters = counters
    return result
