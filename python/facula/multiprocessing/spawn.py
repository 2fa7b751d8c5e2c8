# SPDX-License-Identifier: Apache-2.0
"""Starts n processes of one function; when one of them fails, the others end and the caller learns why."""

import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
import weakref

from facula import _C

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PATIENCE = 30  # seconds that a process has to end after SIGTERM, unless a grace period is given


class ProcessException(Exception):
    """A process of start_processes failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """It raised an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """It ended with an exit code or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _wrap(fn, i, args, error_file):
    _C._die_with_parent(signal.SIGINT)
    parent = os.getppid()
    try:
        fn(i, *args)
    except (Exception, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        if interrupted and os.getppid() != parent:
            return
        import traceback

        with open(error_file, "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(traceback.format_exc())
        sys.exit(128 + signal.SIGINT if interrupted else 1)


class ProcessContext:
    """The processes that start_processes(join=False) has started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}
        self._clean = None  # removes the folder of error_files

    def pids(self):
        return [int(p.pid) for p in self.processes]

    def _wait(self, seconds):
        end = time.monotonic() + seconds
        for p in self.processes:
            p.join(max(0, end - time.monotonic()))

    def join(self, timeout: float | None = None, grace_period: float | None = None):
        """Waits until one fails or some end; True when all have ended. After a failure the others are ended, and it is raised."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            if not self.sentinels and self._clean is not None:
                self._clean()
            return not self.sentinels
        if grace_period is not None:
            self._wait(grace_period)
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        self._wait(_PATIENCE if grace_period is None else grace_period)
        for p in self.processes:
            if p.is_alive():
                p.kill()
            p.join()
        self._raise(failed)

    def _raise(self, index):
        process = self.processes[index]
        try:
            with open(self.error_files[index], encoding="utf-8") as f:
                trace = f.read()
        except FileNotFoundError:
            code = process.exitcode
            if code >= 0:
                raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code) from None
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name) from None
        raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{trace}", index, process.pid)


class SpawnContext(ProcessContext):
    """The old name of ProcessContext."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(i, *args) in processes i = 0 … nprocs-1. join: waits for them; otherwise returns a ProcessContext."""
    context = multiprocessing.get_context(start_method)

    folder = tempfile.mkdtemp(prefix="facula-errors-")

    def start(i):
        file = os.path.join(folder, str(i))  # written only by a process that fails
        process = context.Process(target=_wrap, args=(fn, i, args, file), daemon=daemon)
        process.start()
        return process, file

    try:
        if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(max_workers=nprocs) as executor:
                started = list(executor.map(start, range(nprocs)))
        else:
            started = [start(i) for i in range(nprocs)]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    group = ProcessContext([p for p, _ in started], [f for _, f in started])
    group._clean = weakref.finalize(group, shutil.rmtree, folder, ignore_errors=True)  # at the latest
    if not join:
        return group
    while not group.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes with the method spawn."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
