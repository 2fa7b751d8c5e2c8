# SPDX-License-Identifier: Apache-2.0
"""`facula bench gate`: what a step of every tiny model counts, held against the counts of this tree.

Counts do not depend on the machine or on what it is busy with: a change of one is a change of the program. `--update`
writes the new ones and prints what changed. Calls of Python are kept by Python's minor version, because what it inlines
differs; a version that nobody recorded is not judged.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from . import _plan, _suites
from ._side import HERE

PROGRAM = """
import importlib.util as u, sys
from facula import _as_torch
_as_torch.install()
p = {here!r}
s = u.spec_from_file_location('facula_bench', p + '/__init__.py', submodule_search_locations=[p])
m = u.module_from_spec(s); sys.modules['facula_bench'] = m; s.loader.exec_module(m)
from facula_bench import _gate
_gate.work({names!r})
"""
OPTIONS = {
    "compat": False, "amp": False, "amp_dtype": None, "device": "cpu", "randomize_input": False, "accuracy": False, "collect_outputs": False,
    "use_eval_mode": False, "ddp": False, "channels_last": False, "float16": False, "bfloat16": False, "float32": False,
}  # fmt: skip
LIBRARIES = "libraries"  # the key of what they were counted with
VERSION = f"python_calls_{sys.version_info[0]}.{sys.version_info[1]}"


def libraries() -> dict:
    """What of the build decides how products and convolutions are computed, and so what they launch and allocate."""
    from facula import __config__

    text = __config__.show()
    return {name: bool(re.search(pattern, text)) for name, pattern in (("oneDNN", r"oneDNN: \d"), ("BLAS", r"BLAS in use: (?!none)"))}


def another_build(known: dict) -> str:
    """Why the counts of this tree say nothing of this build; nothing where they do."""
    wanted = known.get(LIBRARIES, libraries())
    return ", ".join(f"{'with' if wanted[name] else 'without'} {name}" for name, has in libraries().items() if wanted[name] != has)


def counts_file() -> pathlib.Path:
    return _plan.models_folder() / "counts.json"


def work(names: list[str]) -> None:
    """In a process of its own: counts of each model twice, as lines of JSON."""
    import torch

    from . import _counts, _load, _step

    torch.set_num_threads(1)
    for name in names:
        for mode in ("train", "eval"):
            if mode == "train" and name in _suites.NO_TRAINING:
                continue
            options = {**OPTIONS, "training": mode == "train"}
            torch.manual_seed(_load.SEED)
            loaded = _load._of_file(_plan.models_folder() / f"{name}.py", name, mode == "train", None, True)
            _step.prepare(loaded, options)
            step = _step.Step(loaded, loaded.module, options)
            step()
            print(json.dumps([name, mode, _counts.count(step), _counts.count(step)]), flush=True)


def measured(names: list[str]) -> dict:
    """{model: {mode: counts}} of this build. RuntimeError where two steps of one model count differently."""
    from facula import _as_torch
    from facula._command_line import Progress

    found: dict = {}
    program = [sys.executable, "-c", PROGRAM.format(here=HERE, names=names)]
    environment = {**os.environ, **_as_torch.environment(), "OMP_NUM_THREADS": "1", "FACULA_CPU_CAPABILITY": "default"}  # what differs by instruction set is left out
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as process, Progress("gate", len(names)) as bar:
        assert process.stdout
        for line in process.stdout:
            name, mode, first, second = json.loads(line)
            if first != second:
                raise RuntimeError(f"{name}, {mode}: two steps count differently: {differences(first, second)}")
            first[VERSION] = first.pop("python_calls")
            if name not in found:
                bar.step(name)
            found.setdefault(name, {})[mode] = first
    if process.returncode:
        raise RuntimeError(f"the process that counts ended with {process.returncode} after {next(reversed(found), 'nothing')}")
    return found


def differences(before: dict, now: dict) -> str:
    return ", ".join(f"{key} {before.get(key)} -> {now[key]}" for key in now if key in before and before[key] != now[key])


def changes(known: dict, found: dict) -> list[str]:
    """A line for each model and mode that is new or counts something else."""
    lines = []
    for name, modes in found.items():
        for mode, counts in modes.items():
            before = known.get(name, {}).get(mode)
            if before is None:
                lines.append(f"{name:32} {mode:5}  new: {counts['operators']} operators, {counts['flops']} flops")
            elif text := differences(before, counts):
                lines.append(f"{name:32} {mode:5}  {text}")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula bench gate", description="The exact counts of every tiny model's step, against those of this tree.")
    parser.add_argument("--update", action="store_true", help="write the new counts, and print what changed")
    parser.add_argument("--only", metavar="NAME", action="append", help="one model; may be repeated")
    options = parser.parse_args(arguments)
    path, names = counts_file(), options.only or _plan.own_models()
    unknown = sorted(set(names) - set(_plan.own_models()))
    if unknown:
        print(f"facula bench gate: there is no model file {unknown[0]}", file=sys.stderr)
        return 2
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    other = another_build(known)
    if other and not options.update:
        print(f"facula bench gate: the counts are those of a build {other}", file=sys.stderr)
        return 2
    try:
        found = measured(names)
    except RuntimeError as error:
        print(f"facula bench gate: {error}", file=sys.stderr)
        return 1
    lines = changes(known, found)
    print("\n".join(lines) if lines else f"{len(found)} models count what they did")
    if not options.update:
        return 1 if lines else 0
    from facula._command_line import write_file

    for name, modes in found.items():
        for mode, counts in modes.items():
            known.setdefault(name, {})[mode] = {**{k: v for k, v in known.get(name, {}).get(mode, {}).items() if k.startswith("python_calls")}, **counts}
    known = {LIBRARIES: libraries(), **{name: known[name] for name in sorted(known) if name in _plan.own_models()}}
    write_file(path, "{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in known) + "}\n")
    print(f"written: {path}")
    return 0
