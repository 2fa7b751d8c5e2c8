# SPDX-License-Identifier: Apache-2.0
"""`facula bench page`: stored results as one page that needs nothing else: speedups with their intervals, latencies over time,
where the counts changed, and every row.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import sys

from ._options import Refused

COLOURS = {"FASTER": "#1a7f37", "SLOWER": "#c0392b", "SAME": "#57606a", "UNKNOWN": "#b08800"}
STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em; color: #1f2328; background: #fff }
table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .2em .7em; border-bottom: 1px solid #d0d7de; text-align: left; white-space: nowrap }
td.n { text-align: right; font-variant-numeric: tabular-nums } .wide { overflow-x: auto } small, .why { color: #57606a } svg text { font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } th, td { border-color: #30363d } svg text { fill: #e6edf3 } }
"""


def read(paths: list[str]) -> list[dict]:
    """Runs, oldest first."""
    runs = []
    for path in paths:
        file = path if path.endswith(".json") else path + ".json"
        try:
            with open(file, encoding="utf-8") as f:
                run = json.load(f)
            runs.append({"path": path, **run, "rows": list(run["rows"])})
        except OSError as error:
            raise Refused(f"page: {file} cannot be read: {error.strerror}")
        except (ValueError, KeyError, TypeError):
            raise Refused(f"page: {file} is no result of facula bench")
    return sorted(runs, key=lambda run: str(run.get("started", "")))


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)


def speedups(rows: list[dict]) -> str:
    """A mark and an interval for each row, on one logarithmic axis; a row that did not run says why."""
    ran = [r for r in rows if r.get("speedup") and "verdict" in r]
    if not ran:
        return "<p>No row has a speedup.</p>"
    ends = [v for r in ran for v in (r["ci_low"], r["ci_high"], r["speedup"], 1.0) if 0 < v < math.inf]
    low, high = math.log(min(ends)) - 0.05, math.log(max(ends)) + 0.05
    left, width, step = 260, 720, 20

    def x(value: float) -> float:
        return left + width * (min(max(math.log(value) if value > 0 else low, low), high) - low) / (high - low)

    height = step * len(rows) + 40
    parts = [f'<svg viewBox="0 0 1120 {height}" role="img" aria-label="speedups with 95 % intervals">']
    ticks = [t for t in (0.1, 0.2, 0.5, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50) if low <= math.log(t) <= high]
    for tick in ticks:
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="20" y2="{height - 20}" stroke="{"#888" if tick == 1 else "#8884"}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="14" text-anchor="middle" fill="currentColor">{tick:g}x</text>')
    for i, row in enumerate(rows):
        y = 34 + step * i
        name = str(row["name"])
        parts.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end" fill="currentColor">{_text(name if len(name) < 36 else "…" + name[-34:])}</text>')
        if row not in ran:
            parts.append(f'<text x="{left + 6}" y="{y + 4}" fill="#b08800">{_text(row.get("accuracy") or row.get("status", ""))}</text>')
            continue
        colour = COLOURS.get(row["verdict"], "#57606a")
        title = f'{name}: {row["speedup"]:.3f}x [{row["ci_low"]:.3f}, {row["ci_high"]:.3f}] {row["verdict"]}'
        parts.append(f'<g><title>{_text(title)}</title><line x1="{x(row["ci_low"]):.1f}" x2="{x(row["ci_high"]):.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(row["speedup"]):.1f}" cy="{y}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + width + 14}" y="{y + 4}" fill="{colour}">{row["speedup"]:.2f}x {row["verdict"]}</text></g>')
    return "".join(parts) + "</svg>"


def history(runs: list[dict]) -> str:
    """Latency of each model over the runs, as a share of its first; and where its counts changed."""
    lines: dict[str, list] = {}
    for number, run in enumerate(runs):
        for row in run["rows"]:
            if row.get("abs_latency"):
                lines.setdefault(str(row["name"]), []).append((number, row["abs_latency"], row.get("counts")))
    lines = {name: points for name, points in lines.items() if len(points) > 1}
    if not lines:
        return ""
    logs = [math.log(p[1] / points[0][1]) for points in lines.values() for p in points]
    low, high = min(logs) - 0.05, max(logs) + 0.05
    left, width, height = 60, 800, 300

    def at(number: int, share: float) -> str:
        return f"{left + width * number / (len(runs) - 1):.1f},{20 + height * (high - math.log(share)) / (high - low):.1f}"

    parts = [f'<h2>Latency over the runs</h2><svg viewBox="0 0 1120 {height + 50}" role="img" aria-label="latency relative to the first run">']
    for tick in (0.25, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2, 4):
        if low <= math.log(tick) <= high:
            y = at(0, tick).split(",")[1]
            parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#8884"/><text x="{left - 8}" y="{y}" text-anchor="end" fill="currentColor">{tick:g}</text>')
    changed = []
    for i, (name, points) in enumerate(lines.items()):
        colour = f"hsl({360 * i / len(lines):.0f} 60% 45%)"
        path = " ".join(at(number, value / points[0][1]) for number, value, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"><title>{_text(name)}</title></polyline>')
        end = at(points[-1][0], points[-1][1] / points[0][1]).split(",")
        parts.append(f'<text x="{float(end[0]) + 6:.1f}" y="{float(end[1]) + 4:.1f}" fill="{colour}">{_text(name)}</text>')
        for (_, _, a), (number, _, b) in zip(points, points[1:]):
            if isinstance(a, dict) and isinstance(b, dict) and a != b:
                changed.append(f"<li>{_text(name)}, run {number + 1}: {_text(', '.join(f'{k} {a.get(k)} → {b[k]}' for k in b if a.get(k) != b[k]))}</li>")
    return "".join(parts) + "</svg>" + (f"<h3>Counts that changed</h3><ul>{''.join(changed)}</ul>" if changed else "")


def table(rows: list[dict]) -> str:
    columns = ("name", "batch_size", "status", "speedup", "ci_low", "ci_high", "noise_floor", "verdict", "abs_latency", "eager_peak_mem", "n", "dropped", "source", "reason")
    lines = ["<div class=wide><table><tr>" + "".join(f"<th>{c}</th>" for c in columns) + "</tr>"]
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column, row.get("accuracy", "") if column == "status" else "")
            cells.append(f"<td class=n>{value:.4g}</td>" if isinstance(value, (int, float)) else f"<td>{_text(value or '')}</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "".join(lines) + "</table></div>"


def page(runs: list[dict]) -> str:
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>facula bench</title>", f"<style>{STYLE}</style><h1>facula bench</h1>"]
    for run in reversed(runs):
        machine = run.get("machine") or {}
        parts.append(f"<h2>{_text(run.get('suite', ''))} <small>{_text(run.get('started', ''))}, {_text(machine.get('model', ''))}</small></h2>")
        parts.append(f"<p class=why>{_text(' '.join(map(str, run.get('command', ()))))}</p>")
        parts.append(speedups(run["rows"]) + table(run["rows"]))
    return "".join(parts) + history(runs) + "</html>\n"


def write(path: str, paths: list[str]) -> None:
    from facula._command_line import write_file

    try:
        write_file(path, page(read(paths)))
    except OSError as error:
        raise Refused(f"page: {path} cannot be written: {error.strerror}")
    print(f"page: {path}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula bench page", description="A page of stored results, with plots.")
    parser.add_argument("file", nargs="+", help="CSV files of runs, or the JSON beside them")
    parser.add_argument("-o", "--output", default="bench.html", help="the page (bench.html)")
    options = parser.parse_args(arguments)
    try:
        write(options.output, options.file)
    except Refused as refused:
        print(f"facula bench {str(refused)}", file=sys.stderr)
        return 2
    return 0
