# SPDX-License-Identifier: Apache-2.0
"""Operators that take lists of tensors element by element, as optimizers call them, and those that ask for values."""

import facula
from facula.distributed import _functional_collectives as _collectives
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor.placement_types import Partial, Replicate, Shard

__all__ = ["SPECIAL", "for_each"]


def _is_tensors(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, facula.Tensor) for v in value)


def _plain(t: facula.Tensor) -> facula.Tensor:
    """A tensor that every rank has whole."""
    return t._placed((Replicate(),) * t.device_mesh.ndim)._local_tensor if isinstance(t, DTensor) else t


def for_each(func, args, kwargs):
    """The lists' tensors of one number are placed as the first list's."""
    if func._opname == "_foreach_norm":
        return _norms(func, args, kwargs)
    first = next(a for a in (*args, *kwargs.values()) if _is_tensors(a))
    sums = func._opname in ("_foreach_neg", "_foreach_mul", "_foreach_div") and all(not _is_tensors(a) for a in args[1:])
    like = []
    for t in first:
        if isinstance(t, DTensor) and not sums and not func.is_in_place and any(isinstance(p, Partial) for p in t.placements):
            t = t._placed(tuple(Replicate() if isinstance(p, Partial) else p for p in t.placements))
        like.append(t)

    def parts(values):
        out = []
        for t, l in zip(values, like, strict=True):
            if not isinstance(l, DTensor):
                out.append(_plain(t))
            elif isinstance(t, DTensor):
                out.append(t._placed(l.placements)._local_tensor if t.dim() == l.dim() else _plain(t))
            elif t.dim() == 0 or t.numel() == 1:
                out.append(t)
            else:
                raise RuntimeError(f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!")
        return out

    def one(value):
        if value is first:
            return parts(like)
        return parts(value) if _is_tensors(value) and len(value) == len(like) else [_plain(v) for v in value] if _is_tensors(value) else _plain(value)

    found = func(*map(one, args), **{k: one(v) for k, v in kwargs.items()})
    if func.is_in_place or func._schema.returns == [] or found is None:
        return list(first) if found is not None else None

    def wrapped(values):
        return [DTensor(v, l._spec._replace(tensor_meta=l._spec.tensor_meta._replace(dtype=v.dtype))) if isinstance(l, DTensor) else v
                for v, l in zip(values, like, strict=True)]  # fmt: skip

    if found and isinstance(found[0], (list, tuple)):
        return tuple(map(wrapped, found))
    return wrapped(found)


def _norms(func, args, kwargs):
    """Norms of parts, whose norm is that of the whole: many are reduced together when they are stacked."""
    tensors = args[0]
    order = kwargs.get("ord", args[1] if len(args) > 1 else 2)
    dtype = {k: v for k, v in kwargs.items() if k == "dtype"}
    return [facula.linalg.vector_norm(t, order, **dtype) for t in tensors]


def _equal(func, args, kwargs):
    """Equal everywhere."""
    a, b = args
    if not (isinstance(a, DTensor) and isinstance(b, DTensor)) or a.shape != b.shape:
        return a.shape == b.shape and facula.equal(_plain(a), _plain(b))
    same = facula.tensor([int(facula.equal(a._local_tensor, b._placed(a.placements)._local_tensor))])
    for d in range(a.device_mesh.ndim):
        same = _collectives.all_reduce_op(same, "min", a.device_mesh.get_group(d).group_name)
    return bool(same)


def _value(func, args, kwargs):
    return func(_plain(args[0]))


def _split_sum(func, args, kwargs):
    """The mean of parts of different lengths is the sum, divided by the length of the whole."""
    x = args[0]
    if not isinstance(x, DTensor) or not (x.is_floating_point() or x.is_complex()) or kwargs.get("dtype") is not None:
        return NotImplemented
    dims = args[1] if len(args) > 1 and args[1] else list(range(x.dim()))
    dims = [d % max(x.dim(), 1) for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
    uneven = any(isinstance(p, Shard) and p.dim in dims and x.shape[p.dim] % x.device_mesh.size() for p in x.placements)
    if not uneven:
        return NotImplemented
    keep = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
    count = 1
    for d in dims:
        count *= x.shape[d]
    return facula.sum(x, dims, keepdim=keep) / count if dims else NotImplemented


SPECIAL = {"equal": _equal, "_local_scalar_dense": _value, "item": _value, "mean": _split_sum, "is_same_size": lambda func, args, kwargs: args[0].shape == args[1].shape}
