# SPDX-License-Identifier: Apache-2.0
"""Where time, memory and arithmetic go: `with torch.profiler.profile() as p: …`, then `p.key_averages().table()`."""

from facula.profiler import coverage, kernel_log
from facula.profiler._events import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from facula.profiler._profile import (ProfilerAction, ProfilerActivity, profile, record_function, schedule, supported_activities,
                                      tensorboard_trace_handler)  # fmt: skip

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity", "coverage", "kernel_log", "kineto_available", "profile",
           "record_function", "schedule", "supported_activities", "tensorboard_trace_handler", "values"]  # fmt: skip


def __getattr__(name):
    if name == "values":  # loaded when it is first asked for
        from facula.tools.vprof import values

        return values
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def kineto_available():
    """False: the recorder is Facula's own."""
    return False
