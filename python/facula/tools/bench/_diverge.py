# SPDX-License-Identifier: Apache-2.0
"""Where a candidate parts from eager: the first module call and operator whose result is another one.

Both run once from the same state, and every result leaves a few numbers: its size and projections on fixed waves. Results
are compared in their order; where the two programs call different operators, that is where they part.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
from typing import Any

WAVES = (0.618034, 1.324718, 2.414214)


def digest(t: Any) -> list[float]:
    """Root mean square, and projections; equal for equal tensors of either framework."""
    import numpy

    values = t.detach().double().cpu().numpy().ravel()
    if not values.size:
        return [0.0] * (len(WAVES) + 1)
    where, scale = numpy.arange(values.size), 1 / math.sqrt(values.size)
    return [float(numpy.sqrt(numpy.mean(values * values))), *(float(values @ numpy.cos(w * where)) * scale for w in WAVES)]


def apart(a: list[float], b: list[float], tolerance: float) -> float:
    """The largest difference as a share of the result's size; 0.0 within the tolerance."""
    size = max(a[0], b[0], 1e-30)
    difference = max((abs(x - y) for x, y in zip(a, b)), default=0.0) / size
    if math.isnan(difference):
        return 0.0 if any(map(math.isnan, a)) and any(map(math.isnan, b)) else math.inf
    return difference if difference > tolerance else 0.0


def _tensors(value: Any) -> list:
    import torch

    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor) and t.is_floating_point() and t.layout == torch.strided]


def trace(worker: Any, backend: str, kind: str) -> list:
    """Of one step: [what, in which module, digests] in order. Operators under Facula only."""
    import dataclasses

    import torch

    from . import _backends, _load, _step

    torch.manual_seed(_load.SEED)
    module = copy.deepcopy(worker.loaded.module)
    made = _backends.compile_with(backend, module, worker.loaded.inputs, worker.options) if kind == "candidate" else module
    names: dict[int, str] = {}
    for owner in (made, module):
        if isinstance(owner, torch.nn.Module):
            for name, part in owner.named_modules():
                names.setdefault(id(part), name.removeprefix("_orig_mod.") or type(part).__name__)
    found: list = []
    inside: list[str] = []

    def enter(part, arguments):
        inside.append(names.get(id(part), type(part).__name__))

    def leave(part, arguments, output):
        inside.pop()
        found.append([f"module {type(part).__name__}", names.get(id(part), type(part).__name__), [digest(t) for t in _tensors(output)]])

    def see(event):
        if event.phase == "end" and not event.failed:
            found.append([str(event.op), inside[-1] if inside else "", [digest(t) for t in _tensors(event.result)]])

    step = _step.Step(dataclasses.replace(worker.loaded, module=module), module, worker.options, made)
    torch.manual_seed(_load.SEED)
    hooks = torch.nn.modules.module
    with contextlib.ExitStack() as stack:
        for handle in (hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave)):
            stack.callback(handle.remove)
        if worker.facula:
            stack.enter_context(torch.dispatch.observe(see, ("call",)))
        step()
    return found


def first(worker: Any, backend: str, tolerance: float, path: str | None) -> str:
    """The sentence of the row. With a path: PyTorch's worker writes its trace there, Facula's reads it."""
    if path and not worker.facula:
        with open(path, "w") as file:
            json.dump(trace(worker, backend, "eager"), file)
        return ""
    if path:
        with open(path) as file:
            eager = json.load(file)
        return meet(eager, [e for e in trace(worker, "eager", "candidate") if e[0].startswith("module ")], tolerance)
    return meet(trace(worker, "eager", "eager"), trace(worker, backend, "candidate"), tolerance)


def meet(eager: list, candidate: list, tolerance: float) -> str:
    """The first place where two traces are apart."""
    for a, b in zip(eager, candidate):
        layer = f" in {b[1] or a[1]}" if b[1] or a[1] else ""
        if a[0] != b[0]:
            return f"{b[0]} for {a[0]}{layer}"
        for x, y in zip(a[2], b[2]):
            off = apart(x, y, tolerance)
            if off:
                return f"{b[0]}{layer} by {off:.2g}"
    if len(eager) != len(candidate):
        rest = (eager if len(eager) > len(candidate) else candidate)[min(len(eager), len(candidate))]
        return f"{rest[0]} in {rest[1] or 'the step'} that only one of them calls"
    return f"no single one of {len(eager)}: small differences add up"
