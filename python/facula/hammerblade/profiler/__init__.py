# SPDX-License-Identifier: Apache-2.0
"""The port's profiler, for every device: a region of interest, its times, and what a device would have to compute.

    torch.hammerblade.profiler.enable()
    ...
    torch.hammerblade.profiler.disable()
    print(torch.hammerblade.profiler.stats())

`chart` records which calls are made, `route` sends chosen ones to a device. docs/profiling.md is the tour.
"""

import contextlib

from facula.hammerblade.profiler import _region, chart, exec_time, fallback, route, unimpl

__all__ = ["enable", "disable", "is_in_ROI", "region", "stats", "total_time_in_ROI", "per_op_time_in_ROI", "chart", "exec_time", "fallback", "route", "unimpl"]

_SECTIONS = {
    "ExecTime": ("Kernel execution time:", exec_time.fancy_print),
    "ExecTime-Latex": ("Kernel execution time: (latex table)", exec_time.latex_table),
    "ExecTime-Raw": ("Kernel execution time raw stack:", exec_time.raw_stack),
    "Unimpl": ("Kernels used on CPU but not yet implemented on HB:", lambda trimming: unimpl.fancy_print()),
}


def enable() -> None:
    """The region of interest begins, for this thread and those that work for it; what the last one held is forgotten."""
    route._begin_region()
    chart._begin()
    _region.open_region()


def disable() -> None:
    """The region of interest ends. Outside of one it does nothing."""
    ended = _region.close_region()
    if ended is not None:
        chart._end(ended)
        route._end_region()


def is_in_ROI() -> bool:
    """Whether a region is open."""
    return _region.is_open()


@contextlib.contextmanager
def region():
    """`with region():` is enable and disable, also when an exception passes."""
    enable()
    try:
        yield
    finally:
        disable()


def stats(key: list[str] | None = None, trimming: bool = False) -> str:
    """The last region as text, in sections: some of ExecTime, ExecTime-Latex, ExecTime-Raw, Unimpl."""
    keys = ["ExecTime", "Unimpl"] if key is None else [key] if isinstance(key, str) else list(key)
    text = ""
    for k in keys:
        if k not in _SECTIONS:
            print(f"Unknown stat key -- {k}")
            print(f"available ones are: {', '.join(_SECTIONS)}")
            return ""
        title, section = _SECTIONS[k]
        text += f"{title}\n{section(trimming)}\n{'-' * 60}\n\n"
    return text


def total_time_in_ROI(trimming: bool = False) -> float:
    """Microseconds from enable to disable."""
    return exec_time.roi_time(trimming)


def per_op_time_in_ROI(trimming: bool = False) -> dict[str, float]:
    """Microseconds of every operator that the program calls, with "aten::other" and "aten::ROI"."""
    return exec_time.exec_time_dict(trimming)
