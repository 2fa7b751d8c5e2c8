# SPDX-License-Identifier: Apache-2.0
"""What a device has of what a program needs: `facula coverage program.py --device D`, or around a part of a program

    with torch.profiler.coverage.Coverage("example") as c:
        step()
    print(c.table())
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from facula import _C, backends

# How a device answers, in the order of the table: what is slow or missing comes first.
PATHS = {
    "fallback": "computed on the CPU, with copies there and back",
    "decomposition": "written in other operators for devices without a kernel",
    "layer": "answered by a layer of the program's",
    "family": "one kernel of a family that the device offers",
    "kernel": "the device's own kernel",
    "composite": "always written in other operators, which are listed themselves",
}


class Row(NamedTuple):
    """All calls of an operator that are answered in one way."""

    operator: str
    path: str  # a key of PATHS; "elsewhere": not judged (its device is neither the CPU nor the one asked about)
    seen: bool  # the device was asked; False: the call was on the CPU, and this is what the device would do
    calls: int
    self_us: float  # without the calls inside that have rows of their own
    device_us: float  # what the device tells of it
    bytes: int  # what the tensors of the calls hold


class Coverage:
    """Records which operators are called on every thread, and how a device answers them.

    Calls on the device are judged by what happened. Calls on the CPU are judged by what the device has for the operator and
    the families that it was computed by; whether the device declines a type or a shape shows when it is asked. What kernels
    and fallbacks call inside belongs to them; what composites and decompositions are made of has rows of its own.
    """

    def __init__(self, device: str):
        self.device = _C.device(device).type  # says what is wrong with it, or finds the backend that is installed under this name
        self._recorder: Any = None
        self.rows: list[Row] = []

    def start(self) -> None:
        if self._recorder is not None:
            raise RuntimeError("Coverage: it has been started already; stop() it before it is started again")
        self._recorder = _C._Recorder(flops=True, kernels=True, process=True)
        self._recorder.start()

    def stop(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop()
            self.rows = _judge(recorder.rows(), self.device)

    def __enter__(self) -> Coverage:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def unimplemented(self) -> dict[str, int]:
        """{operator: calls} of those that the device leaves to the CPU: the port's Unimpl."""
        found: dict[str, int] = {}
        for row in self.rows:
            if row.path == "fallback":
                found[row.operator] = found.get(row.operator, 0) + row.calls
        return dict(sorted(found.items()))

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {"device": self.device, "paths": {p: {"operators": len({r.operator for r in rs}), "calls": sum(r.calls for r in rs), "self_us": round(sum(r.self_us for r in rs), 3)}
                                                 for p, rs in self._by_path()}, "operators": [_plain(row) for row in self.rows]}  # fmt: skip

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=Row._fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_plain, self.rows))
        return text.getvalue()

    def table(self, limit: int | None = None) -> str:
        """A line per operator and way, the slowest of each way first, and sums."""
        if not self.rows:
            return "No operator was called.\n"
        total = sum(row.self_us for row in self.rows) or 1.0
        device_time = any(row.device_us for row in self.rows)
        head = ["Operator", "Path", "Calls", "Self time", "Share", *(["Device time"] if device_time else []), "Bytes"]
        cells = [[row.operator, row.path + ("" if row.seen else "*"), str(row.calls), f"{row.self_us / 1000:.3f} ms", f"{100 * row.self_us / total:.1f}%",
                  *([f"{row.device_us / 1000:.3f} ms"] if device_time else []), str(row.bytes)] for row in self.rows[:limit]]  # fmt: skip
        widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
        put = lambda line: "  ".join(text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths))).rstrip()  # noqa: E731
        out = [f"Operators of the program on {self.device}", put(head), "  ".join("-" * w for w in widths), *map(put, cells)]
        if limit is not None and len(self.rows) > limit:
            out.append(f"({len(self.rows) - limit} more)")
        out.append("")
        for path, rows in self._by_path():
            share = 100 * sum(r.self_us for r in rows) / total
            out.append(f"{path:13}  {len({r.operator for r in rows}):4} operators  {sum(r.calls for r in rows):7} calls  {share:5.1f}% of the time: {PATHS.get(path, 'on another device')}")
        if not all(row.seen for row in self.rows):
            out.append(f"* called on the CPU: what {self.device} would do, by what it offers")
        return "\n".join(out) + "\n"

    def _by_path(self) -> list[tuple[str, list[Row]]]:
        return [(p, rows) for p in (*PATHS, "elsewhere") if (rows := [r for r in self.rows if r.path == p])]


def _plain(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "self_us": round(row.self_us, 3), "device_us": round(row.device_us, 3)}


def _operator(row: tuple) -> str:
    return f"{row[0]}.{row[1]}" if row[1] else row[0]


def foretold(operator: str, families: Iterable[str], device: str) -> str:
    """How a device would answer a call that was made on the CPU and computed by these families there."""
    path = _C._find_operator(operator)._path_on(device)
    offered = {family for b in backends.backends() if b["name"] == device for family in b["families"]}
    return "fallback" if path == "family" and not offered.issuperset(families) else path


def _judge(recorded: list[tuple], device: str) -> list[Row]:
    calls = {row[6]: row for row in recorded if row[9] in ("call", "range")}
    families: dict[int, set[str]] = {}  # that a call was computed by
    for row in recorded:
        if row[9] == "launch":
            families.setdefault(row[6], set()).add(row[0].partition(" ")[0])

    known: dict[tuple[str, frozenset[str]], str] = {}

    def answer(row: tuple) -> tuple[str, bool]:
        place = row[12].partition(":")[0]
        if place in (device, "meta"):
            return row[10], True
        if place != "cpu":
            return "elsewhere", True
        key = (_operator(row), frozenset(families.get(row[6], ())))
        if key not in known:
            known[key] = foretold(*key, device)
        return known[key], False

    around: dict[int, int | None] = {}  # the call around one that has a row of its own, ranges looked through
    own: dict[int, list[int]] = {}  # nanoseconds that a call takes itself, and those that a device tells
    for row in sorted(calls.values(), key=lambda row: (row[3], row[6])):  # a call begins before those inside
        number, outer = row[6], calls.get(row[7])
        if outer is None:
            around[number] = None
        elif outer[6] not in around:
            continue
        elif outer[9] == "range":
            around[number] = around[outer[6]]
        elif outer[10] in ("composite", "decomposition"):
            around[number] = outer[6]
        else:
            continue
        if row[9] == "call":
            own[number] = [row[4] - row[3], row[21]]
            owner = around[number]
            if owner is not None and calls[owner][2] == row[2]:
                own[owner] = [ours - part for ours, part in zip(own[owner], own[number])]
    sums: dict[tuple[str, str, bool], list[float]] = {}
    for number, (took, told) in own.items():
        row = calls[number]
        at = sums.setdefault((_operator(row), *answer(row)), [0, 0, 0, 0])
        for i, value in enumerate((1, max(took, 0) / 1000, max(told, 0) / 1000, row[20])):
            at[i] += value
    order = [*PATHS, "elsewhere"]
    made = [Row(operator, path, seen, int(n), us, device_us, int(size)) for (operator, path, seen), (n, us, device_us, size) in sums.items()]
    return sorted(made, key=lambda r: (order.index(r.path), -r.self_us, r.operator))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula coverage", allow_abbrev=False, usage="facula coverage [-m] PROGRAM --device D [OPTION ...] [ARGUMENT ...] [-- ARGUMENT ...]",
                                     description="Runs a program and says which operators it needs, which of them a device has, and which it leaves to the CPU.",
                                     epilog="What is not an option above is handed to the program, and everything after --.")  # fmt: skip
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module's name")
    parser.add_argument("program", metavar="PROGRAM", help="a Python script, or a module's name with -m")
    parser.add_argument("--device", required=True, metavar="D", help="the device that is judged, or its library's path; the program's tensors are made on it unless it says where")
    parser.add_argument("--predict", action="store_true", help="leave the program's tensors where they are; calls on the CPU are judged by what the device offers")
    parser.add_argument("--top", type=int, metavar="N", help="rows of the table (all)")
    parser.add_argument("--json", metavar="FILE", help="write the data")
    parser.add_argument("--csv", metavar="FILE", help="write the rows")
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    args, args.arguments = parser.parse_known_args(ours)
    args.arguments += arguments[len(ours) + 1 :]
    return run(args)


def run(args: Any) -> int:
    import facula
    from facula._command_line import write_file
    from facula.profiler._command import can_write, run_program

    try:
        if args.device.endswith(".so"):
            args.device = backends.load_backend(args.device)
        coverage = Coverage(args.device)
    except (RuntimeError, ImportError) as error:
        print(f"facula coverage: {error}", file=sys.stderr)
        return 2
    if not can_write("coverage", args.json, args.csv):
        return 2
    if not args.predict:
        facula.set_default_device(args.device)
    status = run_program(args, coverage)
    print(coverage.table(args.top), end="")
    try:
        if args.json:
            write_file(args.json, json.dumps(coverage.data(), indent=1) + "\n")
        if args.csv:
            write_file(args.csv, coverage.csv())
    except OSError as error:  # a full disk
        print(f"facula coverage: cannot write {error.filename or 'the data'}: {error.strerror}", file=sys.stderr)
        return status or 1
    return status
