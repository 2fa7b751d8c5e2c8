# SPDX-License-Identifier: Apache-2.0
"""The files of a run: a CSV in PyTorch's columns with ours behind them, JSON with everything beside it, and the summary.

Both are written anew, whole, after every model: whoever reads, or goes on after a kill, never meets half a row.
"""

from __future__ import annotations

import csv
import io
import json
import os
from typing import Any

from ._options import Refused
from ._statistics import Mean, mean

THEIRS = (
    "dev", "name", "batch_size", "tag", "speedup", "abs_latency", "baseline", "speedup_vs_baseline", "compilation_latency", "compression_ratio",
    "eager_peak_mem", "dynamo_peak_mem", "calls_captured", "unique_graphs", "fallbacks_to_eager", "graph_breaks", "unique_graph_breaks",
    "autograd_captures", "autograd_compiles", "cudagraph_skips",
)  # fmt: skip
OURS = ("n", "ci_low", "ci_high", "noise_floor", "verdict", "dropped", "seconds", "source", "counts", "status", "reason")
ACCURACY = ("dev", "name", "batch_size", "tag", "accuracy", "worst", "rmse_eager", "rmse_candidate", "first_divergence", "seconds", "source", "reason")
TOLERANCE = ("dev", "name", "batch_size", "tag", "max", "mean", "std", "seconds", "source", "status", "reason")
OPTIONAL = {"tag": "tag", "baseline": "baseline", "speedup_vs_baseline": "baseline"}  # columns of options

# Statuses of rows that measured nothing.
FAILED = (
    "model_fail_to_load", "eager_fail_to_run", "warmup_failed", "fail_to_run", "timeout", "OOM", "crash", "skip", "missing", "no_compiler",
    "eager_two_runs_differ", "fail_accuracy", "not_bitwise_equivalent",
)  # fmt: skip
NOT_A_FAILURE = ("skip", "missing", "no_compiler")  # in the summary: nothing was wrong with what ran


class Table:
    """Rows by model, in the order they came. Owned by the parent; nobody else writes its files."""

    def __init__(self, path: str | None, options: Any, about: dict):
        self.path, self.options, self.about = path, options, about
        mode = ACCURACY if options.accuracy else TOLERANCE if options.tolerance else THEIRS + OURS
        self.columns = [c for c in mode if c not in OPTIONAL or getattr(options, OPTIONAL[c])]
        self.rows: list[dict] = []
        self.details: list[dict] = []
        if path is not None and options.retain_output and os.path.exists(path):
            self._read(path)

    def _read(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8", newline="") as file:
                found = list(csv.DictReader(file))
                columns = list(found[0]) if found else self.columns
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise Refused(f"--retain-output: {path} cannot be read: {error}")
        if columns != self.columns:
            raise Refused(f"--retain-output: {path} has other columns than this run would write; give --output another name")
        self.rows = [row for row in found if row.get("name")]
        try:
            with open(path + ".json", encoding="utf-8") as file:
                self.details = json.load(file)["rows"]
        except (OSError, ValueError, KeyError, TypeError):
            self.details = []  # what it held beyond the CSV is lost, the rows are not

    def has(self, device: str, name: str) -> bool:
        return any(row["name"] == name and row["dev"] == device for row in self.rows)

    def start(self) -> None:
        """Writes the files' beginnings: a folder that cannot be written is noticed before any model runs."""
        self._write()

    def add(self, row: dict, details: dict) -> None:
        self.rows.append({c: _text(row.get(c, 0)) for c in self.columns})
        self.details.append({**row, **details})
        self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        from facula._command_line import write_file

        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        try:
            if os.path.dirname(self.path):
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
            write_file(self.path, text.getvalue())
            write_file(self.path + ".json", json.dumps({**self.about, "rows": self.details}, indent=1) + "\n")
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror or error}")

    def summary(self) -> Mean:
        """Of times: of what ran. Of accuracy it counts only."""
        ratios = [float(row["speedup"]) for row in self.rows if "@" not in row["name"] and row.get("speedup") not in (None, "0") and float(row["speedup"]) > 0]
        kind = "accuracy" if self.options.accuracy else "status"
        failed = sum(row.get(kind, "").split(" ")[0] not in ("measured", "pass", "pass_due_to_skip", *NOT_A_FAILURE) for row in self.rows)
        return mean(ratios, failed)

    def failures(self) -> list[dict]:
        kind = "accuracy" if self.options.accuracy else "status"
        return [row for row in self.rows if row.get(kind, "") not in ("measured", "pass", "pass_due_to_skip", *NOT_A_FAILURE)]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return " ".join(str(value).split()) if value is not None else "0"


def earlier(path: str) -> dict[str, float]:
    """Speedups by name of an earlier CSV, for --baseline."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return {row["name"]: float(row["speedup"]) for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--baseline: {path} cannot be read: {getattr(error, 'strerror', None) or error}")
    except (KeyError, ValueError, TypeError):
        raise Refused(f"--baseline: {path} is no CSV of speedups")
