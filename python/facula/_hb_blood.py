# SPDX-License-Identifier: Apache-2.0
"""The picture of an operation trace: a row for each tile, time to the right, coloured by what most of the cycles went to."""

from __future__ import annotations

import collections
import struct
import zlib

_GROUPS = (
    ("instructions", (0x59, 0xA1, 0x4F), ("",)),
    ("memory", (0xE1, 0x57, 0x59), ("stall_depend_dram", "stall_depend_group", "stall_depend_global", "stall_remote", "stall_fence", "stall_amo")),
    ("instruction cache", (0xED, 0xC9, 0x48), ("stall_ifetch", "bubble_icache")),
    ("barrier or the host", (0xD9, 0xD9, 0xD9), ("stall_lr_aq", "stall_barrier")),
    ("branches", (0xB0, 0x7A, 0xA1), ("bubble_branch", "bubble_jalr")),
    ("units of the core", (0x4E, 0x79, 0xA7), ("stall_",)),
)
_WHITE = (255, 255, 255)


def legend() -> list[tuple[str, str]]:
    return [(name, f"#{r:02x}{g:02x}{b:02x}") for name, (r, g, b), _ in _GROUPS]


def _group(operation: str) -> int:
    for i, (_, _, beginnings) in enumerate(_GROUPS):
        if i and operation.startswith(beginnings):
            return i
    return 0


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) + chunk(b"IEND", b"")


Place = tuple[int, str]  # which of the programs, and the pc


def read(path: str, programs: list[tuple[int, int]], most_columns: int = 1600) -> tuple[bytes, list[tuple[Place, int, str]], int, int]:
    """The picture, where cycles were spent (place, cycles, what most of them were; the largest first), first and last cycle.

    `programs`: which one runs from a cycle on, in their order."""
    groups: dict[str, int] = {}
    first = last = None
    with open(path) as file:
        next(file, None)
        for line in file:
            cycle = int(line[: line.index(",")])
            first = cycle if first is None else first
            last = cycle
    if first is None or last is None:
        raise ValueError(f"{path} has no rows")
    per_column = max((last - first + most_columns) // most_columns, 1)
    columns = (last - first) // per_column + 1
    tiles: dict[tuple[int, int], list[collections.Counter]] = {}
    places: dict[Place, collections.Counter] = collections.defaultdict(collections.Counter)
    program, later = -1, collections.deque(programs)
    with open(path) as file:
        next(file, None)
        for line in file:
            cycle, x, y, pc, operation = line.rstrip("\n").split(",")
            while later and later[0][0] <= int(cycle):
                program = later.popleft()[1]
            group = groups.get(operation)
            if group is None:
                group = groups[operation] = _group(operation)
            tile = tiles.setdefault((int(y), int(x)), [])
            column = (int(cycle) - first) // per_column
            while len(tile) <= column:
                tile.append(collections.Counter())
            tile[column][group] += 1
            if group != 3:
                places[program, pc][operation] += 1
    thick = max(3, min(12, 480 // len(tiles)))
    rows = []
    for _, counts in sorted(tiles.items()):
        colours = [_GROUPS[c.most_common(1)[0][0]][1] if c else _WHITE for c in counts] + [_WHITE] * (columns - len(counts))
        rows += [b"".join(bytes(c) for c in colours)] * (thick - 1) + [bytes(_WHITE) * columns]
    spent = sorted(((place, sum(c.values()), c.most_common(1)[0][0]) for place, c in places.items()), key=lambda p: -p[1])
    return png(columns, len(rows), rows), spent, first, last
