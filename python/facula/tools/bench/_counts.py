# SPDX-License-Identifier: Apache-2.0
"""What a step counts, whatever the machine is busy with: operators, kernels, launches, flops, bytes, calls of Python.

The counts of one step on one thread are the same in every run. Calls of Python depend on its version, what libraries
allocate for themselves is not seen.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable


def count(step: Callable) -> dict[str, int]:
    """Of one step under Facula. Counted apart: observing calls functions of Python, too."""
    import facula
    from facula.utils.flop_counter import FlopCounterMode

    found: collections.Counter = collections.Counter()
    live = peak = 0

    def see(event):
        nonlocal live, peak
        if event.kind == "allocate":
            found["allocations"] += 1
            found["bytes"] += event.bytes
            live += event.bytes
            peak = max(peak, live)
        elif event.kind == "free":
            live -= event.bytes
        elif event.phase == "begin":
            found[{"call": "operators", "kernel": "kernels"}.get(event.kind, "launches")] += 1

    with facula.dispatch.observe(see, ("call", "kernel", "launch", "allocate", "free")):
        step()
    with FlopCounterMode(display=False) as flops:
        step()
    return {
        **{name: found[name] for name in ("operators", "kernels", "launches", "allocations", "bytes")},
        "peak": peak, "flops": flops.get_total_flops(), "python_calls": _python_calls(step),
    }  # fmt: skip


def _python_calls(step: Callable) -> int:
    calls = 0

    def see(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        step()
    finally:
        sys.setprofile(before)
    return calls


def operators(step: Callable) -> dict[str, int]:
    """How often each operator ran."""
    import facula

    found: collections.Counter = collections.Counter()

    def see(event):
        if event.phase == "begin":
            found[str(event.op)] += 1

    with facula.dispatch.observe(see, ("call",)):
        step()
    return dict(found.most_common())


def calls(step: Callable, wanted: str = "") -> list[dict]:
    """Every operator call whose name contains `wanted`, with the types and shapes of its arguments."""
    import facula

    found = []

    def shown(value):
        if isinstance(value, facula.Tensor):
            return {"dtype": str(value.dtype), "shape": list(value.shape), "stride": list(value.stride()) if value.layout == facula.strided else None}
        return [shown(v) for v in value] if isinstance(value, (list, tuple)) else value if isinstance(value, (int, float, bool, str, type(None))) else str(value)

    def see(event):
        if event.phase == "begin" and wanted in str(event.op):
            found.append({"operator": str(event.op), "args": [shown(a) for a in event.args], "kwargs": {k: shown(v) for k, v in event.kwargs.items()}})

    with facula.dispatch.observe(see, ("call",)):
        step()
    return found


def text(counts: dict[str, int]) -> str:
    """For a cell of the CSV."""
    return ";".join(f"{name}={value}" for name, value in counts.items())
