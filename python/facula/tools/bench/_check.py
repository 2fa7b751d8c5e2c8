# SPDX-License-Identifier: Apache-2.0
"""The gates of PyTorch's CI, with its options, limits and exit statuses: check_perf_csv.py and check_accuracy.py.

They need no pandas. A row that failed (speedup 0.0) fails the gate of times, as it does there; its status says why.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Sequence

METRICS = ("speedup", "abs_latency")


class Unreadable(Exception):
    """One sentence; status 1, as in PyTorch."""


def read(path: str) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise Unreadable(f"Error: File {path} not found")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"Error: File {path} cannot be read: {error}")
    if not rows or "name" not in rows[0]:
        raise Unreadable(f"Error: File {path} has no rows with names")
    return rows


def _number(row: dict[str, str], column: str) -> float | None:
    try:
        return float(row.get(column) or "")
    except ValueError:
        return None


def _shown(metric: str, value: float) -> str:
    return f"{value:.3f}x" if metric == "speedup" else f"{value:.1f} ms/iter"


def _details(row: dict[str, str]) -> str:
    parts = []
    for column, text in (("speedup", "speedup={:.3f}x"), ("abs_latency", "latency={:.1f} ms/iter"), ("compilation_latency", "compile={:.3f}s")):
        value = _number(row, column)
        if value is not None:
            parts.append(text.format(value))
    ratio, eager, other = (_number(row, c) for c in ("compression_ratio", "eager_peak_mem", "dynamo_peak_mem"))
    if ratio:
        sizes = f" (eager={eager:.1f} GB, dynamo={other:.1f} GB)" if eager is not None and other is not None else ""
        parts.append(f"mem_ratio={1 / ratio:.2f}x{sizes}")
    status = row.get("status", "")
    return ", ".join(parts) + (f"  {status}" if status not in ("", "0", "measured") else "")


def perf(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_perf_csv", description="Every model of a CSV is as fast as it was wanted.")
    parser.add_argument("--file", "-f", help="the CSV", required=True)
    parser.add_argument("--threshold", "-t", type=float, required=True, help="what is wanted of the metric")
    parser.add_argument("--threshold-scale", "-s", type=float, default=1.0, help="times this much: how far below is still well (1)")
    parser.add_argument("--metric", choices=METRICS, default="speedup", help="speedup (default) or abs_latency in milliseconds")
    parser.add_argument("--fail-on-improvement", action="store_true", help="too good fails, too: the wanted figure is old")
    options = parser.parse_args(arguments)
    if not options.threshold_scale > 0:
        print(f"Error: --threshold-scale: expected a positive number, got {options.threshold_scale}")
        return 2
    try:
        rows = read(options.file)
    except Unreadable as error:
        print(error)
        return 1
    metric, bounds = options.metric, sorted((options.threshold * options.threshold_scale, options.threshold / options.threshold_scale))
    worst = bounds[1] if metric == "abs_latency" else bounds[0] if options.fail_on_improvement else options.threshold * options.threshold_scale
    best = bounds[0] if metric == "abs_latency" else bounds[1]

    def better(a: float, b: float) -> bool:
        return a > b if metric == "speedup" else a < b

    failed, improved = [], []
    print(f"Checking {options.file} ({metric} {'>=' if metric == 'speedup' else '<='} {_shown(metric, worst)})\n")
    for row in rows:
        value = _number(row, metric)
        print(f"{row['name']:34} {_details(row)}")
        if value is None:
            print(f"Error: {row['name']} has no {metric}")
            return 1
        if better(worst, value):
            failed.append((value, row["name"]))
        elif options.fail_on_improvement and better(value, best):
            improved.append((value, row["name"]))
    for found, bound, title in ((failed, worst, "Error: {} model(s) performance regressed"), (improved, best, "Improvement: {} model(s) performance improved")):
        if found:
            print("\n" + title.format(len(found)))
            for value, name in sorted(found):
                print(f"  - {name}: {metric}={_shown(metric, value)} (wanted {_shown(metric, bound)})")
    if failed or improved:
        return 1
    print(f"\nAll {len(rows)} model(s) passed threshold check")
    return 0


# PyTorch's CI knows them as unsteady; a difference there is said and does not fail.
UNSTEADY = {"yolov3", "XGLMForCausalLM", "moondream", "mobilenetv3_large_100", "vision_maskrcnn"}


def accuracy(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_accuracy", description="Every model's accuracy status is the expected one.")
    parser.add_argument("--actual", required=True, help="the CSV of --accuracy")
    parser.add_argument("--expected", required=True, help="a CSV of names and the statuses they should have")
    options = parser.parse_args(arguments)
    try:
        actual = read(options.actual)
        expected = {row["name"]: row.get("accuracy") for row in read(options.expected)}
    except Unreadable as error:
        print(error)
        return 1
    failed, improved = [], []
    for row in actual:
        name, got, wanted = row["name"], row.get("accuracy"), expected.get(row["name"])
        if got and got == wanted:
            print(f"{name:34}  {'PASS' if got == 'pass' else 'XFAIL'}")
            continue
        if not got:
            word = "MISSING_ACCURACY:"
        elif wanted is None:
            word = "MISSING_EXPECTED:"
        elif name in UNSTEADY:
            word = "PASS_BUT_FLAKY:" if got == "pass" else "FAIL_BUT_FLAKY:"
        else:
            word = "FAIL:" if got != "pass" else "IMPROVED:"
        if word in ("IMPROVED:",):
            improved.append(name)
        elif "FLAKY" not in word:
            failed.append(name)
        print(f"{name:34}  {word:9} accuracy={got}, expected={wanted}" + (f"  {row['reason']}" if row.get("reason") not in (None, "", "0") else ""))
    for found, title in ((failed, "Error: {} models have accuracy status regressed:"), (improved, "Improvement: {} models have accuracy status improved:")):
        if found:
            print(f"\n{title.format(len(found))}\n    {' '.join(found)}")
    if failed or improved:
        print(f"\nIf this change is expected, {os.path.basename(options.expected)} wants to be updated.")
    return 1 if failed or improved else 0


if __name__ == "__main__":
    sys.exit(perf())
