# SPDX-License-Identifier: Apache-2.0
"""`torch.profiler.values()`: when to look and at what, and what is asked of the results."""

import contextlib
import dataclasses
import json
import os
import weakref

from facula import _C
from facula.tools.vprof._findings import PATTERNS, Stacks, findings, matches

MODES = ("default", "exact", "budget")
_running = weakref.WeakSet()
_ignored = weakref.WeakValueDictionary()  # tensors that no finding shall be about, by their identity


def ignore(tensor):
    """No finding is about this tensor's memory from now on, in any profile. Returns the tensor."""
    if not isinstance(tensor, _C.TensorBase):
        raise TypeError(f"ignore: expected a tensor, got {type(tensor).__name__}")
    _ignored[id(tensor)] = tensor
    for profile in list(_running):
        profile._engine.ignore(tensor)
    return tensor


def _texts(name, given):
    """A list of globs."""
    if given is None:
        return ()
    globs = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(g, str) and g for g in globs):
        raise TypeError(f"values: {name} is a glob or a list of globs, got {given!r}")
    return globs


@dataclasses.dataclass
class Options:
    """What is looked for, and from which size and share on it is told."""

    mode: str = "default"
    patterns: tuple = PATTERNS
    min_bytes: int = 4096
    share: float = 0.33
    frequent: float = 0.5
    zero: float = 0.0
    heavy_error: float = 0.0
    structured_error: float = 1e-6
    approximate: int = 5
    budget: float = 0.05
    exact_below: int = 65536
    sample: int = 1
    operators: tuple = ()
    modules: tuple = ()
    files: tuple = ()
    exclude: tuple = ()
    instructions: bool = False
    floats: bool = False
    native: bool = False

    def __post_init__(self):
        if self.mode not in MODES:
            raise ValueError(f"values: mode is one of {', '.join(MODES)}, got {self.mode!r}")
        self.patterns = (
            (self.patterns,)
            if isinstance(self.patterns, str)
            else tuple(PATTERNS if self.patterns is None else self.patterns)
        )
        unknown = [p for p in self.patterns if p not in PATTERNS]
        if unknown or not self.patterns:
            raise ValueError(
                f"values: patterns are some of {', '.join(PATTERNS)}; got {', '.join(map(str, unknown)) or 'none'}"
            )
        for name, low, high in (
            ("share", 0, 1),
            ("frequent", 0, 1),
            ("budget", 0, 1),
            ("zero", 0, float("inf")),
            ("heavy_error", 0, 1),
            ("structured_error", 0, 1),
        ):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"values: {name} is a number from {low} to {high}, got {value!r}")
        for name, low, high in (
            ("min_bytes", 0, 2**62),
            ("exact_below", 0, 2**62),
            ("approximate", 1, 5),
            ("sample", 1, 2**62),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"values: {name} is a whole number from {low} to {high}, got {value!r}")
        for name in ("instructions", "floats", "native"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"values: {name} is True or False, got {getattr(self, name)!r}")
        for name in ("operators", "modules", "files", "exclude"):
            setattr(self, name, _texts(name, getattr(self, name)))

    def engine(self):
        return _C._Values(
            mode=MODES.index(self.mode), patterns=sum(1 << PATTERNS.index(p) for p in set(self.patterns)), frequent=self.frequent, zero=self.zero,
            heavy_error=self.heavy_error, structured_error=self.structured_error, approximate=self.approximate, budget=self.budget, exact_below=self.exact_below, sample=self.sample,
            instructions=self.instructions, floats=self.floats, native=self.native)  # fmt: skip

    def shows(self, found):
        """Whether the filters let a finding through."""
        if found.pattern not in self.patterns:
            return False
        names = (found.operator, found.operator.rpartition("::")[2])
        places = (
            found.file,
            f"{found.file}:{found.line}",
            os.path.basename(found.file),
            f"{os.path.basename(found.file)}:{found.line}",
        )
        if self.exclude and matches(self.exclude, *names, *places, found.scope):
            return False
        if self.operators and not matches(self.operators, *names):
            return False
        if self.modules and not matches(self.modules, found.scope, *found.scope.split(" / ")):
            return False
        return not self.files or matches(self.files, *places)


class values:
    """Follows versions of memory through all calls between start() and stop(), or in a `with` block, and finds what is
    written, read or computed for nothing (docs/values.md).

    mode: "default" (what was there before is known by digests of 1024 elements), "exact" (it is copied), "budget" (only as many
    calls of each call path are looked at as cost the share `budget` of the time). patterns: which; min_bytes and share: from where
    on a finding is told. operators, modules, files: globs of what is told ("aten::mul", "*.layer1.*", "train.py:12"); exclude: of
    what is not. scopes=True names the module that each finding is in, which costs a hook
    per call of a module; a filter by modules switches it on. process=False watches this thread and those that work for it; children=True goes on in forked processes.
    instructions=True follows single loads and stores of kernels where a device tells them (`accesses`); floats=True takes words in memory
    of no known type for float32. native=True adds the frames of compiled code to stacks.
    """

    def __init__(
        self, mode="default", patterns=None, *, process=True, children=False, scopes=None, **options
    ):
        unknown = [name for name in options if name not in Options.__dataclass_fields__]
        if unknown:
            raise TypeError(
                f"values: unknown option {unknown[0]!r}; there are mode, patterns, process, children, {', '.join(list(Options.__dataclass_fields__)[2:])}"
            )
        self.options = Options(mode=mode, patterns=PATTERNS if patterns is None else patterns, **options)
        self._engine, self._process, self._children = self.options.engine(), process, children
        self._scopes = bool(self.options.modules) if scopes is None else scopes
        self._modules, self._on = None, False

    # --- when
    def start(self):
        from facula.profiler._profile import _Modules

        if self._on:
            raise RuntimeError("values: this profile is running already; stop it before it is started again")
        if self._scopes:
            self._modules = _Modules()
            self._modules.start()
        self._engine.start(self._process, self._children)
        self._on = True
        _running.add(self)
        for tensor in list(_ignored.values()):
            self._engine.ignore(tensor)
        return self

    def stop(self):
        if not self._on:
            return
        self._on = False
        self._engine.stop()
        if self._modules is not None:
            self._modules.stop()
            self._modules = None
        _running.discard(self)

    __enter__ = start

    def __exit__(self, *error):
        self.stop()

    @contextlib.contextmanager
    def pause(self):
        """A part of the program that is not looked at; what it writes is unknown afterwards."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    # --- what
    @property
    def findings(self):
        """What was found so far, the most expensive first."""
        return findings(self._engine.nodes(), self.options)

    @property
    def graph(self):
        """Who wrote what whoever else reads or overwrites: nodes are call paths."""
        from facula.tools.vprof._graph import Graph

        return Graph(self._engine.nodes(), self._engine.edges(), Stacks(), self.findings)

    @property
    def accesses(self):
        """Single loads and stores of kernels, by line and object (with instructions=True)."""
        from facula.tools.vprof._accesses import AllAccesses

        return AllAccesses(self._engine.accesses(), self._engine.nodes())

    @property
    def totals(self):
        """What the profile itself saw and cost: events, looked_bytes, copied_bytes, own_ns, ns, crowded, lost, skipped."""
        return self._engine.totals()

    def assert_none(self, *patterns, min_bytes=4096, share=None):
        """Raises AssertionError with the findings of these patterns (of all, if none is named) that waste at least so many bytes."""
        unknown = [p for p in patterns if p not in PATTERNS]
        if unknown:
            raise ValueError(f"assert_none: patterns are some of {', '.join(PATTERNS)}; got {unknown[0]!r}")
        told = [
            f
            for f in self.findings
            if f.pattern in (patterns or PATTERNS) and f.bytes >= min_bytes and f.share >= (share or 0)
        ]
        if told:
            raise AssertionError(
                f"{len(told)} finding{'s' * (len(told) > 1)}:\n" + "\n".join(f"  {f}" for f in told[:20])
            )

    def table(self, top=30):
        """The findings as text."""
        from facula.tools.vprof._report import table

        text = table(self.findings, self.totals, top)
        return text + "\n" + self.accesses.table(top) if self.options.instructions else text

    __str__ = table

    def export_jsonl(self, path):
        from facula._command_line import write_file

        write_file(path, "".join(json.dumps(f.as_dict()) + "\n" for f in self.findings))

    def export_accesses(self, path):
        """JSON lines: a row of `accesses` each; kernels that told none are at the end."""
        from facula._command_line import write_file

        told = self.accesses
        rows = [r.as_dict() for r in told.rows] + [
            {"kernel": kernel, "unseen_launches": n} for kernel, n in sorted(told.unseen.items())
        ]
        write_file(path, "".join(json.dumps(row) + "\n" for row in rows))

    def export_csv(self, path):
        from facula._command_line import write_file
        from facula.tools.vprof._report import csv_text

        write_file(path, csv_text(self.findings))

    def export_dot(self, path, **options):
        from facula._command_line import write_file

        write_file(path, self.graph.dot(**options))

    def export_html(self, path, title="values"):
        from facula._command_line import write_file
        from facula.tools.vprof._report import page

        write_file(path, page(self, title))
