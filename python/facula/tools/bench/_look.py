# SPDX-License-Identifier: Apache-2.0
"""What is asked to be seen of one more, untimed step: each function's answer is printed by the parent."""

from __future__ import annotations

import json
from typing import Any

from . import _counts


def graph(worker: Any, path: str) -> str:
    try:
        return worker.torch.fx.symbolic_trace(worker.loaded.module).code.strip()
    except Exception as error:
        return f"torch.fx cannot trace it: {type(error).__name__}: {error}".split("\n")[0]


def operators(worker: Any, path: str) -> str:
    return "\n".join(f"{count:8} {name}" for name, count in _counts.operators(worker.step).items())


def convolutions(worker: Any, path: str) -> str:
    return _calls(worker, path, "conv")


def inputs(worker: Any, path: str) -> str:
    return _calls(worker, path, "")


def _calls(worker: Any, path: str, wanted: str) -> str:
    from facula._command_line import write_file

    found = _counts.calls(worker.step, wanted)
    write_file(path, json.dumps({worker.name: found}, indent=1) + "\n")
    return f"{len(found)} calls: {path}"


def trace(worker: Any, path: str) -> str:
    details = worker.options["profile_details"]
    with worker.torch.profiler.profile(record_shapes=details, with_stack=details, profile_memory=details, with_flops=details) as profile:
        worker.step()
    profile.export_chrome_trace(path)
    return f"trace: {path}"


def memory(worker: Any, path: str) -> str:
    with worker.torch.profiler.profile(profile_memory=True, record_shapes=True) as profile:
        worker.step()
    profile.export_memory_snapshot(path)
    return f"memory: {path}"


def _outputs(worker: Any) -> list:
    from . import _accuracy, _step

    step = _step.Step(worker.loaded, _step.copied(worker.loaded), worker.options)
    return [v for _, v in _accuracy.named(step(), "output") if isinstance(v, worker.torch.Tensor)]


def save_outputs(worker: Any, path: str) -> str:
    worker.torch.save(_outputs(worker), path)
    return f"outputs: {path}"


def compare_outputs(worker: Any, path: str) -> str:
    torch = worker.torch
    before, now = torch.load(path), _outputs(worker)
    if len(before) != len(now) or not all(torch.equal(a, b) for a, b in zip(before, now)):
        raise RuntimeError(f"outputs are not those of {path}, bit by bit")
    return f"outputs are those of {path}, bit by bit"
