# SPDX-License-Identifier: Apache-2.0
"""Reads the files that the C library writes under LD_PROFILE (`<soname>.profile`), which its own reader, sprof, cannot
on current systems: a histogram of 16-bit counters over the library's code, then arcs of (caller, callee, calls)."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections import Counter
from typing import Optional

from facula.library_profile import symbols
from facula.library_profile.launch import Refused
from facula.library_profile.model import Namer, Node, Profile, Row
from facula.library_profile.record import Place

_HEADER, _HISTOGRAM, _ARC = 20, struct.Struct("<IQQII15sc"), struct.Struct("<QQI")
_VERSION = 0x1FFFF  # of a shared object
_PAGE = 0x10000  # the largest


def find_library(soname: str) -> Optional[str]:
    folders = [os.environ.get("LD_PROFILE_PATH", ""), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    for folder in filter(None, folders):
        if os.path.exists(os.path.join(folder, soname)):
            return os.path.join(folder, soname)
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            listed = subprocess.run([command, "-p"], capture_output=True, text=True, timeout=30).stdout
        except OSError:
            continue
        found = re.search(rf"^\s*{re.escape(soname)} .*=> (\S+)$", listed, re.M)
        if found:
            return found.group(1)
    return None


def read(path: str, library: Optional[str] = None) -> Profile:
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise Refused(f"profile: {path} cannot be read: {e.strerror}")
    if data[:4] != b"gmon":
        raise Refused(f"profile: {path} is no profile of a shared object (LD_PROFILE writes <soname>.profile)")
    version = data[4:8]
    if version != struct.pack("<I", _VERSION):
        other = "another byte order" if version == struct.pack(">I", _VERSION) else f"version {version.hex()}, not a shared object's"
        raise Refused(f"profile: {path} is a profile of another architecture or kind ({other}); 64-bit little-endian ones are read")
    start = _HEADER + _HISTOGRAM.size
    if len(data) < start:
        raise Refused(f"profile: {path} is truncated: {len(data)} bytes, its header has {start}")
    tag, low, high, bins, rate, dimension, _ = _HISTOGRAM.unpack_from(data, _HEADER)
    if not dimension.startswith(b"seconds") or tag != 0 or not bins or not rate or high <= low:
        raise Refused(f"profile: {path} is a profile of another architecture: its histogram is not laid out as on 64-bit little-endian machines")
    arcs_at = start + 2 * bins + 8
    if len(data) < arcs_at:
        raise Refused(f"profile: {path} is truncated: {len(data)} bytes, its histogram ends at {arcs_at}")
    arc_tag, arcs = struct.unpack_from("<II", data, arcs_at - 8)
    if arcs and (arc_tag != 1 or len(data) < arcs_at + arcs * _ARC.size):
        raise Refused(f"profile: {path} is truncated: it holds {(len(data) - arcs_at) // _ARC.size} of {arcs} call pairs")

    soname = os.path.basename(path).removesuffix(".profile")
    found = library or find_library(soname)
    if not found or not os.path.exists(found):
        raise Refused(f"profile: the library {library or soname} was not found: name its file with --so")
    found = os.path.realpath(found)
    try:
        code = symbols.code(found)
    except OSError as e:
        raise Refused(f"profile: the library {found} cannot be read: {e.strerror}")
    if not code:
        raise Refused(f"profile: {found} is no shared library of 64 bits, or not whole: name the one that was profiled with --so")
    if not (0 <= code[0] - low < _PAGE and 0 <= high - code[1] < _PAGE):  # the profile's are whole pages
        raise Refused(
            f"profile: {path} is of another library, or of another build of it, than {found}: its code lies from {low:#x} to {high:#x}, "
            f"that library's from {code[0]:#x} to {code[1]:#x}; name the one that was profiled with --so"
        )
    namer, profile = Namer(), Profile([found], soname, 1.0 / rate, Node(None), {}, Counter(), [])
    profile.chosen = profile.loaded = [found]

    def row(address: int) -> Row:
        function = namer(Place(found, address))[0]
        return profile.rows.setdefault(function, Row(function))

    width = (high - low) / bins
    for i, (ticks,) in enumerate(struct.iter_unpack("<H", data[start : start + 2 * bins])):
        if ticks:
            row(low + int(i * width)).own += ticks
            profile.ticks += ticks
    for caller, callee, count in struct.iter_unpack("<QQI", data[arcs_at : arcs_at + arcs * _ARC.size]):
        target = row(low + callee)
        target.calls += count
        profile.pairs[namer(Place(found, low + caller - 1))[0] if caller else None, target.function] += count
    for r in profile.rows.values():
        r.total = r.own  # the histogram knows no callers
    profile.samples = profile.ticks
    profile.finish()
    return profile
