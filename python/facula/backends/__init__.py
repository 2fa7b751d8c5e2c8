# SPDX-License-Identifier: Apache-2.0
"""Devices beyond the CPU: loading backends, what runs where, and what fell back to the CPU.

A backend is a shared library behind <facula/backend.h> or an object of `Backend` (Python). It is found through
load_backend("x.so"), the environment variable FACULA_BACKENDS (a list of paths), or an installed package's entry point
in the group "facula.backends", whose name is the device's: naming the device is enough to load it.
"""

import os

from facula import _C
from facula.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized  # torch.backends' own parts: what this build can use

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized", "fp32_precision", "load_backend", "register", "backends", "devices", "fallback_counts", "reset_fallback_counts",
           "set_fallback_mode", "fallback_mode", "synchronize", "memory_stats", "memory_info", "empty_pinned", "empty_cache", "counters",
           "Stream", "Event", "stream", "Backend"]  # fmt: skip

fp32_precision = "none"  # of products on devices that have several; kept as it is set


def load_backend(path) -> str:
    """Loads a backend's shared library; returns the name of its device type."""
    return _C._load_backend(os.fspath(path))


def register(backend) -> str:
    """Registers an object of `Backend`; returns the name of its device type."""
    from facula.backends.python_backend import register as do

    return do(backend)


def backends() -> list:
    """What is loaded: name, origin, descriptions of its devices, families, operators with a fast path."""
    return _C._backends()


def devices() -> list:
    """Every device of this process that has memory: 'cpu', then 'name:0', 'name:1' …"""
    return ["cpu"] + [f"{b['name']}:{i}" for b in _C._backends() for i in range(b["device_count"])]


def fallback_counts() -> dict:
    """{(operator, device type): how often it ran on the CPU because the device lacks it}."""
    return _C._fallback_counts()


def reset_fallback_counts() -> None:
    _C._reset_fallback_counts()


def set_fallback_mode(mode: str) -> None:
    """'count' (the default) only counts, 'warn' also warns once per operator and device from now on, 'error' raises instead."""
    _C._set_fallback_mode(mode)


def fallback_mode() -> str:
    return _C._fallback_mode()


def synchronize(device) -> None:
    """Waits for the current stream's work; without a stream, for the whole device."""
    _C._backend_synchronize(device)


def memory_stats(device) -> dict:
    """Requested bytes (current, peak, total), allocations, bytes cached for reuse, requests to the backend."""
    return _C._backend_memory_stats(device)


def memory_info(device) -> tuple:
    """(free, total) bytes, as the backend tells them."""
    return _C._backend_memory_info(device)


def empty_pinned(*size, device, dtype=None):
    """A CPU tensor in memory that the device reaches fast, if its backend has such memory."""
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return _C._empty_pinned(list(sizes), dtype or _C.get_default_dtype(), device)


def empty_cache(device) -> None:
    """Gives cached blocks back to the backend."""
    _C._backend_empty_cache(device)


def counters(device) -> dict:
    """The numbers that the backend counts itself."""
    return _C._backend_counters(device)


class Stream:
    """A queue of work on a device whose backend has streams; `with` makes it the thread's current one."""

    def __init__(self, device):
        self.device = _C.device(device)
        self._before = []
        self._handle = _C._stream_create(self.device)

    def __enter__(self):
        self._before.append(_C._stream_current(self.device))
        _C._stream_set(self.device, self._handle)
        return self

    def __exit__(self, *exc):
        _C._stream_set(self.device, self._before.pop())

    def synchronize(self):
        with self:
            _C._backend_synchronize(self.device)

    def wait_event(self, event):
        with self:
            _C._event_wait(self.device, event._handle)

    def record_event(self, event=None):
        event = event or Event(self.device)
        with self:
            _C._event_record(self.device, event._handle)
        return event

    def __del__(self):
        if handle := self.__dict__.pop("_handle", None):
            _C._stream_destroy(self.device, handle)


class Event:
    """A mark in a stream, for other streams to wait for."""

    def __init__(self, device):
        self.device = _C.device(device)
        self._handle = _C._event_create(self.device)

    def query(self) -> bool:
        return _C._event_query(self.device, self._handle)

    def __del__(self):
        if handle := self.__dict__.pop("_handle", None):
            _C._event_destroy(self.device, handle)


def stream(s: Stream) -> Stream:
    """`with stream(s):`, as torch.cuda.stream."""
    return s


def _load(found):
    """An entry point leads to a path, a Backend class or object, or a function that returns one of these."""
    from facula.backends.python_backend import Backend

    if callable(found) and not isinstance(found, Backend):
        found = found()
    return register(found) if isinstance(found, Backend) else load_backend(found)


def _find(name: str) -> bool:
    """Loads the backend of an installed package that calls itself by this device's name."""
    from importlib.metadata import entry_points

    points = entry_points()
    group = points.select(group="facula.backends") if hasattr(points, "select") else points.get("facula.backends", [])
    for point in group:
        if point.name == name:
            got = _load(point.load())
            if got != name:
                raise RuntimeError(f"the entry point '{name}' of facula.backends gave a backend called '{got}'")
            return True
    return False


def _load_from_environment():
    for path in filter(None, os.environ.get("FACULA_BACKENDS", "").split(os.pathsep)):
        try:
            load_backend(path)
        except Exception as e:
            raise ImportError(f"the environment variable FACULA_BACKENDS names '{path}': {e}") from None


def __getattr__(name):
    if name == "Backend":  # ctypes is loaded only by those who write a backend in Python
        from facula.backends.python_backend import Backend

        return Backend
    raise AttributeError(f"module 'facula.backends' has no attribute '{name}': this part of torch does not exist here (yet)")


_C._set_device_finder(_find)
_load_from_environment()
