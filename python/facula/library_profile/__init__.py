# SPDX-License-Identifier: Apache-2.0
"""Where the time of shared libraries goes: `facula profile --so libopenblas.so program.py`.

    launch.py   runs the program with the sampler and the counter of calls (src/sampler) in it
    record.py   reads what they leave behind
    symbols.py  names addresses
    model.py    the profile: tree, functions, call pairs, products
    report.py   text, CSV, JSON, folded stacks;  page.py, page.html: the flame graph
    sprof.py    the old files of LD_PROFILE
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import time
from collections.abc import Iterable

from facula.library_profile import launch, model, page, record, report, sprof
from facula.library_profile.launch import Refused

__all__ = ["Refused", "main", "profile"]


def _progress(items: Iterable) -> Iterable:
    """Says on a terminal how far it is, when there is something to wait for."""
    items = list(items)
    start = time.monotonic()
    shown = False
    for i, item in enumerate(items):
        if sys.stderr.isatty() and time.monotonic() - start > 1:
            shown = True
            print(f"\rreading profiles: {i} of {len(items)}", end="", file=sys.stderr, flush=True)
        yield item
    if shown:
        print("\r\033[K", end="", file=sys.stderr)


def profile(names: list, program: str, arguments: list, is_module: bool = False, rate: int = 1000) -> model.Profile:
    """Runs the program and returns its profile; its exit status is in it."""
    if not 1 <= rate <= 10000:
        raise Refused(f"profile: {rate} samples a second were asked for; 1 to 10000 are possible")
    command = launch.command_of(is_module, program, arguments)
    run = launch.run(command, names, rate)
    try:
        samples, calls = record.read_folder(run.folder)
        if not samples:
            raise Refused(f"profile: {program} left no samples: a static or set-user-ID program cannot be profiled, and there must be room in {os.path.dirname(run.folder)}")
        result = model.build(names, os.path.abspath(program) if os.path.exists(program) else program, samples, calls, _progress)
    finally:
        shutil.rmtree(run.folder, ignore_errors=True)
        for s in {s.process for s in samples} if "samples" in locals() else ():
            _forget(f"/tmp/perf-{s}.map")
    result.exit_code, result.cpu_seconds, result.wall_seconds = run.exit_code, run.cpu_seconds, run.wall_seconds
    return result


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _missing(p: model.Profile) -> list:
    """A sentence for each library that the program did not load."""
    lines = []
    for name in p.names:
        if name in p.found or any(model.matches(name, path) for path in p.loaded):
            continue
        loaded = sorted({os.path.basename(path) for path in p.loaded if os.path.basename(path)})
        near = difflib.get_close_matches(os.path.basename(name), loaded, 3, 0.5) or loaded[:8]
        lines.append(f"profile: {name} was not loaded by the program; it loaded {len(loaded)} libraries, among them {', '.join(near)}")
    return lines


def _check_output(folder: str) -> None:
    """Before the program runs, not after."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise Refused(f"profile: the folder {folder} cannot be made: {e.strerror}; name another with --output")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Refused(f"profile: no permission to write into {folder}; name another with --output")


def main(args) -> int:
    sys.setrecursionlimit(20000)  # trees of calls are as deep as the program's stacks
    names = [n for n in (args.so or "").split(",") if n]
    try:
        if args.read:
            p = sprof.read(args.read, names[0] if names else None)
            print(report.old_text(p, args.top), end="")
            return 0
        if not names:
            raise Refused("profile: --so says which libraries to look at: a name (libopenblas.so), a path, several with commas, or all")
        if not args.program:
            raise Refused("profile: there is no program to run: facula profile --so LIBRARY PROGRAM")
        _check_output(args.output)
        p = profile(names, args.program, args.arguments, args.module, args.rate)
    except Refused as e:
        print(f"facula {e}", file=sys.stderr)
        return 2
    print(report.text(p, args.top), end="")
    report.write(args.output, {**report.tables(p), "profile.html": page.render(p)})
    print(f"\nwritten to {args.output}: profile.html (flame graph), profile.json, flat.csv, calls.csv, pairs.csv, products.csv, stacks.folded")
    missing = _missing(p)
    for line in missing:
        print(f"facula {line}", file=sys.stderr)
    return p.exit_code or (1 if missing else 0)
