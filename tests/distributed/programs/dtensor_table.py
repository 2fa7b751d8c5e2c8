# SPDX-License-Identifier: Apache-2.0
"""Rows of the operator table on DTensors in drawn placements: the values and gradients of plain tensors, whether a rule or the whole
tensor gave them. `dtensor_table.py SEED`: other placements for other seeds."""
import pathlib
import random
import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "ops"))
from opspec import Make, resolve  # noqa: E402
from table import ROWS  # noqa: E402

seed = int(sys.argv[1])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
warnings.simplefilter("ignore")
torch.set_num_threads(1)


def mapped(value, f):
    if isinstance(value, torch.Tensor):
        return f(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(mapped(v, f) for v in value)
    return value


def found_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in found_in(v)]
    return []


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.full_tensor() if isinstance(value, DTensor) else value


def placed(t, draws, grad):
    """The tensor in a drawn placement, and the leaf that it is made of."""
    options = [Replicate(), *(Shard(d) for d in range(t.dim()))]
    leaf = distribute_tensor(t.detach().clone(), mesh, [draws.choice(options)], src_data_rank=None).requires_grad_(grad)
    if t.is_floating_point() and bool((t.abs() < 1e6).all()) and draws.random() < 0.15:
        whole = leaf.redistribute(placements=[Replicate()]).to_local(grad_placements=[Partial()]) / size  # a sum of equal parts
        return DTensor.from_local(whole, mesh, [Partial()]), leaf
    return leaf, leaf


def differ(a, b):
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return a != b if isinstance(a, (bool, int, str)) else None
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.shape} {a.dtype} and {b.shape} {b.dtype}"
    if not torch.allclose(a.detach(), b.detach(), rtol=2e-3, atol=2e-4, equal_nan=True):
        return "values"
    return None


def run(op, function, sample, draws):
    """What is wrong with a row on DTensors, or None."""
    wants = op.grad and sample.grad and op.deterministic
    leaves = []

    def fresh(t):
        t = t.detach().clone()
        if wants and t.is_floating_point():
            leaves.append(t.requires_grad_())
        return t

    try:
        given = [mapped(a, fresh) for a in sample.args], {k: mapped(v, fresh) for k, v in sample.kwargs.items()}
        wanted = function(*given[0], **given[1])
    except Exception:  # not this test's business
        return None
    outs = [t for t in found_in(wanted) if t.requires_grad and t.is_floating_point()]
    made = []

    def distributed(t):
        value, leaf = placed(t, draws, wants and t.is_floating_point())
        if wants and t.is_floating_point():
            made.append(leaf)
        return value

    args, kwargs = [mapped(a, distributed) for a in sample.args], {k: mapped(v, distributed) for k, v in sample.kwargs.items()}
    where = [t.placements for t in found_in([*args, *kwargs.values()])]
    try:
        with implicit_replication():
            got = function(*args, **kwargs)
            values = plain(got)
    except NotImplementedError:
        return None  # said
    except Exception as e:
        return f"{where}: {type(e).__name__}: {e}"
    if op.values and op.deterministic:
        for a, b in zip(found_in(values), found_in(wanted), strict=False):
            if (wrong := differ(a, b)) is not None:
                return f"{where}: {wrong}"
    if not outs or len(outs) != len(found_in(wanted)):
        return None
    try:
        total = sum((t * torch.linspace(0.5, 1.5, t.numel()).view(t.shape)).sum() for t in outs)
        grads = torch.autograd.grad(total, leaves, allow_unused=True)
    except Exception:
        return None
    try:
        with implicit_replication():
            parts = [(t * torch.linspace(0.5, 1.5, t.numel()).view(t.shape)).sum() for t in found_in(values)]
            mine = torch.autograd.grad(sum(parts), made, allow_unused=True)
    except Exception as e:
        return f"{where}: backward: {type(e).__name__}: {e}"
    for a, b in zip(mine, grads, strict=True):
        a = torch.zeros(()) if a is None else plain(a)
        b = torch.zeros(()) if b is None else b
        if a.shape == b.shape and (wrong := differ(a, b)) is not None:
            return f"{where}: gradient: {wrong}"
        if a.shape != b.shape and bool((a != 0).any() or (b != 0).any()):
            return f"{where}: gradient: {a.shape} and {b.shape}"
    return None


SKIPPED = ("numpy", "frexp")  # what has no memory of its own; sums of parts round, and exponents show it
wrong, tried = [], 0
for number, op in enumerate(ROWS):
    if op.name in SKIPPED or op.library or "f32" not in op.dtypes or op.reference:
        continue
    function, draws = resolve(torch, op.call), random.Random(number + 10_000 * seed)
    for i, sample in enumerate(list(op.samples(torch, Make(torch, op.name)))[:6]):
        tried += 1
        said = run(op, function, sample, draws)
        if said is not None:
            wrong.append(f"{op.name} [{sample.label}] {said}"[:400])
if rank == 0:
    print("\n".join(wrong))
assert not wrong, f"{len(wrong)} of {tried}"
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed, {tried} calls")
