# SPDX-License-Identifier: Apache-2.0
"""The C++ side: stores, groups and calls under way, made when torch.distributed is first imported."""

import os
from datetime import timedelta

import facula

_c = facula._C._distributed(os.path.dirname(facula.__file__) + os.sep)

DistError = facula._C._DistError
DistBackendError = facula._C._DistBackendError
DistNetworkError = facula._C._DistNetworkError
DistStoreError = facula._C._DistStoreError
QueueEmptyError = facula._C._DistQueueEmptyError
for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"

Store, HashStore, FileStore, PrefixStore, Work = _c.Store, _c.HashStore, _c.FileStore, _c.PrefixStore, _c.Work

TOKEN = "TORCH_DISTRIBUTED_TOKEN"  # in the environment: what a launcher hands out, and its store asks for
DEFAULT_STORE_TIMEOUT = timedelta(minutes=5)


def milliseconds(timeout: timedelta | float | None, otherwise: timedelta) -> timedelta:
    """A time-out as a program gives it: a timedelta, seconds, or nothing."""
    if timeout is None:
        return otherwise
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool):
        timeout = timedelta(seconds=timeout)
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if timeout <= timedelta(0):
        raise ValueError(f"a time-out is longer than nothing, got {timeout}")
    return timeout


class TCPStore(_c._TCPStore):
    """A store that one process, the master, holds and others reach by TCP. It listens on the address that `host_name`
    means (on loopback for localhost), and answers those who know the token that TORCH_DISTRIBUTED_TOKEN holds (launchers
    hand one out), if it holds one."""

    def __init__(
        self, host_name: str, port: int = 29500, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = DEFAULT_STORE_TIMEOUT, wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True, *, token: str | None = None,
    ) -> None:  # fmt: skip
        timeout = milliseconds(timeout, DEFAULT_STORE_TIMEOUT)
        token = os.environ.get(TOKEN, "") if token is None else token
        fd = -1 if master_listen_fd is None else master_listen_fd
        if is_master and multi_tenant and (port, token) in _held:
            is_master = False  # this process holds it already
        super().__init__(host_name, port, is_master, timeout, token, fd)
        if is_master:
            _held.add((self.port, token))
        if world_size and world_size > 0 and wait_for_workers:
            here = self.add("init/workers", 1)
            if here > world_size:
                raise ValueError(f"TCPStore: {here} processes came to a store for {world_size}")
            if here == world_size:
                self.set("init/complete", b"1")
            try:
                self.wait(["init/complete"], timeout)
            except DistStoreError:
                came = self.add("init/workers", 0)
                raise DistStoreError(f"TCPStore: {came} of {world_size} processes came within {timeout}") from None

    @property
    def libuvBackend(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"TCPStore({self.host!r}, {self.port})"


_held: set[tuple[int, str]] = set()


def _get_future(work: Work):
    """The future of a call: the list of its result tensors."""
    from facula.futures import Future

    future: Future = Future()

    def end() -> None:
        error = work.exception()
        if error is None:
            future.set_result(getattr(work, "tensors", None))
        else:
            future.set_exception(error)

    work._then(end)
    return future


def _result(work: Work) -> list:
    """The tensors that the call filled."""
    return getattr(work, "tensors", [])


Work.get_future = _get_future
Work.result = _result
