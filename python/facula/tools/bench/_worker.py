# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison in its own process: obeys commands on a socket, one line of JSON each.

Under Facula `torch` is Facula; under an oracle's Python it is PyTorch, and nothing of Facula is imported. What goes
to standard output is the model's own and never the protocol's.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

PR_SET_PDEATHSIG = 1


class Worker:
    """Its commands are its methods without a leading underscore; one thread."""

    def __init__(self, facula: bool):
        import torch

        self.torch, self.facula = torch, facula
        self.candidate: Any = None
        self.results: dict = {}

    def load(self, suite: str, name: str, options: dict, batch_size: int | None, threads: int) -> dict:
        """Loads the model, casts it, and says what it is."""
        from . import _load, _step

        self.options, self.name = options, name
        self.torch.set_num_threads(threads)
        self.threads = threads
        if options["deterministic"] or options["accuracy"]:
            self.torch.use_deterministic_algorithms(True, warn_only=True)
        self.loaded = _load.load(suite, name, options["training"], batch_size, options["tiny"], options["device"], options)
        _step.prepare(self.loaded, options)
        return {
            "batch_size": self.loaded.batch_size,
            "source": self.loaded.source,
            "parameters": sum(p.numel() for p in self.loaded.module.parameters()),
            "torch": f"{'facula' if self.facula else 'torch'} {self.torch.__version__}",
        }

    def smoke(self) -> dict:
        """One eager step on a copy: seconds, and the loss or the sum of the outputs."""
        from . import _accuracy, _step

        step = _step.Step(self.loaded, _step.copied(self.loaded), self.options)
        start = time.perf_counter()
        value = step()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "value": _accuracy.one_number(value)}

    def compile(self, backend: str) -> dict:
        """Makes the step of this side. For eager that is the module as it is."""
        from . import _backends, _step

        start = time.perf_counter()
        try:
            made = _backends.compile_with(backend, self.loaded.module, self.loaded.inputs, self.options)
        except _backends.NoCompiler as error:
            return {"no_compiler": str(error)}
        self.torch.manual_seed(1337)
        self.step = _step.Step(self.loaded, self.loaded.module, self.options, made)
        return {"seconds": time.perf_counter() - start}

    def warm(self, steps: int) -> dict:
        """The first steps, with the peak of memory over them."""
        gc.collect()
        self._reset_peak()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        seconds = time.perf_counter() - start
        if self.options["use_warm_peak_memory"]:
            self._reset_peak()
            self.step()
        peak = self._peak()
        gc.collect()
        gc.freeze()
        gc.disable()
        return {"seconds": seconds, **peak}

    def turn(self, runs: int, steps: int) -> dict:
        """So many runs of so many steps; seconds of one run. What is repeated is short: a step before it fills the caches
        that the other sides have emptied."""
        step, total = self.step, runs * steps
        if runs > 1:
            step()
        before = _Clocks()
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(total):
            step()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        return {"wall": wall / runs, "cpu": cpu / runs, "runs": runs, **{k: v / runs for k, v in before.since().items()}}

    def shares(self) -> dict:
        from . import _counts

        return _counts.shares(self.step)

    def counts(self) -> dict:
        from . import _counts

        threads = self.torch.get_num_threads()
        self.torch.set_num_threads(1)
        try:
            return _counts.count(self.step) if self.facula else {}
        finally:
            self.torch.set_num_threads(threads)

    def look(self, kind: str, path: str | None = None) -> Any:
        """What one more, untimed step shows: graph, operators, convs, inputs, trace, memory."""
        from . import _look

        return getattr(_look, kind)(self, path)

    # --- accuracy, in _accuracy

    def run_results(self, kind: str, backend: str) -> dict:
        from . import _accuracy

        return _accuracy.run(self, kind, backend)

    def compare(self, reference: str, candidate: str, tolerance: float) -> dict:
        from . import _accuracy

        return _accuracy.compare(self, reference, candidate, tolerance)

    def distances(self, reference: str, candidate: str) -> dict:
        from . import _accuracy

        return _accuracy.distances(self, reference, candidate)

    def exchange(self, path: str, kinds: list, write: bool) -> None:
        from . import _accuracy

        _accuracy.exchange(self, path, kinds, write)

    def diverges(self, backend: str, tolerance: float, path: str | None = None) -> str:
        from . import _diverge

        return _diverge.first(self, backend, tolerance, path)

    def invariant(self, backend: str) -> str:
        from . import _accuracy

        return _accuracy.invariant(self, backend)

    def _reset_peak(self) -> None:
        if self.facula:
            self.torch._C._backend_reset_peak(self.torch.device(self.options["device"]))
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass  # VmHWM is then of the whole life

    def _peak(self) -> dict:
        """Bytes: resident, and of Facula's allocator."""
        with open("/proc/self/status") as file:
            resident = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024
        allocated = None
        if self.facula:
            allocated = self.torch._C._backend_memory_stats(self.torch.device(self.options["device"]))["peak"]
        return {"resident": resident, "allocated": allocated}


class _Clocks:
    """What of the machine disturbed a turn: read before, asked afterwards."""

    def __init__(self):
        self.values = self._read()

    @staticmethod
    def _read() -> dict:
        stolen = pressed = 0.0
        waits = {}
        try:
            with open("/proc/stat") as file:
                stolen = int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            pass
        try:
            with open("/proc/pressure/cpu") as file:
                pressed = int(file.readline().rsplit("total=", 1)[1]) / 1e6
        except (OSError, IndexError, ValueError):
            pass
        try:
            for task in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{task}/schedstat") as file:
                    waits[task] = int(file.readline().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            pass
        return {"stolen": stolen, "pressed": pressed, "waits": waits, "own": waits.get(str(threading.get_native_id()), 0.0), "switches": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw}

    def since(self) -> dict:
        now, then = self._read(), self.values
        waited = max((seconds - then["waits"].get(task, 0.0) for task, seconds in now["waits"].items()), default=0.0)
        return {"waited": waited, **{k: now[k] - then[k] for k in ("own", "stolen", "pressed", "switches")}}


def _is_oom(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return "DefaultCPUAllocator" in text or "Cannot allocate memory" in text or "std::bad_alloc" in text


def _where(error: BaseException) -> str:
    """The innermost frame that is the model's, else the innermost."""
    frames = traceback.extract_tb(error.__traceback__)
    here = os.path.dirname(os.path.abspath(__file__))
    theirs = [f for f in frames if not f.filename.startswith((here, "<")) and f"{os.sep}facula{os.sep}" not in f.filename and f"{os.sep}torch{os.sep}" not in f.filename]
    if not frames:
        return ""
    f = (theirs or frames)[-1]
    return f"{os.path.basename(f.filename)}:{f.lineno} {f.name}"


def _limit(share: float) -> None:
    """A model that allocates without end meets an error before the machine does."""
    with open("/proc/meminfo") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    limit = int(sizes["MemTotal"] * share) if share < 1 else int(sizes["MemAvailable"] * 0.9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main(descriptor: int, parent: int, facula: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before we asked to die with it
    faulthandler.enable(all_threads=False)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    connection = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    worker, pending = None, b""
    while True:
        while b"\n" not in pending:
            piece = connection.recv(1 << 20)
            if not piece:
                os._exit(0)
            pending += piece
        line, pending = pending.split(b"\n", 1)
        command, arguments = json.loads(line)
        try:
            if worker is None:
                _limit(arguments.pop("memory", 1))
                if facula:
                    from facula import _as_torch

                    _as_torch.install()
                    os.environ.update(_as_torch.environment())
                worker = Worker(facula)
            answer: dict = {"value": getattr(worker, command)(**arguments)}
        except (KeyboardInterrupt, SystemExit) as error:
            answer = {"error": {"kind": type(error).__name__, "message": f"the model ended the program: {error}", "stack": _where(error), "oom": False}}
        except BaseException as error:
            traceback.print_exc()
            answer = {"error": {"kind": type(error).__name__, "message": (str(error) or repr(error)).split("\n")[0][:500], "stack": _where(error), "oom": _is_oom(error)}}
            del error
        try:
            text = json.dumps(answer)
        except (TypeError, ValueError) as error:
            text = json.dumps({"error": {"kind": "TypeError", "message": str(error), "stack": "", "oom": False}})
        sys.stdout.flush()
        connection.sendall(text.encode() + b"\n")
