# SPDX-License-Identifier: Apache-2.0
"""Results of a few steps, and how far two of them are apart, in a worker. The rule is PyTorch's: a candidate may be as far
from float64 as eager is, times a small factor; what is compared is the loss, gradients, parameters and buffers after the
steps (inference: the outputs).
"""

from __future__ import annotations

import math
from typing import Any

Named = list  # of (name, tensor or plain value)


def one_number(value: Any) -> float | None:
    """The loss, or the sum of the outputs: by it two frameworks can be compared at a glance."""
    import torch

    total = 0.0
    for t in torch.utils._pytree.tree_leaves(value):
        if isinstance(t, torch.Tensor) and not t.is_complex():
            total += float(t.detach().double().sum())
    return total if math.isfinite(total) else None


def named(value: Any, name: str) -> Named:
    import torch

    if value is None or isinstance(value, (torch.Tensor, int, float, bool, str)):
        return [(name, value)]
    if isinstance(value, dict):
        return [pair for key, v in value.items() for pair in named(v, f"{name}.{key}")]
    if isinstance(value, (list, tuple)):
        return [pair for i, v in enumerate(value) for pair in named(v, f"{name}[{i}]")]
    return []


def run(worker: Any, kind: str, backend: str) -> dict:
    """Runs the steps and keeps what came out under `kind`: float64, eager1, eager2, candidate."""
    import copy
    import dataclasses

    import torch

    from . import _backends, _load, _step

    loaded, options = worker.loaded, worker.options
    torch.manual_seed(_load.SEED)
    module = copy.deepcopy(loaded.module)
    inputs, targets, options = loaded.inputs, loaded.targets, dict(options)
    if kind == "float64":
        module.to(torch.float64)
        inputs, targets = _step.cast(inputs, torch.float64), _step.cast(targets, torch.float64)
        options["amp"] = False
    inputs = torch.utils._pytree.tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, inputs)
    if options["training"]:
        for t in torch.utils._pytree.tree_leaves(inputs):
            if isinstance(t, torch.Tensor) and t.is_floating_point():
                t.requires_grad_()
    mine = dataclasses.replace(loaded, module=module, inputs=inputs, targets=targets)
    candidate = _backends.compile_with(backend, module, inputs, options) if kind == "candidate" else module
    step = _step.Step(mine, module, options, candidate)
    torch.manual_seed(_load.SEED)
    for _ in range(options["iterations"]):
        out = step()
    if not options["training"]:
        found = named(out, "output")
    else:
        found = [("loss", out[1] if isinstance(out, tuple) else out)]
        owner = candidate if isinstance(candidate, torch.nn.Module) else module
        parts = [(name.removeprefix("_orig_mod."), p) for name, p in owner.named_parameters()]
        found += [(f"gradient of {name}", p.grad) for name, p in parts]
        found += [(f"parameter {name}", p) for name, p in parts]
        found += [(f"buffer {name.removeprefix('_orig_mod.')}", b) for name, b in owner.named_buffers()]
        found += [(f"gradient of {name}", t.grad) for name, t in named(inputs, "input") if isinstance(t, torch.Tensor)]
    worker.results[kind] = [(name, v.detach().clone() if isinstance(v, torch.Tensor) else v) for name, v in found]
    nans = sum(bool(torch.isnan(v).any()) for _, v in worker.results[kind] if isinstance(v, torch.Tensor) and v.is_floating_point())
    return {"tensors": len(found), "nan": nans}


def rmse(reference: Any, value: Any) -> float:
    difference = (reference.double() - value.double()).flatten()
    return float((difference * difference).mean().sqrt()) if difference.numel() else 0.0


def multiplier(t: Any, tolerance: float) -> float:
    """How much farther than eager a candidate may be."""
    import torch

    small = t.numel() < 1000 or (t.dim() == 4 and t.shape[2:] == (1, 1)) or tolerance >= 2e-2
    return 3.0 if small or t.dtype in (torch.float16, torch.bfloat16) else 2.0


def _one(reference: Any, value: Any, exact: Any, tolerance: float, cosine: bool, equal_nan: bool) -> tuple[bool, dict]:
    """Whether one tensor is well, and how far it is in units of what is allowed."""
    import torch

    facts: dict[str, Any] = {"excess": 0.0, "rmse_eager": 0.0, "rmse_candidate": 0.0, "why": ""}
    if not isinstance(reference, torch.Tensor) or not isinstance(value, torch.Tensor):
        a, b = (float(v.abs().max()) if isinstance(v, torch.Tensor) and v.numel() else v for v in (reference, value))
        well = reference is value or a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance))
        well = well or {type(reference), type(value)} <= {type(None), torch.Tensor} and not (a or b)  # no gradient is a zero one
        return well, {**facts, "excess": 0.0 if well else math.inf, "why": "" if well else f"{reference!r:.60} for {value!r:.60}"}
    if reference.dtype != value.dtype:
        return False, {**facts, "excess": math.inf, "why": f"{value.dtype} for {reference.dtype}"}
    if reference.shape != value.shape:
        return False, {**facts, "excess": math.inf, "why": f"shape {tuple(value.shape)} for {tuple(reference.shape)}"}
    if not reference.is_floating_point() and not reference.is_complex():
        well = torch.equal(reference, value)
        return well, {**facts, "excess": 0.0 if well else math.inf, "why": "" if well else "integers differ"}
    if reference.is_complex():
        exact = torch.view_as_real(exact) if isinstance(exact, torch.Tensor) and exact.is_complex() else None
        reference, value = torch.view_as_real(reference), torch.view_as_real(value)
    if cosine:
        a, b = reference.flatten().double(), value.flatten().double()
        likeness = 1.0 if torch.allclose(a, b, rtol=tolerance, atol=tolerance) else float(torch.nn.functional.cosine_similarity(a, b, 0, 1e-6))
        return likeness >= 0.99, {**facts, "excess": (1 - likeness) / 0.01, "why": f"cosine {likeness:.4f}"}
    well = torch.allclose(reference, value, rtol=tolerance, atol=tolerance, equal_nan=equal_nan)
    distance = rmse(reference, value)
    size = float(reference.double().square().mean().sqrt()) if reference.numel() else 0.0
    facts.update(rmse_candidate=distance, excess=distance / (tolerance * max(size, 1.0)) if not well else min(1.0, distance / tolerance))
    if well or exact is None or not isinstance(exact, torch.Tensor):
        return well, facts
    of_eager, of_candidate, allowed = rmse(exact, reference), rmse(exact, value), multiplier(reference, tolerance)
    facts.update(rmse_eager=of_eager, rmse_candidate=of_candidate)
    if math.isnan(of_eager) and math.isnan(of_candidate):
        return True, {**facts, "excess": 0.0}
    if math.isnan(of_eager) and not math.isnan(of_candidate):
        well = bool(torch.isfinite(value).all()) and of_candidate <= 4e-2
    else:
        limit = allowed * of_eager + tolerance / 10
        well = of_candidate <= limit
        facts["excess"] = of_candidate / limit if limit else math.inf
    return well, facts


def compare(worker: Any, reference: str, candidate: str, tolerance: float) -> dict:
    """Of two kept results: whether all is well, the worst tensor and its pair of errors. tolerance 0: bit by bit."""
    import torch

    a, b, exact = worker.results[reference], worker.results[candidate], dict(worker.results.get("float64", ()))
    if [name for name, _ in a] != [name for name, _ in b]:
        return {"well": False, "worst": "structure", "why": f"{len(a)} results against {len(b)}", "rmse_eager": 0.0, "rmse_candidate": 0.0}
    worst: tuple = (-1.0, "", {"rmse_eager": 0.0, "rmse_candidate": 0.0, "why": ""})
    all_well = True
    for (name, x), (_, y) in zip(a, b):
        if tolerance == 0:
            well = torch.equal(x, y) or _equal_with_nan(x, y) if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) else x == y
            facts: dict = {"excess": 0.0 if well else 1.0, "rmse_eager": 0.0, "rmse_candidate": 0.0, "why": "" if well else "not equal bit by bit"}
            if not well and isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x.shape == y.shape:
                facts["rmse_candidate"] = rmse(x, y)
                facts["excess"] = 1 + facts["rmse_candidate"]
        else:
            well, facts = _one(x, y, exact.get(name), tolerance, worker.options["cosine"], not worker.options["float32"])
        all_well = all_well and well
        excess = math.inf if math.isnan(facts["excess"]) else facts["excess"]
        if (not well, excess) > (worst[3] if len(worst) > 3 else False, worst[0]):
            worst = (excess, name, facts, not well)
    return {"well": all_well, "worst": worst[1], **{k: v for k, v in worst[2].items() if k != "excess"}}


def _equal_with_nan(x: Any, y: Any) -> bool:
    import torch

    if x.shape != y.shape or x.dtype != y.dtype or not x.is_floating_point():
        return False
    both = torch.isnan(x) & torch.isnan(y)
    return torch.equal(torch.where(both, torch.zeros_like(x), x), torch.where(both, torch.zeros_like(y), y))


def distances(worker: Any, reference: str, candidate: str) -> dict:
    """max, mean and std of |a - b| / (1 + |a|): what --tolerance writes."""
    import torch

    parts = [((x.double() - y.double()).abs() / (1 + x.double().abs())).flatten()
             for (_, x), (_, y) in zip(worker.results[reference], worker.results[candidate]) if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)]  # fmt: skip
    everything = torch.cat(parts) if parts else torch.zeros(1, dtype=torch.float64)
    return {"max": float(everything.max()), "mean": float(everything.mean()), "std": float(everything.std()) if everything.numel() > 1 else 0.0}


def exchange(worker: Any, path: str, kinds: list, write: bool) -> None:
    """Results of one framework for the other, through a file of arrays."""
    import numpy
    import torch

    if write:
        arrays = {}
        for kind in kinds:
            for i, (name, value) in enumerate(worker.results[kind]):
                half = isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16
                tensor = value.float() if half else value
                arrays[f"{kind}|{i}|{name}|{'bfloat16' if half else ''}"] = tensor.resolve_conj().cpu().numpy() if isinstance(tensor, torch.Tensor) else numpy.array(repr(value))
        numpy.savez(path, **arrays)  # type: ignore[arg-type]  # a name of an array is never allow_pickle
        return
    with numpy.load(path, allow_pickle=False) as found:
        for kind in kinds:
            worker.results[kind] = []
            for key in found.files:
                of, _, name, half = key.split("|")
                if of == kind:
                    array = found[key]
                    text = {"None": None}.get(str(array), str(array)) if array.dtype.kind == "U" else None
                    one = torch.from_numpy(array.copy()) if array.dtype.kind != "U" else None
                    worker.results[kind].append((name, text if one is None else one.bfloat16() if half else one))


def invariant(worker: Any, backend: str) -> str:
    """pass, or at which number of samples a forward is not what it is among more of them."""
    import torch

    from . import _backends

    module = worker.loaded.module.eval()
    inputs, size = worker.loaded.inputs, worker.loaded.batch_size
    made = _backends.compile_with(backend, module, inputs, worker.options)

    def forward(count):
        cut = torch.utils._pytree.tree_map(lambda t: t[:count] if isinstance(t, torch.Tensor) and t.dim() and t.shape[0] == size else t, inputs)
        with torch.no_grad():
            return named(made(**cut) if isinstance(cut, dict) else made(*cut), "output")

    whole, count = forward(size), size // 2
    while count:
        try:
            part = forward(count)
        except Exception as error:
            return f"fail_to_run_at_batch_{count}|{type(error).__name__}: {error}"
        for (name, x), (_, y) in zip(whole, part):
            if isinstance(x, torch.Tensor) and x.dim() and x.shape[0] == size and not (torch.equal(x[:count], y) or _equal_with_nan(x[:count], y)):
                return f"fail_batch_invariance_at_{count}|{name}"
        count //= 2
    return "pass|"
