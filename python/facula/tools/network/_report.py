# SPDX-License-Identifier: Apache-2.0
"""What a recorded schedule says by itself: who waited, who came last, and how many bytes went from rank to rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from facula.distributed.schedule import Call, RankSchedule
from facula.tools.network._algorithms import steps
from facula.tools.network._replay import _root

# What each engine does with a call, where that is known: MPI chooses as it likes.
ENGINES = {"gloo": {"broadcast": "tree", "barrier": "tree", "gather": "direct", "scatter": "direct", "all_to_all": "direct", "all_to_all_single": "direct"}}


@dataclass
class Line:
    """Calls of one operator at one line of the program, in one group and of one size."""

    op: str
    where: str
    group: str
    bytes: int
    algorithm: str
    calls: int = 0
    seconds: float = 0.0  # from the last rank's call to the last rank's end, of all calls
    spread: float = 0.0  # from the first rank's call to the last one's
    waited: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # by rank
    last: Counter = field(default_factory=Counter)  # rank -> how often it was the last to come


def algorithm_of(call: Call) -> str:
    """The algorithm that moves a call's bytes."""
    if not call.sequence:
        return "direct"
    known = ENGINES.get(call.engine)
    return known.get(call.op, "ring") if known is not None else f"{call.engine}'s choice"


def lines(schedules: list[RankSchedule]) -> list[Line]:
    """The longest first."""
    calls: dict[tuple, dict[int, Call]] = defaultdict(dict)
    for schedule in schedules:
        for call in schedule.calls:
            if call.sequence:
                calls[call.group, call.sequence][schedule.rank] = call
    found: dict[tuple, Line] = {}
    for by_rank in calls.values():
        first = by_rank[min(by_rank)]
        kind = (first.op, first.where, first.group, first.bytes)
        line = found.setdefault(kind, Line(*kind, algorithm_of(first)))
        last = max(by_rank, key=lambda r: by_rank[r].called)
        begun, came = min(c.called for c in by_rank.values()), by_rank[last].called
        line.calls += 1
        line.seconds += max(max(c.ended for c in by_rank.values()) - came, 0) / 1e9
        line.spread += (came - begun) / 1e9
        line.last[last] += 1
        for rank, call in by_rank.items():
            line.waited[rank] += (call.wait_to - call.wait_from) / 1e9
    return sorted(found.values(), key=lambda x: -(x.seconds + x.spread))


def links(schedules: list[RankSchedule]) -> dict[tuple[int, int], float]:
    """Bytes from rank to rank, of the engines whose algorithms are known."""
    sent: dict[tuple[int, int], float] = defaultdict(float)
    for schedule in schedules:
        for call in schedule.calls:
            if not call.sequence:
                if call.op == "send":
                    sent[schedule.rank, call.ranks[_root(call)]] += call.bytes
            elif schedule.rank == min(call.ranks) and call.engine in ENGINES:
                for step in steps(call.op, call.bytes, len(call.ranks), "ring", _root(call)):
                    for source, target, size in step.flows:
                        sent[call.ranks[source], call.ranks[target]] += size * step.repeat
    return dict(sent)


def _size(n: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.0f} {unit}" if unit == "B" or n >= 100 else f"{n:.1f} {unit}"
        n /= 1000
    raise AssertionError


def text(schedules: list[RankSchedule], top: int = 20) -> str:
    """The tables that `facula network report` and `facula profile -n` print."""
    ranks = len(schedules)
    total = max(s.stop for s in schedules) - min(s.start for s in schedules)
    out = [f"Calls of {ranks} ranks in {total / 1e9:.3f} s, the longest first; milliseconds, of all calls of a line"]
    rows = lines(schedules)
    shown = list(range(min(ranks, 8)))
    out.append(f"  {'call':18} {'line':24} {'bytes':>9} {'calls':>6} {'by':10} {'moving':>9} {'apart':>9}  last to come  waited, rank " + " ".join(f"{r:>7}" for r in shown))
    for line in rows[:top]:
        rank, often = line.last.most_common(1)[0]
        waited = " ".join(f"{line.waited[r] * 1e3:7.1f}" for r in shown)
        last = f"{rank} ({100 * often // line.calls} %)"
        out.append(f"  {line.op:18} {line.where[-24:]:24} {_size(line.bytes):>9} {line.calls:6} {line.algorithm[:10]:10} {line.seconds * 1e3:9.1f} {line.spread * 1e3:9.1f}  {last:12}               {waited}")
    if len(rows) > top:
        out.append(f"  … {len(rows) - top} more (--top)")
    if ranks > len(shown):
        out.append(f"  (ranks {len(shown)} to {ranks - 1} waited {sum(sum(x.waited[r] for r in range(len(shown), ranks)) for x in rows) * 1e3:.1f} together)")
    sent = links(schedules)
    if sent:
        out.append("Bytes from rank to rank")
        biggest = sorted(sent.items(), key=lambda x: -x[1])
        out += [f"  {a:>5} -> {b:<5} {_size(n):>9}" for (a, b), n in biggest[:top]]
        if len(biggest) > top:
            out.append(f"  … {len(biggest) - top} more links, {_size(sum(n for _, n in biggest[top:]))}")
    lost = sum(s.lost for s in schedules)
    if lost:
        out.append(f"{lost} calls were not kept")
    return "\n".join(out) + "\n"
