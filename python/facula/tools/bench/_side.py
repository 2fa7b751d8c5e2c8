# SPDX-License-Identifier: Apache-2.0
"""A worker as the parent has it: a process in a session of its own, asked one thing at a time.

Commands and answers are lines of JSON on a socket of their own; what the model prints goes into a pipe that a thread reads,
of which the end is kept. Whatever happens to the process, ask() returns or raises within its time, and close() leaves
nothing of the session running. A worker whose parent dies is killed by the kernel.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

KEPT = 1 << 16  # bytes of what it printed
HERE = os.path.dirname(os.path.abspath(__file__))
BOOT = (
    "import importlib.util as u, sys; p = {here!r}; "
    "s = u.spec_from_file_location('facula_bench', p + '/__init__.py', submodule_search_locations=[p]); "
    "m = u.module_from_spec(s); sys.modules['facula_bench'] = m; s.loader.exec_module(m); "
    "from facula_bench import _worker; _worker.main({fd}, {parent}, {torch!r})"
)


class Failed(Exception):
    """The model raised. `kind` is the exception's name."""

    def __init__(self, answer: dict):
        self.kind, self.message, self.stack, self.oom = answer["kind"], answer["message"], answer["stack"], answer["oom"]
        super().__init__(f"{self.kind}: {self.message}" + (f" ({self.stack})" if self.stack else ""))


class Crashed(Exception):
    """The process is gone. `oom`: the kernel took it because memory was short."""

    def __init__(self, text: str, oom: bool = False):
        super().__init__(text)
        self.oom = oom


class TimedOut(Exception):
    """It did not answer in time; where its Python was."""


def _oom_kills() -> int:
    try:
        with open("/proc/vmstat") as file:
            return int(re.search(r"^oom_kill (\d+)", file.read(), re.M)[1])  # type: ignore[index]
    except (OSError, TypeError):
        return 0


def last_stack(log: str) -> str:
    """The newest stack of faulthandler in a log, innermost first, as one line."""
    blocks = re.split(r"^(?:Current thread|Thread|Stack).*\(most recent call first\):\n", log, flags=re.M)
    for block in reversed(blocks[1:]):
        frames = re.findall(r'^  File "(.*)", line (\d+) in (.*)$', block, re.M)
        frames = [(os.path.basename(f), n, name) for f, n, name in frames if "facula_bench" not in f and not f.startswith(HERE) and f != "<string>"]
        if frames:
            return " < ".join(f"{file}:{number} {name}" for file, number, name in frames[:4])
    return ""


class Side:
    """One process; used by one thread at a time."""

    def __init__(self, python: str, torch: bool, threads: int, environment: dict, echo: bool = False):
        self.kills = _oom_kills()
        ours, theirs = socket.socketpair()
        code = BOOT.format(here=HERE, fd=theirs.fileno(), parent=os.getpid(), torch=torch)
        environment = {**os.environ, **environment, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1"}
        with theirs:
            self.process = subprocess.Popen(
                [python, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()], env=environment, start_new_session=True,
            )  # fmt: skip
        self.socket, self.pending, self.log = ours, b"", b""
        self.echo = echo
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        while True:
            try:
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
            except (OSError, ValueError):
                return
            if not piece:
                return
            if self.echo:
                sys.stderr.buffer.write(piece)
                sys.stderr.flush()
            self.log = (self.log + piece)[-KEPT:]

    def _said(self) -> str:
        return self.log.decode(errors="replace")

    def ask(self, what: str, deadline: float, **arguments: Any) -> Any:
        """The answer's value. Raises Failed, Crashed or TimedOut; after the latter two the side is closed."""
        try:
            self.socket.sendall(json.dumps([what, arguments]).encode() + b"\n")
        except OSError:
            raise self._crash()
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise self._late()
            try:
                piece = self.socket.recv(1 << 20)
            except OSError:
                piece = b""
            if not piece:
                raise self._crash()
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["value"]

    def _crash(self) -> Crashed:
        """Says why the process is gone; it may still be on its way out."""
        try:
            status = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.close()
            return Crashed("it closed its connection and went on")
        self.close()  # whatever else holds its output ends, so that the reader has all of it
        said = self._said()
        stack = last_stack(said)
        if status < 0:
            name = signal.Signals(-status).name if -status in signal.Signals._value2member_map_ else f"signal {-status}"
            oom = -status == signal.SIGKILL and _oom_kills() > self.kills
            return Crashed(name + (f" at {stack}" if stack else ""), oom)
        tail = said.strip().splitlines()
        return Crashed(f"exit status {status}" + (f": {tail[-1][:200]}" if tail else ""), "emoryError" in said or "bad_alloc" in said)

    def _late(self) -> TimedOut:
        try:
            self.process.send_signal(signal.SIGUSR1)  # faulthandler writes its stack
            time.sleep(0.3)
        except OSError:
            pass
        self.close()
        stack = last_stack(self._said())
        return TimedOut(stack)

    def close(self) -> None:
        """Ends the whole session. May be called again."""
        self.socket.close()
        for _ in range(2):  # a child that forks while it is killed
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                break
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:  # in an uninterruptible wait of the kernel's; nothing more can be done
            pass
        self.reader.join(timeout=10)
        if self.process.stdout and not self.reader.is_alive():
            self.process.stdout.close()
