# SPDX-License-Identifier: Apache-2.0
"""Programs in CUDA-Lite under the value profiler: run once, with the library that watches them from outside; what it leaves is
reported like a profile of Python."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile

from facula import _C
from facula.tools.vprof._findings import PATTERNS, Stacks, findings
from facula.tools.vprof._profile import MODES, values

HERE = os.path.dirname(os.path.abspath(_C.__file__))
LIBRARY = os.path.join(HERE, "facula_hb_values.so")


def is_native(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


class NativeStacks(Stacks):
    """Stacks of compiled code: functions and lines by the files' debug information."""

    def __init__(self, stacks, program):
        super().__init__()
        self._stacks, self._program = stacks, os.path.realpath(program)

    def _find(self, number):
        if number not in self._known:
            from facula.library_profile import symbols

            lines, own = [], None
            for file, address in self._stacks[number - 1] if 0 < number <= len(self._stacks) else ():
                path = self._program if file == "/proc/self/exe" else file
                if os.path.dirname(os.path.realpath(path)) == HERE:
                    continue  # the device and the profiler
                found = symbols.lookup(path, address)
                function = found.function or os.path.basename(path)
                lines.append(f"{found.file or path}({found.line}): {function}")
                if own is None and os.path.realpath(path) == self._program and found.line:
                    own = (found.file, found.line, function)
            self._known[number] = (lines, own)
        return self._known[number]


class Program(values):
    """A profile whose engine ran in another process."""

    def __init__(self, path, told, **options):
        super().__init__(**options)
        self._path, self._results = path, told

    def _stacks_of(self):
        return NativeStacks(self._results["stacks"], self._path)

    @property
    def findings(self):
        return findings(self._results["nodes"], self.options, self._stacks_of())

    @property
    def graph(self):
        from facula.tools.vprof._graph import Graph

        return Graph(self._results["nodes"], [tuple(e) for e in self._results["edges"]], self._stacks_of(), self.findings)

    @property
    def accesses(self):
        from facula.tools.vprof._accesses import AllAccesses

        return AllAccesses(self._results["accesses"], self._results["nodes"], self._stacks_of())

    @property
    def totals(self):
        return self._results["totals"]


def run(prog, path, arguments, options, folder):
    """Runs the program; returns its exit status and the profile, None where it left none."""
    chosen = values(**options).options
    if not os.path.exists(LIBRARY):
        print(f"{prog}: this build has no HammerBlade device, whose programs could be watched", file=sys.stderr)
        return 2, None
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "values.json")
        numbers = {
            "mode": MODES.index(chosen.mode), "patterns": sum(1 << PATTERNS.index(p) for p in set(chosen.patterns)), "floats": int(chosen.floats),
            **{name: getattr(chosen, name) for name in ("frequent", "zero", "heavy_error", "structured_error", "approximate", "budget", "exact_below", "sample")}}  # fmt: skip
        environment = dict(os.environ, FACULA_HB_WATCH=LIBRARY, FACULA_VALUES=out)
        environment["FACULA_VALUES_OPTIONS"] = " ".join(f"{name} {value}" for name, value in numbers.items())
        environment.setdefault("FACULA_HB_MODE", "check")  # fast kernels tell nothing
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (HERE, os.environ.get("LD_LIBRARY_PATH"))))
        try:
            status = subprocess.run([os.path.abspath(path), *arguments], env=environment).returncode
        except OSError as error:
            print(f"{prog}: cannot run {path}: {error.strerror}", file=sys.stderr)
            return 2, None
        try:
            with open(out, encoding="utf-8", errors="replace") as f:
                told = json.load(f)
        except (OSError, ValueError):
            print(f"{prog}: {path} left nothing: it opens no device of libfacula_hb, or was ended before the first results", file=sys.stderr)
            return status or 1, None
    return (128 - status if status < 0 else status), Program(path, told, **{**dataclasses.asdict(chosen), "instructions": True})


def report(prog, path, arguments, options, folder, top, more=None, names="values.html, values.jsonl, accesses.jsonl, values.csv, values.dot"):
    status, profile = run(prog, path, arguments, options, folder)
    if profile is None:
        return status
    for suffix, export in ((".jsonl", profile.export_jsonl), (".csv", profile.export_csv), (".dot", profile.export_dot)):
        export(os.path.join(folder, f"values{suffix}"))
    profile.export_html(os.path.join(folder, "values.html"), os.path.basename(path))
    profile.export_accesses(os.path.join(folder, "accesses.jsonl"))
    if more:
        more(profile)
    print(profile.table(top), end="")
    print(f"results: {folder}/{names}", flush=True)
    return status
