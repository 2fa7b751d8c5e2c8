# SPDX-License-Identifier: Apache-2.0
"""The schedule of a run: what every rank called, when, and how long the program waited for it.

    with torch.distributed.schedule.record("folder"):        # on every rank; or TORCH_DISTRIBUTED_SCHEDULE=folder
        train()

writes `rank0.jsonl`, `rank1.jsonl` … : a line about the rank, then one for each call, in the order in which it was made. Times are
nanoseconds of the clock of whoever holds the store, so that ranks on several machines can be laid side by side."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from facula._command_line import write_file
from facula.distributed import _engine

__all__ = ["Call", "RankSchedule", "load", "record"]

_FORMAT = "facula schedule 1"
_LIMIT = 1_000_000  # calls of one rank: more are counted, not kept


@dataclass
class Call:
    """One call of one rank. Times are 0 for what never happened."""

    group: str
    engine: str
    ranks: list[int]
    sequence: int  # in the group, the same on all of its ranks; 0: send or recv
    op: str
    dtype: str
    count: int
    bytes: int
    detail: str
    where: str
    called: int
    begun: int
    ended: int
    wait_from: int
    wait_to: int


@dataclass
class RankSchedule:
    """What one rank did between start and stop."""

    rank: int
    world_size: int
    host: str
    start: int
    stop: int
    lost: int = 0
    calls: list[Call] = field(default_factory=list)


def clock_offset(store: Any, tries: int = 9) -> int:
    """Nanoseconds to add to this process's monotonic clock to get that of the store's holder: the try with the least way."""
    best, least = 0, 1 << 62
    for _ in range(tries):
        before, there, after = time.monotonic_ns(), store._clock(), time.monotonic_ns()
        if after - before < least:
            best, least = there - (before + after) // 2, after - before
    return best


def _begin() -> int:
    from facula.distributed import distributed_c10d as c10d

    c10d._get_default_group()  # raises where there is none
    info = rank_info()
    _engine._c._start_schedule(_LIMIT)
    return int(info["clock_offset_us"] * 1000) if info else 0


def _end(offset: int, rank: int, world_size: int) -> RankSchedule:
    start, stop, lost, calls = _engine._c._stop_schedule()

    def at(time: int) -> int:
        return time + offset if time else 0

    times = ("called", "begun", "ended", "wait_from", "wait_to")
    made = [Call(**{**c, **{t: at(c[t]) for t in times}}) for c in calls]
    return RankSchedule(rank, world_size, socket.gethostname(), at(start), at(stop), lost, made)


def save(recorded: RankSchedule, folder: str | os.PathLike) -> str:
    """Writes one rank's file, whole or not at all; its path."""
    path = os.path.join(folder, f"rank{recorded.rank}.jsonl")
    head = {"format": _FORMAT, **{f.name: getattr(recorded, f.name) for f in fields(recorded) if f.name != "calls"}}
    write_file(path, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *map(asdict, recorded.calls))))
    return path


@contextlib.contextmanager
def record(folder: str | os.PathLike) -> Iterator[None]:
    """Records this rank's calls and writes them into the folder at the end, also where the block raises."""
    from facula.distributed import distributed_c10d as c10d

    os.makedirs(folder, exist_ok=True)
    offset = _begin()
    rank, size = c10d.get_rank(), c10d.get_world_size()
    try:
        yield
    finally:
        save(_end(offset, rank, size), folder)


_info: dict[str, Any] | None = None


def rank_info() -> dict[str, Any] | None:
    """Which rank this process is and what to add to its clock to get the run's; the last run's after its end."""
    global _info
    from facula.distributed import distributed_c10d as c10d

    if c10d.is_initialized() and (_info is None or _info["run"] is not c10d._world.default):
        store = c10d._world.store
        _info = {
            "run": c10d._world.default, "backend": c10d.get_backend(), "rank": c10d.get_rank(), "world_size": c10d.get_world_size(),
            "clock_offset_us": (clock_offset(store) if store is not None else 0) / 1000,
        }  # fmt: skip
    return {k: v for k, v in _info.items() if k != "run"} if _info else None


_open: contextlib.AbstractContextManager | None = None


def begin_where_asked() -> None:
    """For init_process_group: records the whole run where the environment names a folder."""
    global _open
    if folder := os.environ.get("TORCH_DISTRIBUTED_SCHEDULE"):
        _open = record(folder)
        _open.__enter__()


def remember_rank() -> None:
    """For destroy_process_group: a profile that is written later says which rank it was."""
    if "facula.profiler" in sys.modules and _info is None:
        with contextlib.suppress(_engine.DistError):  # the store's holder may have left
            rank_info()


def end_where_asked() -> None:
    """For destroy_process_group, when calls under way have ended."""
    global _open
    if _open is not None:
        recorded, _open = _open, None
        recorded.__exit__(None, None, None)


def load(folder: str | os.PathLike) -> list[RankSchedule]:
    """The files of a folder, by rank. Raises ValueError for what is no schedule, or not all ranks of one run."""
    paths = [p for p in pathlib.Path(folder).glob("rank*.jsonl") if re.fullmatch(r"rank\d+\.jsonl", p.name)]
    if not paths:
        raise ValueError(f"{folder}: there is no schedule here (rank0.jsonl …); TORCH_DISTRIBUTED_SCHEDULE={folder} makes a run write one")
    ranks = sorted((_load_file(p) for p in paths), key=lambda r: r.rank)
    sizes = {r.world_size for r in ranks}
    if len(sizes) > 1 or [r.rank for r in ranks] != list(range(ranks[0].world_size)):
        raise ValueError(f"{folder}: expected rank0.jsonl to rank{max(sizes) - 1}.jsonl of one run, got ranks {[r.rank for r in ranks]} of {sorted(sizes)}")
    return ranks


def _load_file(path: pathlib.Path) -> RankSchedule:
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            head = json.loads(next(file, "{}"))
            if head.pop("format", None) != _FORMAT:
                raise ValueError("it does not begin as one")
            loaded = RankSchedule(**head)
            number = 1
            for line in file:
                number += 1
                loaded.calls.append(Call(**json.loads(line)))
            _check(loaded)
            return loaded
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}{f', line {number}' if number else ''}: this is no schedule: {error}") from None


def _check(loaded: RankSchedule) -> None:
    numbers = (loaded.rank, loaded.world_size, loaded.start, loaded.stop, loaded.lost)
    if not all(type(n) is int and n >= 0 for n in numbers) or not 0 <= loaded.rank < loaded.world_size <= 1_000_000:
        raise ValueError(f"rank {loaded.rank!r} of {loaded.world_size!r}")
    for call in loaded.calls:
        values = (call.sequence, call.bytes, call.called, call.begun, call.ended, call.wait_from, call.wait_to)
        if not all(type(v) is int and v >= 0 for v in values) or not isinstance(call.op, str):
            raise ValueError(f"{call.op!r}: times, bytes and numbers are whole and not negative")
        members = call.ranks
        if not (isinstance(members, list) and members and all(type(r) is int and 0 <= r < loaded.world_size for r in members)):
            raise ValueError(f"{call.op!r}: ranks {members!r}")
