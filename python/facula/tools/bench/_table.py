# SPDX-License-Identifier: Apache-2.0
"""`facula bench table`: stored results as a Markdown table, a line for each model, columns by threads and mode."""

from __future__ import annotations

import argparse
import math
import statistics
import sys

from . import _page
from ._options import Refused


def _cell(row: dict | None) -> str:
    if row is None:
        return ""
    if not row.get("speedup") or "verdict" not in row:
        return str(row.get("status", ""))
    interval = f"{row['ci_low']:.2f}–{row['ci_high']:.2f}" if math.isfinite(row["ci_high"]) else "one round"
    doubt = " ?" if row["verdict"] == "UNKNOWN" else ""
    return f"{row['abs_latency']:.3g} ms, **{row['speedup']:.2f}** ({interval}){doubt}"


def _goes(row: dict | None) -> str:
    """The operators that take most of a step."""
    shares = (row or {}).get("shares") or {}
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in list(shares.items())[:3] if share >= 0.02)


def table(runs: list[dict]) -> str:
    """Of several runs of one kind the newest row counts. The last column says where Facula's time goes, with the fewest threads."""
    cells: dict[str, dict] = {}
    kinds: list[tuple[int, str]] = []
    for run in runs:
        mode = "training" if any(str(word).startswith("--tr") for word in run.get("command", ())) else "inference"
        for row in run["rows"]:
            kind = (int(row.get("threads", 0)), mode)
            if kind not in kinds:
                kinds.append(kind)
            cells.setdefault(str(row["name"]), {})[kind] = row
    kinds.sort()
    modes = list(dict.fromkeys(mode for _, mode in kinds))
    heads = [f"{mode}, {threads} thread{'s' * (threads > 1)}" for threads, mode in kinds] + [f"where the time goes ({'; '.join(modes)})"]
    lines = [f"| model (batch) | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name in sorted(cells, key=str.lower):
        sizes = dict.fromkeys(str(row["batch_size"]) for row in cells[name].values() if int(row["batch_size"]))
        goes = [next((text for kind in kinds if kind[1] == mode and (text := _goes(cells[name].get(kind)))), "") for mode in modes]
        columns = [_cell(cells[name].get(kind)) for kind in kinds] + ["; ".join(goes).strip("; ")]
        lines.append(f"| {name} ({'/'.join(sizes)}) | {' | '.join(columns)} |")
    means = []
    for kind in kinds:
        ratios = [row["speedup"] for by in cells.values() if (row := by.get(kind)) and row.get("speedup") and "verdict" in row]
        under = sum(row["ci_high"] < 1 for by in cells.values() if (row := by.get(kind)) and row.get("speedup") and "verdict" in row)
        mean = f"**{math.exp(statistics.fmean(map(math.log, ratios))):.2f}** of {len(ratios)}" if ratios else ""
        means.append(mean + (f", {under} below 1" if under else ""))
    return "\n".join([*lines, "| geometric mean | " + " | ".join(means) + " | |"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula bench table", description="Stored results as a Markdown table.")
    parser.add_argument("file", nargs="+", help="CSV files of runs, or the JSON beside them")
    options = parser.parse_args(arguments)
    try:
        print(table(_page.read(options.file)))
    except Refused as refused:
        print(f"facula bench {str(refused).replace('page:', 'table:', 1)}", file=sys.stderr)
        return 2
    return 0
