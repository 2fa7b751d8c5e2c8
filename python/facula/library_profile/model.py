# SPDX-License-Identifier: Apache-2.0
"""A profile with names: the tree of calls, what each function took itself, who called what how often."""

from __future__ import annotations

import bisect
import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Optional
from collections.abc import Callable

from facula.library_profile import symbols
from facula.library_profile.record import Calls, Place, Product, Samples, perf_map

GENERATED, UNKNOWN = "[generated code]", "[callers unknown]"
_INTERPRETER = re.compile(r"^(lib)?python3?(\.\d+)*[a-z]*(\.so.*)?$")
_OURS = ("libfacula_calls.so", "libfacula_sampler.so")


def matches(name: str, path: str) -> bool:
    """Whether what a person called a library is this file: `libopenblas.so` is libopenblas.so.0 as well."""
    base = os.path.basename(path)
    if name == "all" or base == name or base.startswith(name + "."):
        return True
    try:
        return "/" in name and os.path.samefile(name, path)
    except OSError:
        return False


@dataclass(frozen=True)
class Function:
    name: str
    object: str  # path; a Python function's file
    python: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def where(self) -> str:
        return os.path.basename(self.object) if self.object else ""


@dataclass
class Node:
    function: Optional[Function]
    own: int = 0
    total: int = 0
    children: dict = field(default_factory=dict)  # (Function, line of Python or 0): Node
    lines: Counter = field(default_factory=Counter)  # (file, line): ticks

    def heaviest(self) -> list:
        return sorted(self.children.values(), key=lambda n: -n.total)

    def enter(self, function: Function, line: int) -> Node:
        """The child; lines of one Python function are told apart."""
        key = (function, line if function.python else 0)
        if key not in self.children:
            self.children[key] = Node(function)
        return self.children[key]

    def label(self) -> str:
        f = self.function
        if f is None:
            return "all"
        return f"{f.name} ({f.where}:{self.line()[1]})" if f.python else f.name

    def line(self) -> tuple:
        return self.lines.most_common(1)[0][0] if self.lines else ("", 0)


@dataclass
class Row:
    function: Function
    own: int = 0
    total: int = 0
    calls: int = 0


class Namer:
    """Gives places their functions."""

    def __init__(self) -> None:
        self.maps: dict = {}
        self.known: dict = {}

    def __call__(self, place: Place) -> tuple:
        """(Function, file, line)"""
        if place not in self.known:
            self.known[place] = self._find(place)
        return self.known[place]

    def _find(self, place: Place) -> tuple:
        if place.python:
            return Function(place.python, place.object, True), place.object, place.line
        if not place.object:
            if place.process not in self.maps:
                self.maps[place.process] = perf_map(place.process)
            rows = self.maps[place.process]
            i = bisect.bisect_right(rows, (place.address, 1 << 64, "")) - 1
            named = i >= 0 and place.address < rows[i][1]
            return Function(f"{GENERATED} {rows[i][2]}" if named else GENERATED, ""), "", 0
        if place.object.startswith("linux-vdso"):
            return Function("[clock, by the kernel's vdso]", place.object), "", 0
        found = symbols.lookup(place.object, place.address)
        name = found.function or f"{symbols.function_start(place.object, place.address):#x}"
        return Function(name, place.object), found.file, found.line


@dataclass
class Profile:
    names: list  # what was asked for
    program: str
    period: float
    root: Node
    rows: dict  # Function: Row
    pairs: Counter  # (caller Function or None, callee Function): calls
    products: list
    samples: int = 0
    ticks: int = 0
    lost: int = 0
    cut: int = 0
    lost_calls: int = 0
    uncounted: int = 0  # functions whose calls are not counted
    handler_seconds: float = 0.0
    processes: int = 0
    threads: int = 0
    loaded: list = field(default_factory=list)
    chosen: list = field(default_factory=list)  # objects that the names stand for
    found: set = field(default_factory=set)  # of the names, those that stand for one
    other_python: int = 0
    partial: bool = False
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    exit_code: int = 0
    call_seconds: float = 0.0  # spent in counting calls, from what one cost when the program started

    def is_chosen(self, function: Function) -> bool:
        return function.object in self.chosen_set

    def finish(self) -> None:
        self.chosen_set = set(self.chosen)

    @property
    def calls(self) -> int:
        return sum(self.pairs.values())

    @property
    def rate(self) -> float:
        """Samples per second of CPU time."""
        return self.samples / (self.ticks * self.period) if self.ticks else 0.0

    @property
    def overhead(self) -> float:
        """Estimated share of the CPU time that profiling took."""
        spent = self.handler_seconds + self.call_seconds
        return spent / self.cpu_seconds if self.cpu_seconds else 0.0

    def seconds(self, ticks: int) -> float:
        return ticks * self.period

    def flat(self, objects: Optional[set] = None) -> list:
        rows = [r for r in self.rows.values() if (r.own or r.calls or r.total) and (objects is None or r.function.object in objects)]
        return sorted(rows, key=lambda r: (-r.own, -r.total, -r.calls, r.function.name))

    def by_object(self) -> list:
        own: Counter = Counter()
        for row in self.rows.values():
            own["Python code" if row.function.python else row.function.object or GENERATED] += row.own
        return own.most_common()

    def folded(self) -> list:
        lines: list = []

        def walk(node: Node, path: list) -> None:
            here = path + [node.label().replace(";", ",")] if node.function else path
            if node.own:
                lines.append(f"{';'.join(here)} {node.own}")
            for child in node.heaviest():
                walk(child, here)

        walk(self.root, [])
        return lines

    def unnamed(self, path: str) -> float:
        """Share of an object's own ticks that no name is known for."""
        rows = [r for r in self.rows.values() if r.function.object == path]
        total = sum(r.own for r in rows)
        return sum(r.own for r in rows if r.function.name.startswith("0x")) / total if total else 0.0


def _stack(frames: list, namer: Namer, program: str) -> list:
    """[(Function, file, line)] without the interpreter between Python's frames, our own entries and the launcher."""
    named = [namer(place) for place in frames if not place.object.startswith("<frozen importlib")]
    python = [i for i, (f, _, _) in enumerate(named) if f.python]
    keep = [i for i, (f, _, _) in enumerate(named) if os.path.basename(f.object) not in _OURS]
    if python:
        first = next((i for i in python if named[i][0].object == program), python[0])
        last = len(named) - 1
        keep = [i for i in keep if i >= first and (i == last or named[i][0].python or not _INTERPRETER.match(named[i][0].where))]
    return [named[i] for i in keep]


def build(names: list, program: str, samples: list, calls: list, progress: Callable = lambda items: items) -> Profile:
    namer = Namer()
    root = Node(None)
    rows: dict = defaultdict(lambda: None)
    period = samples[0].period if samples else 1e-3
    profile = Profile(names, program, period, root, {}, Counter(), [])
    threads, processes = set(), set()

    def row(function: Function) -> Row:
        if rows[function] is None:
            rows[function] = Row(function)
        return rows[function]

    for run in samples:
        _count(profile, run)
        for (process, thread, _), *_ in (stack for stack, _ in run.stacks):
            processes.add(process)
            threads.add((process, thread))
    for run in progress(samples):
        for ((process, thread, comm), *frames), ticks in run.stacks:
            top = [Function("main thread" if process == thread else f"threads of {comm}", "")]
            if len(processes) > 1:
                top.insert(0, Function(f"process {process} ({os.path.basename(run.program)})", ""))
            followed = _stack(frames, namer, program)
            if followed and followed[0][0].name.startswith(GENERATED):  # without a table to follow its stack by
                top.append(Function(UNKNOWN, ""))
            stack = [(f, "", 0) for f in top] + followed
            node, seen = root, set()
            node.total += ticks
            for function, file, line in stack:
                node = node.enter(function, line)
                node.total += ticks
                if line:
                    node.lines[file, line] += ticks
                if function not in seen:
                    seen.add(function)
                    row(function).total += ticks
            node.own += ticks
            row(stack[-1][0]).own += ticks
    order: dict = {}
    for counted in calls:
        profile.lost_calls += counted.lost
        profile.uncounted = max(profile.uncounted, counted.uncounted)
        profile.call_seconds += counted.call_seconds * sum(n for *_, n in counted.pairs)
        profile.loaded += [p for p in counted.loaded if p not in profile.loaded]
        order.update(counted.chosen)
        for caller, name, where, count in counted.pairs:
            callee = Function(symbols.demangle(name), where)
            profile.pairs[namer(caller)[0] if caller else None, callee] += count
            row(callee).calls += count
    profile.chosen = sorted(order, key=lambda path: order[path])
    profile.found = {names[i] for i in order.values() if i < len(names)}
    profile.products = _merge(calls)
    profile.rows = {f: r for f, r in rows.items() if r is not None and (f.object or f.name.startswith(GENERATED))}
    profile.processes, profile.threads = len(processes), len(threads)
    profile.finish()
    return profile


def _count(profile: Profile, run: Samples) -> None:
    profile.samples += run.samples
    profile.ticks += sum(ticks for _, ticks in run.stacks)
    profile.lost += run.lost
    profile.cut += run.cut
    profile.handler_seconds += run.handler_seconds
    profile.other_python = profile.other_python or run.other_python
    profile.partial = profile.partial or not run.whole


def _merge(calls: list) -> list:
    merged: dict = {}
    for counted in calls:
        for p in counted.products:
            key = (p.function, p.object, p.layout, p.transposed, p.m, p.n, p.k)
            if key in merged:
                merged[key].calls += p.calls
                merged[key].seconds += p.seconds
            else:
                merged[key] = p
    return sorted(merged.values(), key=lambda p: -p.seconds)


__all__ = ["Calls", "Function", "Node", "Product", "Profile", "Row", "build", "matches"]
