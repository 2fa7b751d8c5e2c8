# SPDX-License-Identifier: Apache-2.0
"""Which models a command line asks for, in which order, and why some of them are not run."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import sys

from . import _suites
from ._options import Refused


@dataclasses.dataclass(frozen=True)
class Planned:
    name: str
    skip: str = ""  # why it is not run; its row says so
    batch_size: int | None = None  # of --batch-size or --batch-size-file


def models_folder() -> pathlib.Path:
    """Our model files: beside an installed package, or in the tree that it is linked to."""
    here = pathlib.Path(__file__).resolve().parent
    return here / "models" if (here / "models").is_dir() else here.parents[3] / "benchmarks" / "models"


def own_models() -> list[str]:
    folder = models_folder()
    return sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_")) if folder.is_dir() else []


def clones() -> list[pathlib.Path]:
    """Folders torchbenchmark/models of real clones on the path; ours has no models and is none."""
    paths = [*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    found = (pathlib.Path(p or ".") / "torchbenchmark" / "models" for p in dict.fromkeys(paths) if p or p == "")
    return [p for p in found if p.is_dir()]


def names_of(suite: str) -> list[str]:
    """Everything that can be asked for, sorted as PyTorch sorts."""
    if suite == "huggingface":
        return sorted([*_suites.HUGGINGFACE, *_suites.HUB])
    if suite == "timm_models":
        return sorted(_suites.TIMM)
    cloned = {p.name for folder in clones() for p in folder.iterdir() if (p / "__init__.py").is_file()}
    return sorted({*own_models(), *cloned})


def partition(count: int, parts: int, which: int) -> tuple[int, int]:
    """A contiguous slice; the last part takes the rest."""
    size = count // parts
    return which * size, count if which == parts - 1 else (which + 1) * size


def _expression(option: str, patterns: list[str]) -> re.Pattern[str]:
    try:
        return re.compile("|".join(patterns), re.IGNORECASE)
    except re.error as error:
        raise Refused(f"{option}: {'|'.join(patterns)!r} is no regular expression: {error}")


def sizes_of(path: str) -> dict[str, int]:
    """A --batch-size-file: NAME,SIZE or NAME SIZE in each line."""
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--batch-size-file: {path} cannot be read: {getattr(error, 'strerror', None) or error}")
    sizes = {}
    for number, line in enumerate(lines, 1):
        parts = [part for part in re.split(r"[,\s]+", line.strip()) if part]
        if not parts:
            continue
        if len(parts) != 2 or not parts[1].isdecimal() or not int(parts[1]):
            raise Refused(f"--batch-size-file: line {number} of {path}: expected NAME,SIZE, got {line!r}")
        sizes[parts[0]] = int(parts[1])
    return sizes


def _skip(suite: str, name: str, options: argparse.Namespace) -> str:
    if options.no_skip or suite != "torchbench":
        return ""
    if options.training and name in _suites.NO_TRAINING:
        return _suites.NO_TRAINING[name]
    return ""


def plan(suite: str, options: argparse.Namespace) -> list[Planned]:
    """The models in their order. Refused where a name does not exist or nothing is left."""
    sizes = sizes_of(options.batch_size_file) if options.batch_size_file else {}
    names = names_of(suite)

    def planned(name: str, skip: str = "") -> Planned:
        return Planned(name, skip, options.batch_size or sizes.get(name))

    if options.only:
        if options.only.startswith("path:"):
            path_and_class(options.only)
        elif options.only not in names:
            near = difflib.get_close_matches(options.only, names, 3, 0.5)
            near += [n for n in names if options.only.lower() in n.lower() and n not in near][: 3 - len(near)]
            hint = f"; there are {', '.join(near)}" if near else ""
            raise Refused(f"--only: {suite} has no model {options.only!r}{hint} (facula bench list --why)")
        return [planned(options.only)]
    begin, end = partition(len(names), options.total_partitions, options.partition_id)
    wanted = _expression("--filter", options.filter or ["."])
    unwanted = _expression("--exclude", options.exclude or ["^$"])
    chosen = [
        planned(name, _skip(suite, name, options))
        for name in names[begin:end]
        if wanted.search(name)
        and not unwanted.search(name)
        and name not in (options.exclude_exact or [])
        and not (options.fast and name in _suites.SLOW)
    ]
    if not chosen:
        raise Refused(f"{suite}: no model is left of {len(names)}; --filter, --exclude, --fast and --partition-id choose")
    return chosen


def path_and_class(text: str) -> tuple[str, str]:
    """Of path:FILE,class:NAME; Refused where it is not that."""
    found = re.fullmatch(r"path:(.+),class:(\w+)", text)
    if not found:
        raise Refused(f"--only: expected path:/abs/file.py,class:NAME, got {text!r}")
    if not pathlib.Path(found[1]).is_file():
        raise Refused(f"--only: there is no file {found[1]}")
    return found[1], found[2]
