# SPDX-License-Identifier: Apache-2.0
"""Devices beyond the CPU: loading backends, what runs where, and what fell back to the CPU.

A backend is a shared library behind <facula/backend.h> or an object of `Backend` (Python). It is found through
load_backend("x.so"), the environment variable FACULA_BACKENDS (a list of paths), or an installed package's entry point
in the group "facula.backends", whose name is the device's: naming the device is enough to load it.
"""

import functools
import os

from facula import _C
from facula.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized  # torch.backends' own parts: what this build can use

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized", "fp32_precision", "load_backend", "register", "backends", "devices", "fallback_counts", "reset_fallback_counts",
           "set_fallback_mode", "fallback_mode", "synchronize", "memory_stats", "memory_info", "empty_pinned", "empty_cache", "counters",
           "Stream", "Event", "StreamContext", "stream", "call", "Backend"]  # fmt: skip

fp32_precision = "none"  # of products on devices that have several; kept as it is set


def load_backend(path) -> str:
    """Loads a backend's shared library; returns the name of its device type."""
    return _introduce(_C._load_backend(os.fspath(path)))


def _introduce(name):
    """Tensors and modules learn the device's name: t.<name>(), t.is_<name>, module.<name>()."""
    from facula import _device_module

    _device_module.install(name)
    return name


def _introduce_all():
    for name, count, *_ in _C._device_records():
        if count and name not in ("cpu", "null"):
            _introduce(name)


def register(backend) -> str:
    """Registers an object of `Backend`; returns the name of its device type."""
    from facula.backends.python_backend import register as do

    return _introduce(do(backend))


def backends() -> list:
    """What is loaded: name, origin, descriptions of its devices, families, operators with a fast path."""
    return _C._backends()


def devices() -> list:
    """Every device of this process that has memory: 'cpu', then 'name:0', 'name:1' …; the only one of its type has no number."""
    return [name if single else f"{name}:{i}" for name, count, single, _ in _C._device_records() for i in range(count)]


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
    """A queue of work on a device whose backend has streams; `with` makes it the thread's current one.

    stream_id is the backend's handle as a number; 0 is the device's default stream, which needs no making.
    """

    def __new__(cls, device=None, priority=0, **kwargs):
        where = _device_or_current(device)
        return cls._of(where, _C._stream_create(where), owned=True)

    @classmethod
    def _of(cls, device, handle, owned=False):
        self = object.__new__(cls)
        self.device, self.stream_id, self._owned, self._before = device, handle, owned, []
        return self

    @classmethod
    def _current(cls, device):
        return cls._of(device, _C._stream_current(device))

    device_type = property(lambda self: self.device.type)
    device_index = property(lambda self: self.device.index or 0)
    native_handle = property(lambda self: self.stream_id)

    def __enter__(self):
        self._before.append(_C._stream_current(self.device))
        _C._stream_set(self.device, self.stream_id)
        return self

    def __exit__(self, *exc):
        _C._stream_set(self.device, self._before.pop())

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self):
        return hash((str(self.device), self.stream_id))

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"

    def synchronize(self):
        """The host waits until all that was queued is done."""
        with self:
            _C._backend_synchronize(self.device)

    def query(self) -> bool:
        """Whether all that was queued is done."""
        return self.record_event().query()

    def is_capturing(self) -> bool:
        """Nothing is captured."""
        return False

    def wait_event(self, event):
        """What is queued from now on waits for the event."""
        with self:
            _C._event_wait(self.device, event.event_id)

    def wait_stream(self, stream):
        """What is queued from now on waits for what is queued on the other stream."""
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        """Marks what is queued up to here."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __del__(self):
        if self.__dict__.get("_owned"):
            _C._stream_destroy(self.device, self.stream_id)


class Event:
    """A mark in a stream, for other streams and the host to wait for."""

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self = object.__new__(cls)
        self.device = _device_or_current(device)
        self.event_id = _C._event_create(self.device)
        return self

    def record(self, stream=None):
        """Marks what is queued on the stream, or on the current one."""
        with stream or Stream._current(self.device):
            _C._event_record(self.device, self.event_id)

    def wait(self, stream=None):
        """What is queued on the stream, or on the current one, from now on waits for this event."""
        (stream or Stream._current(self.device)).wait_event(self)

    def query(self) -> bool:
        """Whether what was marked is done."""
        return _C._event_query(self.device, self.event_id)

    def synchronize(self):
        """The host waits until what was marked is done."""
        _C._event_synchronize(self.device, self.event_id)

    def elapsed_time(self, end_event) -> float:
        """Milliseconds from this event to another one, by the device's clock."""
        return _C._event_elapsed(self.device, self.event_id, end_event.event_id)

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index={self.device.index or 0}, event_id={self.event_id}"

    def __del__(self):
        if handle := self.__dict__.pop("event_id", None):
            _C._event_destroy(self.device, handle)


class StreamContext:
    """`with StreamContext(s):` makes a stream the current one; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream.__enter__() if self.stream is not None else None

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream.__exit__(*exc)


def stream(s) -> StreamContext:
    """`with stream(s):`, as torch.cuda.stream."""
    return StreamContext(s)


def _device_or_current(device):
    """A device with its index (unless it is the only one of its type); None: the accelerator's current one."""
    from facula import accelerator

    if device is None:
        return accelerator._device()
    device = _C.device(device)
    return device if device.index is not None else _C.device(device.type, _C._current_device(device))


def call(device, function: str, *args):
    """Calls a function of the backend's own: call("hammerblade", "reload"). backends() lists them, under "functions"."""
    return _C._backend_call(device, function, list(args))


def _load(found):
    """An entry point leads to a path, a Backend class or object, or a function that returns one of these."""
    from facula.backends.python_backend import Backend

    if callable(found) and not isinstance(found, Backend):
        found = found()
    return register(found) if isinstance(found, Backend) else load_backend(found)


@functools.cache
def _installed():
    """The entry points of installed packages that bring a backend."""
    from importlib.metadata import entry_points

    return tuple(entry_points().select(group="facula.backends"))


def _own(name: str) -> str:
    """The library of a backend that comes with Facula, if it was built."""
    path = os.path.join(os.path.dirname(_C.__file__), f"{name}_backend.so")
    return path if name.isidentifier() and os.path.exists(path) else ""


def _find(name: str) -> bool:
    """Loads the backend that comes with Facula under this name, or that of an installed package."""
    if path := _own(name):
        return load_backend(path) == name
    for point in _installed():
        if point.name == name:
            got = _load(point.load())
            if got != name:
                raise RuntimeError(f"the entry point '{name}' of facula.backends gave a backend called '{got}'")
            return True
    return False


def _load_from_environment():
    for path in filter(None, os.environ.get("FACULA_BACKENDS", "").split(os.pathsep)):
        try:
            _C._load_backend(path)  # the package introduces it when all of it is there
        except Exception as e:
            raise ImportError(f"the environment variable FACULA_BACKENDS names '{path}': {e}") from None


def __getattr__(name):
    if name == "Backend":  # ctypes is loaded only by those who write a backend in Python
        from facula.backends.python_backend import Backend

        return Backend
    raise AttributeError(f"module 'facula.backends' has no attribute '{name}': this part of torch does not exist here (yet)")


_C._set_device_finder(_find)
_load_from_environment()
