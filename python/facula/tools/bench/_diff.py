# SPDX-License-Identifier: Apache-2.0
"""`facula bench diff A B`: what changed from A to B, counts first and time second.

A and B are result files (CSV or their JSON; several of one side with commas), commits, or frameworks (facula, torch). Commits
are built once each, in a cache by the content of their tree, and measured interleaved by the runner of this tree. Nobody
is blamed for one run: two have to disagree with SAME in the same direction.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import json
import math
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tarfile
from typing import Any

from facula._command_line import Progress

from . import _gate, _measure, _options, _plan
from ._options import Refused

FRAMEWORKS = ("facula", "torch")


# --- files


def rows_of(paths: str) -> dict[str, list[dict]]:
    """By model, one row for each file: what the JSON beside a CSV holds."""
    found: dict[str, list[dict]] = {}
    for path in paths.split(","):
        file = path if path.endswith(".json") else path + ".json"
        try:
            with open(file, encoding="utf-8") as f:
                rows = json.load(f)["rows"]
            for row in rows:
                found.setdefault(row["name"], []).append(row)
        except OSError as error:
            raise Refused(f"diff: {file} cannot be read: {error.strerror}")
        except (ValueError, KeyError, TypeError):
            raise Refused(f"diff: {file} is no result of facula bench")
    return found


def _times(row: dict) -> list[float]:
    """Undisturbed seconds of the candidate's turns."""
    threads = row.get("threads", 1)
    return [_measure.Turn(**r["c"]).seconds(threads) for p in row.get("turns", ()) for r in p]


def ratio_of(a: list[dict], b: list[dict]) -> tuple[float, float, float] | None:
    """A's time over B's of runs that are not interleaved, and how far runs and their rounds let it be off."""
    of_a, of_b = ([_times(row) for row in rows if _times(row)] for rows in (a, b))
    if not of_a or not of_b:
        return None
    middles = [[math.log(statistics.median(times)) for times in side] for side in (of_a, of_b)]
    floors = [row.get("noise_floor", 0.0) for row in (*a, *b)]
    spread = max((max(m) - min(m) for m in middles), default=0.0)
    off = max(spread, math.log1p(max(floor for floor in floors if math.isfinite(floor))) if floors else 0.0)
    middle = statistics.fmean(middles[0]) - statistics.fmean(middles[1])
    return math.exp(middle), math.exp(middle - off), math.exp(middle + off)


def of_files(a: dict[str, list[dict]], b: dict[str, list[dict]]) -> tuple[list[str], int]:
    """Lines, and how many models are to blame."""
    lines, blamed = [], 0
    for name in [*a, *(n for n in b if n not in a)]:
        if name not in a or name not in b:
            lines.append(f"{name:34} only in {'A' if name in a else 'B'}")
            continue
        parts = []
        states = [row[-1].get("accuracy") or row[-1].get("status") for row in (a[name], b[name])]
        if states[0] != states[1]:
            parts.append(f"status {states[0]} -> {states[1]}")
            blamed += 1
        counts = [row[-1].get("counts") or {} for row in (a[name], b[name])]
        text = _gate.differences(*counts) if all(isinstance(c, dict) for c in counts) else ""
        if text:
            parts.append(f"counts: {text}")
        ratio = ratio_of(a[name], b[name])
        if ratio:
            word = "SAME" if ratio[1] <= 1 <= ratio[2] else "FASTER" if ratio[0] > 1 else "SLOWER"
            runs = min(len(a[name]), len(b[name]))
            if word != "SAME" and runs < 2:
                word = f"perhaps {word}: one run on each side blames nobody"
            elif word == "SLOWER":
                blamed += 1
            parts.append(f"time A/B {ratio[0]:.3f}x [{ratio[1]:.3f}, {ratio[2]:.3f}] {word}")
        lines.append(f"{name:34} {'; '.join(parts) or 'the same'}")
    return lines, blamed


# --- commits


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"diff: git {' '.join(words)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


def is_commit(text: str) -> bool:
    return subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"], capture_output=True).returncode == 0


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "facula" / "bench"


def built(commit: str, folder: pathlib.Path | None = None) -> str:
    """The folder to import that commit's Facula from; built where its tree was not yet, once also where two of us ask."""
    tree = _git("rev-parse", f"{commit}^{{tree}}")
    place = (folder or cache()) / tree
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "building", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "built").exists():
            _build(commit, place)
            (place / "built").write_text(commit + "\n")
    return str(place / "build" / "release" / "python")


def _build(commit: str, place: pathlib.Path) -> None:
    print(f"building {commit} in {place}", file=sys.stderr, flush=True)
    archive = subprocess.run(["git", "archive", commit], stdout=subprocess.PIPE, check=True, cwd=_git("rev-parse", "--show-toplevel")).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        if sys.version_info >= (3, 12):
            tar.extractall(place, filter="data")
        else:
            tar.extractall(place)
    command = os.environ.get("FACULA_BENCH_BUILD", "make build")
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    with open(place / "build.log", "w") as log, subprocess.Popen(
        shlex.split(command), cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True, errors="replace"
    ) as build, Progress(f"building {commit}", 1) as bar:  # fmt: skip
        for line in build.stdout or ():
            log.write(line)
            step = re.match(r"\[(\d+)/(\d+)\] (.*)", line)  # as ninja says
            if step:
                bar.done, bar.total = int(step[1]), int(step[2])
                bar.step(step[3][:40], advance=False)
    if build.returncode:
        raise Refused(f"diff: {commit} does not build ({command}); see {place / 'build.log'}")


def _counts_under(home: str, names: list[str]) -> dict:
    program = [sys.executable, "-c", _gate.PROGRAM.format(here=_gate.HERE, names=names)]
    environment = {**os.environ, "PYTHONPATH": home, "OMP_NUM_THREADS": "1", "FACULA_CPU_CAPABILITY": "default"}
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    found: dict = {}
    for line in done.stdout.splitlines():
        with contextlib.suppress(ValueError):
            name, mode, counts, _ = json.loads(line)
            found.setdefault(name, {})[mode] = counts
    if done.returncode:
        print(f"counting under {home} ended early: {(done.stderr.strip().splitlines() or [''])[-1]}", file=sys.stderr)
    return found


def of_commits(a: str, b: str, suite: str, rest: list[str]) -> int:
    """Counts of all tiny models, then times of the models that the options name, or whose counts differ."""
    options = _options.parse(rest, "facula bench diff")
    _options.check(options)
    homes = [built(a), built(b)]
    names = _plan.own_models()
    counts = [_counts_under(home, names) for home in homes]
    lines = _gate.changes(*counts)
    print("\n".join(lines) if lines else f"counts: {len(counts[1])} models count the same")
    chosen = _plan.plan(suite, options) if options.only or options.filter else [_plan.Planned(name) for name in dict.fromkeys(line.split()[0] for line in lines)]
    blamed = 0
    for planned in chosen:
        blamed += _timed(planned, suite, options, homes)
    return 1 if blamed else 0


def _timed(planned: _plan.Planned, suite: str, options: argparse.Namespace, homes: list[str]) -> bool:
    """Up to two interleaved runs; whether both say that B is slower."""
    from . import _parent

    verdicts: list[Any] = []
    for _ in range(2):
        model = _parent.Model(suite, planned, "cpu", options, lambda done, of: None)
        model.homes = [homes[0], homes[0], homes[1]]
        model.run()
        print(model.line(), flush=True)
        verdicts.append(model.row.get("verdict", model.row.get("status")))
        if verdicts[-1] == "SAME":
            break
    if len(verdicts) == 2 and verdicts[0] == verdicts[1] and verdicts[0] != "UNKNOWN":
        print(f"{planned.name}: B is {verdicts[0]}, in both runs")
        return verdicts[0] != "FASTER"
    print(f"{planned.name}: {'the same' if verdicts[-1] == 'SAME' else 'the runs do not agree: nobody is blamed'}")
    return False


def branch(suite: str, arguments: list[str], name: str) -> int:
    """--diff-branch: this commit against that branch; a dirty tree is refused."""
    if _git("status", "--porcelain", "--untracked-files=no"):
        raise Refused("--diff-branch: the tree has uncommitted changes; commit or stash them")
    if not is_commit(name):
        raise Refused(f"--diff-branch: there is no branch {name!r} here")
    if _git("rev-parse", "HEAD") == _git("rev-parse", name):
        raise Refused(f"--diff-branch: {name} is the commit that is checked out")
    rest = [a for i, a in enumerate(arguments) if a != "--diff-branch" and not a.startswith("--diff-branch=") and (i == 0 or arguments[i - 1] != "--diff-branch")]
    return of_commits(name, "HEAD", suite, rest)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula bench diff", description="What changed from A to B: counts first, time second.",
                                     epilog="Further options are the runner's: --training --only resnet18 -t1 (performance, inference unless told).")  # fmt: skip
    parser.add_argument("a", metavar="A", help="result files (with commas), a commit, or a framework: facula, torch")
    parser.add_argument("b", metavar="B", help="the same kind")
    parser.add_argument("--suite", choices=("torchbench", "huggingface", "timm_models"), default="torchbench", help="of the models (torchbench)")
    known, rest = parser.parse_known_args(arguments)
    try:
        return _of(known.a, known.b, known.suite, rest)
    except Refused as refused:
        print(f"facula bench diff: {str(refused).removeprefix('diff: ')}", file=sys.stderr)
        return 2


def _of(a: str, b: str, suite: str, rest: list[str]) -> int:
    if not any(word.startswith(("--perf", "--acc", "--tol")) for word in rest):
        rest = ["--performance", *rest]
    if not any(word.startswith(("--tr", "--inf")) for word in rest):
        rest = ["--inference", *rest]
    if a in FRAMEWORKS and b in FRAMEWORKS:
        if a == b:
            raise Refused(f"diff: {a} and {b} are one framework")
        from . import _parent

        return _parent.run(suite, [*rest, "--backend", "torch"], "facula bench diff")
    files = [all(os.path.exists(p) for p in side.split(",")) for side in (a, b)]
    if all(files):
        lines, blamed = of_files(rows_of(a), rows_of(b))
        print("\n".join(lines))
        return 1 if blamed else 0
    for side, is_file in zip((a, b), files):
        if not is_file and not is_commit(side):
            raise Refused(f"diff: {side!r} is no result file, commit, or framework ({', '.join(FRAMEWORKS)})")
    if any(files):
        raise Refused("diff: a file is compared with files, a commit with commits")
    return of_commits(a, b, suite, rest)
