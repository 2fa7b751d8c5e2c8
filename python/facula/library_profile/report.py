# SPDX-License-Identifier: Apache-2.0
"""A profile as text, CSV, JSON and folded stacks."""

from __future__ import annotations

import csv
import io
import json
import os
import signal

from facula._command_line import write_file
from facula.library_profile import symbols
from facula.library_profile.model import Node, Profile
from facula.library_profile.record import FORBIDDEN


def _table(head: list, rows: list, left: int = 1) -> list:
    """Columns right-aligned, the last `left` ones left-aligned."""
    widths = [max(len(str(r[i])) for r in [head, *rows]) for i in range(len(head))]
    lines = []
    for r in [head, *rows]:
        cells = [str(c).rjust(w) if i < len(head) - left else str(c).ljust(w) for i, (c, w) in enumerate(zip(r, widths))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "0.0"


def _per_call(p: Profile, ticks: int, calls: int) -> str:
    return f"{p.seconds(ticks) / calls * 1e6:.2f}" if calls else ""


def summary(p: Profile) -> list:
    taken = f"{p.ticks:,} ticks of {p.period * 1e3:g} ms in {p.samples:,} samples, {p.rate:.0f} a second"
    if p.ticks and p.rate < 0.7 / p.period:
        taken += " (time in the kernel, and all time where perf events are forbidden, is sampled when the kernel's clock ticks)"
    lines = [
        f"{os.path.basename(p.program)}: {p.cpu_seconds:.2f} s of CPU time in {p.wall_seconds:.2f} s, {p.threads} threads, {p.processes} processes; {taken}",
        f"lost: {p.lost} ticks, {p.lost_calls} calls; {p.cut} stacks without an end; overhead about {100 * p.overhead:.2f} % of the CPU time"
        f" ({p.handler_seconds * 1e3:.1f} ms in samples, {p.call_seconds * 1e3:.1f} ms in {p.calls:,} counted calls)",
    ]
    if p.exit_code > 128 and p.exit_code - 128 in set(signal.Signals):
        lines.append(f"the program was ended by {signal.Signals(p.exit_code - 128).name}")
    elif p.exit_code:
        lines.append(f"the program failed: exit status {p.exit_code}")
    return lines


def notes(p: Profile) -> list:
    """What a reader should know of the names."""
    lines = []
    for path in p.chosen:
        if symbols.is_stripped(path):
            share = p.unnamed(path)
            lines.append(f"{os.path.basename(path)} is stripped: names come from what it exports and from separate debug files; {100 * share:.1f} % of its ticks are shown by address")
    if not symbols._libdw():
        lines.append(symbols.reader())
    if p.other_python == FORBIDDEN:
        lines.append("lines of Python are not shown: this system does not say which memory can be read (rt_sigprocmask checks in another order)")
    elif p.other_python:
        found = f"{p.other_python >> 8}.{p.other_python & 255}"
        lines.append(f"lines of Python are read from CPython 3.9 to 3.14 that have the interpreter's lock, not from this {found}: its functions show as the interpreter's")
    if p.uncounted:
        lines.append(f"calls of {p.uncounted:,} functions are not counted: there is room for 32,767; name fewer libraries")
    if p.partial:
        lines.append("a process was killed while it wrote: its last records are missing")
    return lines


# Each table is (title, head, rows), for the text and for the page.


def flat_rows(p: Profile, path: str) -> tuple:
    rows, running = [], 0
    for r in p.flat({path}):
        running += r.own
        rows.append([_percent(r.own, p.ticks), f"{p.seconds(running):.3f}", f"{p.seconds(r.own):.3f}", f"{p.seconds(r.total):.3f}",
                     f"{r.calls:,}" if r.calls else "", _per_call(p, r.own, r.calls), _per_call(p, r.total, r.calls), r.function.name])  # fmt: skip
    head = ["% time", "cumulative s", "self s", "total s", "calls", "self us/call", "total us/call", "name"]
    return f"Flat profile of {path}: {_percent(running, p.ticks)} % of the ticks", head, rows


def pair_rows(p: Profile) -> tuple:
    rows = [
        [f"{count:,}", str(caller) if caller else "(unknown)", caller.where if caller else "", str(callee), callee.where]
        for (caller, callee), count in p.pairs.most_common()
    ]
    return "Call pairs", ["calls", "caller", "of", "callee", "of"], rows


def product_rows(p: Profile) -> tuple:
    rows = [
        [f"{q.calls:,}", q.m, q.n, q.k, q.transposed, q.layout, f"{q.seconds:.4f}", f"{q.seconds / q.calls * 1e6:.2f}",
         f"{q.operations / q.seconds / 1e9:.1f}" if q.seconds else "", q.function]
        for q in p.products
    ]  # fmt: skip
    return "Products of matrices", ["calls", "m", "n", "k", "transposed", "layout", "s", "us/call", "GFLOP/s", "function"], rows


def object_rows(p: Profile) -> tuple:
    rows = [[_percent(own, p.ticks), f"{p.seconds(own):.3f}", name] for name, own in p.by_object() if own]
    return "Objects", ["% time", "self s", "object"], rows


def _text(table: tuple, top: int, left: int = 1) -> list:
    title, head, rows = table
    more = [f"  ... {len(rows) - top} more"] if len(rows) > top else []
    return [title, *_table(head, rows[:top], left), *more] if rows else []


def tree(p: Profile, least: float = 0.01, deepest: int = 60) -> list:
    lines = [f"Tree: calls with at least {100 * least:g} % of the ticks"]

    def walk(node: Node, depth: int) -> None:
        for child in node.heaviest():
            if child.total < least * p.ticks or depth > deepest:
                continue
            f = child.function
            assert f is not None
            file, line = child.line()
            where = f"  {os.path.basename(file)}:{line}" if line else f"  {f.where}" if f.where else ""
            lines.append(f"  {_percent(child.total, p.ticks):>5} % {_percent(child.own, p.ticks):>5} %  {' ' * depth}{f.name}{where}")
            walk(child, depth + 1)

    walk(p.root, 0)
    return lines


def text(p: Profile, top: int) -> str:
    parts = [summary(p), notes(p), _text(object_rows(p), top), *(_text(flat_rows(p, path), top) for path in p.chosen)]
    parts.append(_text(pair_rows(p), top, 4) or ["Call pairs: no call into the library came through a linkage table or dlsym"])
    parts += [_text(product_rows(p), top), tree(p)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def old_text(p: Profile, top: int) -> str:
    """What a file of LD_PROFILE holds: one library, no stacks."""
    head = [f"{p.program}: {p.ticks:,} ticks of {p.period * 1e3:g} ms, {p.calls:,} calls"]
    parts = [head, notes(p), *(_text(flat_rows(p, path), top) for path in p.chosen), _text(pair_rows(p), top, 4)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _csv(head: list, rows: list) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def tables(p: Profile) -> dict:
    """{file name: text} of everything that a spreadsheet or another program may want."""
    def where(f):
        return f.object if f else ""

    flat_rows = [[r.own, p.seconds(r.own), r.total, p.seconds(r.total), r.calls, r.function.name, r.function.object] for r in p.flat()]
    pair_rows = [[n, str(a or ""), where(a), str(b), where(b)] for (a, b), n in p.pairs.most_common()]
    call_rows = [[r.calls, r.function.name, r.function.object] for r in sorted(p.rows.values(), key=lambda r: -r.calls) if r.calls]
    product_rows = [[q.calls, q.m, q.n, q.k, q.transposed, q.layout, q.kind, q.seconds, q.operations, q.function, q.object] for q in p.products]
    return {
        "flat.csv": _csv(["self_ticks", "self_s", "total_ticks", "total_s", "calls", "function", "object"], flat_rows),
        "calls.csv": _csv(["calls", "function", "object"], call_rows),
        "pairs.csv": _csv(["calls", "caller", "caller_object", "callee", "callee_object"], pair_rows),
        "products.csv": _csv(["calls", "m", "n", "k", "transposed", "layout", "type", "s", "flop", "function", "object"], product_rows),
        "stacks.folded": "".join(line + "\n" for line in p.folded()),
        "profile.json": json.dumps(data(p), separators=(",", ":")),
    }


def _node(node: Node) -> dict:
    f = node.function
    file, line = node.line()
    return {
        "name": f.name if f else "all", "object": f.object if f else "", "file": file, "line": line,
        "self": node.own, "total": node.total, "children": [_node(c) for c in node.heaviest()],
    }  # fmt: skip


def data(p: Profile) -> dict:
    return {
        "program": p.program, "exit_code": p.exit_code, "period_s": p.period, "ticks": p.ticks, "samples": p.samples, "lost_ticks": p.lost,
        "lost_calls": p.lost_calls, "cut_stacks": p.cut, "processes": p.processes, "threads": p.threads, "cpu_s": p.cpu_seconds,
        "wall_s": p.wall_seconds, "overhead": p.overhead, "libraries": p.chosen, "loaded": p.loaded,
        "functions": [{"name": r.function.name, "object": r.function.object, "self": r.own, "total": r.total, "calls": r.calls} for r in p.flat()],
        "pairs": [{"caller": str(a or ""), "caller_object": a.object if a else "", "callee": str(b), "callee_object": b.object, "calls": n}
                  for (a, b), n in p.pairs.most_common()],
        "products": [{"function": q.function, "m": q.m, "n": q.n, "k": q.k, "transposed": q.transposed, "layout": q.layout, "type": q.kind,
                      "calls": q.calls, "s": q.seconds, "flop": q.operations} for q in p.products],
        "tree": _node(p.root),
    }  # fmt: skip


def write(folder: str, files: dict) -> None:
    """Each file appears whole or not at all."""
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        write_file(os.path.join(folder, name), content)
