# SPDX-License-Identifier: Apache-2.0
"""What a step counts, whatever the machine is busy with: operators, kernels, launches, flops, bytes, calls of Python.

The counts of one step on one thread are the same in every run. Calls of Python depend on its version, what libraries
allocate for themselves is not seen.
"""

from __future__ import annotations

import collections
import sys
import time
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


def shares(step: Callable) -> dict[str, float]:
    """Which operators' calls a step spends its time in, as shares of the calling thread's processor time, the largest first;
    "outside" is what is in none: modules, Python, the walk through the graph of gradients."""
    import facula

    spent: collections.Counter = collections.Counter()
    depth, begun = 0, 0.0

    def see(event):
        nonlocal depth, begun
        if event.phase == "begin":
            if depth == 0:
                begun = time.thread_time()
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                spent[str(event.op).split(".")[1].removesuffix("_")] += time.thread_time() - begun

    with facula.dispatch.observe(see, ("call",)):
        start = time.thread_time()
        step()
        whole = time.thread_time() - start
    if whole <= 0:
        return {}
    spent["outside"] = max(0.0, whole - sum(spent.values()))
    return {name: round(seconds / whole, 4) for name, seconds in spent.most_common()}


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
