# SPDX-License-Identifier: Apache-2.0
"""loss_parallel: cross entropy of logits whose classes are shared out, without gathering them."""

import threading
from contextlib import contextmanager

import facula
from facula.distributed.tensor._dtensor import DTensor, DTensorSpec, TensorMeta
from facula.distributed.tensor._lists import SPECIAL
from facula.distributed.tensor._redistribute import move
from facula.distributed.tensor.placement_types import Partial, Replicate, Shard

__all__ = ["loss_parallel"]

_here = threading.local()


@contextmanager
def loss_parallel():
    """Within, cross_entropy of a DTensor that is cut along its classes works on the parts: ranks exchange the largest logit and
    the sum of exponentials of each sample, and the target's logit, instead of all logits."""
    before = getattr(_here, "on", False)
    _here.on = True
    try:
        yield
    finally:
        _here.on = before


def _cross_entropy(func, args, kwargs):
    names = [p.name for p in func._schema.arguments]
    values = {p.name: p.default_value for p in func._schema.arguments if p.has_default_value()} | dict(zip(names, args, strict=False)) | kwargs
    x, target = values["self"], values["target"]
    if not getattr(_here, "on", False) or not isinstance(x, DTensor) or x.placements != (Shard(1 if x.dim() > 1 else 0),):
        return NotImplemented
    if values["weight"] is not None:
        raise NotImplementedError("cross_entropy: weights of classes in loss_parallel, where classes are shared out")
    target = target.full_tensor() if isinstance(target, DTensor) else target
    if target.is_floating_point():
        raise NotImplementedError("cross_entropy: probabilities as targets in loss_parallel, where classes are shared out")
    mesh, d = x.device_mesh, x.dim() - 1 if x.dim() < 2 else 1
    group, classes, here = mesh.get_group(0), x.shape[d], mesh.get_local_rank()
    length, begin = Shard.local_shard_size_and_offset(classes, mesh.size(), here)
    local = x._local_tensor
    used = target != values["ignore_index"]
    if bool(((target < 0) | (target >= classes))[used].any()):
        raise IndexError(f"Target {int(target[used].max())} is out of bounds.")

    def total(part):
        return move(part, group, Partial(), Replicate(), 0)

    with facula.no_grad():
        lowest = local.new_full((*local.shape[:d], 1, *local.shape[d + 1 :]), float("-inf"))
        most = (local.amax(d, keepdim=True) if length else lowest).unsqueeze(0)
        most = move(most, group, Shard(0), Replicate(), mesh.size()).amax(0)
    sums = total((local - most).exp().sum(d)).log() + most.squeeze(d)
    place = target - begin
    mine = used & (place >= 0) & (place < length)
    picked = local.gather(d, place.where(mine, 0).unsqueeze(d)).squeeze(d) if length else local.sum(d)
    smooth = values["label_smoothing"]
    loss = sums - (1 - smooth) * total(picked.masked_fill(~mine, 0))
    if smooth:
        loss = loss - smooth / classes * total(local.sum(d))
    loss = loss.masked_fill(~used, 0)
    if values["reduction"] == 1:
        loss = loss.sum() / used.sum()
    elif values["reduction"] == 2:
        loss = loss.sum()
    meta = TensorMeta(loss.shape, loss.stride(), loss.dtype)
    return DTensor(loss, DTensorSpec(mesh, (Replicate(),), meta))


SPECIAL["cross_entropy_loss"] = _cross_entropy
