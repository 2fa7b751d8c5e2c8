# SPDX-License-Identifier: Apache-2.0
"""What torchrun does on one machine: holds or finds the store, agrees with the other machines on ranks, starts the
processes, watches them, and starts all of them again where that was asked for."""

import contextlib
import ctypes
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta

from facula.distributed._engine import TOKEN, DistError, PrefixStore, Store, TCPStore

_GRACE = 5.0  # seconds between asking a process to end and killing it
_SILENCE = 12.0  # seconds without an answer after which another machine counts as lost; ranks give up earlier and know more
_LAST_WORDS = 2.0  # seconds in which the other processes may end by themselves, and say what they saw
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Options:
    command: list[str]  # of one process
    processes: int
    nodes: int = 1
    node_rank: int = -1  # -1: as machines come
    host: str = "127.0.0.1"
    port: int = 0
    run_id: str = "none"
    restarts: int = 0
    interval: float = 0.1
    timeout: float = 900.0
    role: str = "default"
    log_dir: str = ""
    redirect: dict[int, int] = field(default_factory=dict)  # local rank -> 1 stdout, 2 stderr, 3 both; -1: all
    tee: dict[int, int] = field(default_factory=dict)
    shown: set[int] | None = None  # local ranks whose output is shown


@dataclass
class _Process:
    local_rank: int
    rank: int
    popen: subprocess.Popen
    error_file: str
    streams: list[threading.Thread]
    ended: float = 0.0

    def describe(self) -> str:
        code = self.popen.returncode
        if code >= 0:
            how = f"exit status {code}"
        else:
            try:
                how = f"signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"signal {-code}"
        return f"rank {self.rank} (local rank {self.local_rank}, process {self.popen.pid}) ended with {how}"


def _say(text: str) -> None:
    print(f"torchrun: {text}", file=sys.stderr, flush=True)


def _die_with_parent() -> None:  # in the child, before the program
    _LIBC.prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_here(host: str) -> bool:
    """Whether a host's name is this machine's."""
    try:
        addresses = {a[4][0] for a in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    for family, address in ((socket.AF_INET6 if ":" in a else socket.AF_INET, a) for a in addresses):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
            return True
    return False


class Agent:
    """Runs the processes of this machine; `run` returns the status to exit with."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.token = os.environ.get(TOKEN) or (
            secrets.token_hex(16) if options.nodes == 1 else hashlib.sha256(options.run_id.encode()).hexdigest()[:32]
        )
        self.processes: list[_Process] = []
        self.stopped_by: int | None = None
        self.scratch = tempfile.mkdtemp(prefix="torchrun-")
        self.logs = options.log_dir

    def run(self) -> int:
        handlers = {s: signal.signal(s, self._stop) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            self.store = self._open_store()
            return self._run()
        except DistError as e:
            if self.stopped_by is None:
                _say(str(e))
            return 128 + self.stopped_by if self.stopped_by else 1
        finally:
            self._end_all()
            for s, handler in handlers.items():
                signal.signal(s, handler)
            shutil.rmtree(self.scratch, ignore_errors=True)

    def _stop(self, number: int, frame: object) -> None:
        if self.stopped_by is not None and number == signal.SIGINT:
            self._signal_all(signal.SIGKILL)  # asked twice
        self.stopped_by = number
        if not self.processes:  # still meeting
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    # ---- meeting the other machines

    def _open_store(self) -> Store:
        o = self.options
        holds = o.nodes == 1 or o.node_rank == 0 or (o.node_rank < 0 and _is_here(o.host))
        timeout = timedelta(seconds=o.timeout)
        if holds:
            try:
                store = TCPStore(o.host, o.port, is_master=True, timeout=timeout, token=self.token)
            except DistError:
                if o.node_rank == 0 or o.nodes == 1:
                    raise
                store = TCPStore(o.host, o.port, timeout=timeout, token=self.token)  # a second agent of this machine
        else:
            store = TCPStore(o.host, o.port, timeout=timeout, token=self.token)
        o.port = store.port
        return PrefixStore(f"torchrun/{o.run_id}", store)

    def _agree(self, attempt: int) -> tuple[int, int, int]:
        """This machine's number, its first rank and the number of processes of the run."""
        o, store = self.options, PrefixStore(f"attempt_{attempt}", self.store)
        if o.nodes == 1:
            return 0, 0, o.processes
        node = o.node_rank if o.node_rank >= 0 else store.add("machines", 1) - 1
        if node >= o.nodes:
            raise DistError(f"--nnodes={o.nodes}, and this is machine {node + 1} that came")
        mine = f"{o.processes} {socket.gethostname()} {os.getpid()}"
        there = store.compare_set(f"machine/{node}", "", mine).decode()
        if there != mine:
            raise DistError(f"two machines say that they are --node-rank={node}: {there.split()[1]} and {socket.gethostname()}")
        if attempt == 0:
            _say(f"machine {node} of {o.nodes} waits for the others at {o.host}:{o.port}")
        counts = [int(store.get(f"machine/{i}").split()[0]) for i in range(o.nodes)]
        return node, sum(counts[:node]), sum(counts)

    # ---- processes

    def _run(self) -> int:
        for attempt in range(self.options.restarts + 1):
            node, first, world = self._agree(attempt)
            attempt_store = PrefixStore(f"attempt_{attempt}", self.store)
            self._start_all(attempt, node, first, world)
            failed = self._watch(attempt_store)
            if self.stopped_by is not None:
                self._end_all(self.stopped_by)
                return 128 + self.stopped_by
            if failed is None:
                return self._leave(attempt_store)
            self._wait_for_all(_LAST_WORDS)
            self._end_all()
            self._report(failed)
            if attempt < self.options.restarts:
                _say(f"starting all {world} processes again ({attempt + 1} of {self.options.restarts} restarts)")
        if self.options.nodes > 1:
            time.sleep(1)  # the machine that holds the store lets the others read whose exit was first
        return 1

    def _start_all(self, attempt: int, node: int, first: int, world: int) -> None:
        self.processes = []
        for local in range(self.options.processes):
            self.processes.append(self._start(attempt, node, local, first + local, world))

    def _start(self, attempt: int, node: int, local: int, rank: int, world: int) -> _Process:
        o = self.options
        error_file = os.path.join(self.scratch, f"error-{attempt}-{local}.json")
        environment = {
            **os.environ, "RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": o.processes,
            "GROUP_RANK": node, "GROUP_WORLD_SIZE": o.nodes, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world,
            "ROLE_NAME": o.role, "MASTER_ADDR": o.host, "MASTER_PORT": o.port, "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": o.restarts, "TORCHELASTIC_RUN_ID": o.run_id,
            "TORCHELASTIC_USE_AGENT_STORE": True, "TORCHELASTIC_ERROR_FILE": error_file, TOKEN: self.token,
        }  # fmt: skip
        if "OMP_NUM_THREADS" not in environment:  # the machine's cores, shared
            environment["OMP_NUM_THREADS"] = max(1, len(os.sched_getaffinity(0)) // o.processes)
        outputs, threads = self._outputs(attempt, local, rank)
        popen = subprocess.Popen(
            [a.replace("${local_rank}", str(local)) for a in o.command],
            env={k: str(v) for k, v in environment.items()}, stdout=outputs[0], stderr=outputs[1],
            preexec_fn=_die_with_parent, start_new_session=True,
        )  # fmt: skip
        for output in outputs:
            if isinstance(output, int) and output >= 0:
                os.close(output)
        for t in threads:
            t.start()
        return _Process(local, rank, popen, error_file, threads)

    def _outputs(self, attempt: int, local: int, rank: int) -> tuple[list[int | None], list[threading.Thread]]:
        """Where a process writes: here, into a file of the log folder, or both by a thread of ours."""
        o = self.options
        outputs: list[int | None] = [None, None]
        threads = []
        for bit, name in ((1, "stdout"), (2, "stderr")):
            redirect = o.redirect.get(local, o.redirect.get(-1, 0)) & bit
            tee = o.tee.get(local, o.tee.get(-1, 0)) & bit
            shown = o.shown is None or local in o.shown
            if redirect or tee:
                self.logs = self.logs or tempfile.mkdtemp(prefix="torchrun-logs-")
                folder = os.path.join(self.logs, o.run_id, f"attempt_{attempt}", str(local))
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, f"{name}.log")
            if tee and shown:
                read, outputs[bit - 1] = os.pipe()
                threads.append(threading.Thread(target=_copy, args=(read, path, bit, f"[{o.role}{rank}]:"), daemon=True))
            elif redirect or tee:
                outputs[bit - 1] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            elif not shown:
                outputs[bit - 1] = subprocess.DEVNULL
        return outputs, threads

    def _watch(self, store: Store) -> _Process | str | None:
        """Returns when all processes have ended well (None), with the first that did not, or with the word of another
        machine where one did not."""
        looked = time.monotonic()
        word = store.clone()
        word.set_timeout(timedelta(seconds=_SILENCE))  # a cable may be cut: no answer is one, too
        while self.stopped_by is None:
            for p in self.processes:
                if p.popen.poll() is not None and not p.ended:
                    p.ended = time.time()
                    if p.popen.returncode != 0:
                        if self.options.nodes > 1:
                            with contextlib.suppress(DistError):
                                word.compare_set("failed", "", f"{p.describe()} on {socket.gethostname()}")
                        return p
            if all(p.ended for p in self.processes):
                return None
            if self.options.nodes > 1 and time.monotonic() - looked > 1:
                looked = time.monotonic()
                try:
                    if word.check(["failed"]):
                        return word.get("failed").decode()
                except DistError as e:
                    return f"the machine that holds the store cannot be reached, or its torchrun has ended: {e}"
            time.sleep(self.options.interval)
        return None

    def _leave(self, store: Store) -> int:
        for p in self.processes:
            for t in p.streams:
                t.join()
        if self.options.nodes > 1:  # whoever holds the store stays until all are done, or one has failed
            done = store.add("done", 1)
            end = time.monotonic() + self.options.timeout
            while done < self.options.nodes and time.monotonic() < end and self.stopped_by is None:
                if store.check(["failed"]):
                    self._report(store.get("failed").decode())
                    return 1
                time.sleep(0.2)
                with contextlib.suppress(DistError):
                    done = store.add("done", 0)
                    continue
                break  # the machine that holds it has left
        return 0

    def _report(self, failed: _Process | str) -> None:
        if isinstance(failed, str):
            return _say(f"{failed}; the processes of this machine were ended")
        _say(f"{failed.describe()}; it was the first. The others were ended")
        with contextlib.suppress(OSError), open(failed.error_file, encoding="utf-8") as f:
            print(f.read(), file=sys.stderr, flush=True)
        if self.logs:
            _say(f"what the processes wrote is in {self.logs}")
        return None

    def _signal_all(self, number: int) -> None:
        for p in self.processes:
            if p.popen.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.popen.pid, number)

    def _wait_for_all(self, patience: float) -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end and any(p.popen.poll() is None for p in self.processes):
            time.sleep(0.02)

    def _end_all(self, number: int = signal.SIGTERM) -> None:
        self._signal_all(number)
        self._signal_all(signal.SIGCONT)  # one that was stopped cannot end
        self._wait_for_all(_GRACE)
        for p in self.processes:  # and what they started
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(p.popen.pid, signal.SIGKILL)
            p.popen.wait()


def _copy(read: int, path: str, bit: int, prefix: str) -> None:
    shown = sys.stdout if bit == 1 else sys.stderr
    with os.fdopen(read, "r", errors="replace") as source, open(path, "w", encoding="utf-8") as log:
        for line in source:
            log.write(line)
            log.flush()
            shown.write(prefix + line)
            shown.flush()
