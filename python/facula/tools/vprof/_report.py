# SPDX-License-Identifier: Apache-2.0
"""Findings as text, as CSV and as one page."""

import csv
import io
import json
import os
import pathlib

COLUMNS = (
    "pattern",
    "operator",
    "file",
    "line",
    "tensor",
    "bytes",
    "share",
    "calls",
    "seconds",
    "fix",
    "function",
    "scope",
    "inside",
    "device",
    "object_bytes",
    "byte_share",
    "detail",
)
MOST_NODES = 400  # of a page's graph


def number(n):
    for unit in ("B", "KB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000


def cost(totals):
    """One line on what the profile itself did."""
    took, own = totals["ns"] * 1e-9, totals["own_ns"] * 1e-9
    text = f"looked at {number(totals['looked_bytes'])} of {totals['events']:,} events in {took:.2f} s, of which the profile took {own:.2f} s"
    if totals["skipped"]:
        text += f"; {totals['skipped']:,} calls were left out to keep within the budget"
    if totals["crowded"]:
        text += f"; {totals['crowded']:,} storages had too many pieces to tell apart"
    if totals["lost"]:
        text += f"; {totals['lost']:,} events were lost for want of memory"
    return text


def table(found, totals, top=30):
    if not found:
        return f"no findings; {cost(totals)}\n"
    rows = [("pattern", "operator", "place", "tensor", "bytes", "share", "calls", "ms")]
    for f in found[:top]:
        place = (
            f"{os.path.relpath(f.file) if f.file and len(os.path.relpath(f.file)) < len(f.file) else f.file}:{f.line}"
            if f.file
            else "-"
        )
        share = f"{f.share:.2f}{'~' if f.tiles else ''}"
        rows.append(
            (
                f.pattern,
                f.operator,
                place + (" (its backward)" if f.forward else ""),
                f.tensor,
                number(f.bytes),
                share,
                f"{f.calls}",
                f"{f.seconds * 1e3:.3f}",
            )
        )
    widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
    lines = []
    for i, r in enumerate(rows):
        lines.append(
            "  ".join(
                text.rjust(w) if c >= 4 else text.ljust(w)
                for c, (text, w) in enumerate(zip(r, widths, strict=True))
            ).rstrip()
        )
        if i:
            f = found[i - 1]
            inside = f" [{f.inside}]" if f.inside else ""
            sampled = (
                f" ({f.looked} of {f.of} calls looked at: {f.interval[0]:.0%} to {f.interval[1]:.0%})"
                if f.looked < f.of
                else ""
            )
            lines.append(f"    {f.detail + ': ' if f.detail else ''}{f.fix}{inside}{sampled}")
    if len(found) > top:
        lines.append(f"… and {len(found) - top} more")
    if any(f.tiles for f in found[:top]):
        lines.append("~ by tiles of 1024 elements; mode='exact' counts elements")
    return "\n".join([*lines, cost(totals), ""])


def csv_text(found):
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for f in found:
        writer.writerow(f.as_dict())
    return out.getvalue()


def _sources(places):
    """The lines around each place, for a click."""
    out, files = {}, {}
    for place in places:
        file, _, line = place.rpartition(":")
        if not file or not line.isdigit():
            continue
        if file not in files:
            try:
                files[file] = pathlib.Path(file).read_text(errors="replace").splitlines()
            except OSError:
                files[file] = []
        first = max(0, int(line) - 6)
        out[place] = [
            [first + i + 1, text[:200]] for i, text in enumerate(files[file][first : int(line) + 5])
        ]
    return out


def page(profile, title):
    graph, found, totals = profile.graph, profile.findings, profile.totals
    total = sum(e["bytes"] for e in graph.edges) or 1
    share = 0.0
    while len(graph.nodes) > MOST_NODES and share < 0.5:  # a page of thousands helps nobody
        share = share * 2 or 1e-5
        graph = graph.pruned(nodes=share, edges=share / 4)
    levels = graph.levels()
    data = {
        "title": title, "cost": cost(totals), "total": total, "pruned": share, "findings": [f.as_dict() for f in found],
        "nodes": [dict(n, level=levels[n["id"]]) for n in graph.nodes], "edges": graph.edges,
        "sources": _sources({n["place"] for n in graph.nodes} | {f.place for f in found})}  # fmt: skip
    text = (pathlib.Path(__file__).parent / "page.html").read_text()
    return text.replace("/*DATA*/null", json.dumps(data).replace("</", "<\\/"))
