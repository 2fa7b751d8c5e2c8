# SPDX-License-Identifier: Apache-2.0
"""The parent: one planned model after the other, each ending in exactly one row, whatever its processes do."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from . import _counts, _list, _measure, _options, _peer, _plan, _rows, _suites
from ._options import Refused
from ._side import Crashed, Failed, Side, TimedOut

STEPS_OF_WARM_UP, SHORT = 5, 0.020  # as PyTorch's; a run shorter than that many seconds is repeated


class Ended(Exception):
    """A model's run is over: the status of its row, and why."""

    def __init__(self, status: str, reason: str = ""):
        self.status, self.reason = status, reason
        super().__init__(f"{status}: {reason}")


class Model:
    """One planned model on one device: its processes, until its row is written."""

    def __init__(self, suite: str, planned: _plan.Planned, device: str, options: argparse.Namespace, told: Any):
        self.suite, self.planned, self.options, self.told = suite, planned, options, told
        self.device = device
        self.backend = _options.backend_of(options)
        self.threads = options.threads or _cores()
        self.deadline = time.monotonic() + options.timeout
        self.phases: dict[str, float] = {}
        self.row: dict[str, Any] = {"dev": device, "name": planned.name, "batch_size": 0, "source": "0", "tag": options.tag}
        self.details: dict[str, Any] = {"threads": self.threads, "backend": self.backend}
        self.caches: list[str] = []
        self.warm_cache: str | None = None  # that an earlier process filled
        self.learned: dict[str, dict] = {}  # by side: how it started, what it needs
        self.estimate = 0.0  # seconds of a step
        self.why = ""  # there is no compiler
        self.peer = ""  # the engine that is the candidate, if one is
        self.homes: list[str] = ["", "", ""]  # of the sides: where Facula is imported from, if not from where we are

    def run(self) -> None:
        """Fills self.row. Raises nothing but what ends the whole run."""
        begun = time.monotonic()
        try:
            if self.planned.skip:
                raise Ended("skip", self.planned.skip)
            if self.suite != "torchbench" and not self.planned.name.startswith("path:"):
                lacks = _list.reason(self.suite, self.planned.name)[1]
                if lacks:  # known without a process for each of fifty names
                    raise Ended("missing", lacks)
            if self.options.accuracy or self.options.tolerance:
                from . import _judge_accuracy

                _judge_accuracy.run(self)
            else:
                self._performance()
        except Ended as end:
            self.row.update(status=end.status, reason=end.reason)
            if self.options.accuracy:
                self.row["accuracy"] = end.status
            else:
                self.row.setdefault("speedup", 0.0)
                self.row.setdefault("abs_latency", 0.0)
        finally:
            for folder in self.caches:
                shutil.rmtree(folder, ignore_errors=True)
        self.row["seconds"] = round(time.monotonic() - begun, 3)
        self.details["phases"] = self.phases

    # --- processes

    def side(self, torch: bool, cache: str | None = None, home: str = "") -> Side:
        """A fresh worker: Facula's, or PyTorch's under the oracle's Python."""
        environment = {"PYTHONPATH": home or _path_of(torch)}
        if cache is None and (self.options.cold_start_latency or self.options.warm_start_latency):
            cache = tempfile.mkdtemp(prefix="facula-bench-")
            self.caches.append(cache)
        if cache:
            environment.update(TORCHINDUCTOR_CACHE_DIR=cache, FACULA_CACHE_DIR=cache, TORCHINDUCTOR_FX_GRAPH_CACHE="1")
        return Side(self.options.oracle if torch else sys.executable, not torch, self.threads, environment, self.options.verbose)

    def ask(self, side: Side, status: str, what: str, **arguments: Any) -> Any:
        """What the side answers, in the model's time; Ended with this status where the model raises."""
        begun = time.monotonic()
        try:
            return side.ask(what, self.deadline, **arguments)
        except Failed as error:
            if error.oom:
                raise Ended("OOM", str(error))
            if error.kind in ("NotHere", "ModuleNotFoundError") and what == "load":
                raise Ended("missing", error.message)
            if error.kind == "ModuleNotFoundError" and self.peer:
                raise Ended("missing", f"{error.message}: {self.options.oracle} -m pip install {self.peer} onnx onnxscript")
            raise Ended(status, str(error))
        except TimedOut as error:
            raise Ended("timeout", f"after {self.options.timeout} s in {what}" + (f", at {error}" if str(error) else ""))
        except Crashed as error:
            raise Ended("OOM" if error.oom else "crash", f"{error} in {what}")
        finally:
            self.phases[what] = self.phases.get(what, 0.0) + time.monotonic() - begun

    def load(self, side: Side) -> dict:
        settings = {**vars(self.options), "device": self.device}
        return self.ask(side, "model_fail_to_load", "load", suite=self.suite, name=self.planned.name, options=settings,
                        batch_size=self.planned.batch_size, threads=self.threads, memory=self.options.per_process_memory_fraction)  # fmt: skip

    def opened(self, torch: bool, backend: str, name: str, cache: str | None = None, home: str = "") -> Side:
        """A worker that is ready for turns; sets what was learned of the model on its first call for each name."""
        side = self.side(torch, cache, home)
        try:
            about = self.load(side)
            self.row.update(batch_size=about["batch_size"], source=about["source"])
            self.details.setdefault("parameters", about["parameters"])
            smoke = self.ask(side, "eager_fail_to_run", "smoke")
            self.details.setdefault("first", {}).setdefault(name, smoke["value"])
            failing = "warmup_failed" if backend not in ("eager", "nothing") else "eager_fail_to_run"
            compiled = self.ask(side, failing, "compile", backend=backend)
            if "no_compiler" in compiled:
                raise Ended("no_compiler", compiled["no_compiler"])
            steps = STEPS_OF_WARM_UP if smoke["seconds"] < 1 else 2 if smoke["seconds"] < 10 else 1
            warm = self.ask(side, failing, "warm", steps=steps)
            self.learned.setdefault(name, {"torch": about["torch"], "compile": compiled["seconds"], "steps": steps, **warm})
            self.estimate = warm["seconds"] / steps
            return side
        except BaseException:
            side.close()
            raise

    # --- times

    def _performance(self) -> None:
        torch = [False, False, False]
        candidate = self.backend
        if self.options.find_batch_sizes:
            return self._find_batch_size()
        if self.peer:
            self._measured([False, False, True], f"peer:{self.peer}")
            self.row["reason"] = f"speedup is {self.peer} against Facula's eager: what is left to gain"
            return
        if self.backend == "torch" or (self.options.oracle and self.backend in ("inductor", "jit") and not self._compiles()):
            # PyTorch is the baseline and Facula the candidate: 2.0 is twice as fast as PyTorch's eager.
            torch, candidate = [True, True, False], "eager"
            self.details["baseline"] = "PyTorch eager"
        elif self.backend in ("inductor", "jit") and not self._compiles():
            self._measured(torch, "eager")
            self.row.update(speedup=0.0, ci_low=0.0, ci_high=0.0, verdict="UNKNOWN")
            raise Ended("no_compiler", self.why)
        if self.options.warm_start_latency:
            folder = tempfile.mkdtemp(prefix="facula-bench-")
            self.caches.append(folder)
            with contextlib.closing(self.opened(torch[2], candidate, "first start", folder)):
                pass
            self.warm_cache = folder
        self._measured(torch, candidate)
        compared = "no_compiler" if self.backend in ("inductor", "jit") and candidate == "eager" else "measured"
        self.row.update(status=compared, reason="speedup is Facula's eager against PyTorch's eager" if torch[0] else "")
        if compared == "no_compiler":
            self.row["reason"] = f"{self.why}; {self.row['reason']}"

    def _compiles(self) -> bool:
        with contextlib.closing(self.side(False)) as side:
            self.load(side)
            self.ask(side, "eager_fail_to_run", "smoke")
            answer = self.ask(side, "warmup_failed", "compile", backend=self.backend)
        self.why = answer.get("no_compiler", "")
        return not self.why

    def _measured(self, torch: list, candidate: str) -> None:
        options = self.options
        backends = ("eager", "eager", candidate)

        @contextlib.contextmanager
        def start(number: int) -> Iterator[dict]:
            sides: dict[str, Side] = {}
            try:
                # In another order in every pass: whoever starts first may get the better memory.
                for i in ((0, 1, 2), (2, 0, 1), (1, 2, 0))[number % 3]:
                    cache = self.warm_cache if i == 2 else None
                    sides[_measure.SIDES[i]] = self.opened(torch[i], backends[i], _measure.SIDES[i], cache, self.homes[i])
                if number == 0:
                    self._before(sides)
                runs = 1
                if self.estimate * options.iterations_per_run < SHORT:
                    runs = min(1000, max(2, round(SHORT / max(self.estimate * options.iterations_per_run, 1e-7))))
                yield {name: lambda side=side: _measure.Turn(**self.ask(side, "fail_to_run", "turn", runs=runs, steps=options.iterations_per_run))
                       for name, side in sides.items()}  # fmt: skip
            finally:
                for side in sides.values():
                    side.close()

        settings = _measure.Settings(options.repeat, options.passes, options.half_width, options.budget, self.threads)
        self._fill(_measure.measure(start, settings, told=self.told))

    def _before(self, sides: dict[str, Side]) -> None:
        """Once for a model: counts, and what was asked to be looked at."""
        facula = sides["a"] if self.learned["c"]["torch"].startswith("torch") else sides["c"]
        counted = self.ask(facula, "fail_to_run", "counts")
        self.row["counts"] = _counts.text(counted) or "0"
        self.details["counts"] = counted
        self.details["shares"] = self.ask(facula, "fail_to_run", "shares")
        for what, wanted in (("graph", self.options.print_fx), ("operators", self.options.print_aten_ops), ("convolutions", self.options.log_conv_args),
                             ("inputs", self.options.log_operator_inputs), ("trace", self.options.export_profiler_trace),
                             ("memory", self.options.snapshot_memory), ("save_outputs", self.options.save_model_outputs_to),
                             ("compare_outputs", self.options.compare_model_outputs_with)):  # fmt: skip
            if wanted:
                text = self.ask(facula, "fail_to_run", "look", kind=what, path=self._beside(what))
                if text:
                    print(text)

    def _beside(self, what: str) -> str:
        options, name = self.options, self.planned.name.replace("/", "_").split(":")[0]
        if what == "save_outputs":
            return options.save_model_outputs_to
        if what == "compare_outputs":
            return options.compare_model_outputs_with
        if what == "convolutions":
            file = "conv_args.json"
        elif what == "trace":
            file = options.profiler_trace_name or f"{name}_trace.json"
        else:
            file = f"{name}_{what}.{'json' if what == 'inputs' else 'pickle'}"
        return os.path.join(options.output_directory or ".", file)

    def _fill(self, measured: _measure.Measured) -> None:
        judged, learned = measured.judged, self.learned
        eager, other = learned["a"], learned["c"]
        milliseconds = 1e3 * measured.seconds["c"]
        self.row.update(
            speedup=judged.ratio, abs_latency=milliseconds, compilation_latency=max(0.0, other["compile"] + other["seconds"] - eager["seconds"]),
            eager_peak_mem=eager["resident"] / 1e9, dynamo_peak_mem=other["resident"] / 1e9, compression_ratio=eager["resident"] / other["resident"],
            n=judged.rounds, ci_low=judged.low, ci_high=judged.high, noise_floor=judged.floor, verdict=judged.verdict, dropped=measured.dropped,
            status="measured",
        )  # fmt: skip
        if self.options.baseline:
            before = _rows.earlier(self.options.baseline).get(self.planned.name)
            self.row.update(baseline=before or 0.0, speedup_vs_baseline=judged.ratio / before if before else 0.0)
        self.details.update(
            learned=learned, stopped=measured.stopped, passes=measured.passes, cpu_ratio=measured.cpu_ratio, seconds_of=measured.seconds,
            turns=[[{side: vars(turn) for side, turn in r.items()} for r in p] for p in measured.turns],
        )  # fmt: skip
        if self.options.dump_raw_metrics and self.options.output is not None:
            _dump(self.options, self.planned.name, measured.turns)

    def _find_batch_size(self) -> None:
        size = 1024
        while size:
            self.planned = _plan.Planned(self.planned.name, batch_size=size)
            try:
                with contextlib.closing(self.side(False)) as side:
                    self.load(side)
                    self.ask(side, "eager_fail_to_run", "smoke")
                self.row.update(batch_size=size, status="measured", reason="largest batch size that fits", speedup=0.0, abs_latency=0.0)
                return
            except Ended as end:
                if end.status != "OOM":
                    raise
            size //= 2
        raise Ended("OOM", "not even one sample fits")

    def line(self) -> str:
        """What is printed of it."""
        row = self.row
        text = f"{row['dev']:4} {'train' if self.options.training else 'eval':5} {row['name']:34} "
        if self.options.accuracy or self.options.tolerance or row["status"] not in ("measured", "no_compiler"):
            return text + (row["accuracy"] if self.options.accuracy else row["status"]) + (f"  {row['reason']}" if row.get("reason") else "")
        if row["status"] == "no_compiler" and not row["speedup"]:
            return text + f"no_compiler  eager {row['abs_latency']:.3f} ms"
        if "verdict" not in row:
            return text + f"batch size {row['batch_size']}"
        if row.get("baseline"):
            text += f"{row['baseline']:.2f}x -> {row['speedup']:.2f}x [{row['speedup_vs_baseline']:.3f}x]"
        else:
            text += f"{row['speedup']:.3f}x"
        return text + (f" [{row['ci_low']:.3f}, {row['ci_high']:.3f}] {row['verdict']}, noise {100 * row['noise_floor']:.1f}%, {row['abs_latency']:.3f} ms, "
                       f"n={row['n']} ({self.details['stopped']})" + (f", {row['dropped']} dropped" if row["dropped"] else ""))  # fmt: skip


def _dump(options: argparse.Namespace, name: str, turns: list) -> None:
    import numpy

    times = numpy.array([[r[s].wall for s in _measure.SIDES] for p in turns for r in p])
    path = _options.output_path(options)
    if path:
        numpy.save(f"{os.path.splitext(path)[0]}-raw_timings-{name.replace('/', '_').split(':')[0]}.npy", times)


def _cores() -> int:
    from facula import machine

    return machine.cores()


def _path_of(torch: bool) -> str:
    """PYTHONPATH of a worker: with Facula's package for ours, without anything of Facula for PyTorch's."""
    import facula
    from facula import _as_torch

    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    if not torch:
        return _as_torch.environment()["PYTHONPATH"]
    return os.pathsep.join(p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in (home, _as_torch.SHIM))


def run(suite: str, arguments: list[str], prog: str) -> int:
    """A whole command line; the exit status."""
    try:
        options = _options.parse(arguments, prog)
        _options.check(options)
        plan = _plan.plan(suite, options)
        devices = _devices(options)
        if options.baseline:
            options.baseline = os.path.abspath(options.baseline)
            _rows.earlier(options.baseline)
        options.packages = _oracle(options.oracle) if options.oracle else list(_suites.PACKAGES)
        peers = _peer.names(options)
        if options.diff_branch != _options.DIFF_BRANCH:
            from . import _diff

            return _diff.branch(suite, arguments, options.diff_branch)
        from facula import machine

        before = machine.snapshot()
        about = {"suite": suite, "command": arguments, "machine": before, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        table = _rows.Table(_options.output_path(options), options, about)
        table.start()
    except Refused as refused:
        print(f"{prog}: {refused}", file=sys.stderr)
        return 2
    return _all(suite, plan, devices, peers, options, table, before, prog)


def _all(suite: str, plan: list, devices: list, peers: list, options: argparse.Namespace, table: _rows.Table, before: Any, prog: str) -> int:
    from facula import machine
    from facula._command_line import Progress

    wanted = [(device, planned) for device in devices for planned in plan if not table.has(device, planned.name)]
    ended = signal.signal(signal.SIGTERM, _terminate)
    status = 0
    try:
        with Progress(suite, len(wanted)) as bar:
            for number, (device, planned) in enumerate(wanted, 1):
                if options.progress:
                    print(f"Running model {number}/{len(wanted)}", flush=True)
                model = Model(suite, planned, device, options, lambda done, of, name=planned.name: bar.step(f"{name} {done}/{of}", advance=False))
                model.run()
                _write(table, model, before, machine, options)
                bar.step(planned.name)
                for peer in peers:
                    if table.has(device, f"{planned.name}@{peer}"):
                        continue
                    other = _peer.model_of(Model, peer, suite, planned, device, options, lambda done, of: None)
                    other.run()
                    _write(table, other, before, machine, options)
    except KeyboardInterrupt:
        print(f"{prog}: stopped; {len(table.rows)} rows are kept, --retain-output goes on", file=sys.stderr)
        status = 130
    except Refused as refused:
        print(f"{prog}: {refused}", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, ended)
    if options.performance and not options.find_batch_sizes:
        print(table.summary())
    else:
        failures = table.failures()
        print(f"{len(table.rows) - len(failures)} of {len(table.rows)} well" + (f"; not: {', '.join(r['name'] for r in failures)}" if failures else ""))
    if options.print_dataframe_summary:
        for row in table.rows:
            print("  ".join(f"{k}={v}" for k, v in row.items() if v not in ("0", "", "0.000000")))
    if table.path and not options.quiet:
        print(f"rows: {table.path}, all times: {table.path}.json")
    if options.html and table.path:
        from . import _page

        try:
            _page.write(options.html, [table.path])
        except Refused as refused:
            print(f"{prog}: {refused}", file=sys.stderr)
            return 2
    return status or (1 if table.failures() and not (options.accuracy and options.skip_accuracy_check) else 0)


def _terminate(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _write(table: _rows.Table, model: Any, before: Any, machine: Any, options: argparse.Namespace) -> None:
    table.about["machine"] = machine.snapshot(since=before)
    table.add(model.row, model.details)
    print(model.line(), flush=True)
    row = model.row
    if options.print_memory and row.get("eager_peak_mem"):
        print(f"memory: eager: {row['eager_peak_mem']:.2f} GB, dynamo: {row['dynamo_peak_mem']:.2f} GB, ratio: {row['compression_ratio']:.2f}")
    if options.print_compilation_time and "compilation_latency" in row:
        print(f"Compilation time: {row['compilation_latency']:.2f}")
    if (options.explain or options.stats) and row.get("counts"):
        print(f"a step counts {row['counts'].replace(';', ', ')}")
    if options.timing:
        print("seconds: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in model.phases.items()))
    if options._print_latency_ms and "seconds_of" in model.details:
        of = model.details["seconds_of"]
        print(f"{1e3 * statistics.fmean((of['a'], of['b'])):.3f} ms, {1e3 * of['c']:.3f} ms,")


def _devices(options: argparse.Namespace) -> list[str]:
    """Those that exist here; Refused otherwise."""
    from facula import backends

    known = {"cpu": 1, **{b["name"]: len(b["devices"]) for b in backends.backends()}}
    found = []
    for name in options.devices or ["cpu"]:
        if name not in known:
            raise Refused(f"--devices: there is no device {name!r} here; there are {', '.join(known)}")
        found.append(f"{name}:{options.device_index}" if options.device_index and name != "cpu" else name)
    return list(dict.fromkeys(found))


def _oracle(python: str) -> list[str]:
    """Which packages of models both it and we have: all sides run the same text."""
    import importlib.util
    import subprocess

    program = f"import torch, importlib.util as u; torch._C; print(*[p for p in {_suites.PACKAGES} if u.find_spec(p)])"
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": _path_of(True)})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"--oracle: {python} does not run: {error}")
    if done.returncode:
        raise Refused(f"--oracle: {python} has no PyTorch: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    return [p for p in done.stdout.split() if importlib.util.find_spec(p)]
