# SPDX-License-Identifier: Apache-2.0
"""Names and lines of addresses: by elfutils' libdw where it is installed (it also finds separate debug files), else from
the files' own symbol tables, without lines. C++ names are demangled by libstdc++."""

from __future__ import annotations

import bisect
import ctypes
import functools
import os
import re
import struct
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Name:
    function: str  # "" where the file does not say
    file: str = ""
    line: int = 0


FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


class _Symbol(ctypes.Structure):
    _fields_ = [("name", ctypes.c_uint32), ("info", ctypes.c_ubyte), ("other", ctypes.c_ubyte), ("section", ctypes.c_uint16),
                ("value", ctypes.c_uint64), ("size", ctypes.c_uint64)]  # fmt: skip


class _Callbacks(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("find_elf", "find_debuginfo", "section_address", "debuginfo_path")]


@functools.lru_cache(None)
def _libdw() -> Optional[ctypes.CDLL]:
    try:
        lib = ctypes.CDLL("libdw.so.1")
    except OSError:
        return None
    p, u64 = ctypes.c_void_p, ctypes.c_uint64
    for name, result, arguments in (
        ("dwfl_begin", p, [p]),
        ("dwfl_end", None, [p]),
        ("dwfl_report_offline", p, [p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]),
        ("dwfl_report_end", ctypes.c_int, [p, p, p]),
        ("dwfl_module_getelf", p, [p, p]),
        ("dwfl_module_getsymtab", ctypes.c_int, [p]),
        ("dwfl_module_getsym_info", ctypes.c_char_p, [p, ctypes.c_int, p, p, p, p, p]),
        ("dwfl_module_getsrc", p, [p, u64]),
        ("dwfl_lineinfo", ctypes.c_char_p, [p, p, p, p, p, p]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class _Table:
    """Functions by address. The nearest name before an address that lies in none is somebody else's."""

    def __init__(self, rows: dict):  # {start: (end, name)}
        self.starts = sorted(rows)
        self.rows = [rows[s] for s in self.starts]

    def name(self, address: int) -> str:
        i = bisect.bisect_right(self.starts, address) - 1
        return self.rows[i][1].decode(errors="replace") if i >= 0 and address < self.rows[i][0] else ""


class _ByDwarf:
    """One file, read by libdw."""

    def __init__(self, path: str):
        lib = _libdw()
        assert lib is not None
        self.lib = lib
        address = lambda name: ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
        self.callbacks = _Callbacks(None, address("dwfl_standard_find_debuginfo"), address("dwfl_offline_section_address"), None)
        self.session = lib.dwfl_begin(ctypes.byref(self.callbacks))
        self.module = lib.dwfl_report_offline(self.session, path.encode(), path.encode(), -1) if self.session else None
        if self.module:
            lib.dwfl_report_end(self.session, None, None)
        bias = ctypes.c_uint64()
        if not self.module or not lib.dwfl_module_getelf(self.module, ctypes.byref(bias)):
            self.close()
            raise OSError(f"{path}: not an ELF file")
        self.bias = bias.value
        # The library's own search by address looks at every symbol each time, and large files have half a million.
        rows, symbol, at = {}, _Symbol(), ctypes.c_uint64()
        given, where = ctypes.byref(symbol), ctypes.byref(at)
        for i in range(max(lib.dwfl_module_getsymtab(self.module), 0)):
            name = lib.dwfl_module_getsym_info(self.module, i, given, where, None, None, None)
            if name and symbol.info & 15 in FUNCTIONS and symbol.size:
                rows[at.value] = (at.value + symbol.size, name)
        self.table = _Table(rows)

    def close(self) -> None:
        if self.session:
            self.lib.dwfl_end(self.session)
            self.session = None

    def __del__(self) -> None:
        self.close()

    def name(self, address: int) -> Name:
        at = address + self.bias
        source = self.lib.dwfl_module_getsrc(self.module, at)
        file, line = "", ctypes.c_int()
        if source:
            text = self.lib.dwfl_lineinfo(source, None, ctypes.byref(line), None, None, None)
            file = text.decode(errors="replace") if text else ""
        return Name(self.table.name(at), os.path.normpath(file) if file else "", line.value)


class _ByTables:
    """One file's .symtab and .dynsym."""

    def __init__(self, path: str):
        with open(path, "rb") as f:
            data = f.read()
        if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
            raise OSError(f"{path}: not a 64-bit ELF file")
        start, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count) if start + (i + 1) * size <= len(data)]
        rows = {}
        for _, kind, _, _, offset, length, link, *_ in sections:
            if kind not in (2, 11) or link >= len(sections):
                continue
            names = sections[link][4]
            for at in range(offset, min(offset + length, len(data)) - 23, 24):
                name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", data, at)
                if info & 15 in FUNCTIONS and section and extent:
                    rows[value] = (value + extent, data[names + name : data.find(b"\0", names + name)])
        self.table = _Table(rows)

    def name(self, address: int) -> Name:
        return Name(self.table.name(address))


@functools.lru_cache(None)
def _file(path: str):
    try:
        return _ByDwarf(path) if _libdw() else _ByTables(path)
    except OSError:
        return None


def _segments(data: bytes) -> list:
    """[(kind, flags, offset, address, physical address, bytes of the file, bytes of memory)]"""
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    return [struct.unpack_from("<IIQQQQQ", data, start + i * size) for i in range(count)]


def code(path: str) -> Optional[tuple]:
    """(first, last + 1) address of a library's code; None where the file is no such thing, or is not whole."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        loaded = [s for s in _segments(data) if s[0] == 1] if data[:6] == b"\x7fELF\x02\x01" else []
    except struct.error:
        return None
    ranges = [(address, address + memory) for _, flags, _, address, _, _, memory in loaded if flags & 1]
    if not ranges or any(offset + length > len(data) for _, _, offset, _, _, length, _ in loaded):
        return None
    return min(first for first, _ in ranges), max(end for _, end in ranges)


@functools.lru_cache(None)
def _function_starts(path: str) -> list:
    """Where functions begin by the unwinding table (.eh_frame_hdr), which stripped files have too; sorted."""
    try:
        with open(path, "rb") as f:
            data = f.read()
        _, _, at, address, *_ = next(s for s in _segments(data) if s[0] == 0x6474E550)
        if data[at : at + 4] != b"\x01\x1b\x03\x3b":
            return []
        rows = min(struct.unpack_from("<I", data, at + 8)[0], (len(data) - at - 12) // 8)
        return [address + first for first, _ in struct.iter_unpack("<ii", data[at + 12 : at + 12 + 8 * rows])]
    except (OSError, StopIteration, struct.error):
        return []


def function_start(path: str, address: int) -> int:
    """The beginning of the function without a name that an address lies in, or the page."""
    starts = _function_starts(path)
    i = bisect.bisect_right(starts, address) - 1
    return starts[i] if i >= 0 else address & ~0xFFF


@functools.lru_cache(None)
def lookup(path: str, address: int) -> Name:
    """What lies at an address of a file; without a name where nothing is known."""
    file = _file(path)
    found = file.name(address) if file else Name("")
    return Name(demangle(found.function), found.file, found.line) if found.function else found


def reader() -> str:
    return "libdw" if _libdw() else "symbol tables only: libdw is not installed (Debian: apt-get install libdw1), so there are no lines"


@functools.lru_cache(None)
def is_stripped(path: str) -> bool:
    """Whether a file keeps only the names that other files may use."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
            if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
                return False
            start, size, count = struct.unpack_from("<Q", head, 40)[0], *struct.unpack_from("<HH", head, 58)
            f.seek(start)
            table = f.read(size * count)
    except OSError:
        return False
    return not any(struct.unpack_from("<I", table, i * size + 4)[0] == 2 for i in range(count) if (i + 1) * size <= len(table))


@functools.lru_cache(None)
def _cxa_demangle():
    try:
        function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return function


@functools.lru_cache(None)
def _free():
    function = ctypes.CDLL(None).free
    function.argtypes = [ctypes.c_void_p]
    return function


def demangle(name: str) -> str:
    """C++'s name, shortened; what the compiler split off keeps its mark: `f [._omp_fn.0]`."""
    if not name.startswith("_Z") or _cxa_demangle() is None:
        return name
    base, dot, rest = name.partition(".")
    status = ctypes.c_int()
    text = _cxa_demangle()(base.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    full = ctypes.string_at(text).decode(errors="replace")
    _free()(text)
    return shorten(full) + (f" [{dot}{rest}]" if rest else "")


def shorten(name: str) -> str:
    """`int a<b>::d(e) const` becomes `a<>::d`: without arguments, those of templates and what it returns."""
    out, i = "", 0
    pairs = {"(": ")", "<": ">"}
    while i < len(name):
        operator = re.match(r"operator(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?| ?[a-z:]+|[^\w\s(]+)", name[i:])
        if operator and (i == 0 or not (name[i - 1].isalnum() or name[i - 1] == "_")):
            out += operator.group(0).replace(" ", "\0")
            i += operator.end() + name.startswith(" <", i + operator.end())
        elif name.startswith("(anonymous namespace)", i):
            out += "(anonymous)"
            i += len("(anonymous namespace)")
        elif name[i] in pairs:
            open_, close, depth, start = name[i], pairs[name[i]], 0, i
            while i < len(name):
                arrow = name[i] == ">" and name[i - 1] == "-"
                depth += (name[i] == open_) - (name[i] == close and not arrow)
                i += 1
                if depth == 0:
                    break
            out += "<>" if open_ == "<" and start else ""
        else:
            out += name[i]
            i += 1
    for end in (" const", " volatile", " &", " &&"):
        out = out.removesuffix(end) if hasattr(out, "removesuffix") else out
    return out.rsplit(" ", 1)[-1].replace("\0", " ")
