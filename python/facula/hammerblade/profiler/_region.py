# SPDX-License-Identifier: Apache-2.0
"""The region of interest: what the recorder (src/observe) kept of it, as a tree of calls with the port's names."""

import os
import sys
import threading
import warnings
from typing import Any

from facula import _C, backends
from facula.hammerblade.profiler import _signatures

NO_SIMULATED_TIME = "no simulated time: no device of this region tells its own, so these times are measured"


def warn(message: str) -> None:
    """Warns of the program's line that called into this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("facula.hammerblade.", "contextlib")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _label(name: str, kind: str, device: str) -> str:
    """What the port calls a row of the recorder."""
    if kind == "call":
        return _signatures.signature(name, device.partition(":")[0])
    if kind in ("range", "library"):
        return name
    if device != "cpu":
        return "@BSG_API_CALL@__memcpy" if kind == "copy" else "@OFFLOAD_KERNEL@__" + name.replace(" ", "_")
    stub = name.rpartition(" ")[2].rpartition("::")[2] + "_stub"
    return f"at::native::{stub}::{stub}()"


class Node:
    """All calls that have the same callers: time without their children (nanoseconds), and the children by name."""

    def __init__(self, name: str):
        self.name, self.own = name, 0
        self.simulated: int | None = None  # of what a device does: the time it tells
        self.children: dict[str, Node] = {}

    def child(self, name: str) -> "Node":
        return self.children.setdefault(name, Node(name))

    def time(self, trimming: bool) -> float:
        """Inclusive microseconds; trimmed: devices' measured time is replaced by what they tell."""
        return self._nanoseconds(trimming) / 1000

    def _nanoseconds(self, trimming: bool) -> int:
        if trimming and self.simulated is not None:
            return self.simulated
        return self.own + sum(kid._nanoseconds(trimming) for kid in self.children.values())


class Region:
    """What was recorded between enable and disable."""

    def __init__(self, recorder: Any):
        self.calls = recorder.call_tree()  # those that the program itself makes
        self.root = Node("ROI")
        self.simulated_calls = self.device_calls = 0
        made: list[Node] = []
        for parent, name, kind, device, time, inside, device_ns, count, told in self.calls.nodes():
            node = made[parent].child(_label(name, kind, device)) if made else self.root
            node.own += max(time - inside, 0)  # of the whole: threads that worked at the same time
            made.append(node)
            if kind in ("launch", "copy", "fill") and device != "cpu":
                node.simulated = (node.simulated or 0) + device_ns
                if kind != "copy":  # as in the port, those count as what is told, which may be nothing
                    self.device_calls += count
                    self.simulated_calls += told

    def trims(self, trimming: bool) -> bool:
        """Whether measured times can be replaced."""
        return trimming and self.simulated_calls > 0

    def trimming_note(self, trimming: bool) -> str:
        """What must be said of trimmed times; empty if they are what was asked for."""
        if not trimming or (self.device_calls and self.simulated_calls == self.device_calls):
            return ""
        if not self.simulated_calls:
            return NO_SIMULATED_TIME
        return f"{self.device_calls - self.simulated_calls} of {self.device_calls} kernels of devices told no simulated time: they count as 0"


_lock = threading.Lock()
_recorder = None  # of the region that is open
_last: Region | None = None


def is_open() -> bool:
    return _recorder is not None


def open_region() -> None:
    """Starts to record this thread, and those that work for it."""
    global _recorder, _last
    if is_open():
        warn("torch.hammerblade.profiler: a region was open and is dropped; disable() closes one before the next")
    fresh = _C._Recorder(kernels=True, process=False)
    with _lock:
        before, _recorder = _recorder, fresh
        _last = None
    if before is not None:
        before.stop()
    sys.stderr.write(" ATen profiler collecting ...\n")
    fresh.start()


def close_region() -> Region | None:
    """Stops; what was recorded, None if no region was open."""
    global _recorder, _last
    with _lock:
        done, _recorder = _recorder, None
    if done is None:
        return None
    done.stop()
    region = Region(done)
    with _lock:
        _last = region
    return region


def last() -> Region:
    """The region that was closed last."""
    if is_open():
        raise RuntimeError("torch.hammerblade.profiler: the region is still open; call disable() before what it holds is read")
    if _last is None:
        raise RuntimeError("torch.hammerblade.profiler: nothing was recorded; call enable(), run something, call disable()")
    return _last


def loaded_devices() -> list[str]:
    """Device types that operators could run on."""
    return [b["name"] for b in backends.backends() if b["device_count"] and b["name"] != "null"]  # which computes nothing


def target_device(asked: str | None = None) -> str:
    """The device that charts and routes are about: the one asked for, HammerBlade, or the only one that is loaded."""
    loaded = loaded_devices()
    if asked is not None:
        if asked.partition(":")[0] not in loaded:
            _C.device(asked)  # says what is wrong with it, or finds the backend that is installed under this name
        return asked
    if "hammerblade" in loaded:
        return "hammerblade"
    if len(loaded) == 1:
        return loaded[0]
    how = "torch.hammerblade.profiler.route.set_device(name) chooses one"
    if loaded:
        raise RuntimeError(f"route: several devices are loaded ({', '.join(loaded)}); {how}")
    raise RuntimeError(f"route: no device is loaded that operators could run on; torch.load_backend(path) loads one, {how}")


def _forget_in_child() -> None:
    global _recorder, _lock
    _lock = threading.Lock()
    _recorder = None  # nobody looks in the child of a fork


os.register_at_fork(after_in_child=_forget_in_child)
