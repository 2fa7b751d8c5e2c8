# SPDX-License-Identifier: Apache-2.0
"""From the engine's call paths to ranked findings: what is wasted, where, how much, and what usually helps."""

import dataclasses
import fnmatch
import math
import os
import sys

from facula import _C

PATTERNS = tuple(_C._value_patterns)

FIXES = {
    "redundant": "drop the write: these elements hold the same bits already",
    "identity": "leave the operator out: its result equals its input",
    "dead": "do not write it: nobody reads it before it is overwritten or freed",
    "fill_accumulate": "write the sum at once (beta=0, out=) instead of filling and adding to it",
    "duplicate": "share one tensor, or move it to the device once: another live tensor holds the same",
    "single_zero": "leave the work out: every element is zero",
    "single_value": "use a number, or expand() one element: every element is the same",
    "frequent": "store it sparse, or skip the value that fills most of it",
    "heavy_type": "a narrower type holds every value",
    "inappropriate_float": "an integer type holds every value",
    "structured": "compute it from the index instead of storing it",
    "approximate": "with fewer bits of mantissa one value is enough: a narrower type, or a number",
    "repeated": "keep the first answer: the same operator got the same input again",
}


@dataclasses.dataclass
class Finding:
    """One kind of waste at one place of the program. `bytes` are those of all its calls."""

    pattern: str
    operator: str
    file: str
    line: int
    tensor: str
    bytes: int
    share: float
    calls: int
    seconds: float
    fix: str
    function: str = ""
    scope: str = ""
    inside: str = ""
    forward: bool = False
    backward: str = ""
    device: str = "cpu"
    object_bytes: int = 0
    byte_share: float = 0.0
    tiles: bool = False
    looked: int = 0
    of: int = 0
    interval: tuple = (0.0, 1.0)
    detail: str = ""
    node: int = 0
    stack: list = dataclasses.field(default_factory=list)

    @property
    def place(self):
        return f"{self.file}:{self.line}" if self.file else "(no line of the program)"

    def as_dict(self):
        out = dataclasses.asdict(self)
        out["interval"] = list(self.interval)
        return out

    def __str__(self):
        sampled = (
            f", {self.looked} of {self.of} calls looked at: {self.interval[0]:.0%} to {self.interval[1]:.0%}"
            if self.looked < self.of
            else ""
        )
        by = " by tiles" if self.tiles else ""
        return f"{self.pattern}: {self.operator} at {self.place}, {self.tensor}: {self.bytes:,} bytes, share {self.share:.2f}{by}{sampled}; {self.fix}"


def _split(line):
    """file, line and function of a stack's line 'file(12): name'."""
    place, _, function = line.partition("): ")
    file, _, number = place.rpartition("(")
    return file, int(number or 0), function


class Stacks:
    """Stacks of the program by their number, innermost first; a line of Facula's own package is none of the program's."""

    def __init__(self):
        import facula

        self._home = os.path.dirname(os.path.abspath(facula.__file__)) + os.sep
        self._known = {0: ([], None)}

    def lines(self, number):
        return self._find(number)[0]

    def place(self, number):
        """file, line and function of the program's innermost frame."""
        return self._find(number)[1] or ("", 0, "")

    def _find(self, number):
        if number not in self._known:
            lines = _C._stack_lines(number)
            own = next((line for line in lines if not line.startswith((self._home, "<frozen"))), None)
            self._known[number] = (lines, _split(own) if own else None)
        return self._known[number]


def _interval(share, looked, calls):
    """Where the share of all calls lies if those looked at were drawn at random: Wilson's interval, 95 %."""
    if looked >= calls or not looked:
        return (share, share) if looked else (0.0, 1.0)
    z = 1.96
    middle = (share + z * z / (2 * looked)) / (1 + z * z / looked)
    half = z * math.sqrt(share * (1 - share) / looked + z * z / (4 * looked * looked)) / (1 + z * z / looked)
    return (max(0.0, middle - half), min(1.0, middle + half))


def _detail(pattern, node):
    if pattern in ("heavy_type", "inappropriate_float") and node["narrow"]:
        return f"{node['narrow']} holds every value"
    if pattern == "single_value":
        return f"all are {node['number']:g}"
    if pattern == "frequent":
        return f"{node['frequent']:.0%} are {node['number']:g}"
    if pattern == "structured":
        return f"{node['base']:g} + {node['slope']:g} * index"
    if pattern == "approximate":
        return f"{node['frequent']:.0%} are about {node['number']:g}"
    return ""


_OF_VALUES = (
    "redundant",
    "single_zero",
    "single_value",
    "frequent",
    "heavy_type",
    "inappropriate_float",
    "structured",
    "approximate",
)


_native = {}


def native_lines(number):
    """Frames of compiled code (with native=True), innermost first, as 'file(line): function'; the interpreter's are left out."""
    if number not in _native:
        lines = []
        for path, address in _C._native_frames(number) if number else ():
            from facula.library_profile import symbols

            path = sys.executable if path == "/proc/self/exe" else path
            found = symbols.lookup(path, address)
            if os.path.realpath(path) == os.path.realpath(sys.executable) or "libpython" in path or not found.function or "/observe" in found.file:
                continue
            lines.append(f"{found.file or path}({found.line}): {found.function}")
        _native[number] = lines
    return _native[number]


class Rows:
    """The engine's nodes, and what follows from where they hang in the tree of call paths."""

    def __init__(self, nodes, stacks=None):
        self.nodes, self.stacks = nodes, stacks or Stacks()

    def top(self, i):
        while self.nodes[i]["parent"]:
            i = self.nodes[i]["parent"]
        return i

    def path(self, i):
        """Names from below the program's call down to the node."""
        names = []
        while self.nodes[i]["parent"]:
            names.append(self.nodes[i]["name"])
            i = self.nodes[i]["parent"]
        return " > ".join(reversed(names))

    def place(self, top):
        """file, line, function, whether it is that of the forward call, and the stack's lines."""
        number = top["forward"] or top["stack"]
        lines = self.stacks.lines(number)
        return *self.stacks.place(number), bool(top["forward"]), native_lines(top["native"]) + lines


class _Sum:
    """What is found at one place of the program, of all call paths that lead there."""

    def __init__(self):
        self.bytes = self.calls = self.of = self.looked = self.object = self.whole = self.unchanged_bytes = (
            self.judged
        ) = 0
        self.seconds, self.tiles, self.largest = 0.0, False, None


def findings(nodes, options, stacks=None):
    """Ranked: what costs most time first, then most bytes."""
    rows, sums = Rows(nodes, stacks), {}
    for i, node in enumerate(nodes):
        if not (node["found"] or node["calls"] or node["written"]):
            continue
        top = nodes[rows.top(i)]
        place = rows.place(top)
        own = rows.stacks.place(top["stack"]) if top["forward"] else ("", 0, "")
        key = (top["operator"].split(".")[0] or top["name"], *place[:4], own[:2], rows.path(i), top["scope"])
        for pattern in PATTERNS:
            size, calls = node["found"].get(pattern, (0, 0))
            s = sums.setdefault((pattern, *key), _Sum())
            count = max(node["calls"], node["looked"], calls)
            whole = node["judged"] if pattern in _OF_VALUES else node["written"]
            s.bytes, s.calls, s.of, s.looked = (
                s.bytes + size,
                s.calls + calls,
                s.of + count,
                s.looked + (node["looked"] or count),
            )
            s.whole, s.object, s.judged = (
                s.whole + whole,
                s.object + node["object"],
                s.judged + node["judged"],
            )
            s.unchanged_bytes += node["unchanged_bytes"]
            s.seconds += (node["ns"] or top["ns"]) * 1e-9
            s.tiles |= node["tiles"] > 0
            if calls and (s.largest is None or size > s.largest[0]):
                s.largest = (size, i, top, place)
    out = []
    for (pattern, operator, file, line, function, forward, own, inside, scope), s in sums.items():
        if not s.calls:
            continue
        share = s.calls / s.of if pattern in ("identity", "repeated") else s.bytes / max(s.whole, s.bytes, 1)
        if share < options.share or s.bytes < options.min_bytes:
            continue
        _, i, top, place = s.largest
        node = nodes[i]
        found = Finding(
            pattern=pattern, operator=operator, file=file, line=line, tensor=node["tensor"] or top["tensor"], bytes=s.bytes, share=share, calls=s.calls,
            seconds=s.seconds * share, fix=FIXES[pattern], function=function, scope=scope, inside=inside, forward=forward,
            backward=f"{own[0]}:{own[1]}" if own[0] else "", device=node["device"], object_bytes=s.object,
            byte_share=s.unchanged_bytes / s.judged if pattern == "redundant" and s.judged else share, tiles=pattern == "redundant" and s.tiles,
            looked=s.looked, of=s.of, interval=_interval(share, s.looked, s.of), detail=_detail(pattern, node), node=i, stack=place[4])  # fmt: skip
        if options.shows(found):
            out.append(found)
    out.sort(key=lambda f: (-f.seconds, -f.bytes, f.pattern, f.place))
    return out


def matches(globs, *texts):
    return any(fnmatch.fnmatch(text, glob) for glob in globs for text in texts)
