# SPDX-License-Identifier: Apache-2.0
"""torch.futures: values that come later, from another thread.

A future is completed once, by any thread. Callbacks run on that thread, or at once if they come later, and never under a lock.
"""

import sys
import threading
import traceback
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

import facula as torch

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


def _check_devices(devices):
    devices = [torch.device("cuda", d) if isinstance(d, int) else torch.device(d) for d in devices or ()]
    for d in devices:
        if d.index is None:
            raise ValueError(f"Expected devices to have indices, got {d}")
        if d.type != devices[0].type:
            raise ValueError(f"Expected all devices to be of the same type, but got a mismatch between devices {devices[0]} and {d}")
    return devices


class Future(torch._C.Future, Generic[_T]):
    """A value or an exception that comes later: also what TorchScript's forks give. devices: accepted, since results here
    are complete when they are set."""

    _devices: ClassVar[list] = []

    def __init__(self, *, devices=None) -> None:
        super().__init__()
        if devices:
            self._devices = _check_devices(devices)

    def set_exception(self, result) -> None:
        """Completes it with an exception and runs the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._fail(result)

    def then(self, callback: Callable) -> "Future":
        """The future of callback(self), which is called when this one is done."""
        _check_callable("then", callback)
        made: Future = Future(devices=self._devices)

        def run():
            try:
                result = callback(self)
            except Exception as e:
                error = RuntimeError(f"Got the following error when running the callback: {type(e).__name__}: {e}")
                error.__cause__ = e
                made.set_exception(error)
            else:
                made.set_result(result)

        self._when_done(run)
        return made

    def add_done_callback(self, callback: Callable) -> None:
        """Calls callback(self) when this is done. What it raises is printed and goes no further."""
        _check_callable("add_done_callback", callback)

        def run():
            try:
                callback(self)
            except Exception:
                print("Got the following error when running the callback:", traceback.format_exc(), sep="\n", file=sys.stderr)

        self._when_done(run)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("Can not pickle torch.futures.Future")


def _check_callable(name, callback):
    if not callable(callback):
        raise TypeError(f"{name}(): expected a function of the future, got {type(callback).__name__}")


def collect_all(futures: list[Future]) -> Future[list[Future]]:
    """The future of the list itself: done when all are, with the exception of the first that failed."""
    futures = list(futures)
    for f in futures:
        if not isinstance(f, Future):
            raise TypeError(f"collect_all(): expected a list of futures, got a {type(f).__name__} in it")
    made: Future = Future()
    lock, left, error = threading.Lock(), len(futures), None

    def count(f):
        nonlocal left, error
        with lock:
            left -= 1
            error = error or f._exception()
            last = left == 0
        if last:
            if error is None:
                made.set_result(futures)
            else:
                made._fail(error)

    for f in futures:
        f._when_done(lambda f=f: count(f))
    if not futures:
        made.set_result(futures)
    return made


def wait_all(futures: list[Future]) -> list:
    """The values of all; or raises the exception of the first that failed."""
    return [f.wait() for f in collect_all(futures).wait()]
