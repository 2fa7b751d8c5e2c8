# SPDX-License-Identifier: Apache-2.0
"""Reads what the sampler and the counter of calls leave behind (src/sampler/store.h, call_table.h).

A process that was killed leaves its files as they stood: what is whole is read, the rest is left out.
"""

from __future__ import annotations

import glob
import os
import struct
from dataclasses import dataclass, field
from typing import Optional

THREAD, NATIVE, PYTHON, OBJECT, CODE = range(1, 6)
FORBIDDEN = 0xFFFFFFFF  # in place of another Python's version: its frames may not be read
_RECORD = struct.Struct("<HHIIIQ")
_HEADER = struct.Struct("<8sII7QII512s")
_CODE_TEXT = struct.Struct("<i3H3B2BB")
_FIRST = 4096


class Unreadable(Exception):
    """A file is not what it should be; the text is one sentence."""


@dataclass(frozen=True)
class Place:
    """Where a frame is, before it has a name: a line of Python, or an address of a file."""

    object: str  # path; "" for generated code
    address: int  # in the object, or in memory
    python: str = ""  # qualified name
    line: int = 0
    process: int = 0  # of generated code: its addresses mean something in one process only


@dataclass
class Samples:
    process: int
    program: str
    period: float  # seconds
    samples: int
    ticks: int
    lost: int
    cut: int
    handler_seconds: float
    python: int  # version * 256 + subversion whose lines were read, or 0
    other_python: int
    whole: bool  # False: records are missing at the end
    # Each stack, outermost first, after (process, thread, thread's name), with its ticks.
    stacks: list = field(default_factory=list)


@dataclass
class Product:
    function: str
    object: str
    kind: str
    layout: str
    transposed: str  # "NT"
    m: int
    n: int
    k: int
    calls: int
    seconds: float

    @property
    def operations(self) -> float:
        return (8 if self.kind in "cz" else 2) * float(self.m) * self.n * self.k * self.calls


@dataclass
class Calls:
    process: int
    lost: int
    uncounted: int  # functions beyond those that there was room for
    call_seconds: float  # that counting one call takes
    loaded: list  # paths
    chosen: dict  # of them, those whose calls were counted: which of the names that were asked for each has, from 0
    pairs: list  # (Place of the caller or None, callee's name, callee's object, calls)
    products: list


def lines_of(table: bytes, first: int, version: tuple) -> list:
    """[(start, end, line)] of a code object's line table, in bytes of bytecode; line 0 where there is none."""
    return _locations(table, first) if version >= (3, 11) else _steps(table, first, version)


def _steps(table: bytes, first: int, version: tuple) -> list:
    """Of CPython 3.10, whose pairs are an entry's length and line, and before, where they are steps to the next entry."""
    out, start, line = [], 0, first
    for length, step in zip(table[::2], table[1::2]):
        if version == (3, 10):
            line += 0 if step == 128 else step - (step & 128) * 2
            out.append((start, start + length, 0 if step == 128 else line))
        else:
            out.append((start, start + length, line))
            line += step - (step & 128) * 2
        start += length
    return out if version == (3, 10) else [*out, (start, 1 << 32, line)]


def _locations(table: bytes, first: int) -> list:
    out, position, start, line = [], 0, 0, first

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while position < len(table):
            byte = table[position]
            position += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                break
        return value

    def signed() -> int:
        value = varint()
        return -(value >> 1) if value & 1 else value >> 1

    while position < len(table):
        head = table[position]
        position += 1
        kind, end = head >> 3 & 15, start + ((head & 7) + 1) * 2
        if kind <= 9:
            position += 1
        elif kind <= 12:
            line += kind - 10
            position += 2
        elif kind <= 14:
            line += signed()
            for _ in range(3 if kind == 14 else 0):
                varint()
        out.append((start, end, 0 if kind == 15 else line))
        start = end
    return out


class _Code:
    def __init__(self, payload: bytes):
        first, *rest = _CODE_TEXT.unpack_from(payload)
        sizes, widths, version = rest[:3], rest[3:6], (rest[6], rest[7])
        texts, at = [], _CODE_TEXT.size
        for size, width in zip(sizes, widths):
            texts.append((payload[at : at + size], width))
            at += size
        decode = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
        self.file, self.name = (text.decode(decode.get(width, "latin-1"), "replace") for text, width in texts[:2])
        self.first, self.lines = first, lines_of(texts[2][0], first, version)
        self.unit = 2 if version == (3, 10) else 1  # 3.10 counts instructions

    def line(self, offset: int) -> int:
        offset *= self.unit
        for start, end, line in self.lines:
            if start <= offset < end:
                return line or self.first
        return self.first


def read_samples(path: str) -> Samples:
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < _FIRST or data[:8] != b"FACSAMP1":
        raise Unreadable(f"{path}: not a file of the sampler")
    _, period, process, used, _, samples, ticks, lost, cut, spent, python, other, program = _HEADER.unpack_from(data)
    result = Samples(process, program.split(b"\0")[0].decode(errors="replace"), period * 1e-9, samples, ticks, lost, cut, spent * 1e-9, python, other, True)
    end = min(used, len(data))
    objects: dict = {}
    codes: dict = {}
    nodes: dict = {}  # id: (parent, place)
    at = _FIRST
    while at + _RECORD.size <= end:
        kind, words, parent, ref, own, value = _RECORD.unpack_from(data, at)
        if words * 8 < _RECORD.size or at + words * 8 > end or parent >= at // 8:  # callers come before what they call
            break
        payload = data[at + _RECORD.size : at + words * 8]
        if kind == OBJECT:
            objects[at // 8] = payload.split(b"\0")[0].decode(errors="replace")
        elif kind == CODE and len(payload) >= _CODE_TEXT.size:
            codes[at // 8] = _Code(payload)
        elif kind == THREAD:
            nodes[at // 8] = (0, (value >> 32, value & 0xFFFFFFFF, payload.split(b"\0")[0].decode(errors="replace")), own)
        elif kind == NATIVE:
            name = objects.get(ref, "")
            nodes[at // 8] = (parent, Place(name, value, process=0 if name else process), own)
        elif kind == PYTHON and ref in codes:
            code = codes[ref]
            nodes[at // 8] = (parent, Place(code.file, 0, code.name, code.line(value >> 1)), own)
        at += words * 8
    result.whole = at == used
    for parent, place, own in nodes.values():
        if not own:
            continue
        stack = [place]
        while parent in nodes:
            parent, place, _ = nodes[parent]
            stack.append(place)
        if isinstance(stack[-1], tuple):
            result.stacks.append((stack[::-1], own))
    return result


def read_calls(path: str) -> Calls:
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 4096 or data[:8] != b"FACCALL1":
        raise Unreadable(f"{path}: not a file of the counter of calls")
    process, picoseconds, lost, objects, callees, _, uncounted = struct.unpack_from("<IIQIIQQ", data, 8)
    most_callees, shards, most_pairs, most_products, most_objects, most_names = struct.unpack_from("<6Q", data, 48)
    at_callees = 4096 + most_objects * 16
    at_pairs = at_callees + most_callees * 16
    at_products = at_pairs + shards * most_pairs * 32
    at_names = at_products + most_products * 56
    if at_names + most_names > len(data) or objects > most_objects or callees > most_callees:
        raise Unreadable(f"{path}: shorter than its header says")

    def name(offset: int) -> str:
        end = data.find(b"\0", at_names + offset)
        return data[at_names + offset : end].decode(errors="replace")

    paths: list = []
    chosen: dict = {}
    for i in range(objects):
        _, offset, name_asked = struct.unpack_from("<QII", data, 4096 + i * 16)
        paths.append(name(offset))
        if name_asked:
            chosen[paths[-1]] = name_asked - 1
    functions = []
    for i in range(callees):
        _, where, offset = struct.unpack_from("<QII", data, at_callees + i * 16)
        functions.append((name(offset), paths[where] if where < objects else ""))
    counts: dict = {}
    for key, count, offset, where, _ in struct.iter_unpack("<QQQII", data[at_pairs:at_products]):
        callee = key >> 48
        if key and count and callee < callees:
            caller = Place(paths[where - 1], offset - 1) if 0 < where <= objects else None
            counts[caller, callee] = counts.get((caller, callee), 0) + count
    products = []
    for key, callee, ta, tb, layout, kind, m, n, k, count, spent in struct.iter_unpack("<QIccccQQQQQ", data[at_products:at_names]):
        if key and count and callee < callees:
            function, where = functions[callee]
            products.append(Product(function, where, kind.decode(), layout.decode(), (ta + tb).decode("latin-1"), m, n, k, count, spent * 1e-9))
    pairs = [(caller, *functions[callee], count) for (caller, callee), count in counts.items()]
    return Calls(process, lost, uncounted, picoseconds * 1e-12, paths, chosen, pairs, products)


def read_folder(folder: str) -> tuple:
    """([Samples], [Calls]) of all processes; a file that cannot be read is left out."""
    found: tuple = ([], [])
    for pattern, read, into in (("*.samples", read_samples, found[0]), ("*.calls", read_calls, found[1])):
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
            try:
                into.append(read(path))
            except Unreadable:
                pass  # a process that ended before it had written its header
    return found


def perf_map(process: int, folder: Optional[str] = None) -> list:
    """[(start, end, name)] that a process's code generators left for profilers, sorted."""
    rows = []
    try:
        with open(os.path.join(folder or "/tmp", f"perf-{process}.map"), errors="replace") as f:
            for line in f:
                parts = line.split(None, 2)
                if len(parts) == 3:
                    try:
                        start, size = int(parts[0], 16), int(parts[1], 16)
                    except ValueError:
                        continue
                    rows.append((start, start + size, parts[2].strip()))
    except OSError:
        pass
    return sorted(rows)
