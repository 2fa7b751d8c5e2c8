# SPDX-License-Identifier: Apache-2.0
"""Operators that the program used on the CPU and that the device does not have."""

from facula.hammerblade.profiler import _region, route
from facula.profiler.coverage import foretold


def counts() -> dict[str, int]:
    """{operator: calls}: those on the CPU that the device has no way of its own to compute, and those on it that fell back.

    Of calls on the CPU it is judged by what the device offers for the operator and the families that it was computed by; that
    it declines a dtype or a shape shows when it is asked.
    """
    region = _region.last()
    device = route.target_device().partition(":")[0]
    found: dict[str, int] = {}
    for operator, path, on_cpu, families, count in region.calls.call_counts():
        if (foretold(operator, families, device) if on_cpu else path) == "fallback":
            name = operator.partition(".")[0]
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))


def fancy_print() -> str:
    """The same as a table."""
    try:
        device = route.target_device().partition(":")[0]
    except RuntimeError as nothing_to_judge:
        device, rows, note = "hammerblade", {}, f"({nothing_to_judge})\n"
    else:
        rows, note = counts(), ""
    line = "=" * 74
    shown = "HammerBlade" if device == "hammerblade" else device
    head = f"{line}\n Native kernels that are used but not implemented for {shown}:\n{line}\n{'Function':180}   Times\n"
    return head + "".join(f"{name:180}   {times}\n" for name, times in rows.items()) + note


print = fancy_print  # noqa: A001 -- its older name in the port
