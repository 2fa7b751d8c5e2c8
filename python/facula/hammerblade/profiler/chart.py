# SPDX-License-Identifier: Apache-2.0
"""Which calls of chosen operators a program makes, in order: what a route is written from.

    chart.add("aten::addmm")
    profiler.enable(); ...; profiler.disable()
    text = chart.json()
"""

import json as _json
import threading
import time

from facula.hammerblade.profiler import _signatures
from facula.hammerblade.profiler._region import Region, warn

_lock = threading.Lock()
_beacons: list["_Beacon"] = []
_record: list[str] = []


class _Beacon:
    def __init__(self, named: _signatures.Named):
        self.named = named
        self.since = time.monotonic_ns()
        self.until: int | None = None

    def watched(self, when: int) -> bool:
        return self.since <= when and (self.until is None or when < self.until)


def add(signature: str) -> None:
    """From now on, calls of this operator are recorded: `aten::add`, `aten::add.Tensor`, or the port's C++ signature."""
    if not isinstance(signature, str):
        raise TypeError(f"chart.add: expected an operator's name or signature, got {type(signature).__name__}")
    named = _signatures.find(signature)
    if named is None:
        warn(f"chart.add: {_signatures.unknown(signature)}. Nothing is recorded for it")
        return
    with _lock:
        if not any(b.named.text == signature and b.until is None for b in _beacons):
            _beacons.append(_Beacon(named))


def clear() -> None:
    """Forgets the operators; what was recorded stays until the next region."""
    now = time.monotonic_ns()
    with _lock:
        for beacon in _beacons:
            beacon.until = beacon.until or now


def json() -> str:
    """The calls of the last region, as JSON that a route reads: set "offload" to true where a call shall go to the device."""
    with _lock:
        calls = [{"offload": False, "signature": signature} for signature in _record]
    return _json.dumps(calls, indent=4, ensure_ascii=False) + "\n"


def _begin() -> None:
    with _lock:
        _record.clear()
        _beacons[:] = [b for b in _beacons if b.until is None]


def _end(region: Region) -> None:
    with _lock:
        wanted = {operator for b in _beacons for operator in b.named.exact | b.named.wrapped}
        for operator, start, on_cpu in region.calls.calls(wanted):
            meant = [b.named for b in _beacons if b.watched(start) and b.named.covers(operator, on_cpu)]
            if meant:  # a name of just this overload wins over one that covers it as a wrapped number
                _record.append(min(meant, key=lambda named: operator in named.wrapped).text)


add_beacon, clear_beacon = add, clear
fancy_print = print = json  # noqa: A001 -- older names in the port
