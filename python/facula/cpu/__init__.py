# SPDX-License-Identifier: Apache-2.0
"""torch.cpu: the device that is always there. Its work is done when a call returns, so streams have nothing to order."""

import contextlib

from facula import _missing

__all__ = ["is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream", "set_device", "device_count",
           "Stream", "StreamContext", "Event", "get_capabilities"]  # fmt: skip


def is_available():
    """Always."""
    return True


is_initialized = is_available


def synchronize(device=None):
    """Nothing is pending."""


def device_count():
    """One: all cores together."""
    return 1


def current_device():
    """Its name."""
    return "cpu"


def set_device(device):
    """There is one."""


def get_capabilities():
    """The instruction set that kernels use, as data."""
    from facula.backends.cpu import get_cpu_capability

    return {"capability": get_cpu_capability()}


class Stream:
    """The order in which calls are made."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        pass

    def record_event(self):
        pass

    def wait_event(self, event):
        pass


class Event:
    """A point in time that has passed."""

    def query(self):
        return True

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass


_stream = Stream()


def current_stream(device=None):
    """The one stream of the thread, or that of `with stream(s):`."""
    return _stream


class StreamContext(contextlib.AbstractContextManager):
    """`with stream(s):` makes s current."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _stream
        self.before = _stream
        _stream = self.stream or _stream

    def __exit__(self, *exc):
        global _stream
        _stream = self.before


def stream(stream):
    """`with stream(s):` makes s current."""
    return StreamContext(stream)


__getattr__ = _missing.missing(__name__, ("amp",))
