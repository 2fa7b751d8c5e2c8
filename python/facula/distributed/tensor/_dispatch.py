# SPDX-License-Identifier: Apache-2.0
"""An operator on DTensors: which placements it wants, the call on the parts, and where the results lie.

A rule (_rules, _views, _lists) lists strategies along one dimension of a mesh: what the operands are there, and what then
the results. For every dimension of the mesh the one that moves the fewest bytes is taken; a plan is kept for calls of
the same operator on tensors of the same shapes and placements. An operator without a rule that is written in others is taken
apart; any other is called on whole tensors, which is said once.
"""

import threading
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

import facula
from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor._dtensor import DTensor, DTensorSpec, TensorMeta
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Call", "Strategy", "implicit_replication", "run"]

_REPLICATE = Replicate()
_KEPT = 4096  # plans
_plans: dict = {}
_said: set[str] = set()
_here = threading.local()


class Strategy(NamedTuple):
    """Along one dimension of the mesh: placements of the results, and of the operands by the names of their parameters (a list
    for a list of tensors); what is not named is replicated."""

    out: Placement | tuple[Placement, ...]
    inputs: dict[str, Placement | list[Placement]]


class Call:
    """A call as rules see it: geometry instead of tensors."""

    def __init__(self, func, values: dict, tensors: list, at: dict[str, list[int]], results: list) -> None:
        self.func, self.values, self.tensors, self.at, self.results = func, values, tensors, at, results
        self.size = 1  # of the dimension of the mesh
        self.parts = 1  # of the whole mesh
        self.placed: list[Placement] = []  # of the tensors, along the dimension at hand
        self.local: Callable | None = None  # called in the operator's place
        self.mesh: DeviceMesh | None = None

    def __getitem__(self, name: str) -> object:
        return self.values.get(name)

    def geometry(self, name: str) -> facula.Tensor | None:
        """A tensor without elements that has the shape of an operand."""
        places = self.at.get(name)
        return self.tensors[places[0]] if places else None

    def even(self, length: int) -> bool:
        """Whether all parts of a dimension have one length."""
        return length % self.parts == 0

    def filled(self, length: int) -> bool:
        """Whether no part of a dimension is empty."""
        return length > 0 and -(-length // self.parts) * (self.parts - 1) < length

    def partials(self) -> list[Placement]:
        """The kinds of sums that operands are, along this dimension."""
        return list({p: None for p in self.placed if isinstance(p, Partial)})


@contextmanager
def implicit_replication():
    """Plain tensors beside DTensors count as replicated."""
    before = getattr(_here, "implicit", False)
    _here.implicit = True
    try:
        yield
    finally:
        _here.implicit = before


def _cost(source: Placement, target: Placement, bytes_: int, size: int) -> float:
    if source == target:
        return 0
    share = bytes_ * (size - 1) / size
    if isinstance(target, Partial) and target.reduce_op not in ("sum", "avg", "norm"):
        return 1e30
    if isinstance(source, Replicate):
        return 2 * bytes_ + 1 if isinstance(target, Partial) else bytes_ / size * 1e-3 + 1
    if isinstance(source, Shard):
        if isinstance(target, Partial):
            return 1e30
        return share + 2 if isinstance(target, Replicate) else share / size + 2
    if isinstance(target, Partial):
        return 1e30
    return 2 * share + 2 if isinstance(target, Replicate) else share + 2


class Plan(NamedTuple):
    """What a call does: placements that operands get, dimensions of the mesh along which replicated ones get parts of their
    gradient, how results lie, and what is called on the parts."""

    wanted: list[tuple[Placement, ...]]
    sums: frozenset
    results: list[tuple[tuple[Placement, ...], TensorMeta] | None]
    local: Callable


def _flat(func, args: tuple, kwargs: dict) -> tuple[list, list, dict]:
    """(tensors in order, key of what is no tensor, names of parameters -> places of their tensors)."""
    tensors, key, at = [], [func], {}
    parameters = func._schema.arguments
    names = [p.name for p in parameters[: len(args)]]
    for name, value in (*zip(names, args, strict=True), *kwargs.items()):
        if isinstance(value, facula.Tensor):
            at[name] = [len(tensors)]
            tensors.append(value)
            key.append(name)
        elif isinstance(value, (list, tuple)):
            places = []
            for item in value:
                if isinstance(item, facula.Tensor):
                    places.append(len(tensors))
                    tensors.append(item)
                    key.append(None)
                else:
                    key.append((item, type(item)))
            key.append((name, len(value)))
            if places:
                at[name] = places
        else:
            key.append((name, value, type(value)))
    return tensors, key, at


def _replaced(args, kwargs, tensors):
    """The arguments with other tensors in the places of theirs."""
    it = iter(tensors)

    def one(value):
        if isinstance(value, facula.Tensor):
            return next(it)
        if isinstance(value, (list, tuple)):
            return [next(it) if isinstance(v, facula.Tensor) else v for v in value]
        return value

    return [one(a) for a in args], {k: one(v) for k, v in kwargs.items()}


def _as_distributed(func, t: facula.Tensor, mesh: DeviceMesh) -> DTensor:
    if t.dim() and t.numel() != 1 and not getattr(_here, "implicit", False):
        raise RuntimeError(
            f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed "
            "operators! (distribute_tensor or DTensor.from_local; with implicit_replication() plain tensors count as replicated)"
        )
    meta = TensorMeta(t.shape, t.stride(), t.dtype)
    return DTensor(t, DTensorSpec(mesh, (_REPLICATE,) * mesh.ndim, meta))


def _mesh_of(tensors: list) -> DeviceMesh:
    """The mesh that a call is on: numbers follow other tensors, and of several numbers' meshes the one with the most dimensions
    counts."""
    found = [t for t in tensors if isinstance(t, DTensor)]
    return max(found, key=lambda t: (t.dim() > 0, t.device_mesh.ndim)).device_mesh


def run(func, args: tuple, kwargs: dict):
    """Calls an operator some of whose arguments are DTensors."""
    from facula.distributed.tensor import _lists, _rules

    special = _lists.SPECIAL.get(func._opname) or (_lists.for_each if func._opname.startswith(("_foreach_", "_fused_")) else None)
    if special is not None:
        done = special(func, args, kwargs)
        if done is not NotImplemented:
            return done
    tensors, key, at = _flat(func, args, kwargs)
    mesh = _mesh_of(tensors)
    for i, t in enumerate(tensors):
        if isinstance(t, DTensor) and t.dim() == 0 and t.device_mesh is not mesh and t.device_mesh != mesh:
            t = t._placed((_REPLICATE,) * t.device_mesh.ndim)._local_tensor  # a number, such as a norm
        if not isinstance(t, DTensor):
            tensors[i] = _as_distributed(func, t, mesh)
        elif t.device_mesh is not mesh and t.device_mesh != mesh:
            raise RuntimeError(f"{func}: operands lie on different meshes, {mesh} and {t.device_mesh}")
    if func.is_in_place and "_copy_of" in tensors[0].__dict__:
        raise NotImplementedError(
            f"{func}: this tensor would be a view, but {tensors[0].__dict__['_copy_of']} had to move it to other ranks, so that what is "
            "written here would not be seen there; write to the tensor itself, or redistribute it first"
        )
    key += [(t._spec.placements, *t._spec.tensor_meta) for t in tensors]
    key.append(mesh)
    try:
        key = tuple(key)
        plan = _plans.get(key, 0)
    except TypeError:  # an argument that cannot be compared: a generator, for one
        key, plan = None, 0
    if plan == 0:
        plan = _planned(func, args, kwargs, tensors, at, mesh, _rules.rule_of(func))
        if key is not None:
            if len(_plans) >= _KEPT:
                _plans.clear()
            _plans[key] = plan
    if plan is None:
        # Linear algebra looks at what its kernels found, others at numbers that say how much there is to do.
        reads = func._opname.startswith("linalg_") or any(not (t.is_floating_point() or t.is_complex()) for t in tensors)
        if func.is_composite and not reads:
            return func._expand(*args, **kwargs)
        return _whole(func, args, kwargs, tensors, at, mesh)
    parts = []
    for t, wanted in zip(tensors, plan.wanted, strict=True):
        t = t if t._spec.placements == wanted else t._placed(wanted)
        sums = frozenset(d for d in plan.sums if isinstance(wanted[d], Replicate)) if plan.sums else plan.sums
        parts.append(t._used(sums))
    local_args, local_kwargs = _replaced(args, kwargs, parts)
    if func.is_random:
        from facula.distributed.tensor._random import drawing

        with drawing(mesh, plan.results[0][0] if plan.results and plan.results[0] else ()):
            found = plan.local(*local_args, **local_kwargs)
    else:
        found = plan.local(*local_args, **local_kwargs)
    if func.is_in_place:
        return args[0] if args else next(iter(kwargs.values()))
    found = _wrapped(found, plan.results, mesh)
    if func.is_view and func._opname not in _MAY_COPY:
        before = tensors[0].__dict__.get("_copy_of", func if tensors[0]._spec.placements != plan.wanted[0] else None)
        if before is not None:
            for t in found if isinstance(found, (list, tuple)) else [found]:
                t._copy_of = before
    return found


_MAY_COPY = frozenset("reshape contiguous to type_as flatten ravel".split())


def _wrapped(found, results, mesh: DeviceMesh):
    if isinstance(found, facula.Tensor):
        placements, meta = results[0]
        return DTensor(found, DTensorSpec(mesh, placements, meta))
    if isinstance(found, (list, tuple)):
        it = iter(results)

        def one(value):
            if isinstance(value, (list, tuple)):
                return [one(v) for v in value]
            r = next(it)
            return DTensor(value, DTensorSpec(mesh, *r)) if isinstance(value, facula.Tensor) else value

        return type(found)(map(one, found)) if type(found) in (list, tuple) else tuple(map(one, found))
    return found


def _shapes(found) -> list:
    if isinstance(found, (list, tuple)):
        return [s for v in found for s in _shapes(v)]
    return [found if isinstance(found, facula.Tensor) else None]


def _planned(func, args, kwargs, tensors, at, mesh, rule) -> Plan | None:
    if rule is None or func.is_out:
        return None
    metas = [facula.empty_strided(m.shape, m.stride, dtype=m.dtype, device="meta") for m in (t._spec.tensor_meta for t in tensors)]
    meta_args, meta_kwargs = _replaced(args, kwargs, metas)
    before = [m.shape for m in metas]
    with facula.no_grad():
        try:
            results = _shapes(func(*meta_args, **meta_kwargs))
        except NotImplementedError:
            return None
    if [m.shape for m in metas] != before:
        return None  # an operator that changes what a tensor is
    names = [p.name for p in func._schema.arguments]
    values = {**dict(zip(names, meta_args, strict=False)), **meta_kwargs}
    for p in func._schema.arguments:
        if p.name not in values and p.has_default_value():
            values[p.name] = p.default_value
    call = Call(func, values, metas, at, results)
    call.mesh, call.parts = mesh, mesh.size()
    wanted, outs = [[] for _ in tensors], [[] for _ in results]
    for d in range(mesh.ndim):
        call.size, call.placed = mesh.size(d), [t._spec.placements[d] for t in tensors]
        best = _best(call, rule)
        if best is None:
            return None
        for mine, p in zip(wanted, best[0], strict=True):
            mine.append(p)
        for mine, p in zip(outs, best[1], strict=True):
            mine.append(p)
    wanted = [tuple(w) for w in wanted]
    sums = frozenset(d for d in range(mesh.ndim) if any(not isinstance(o[d], Replicate) for o, r in zip(outs, results, strict=True) if r is not None))
    found = [None if r is None else (tuple(o), TensorMeta(r.shape, r.stride(), r.dtype)) for o, r in zip(outs, results, strict=True)]
    local = func
    if call.local is not None:
        call.wanted, call.outs = wanted, [tuple(o) for o in outs]
        local = call.local(call)
    return Plan(wanted, sums, found, local)


def _best(call: Call, rule) -> tuple[list, list] | None:
    best, least = None, 1e29
    replicated = Strategy(_REPLICATE, {})
    for strategy in (*rule(call), replicated):
        inputs: list[Placement] = [_REPLICATE] * len(call.tensors)
        for name, p in strategy.inputs.items():
            places = call.at.get(name, ())
            for i, q in zip(places, p if isinstance(p, list) else [p] * len(places), strict=True):
                inputs[i] = q
        outs = list(strategy.out) if isinstance(strategy.out, tuple) else [strategy.out] * len(call.results)
        inputs, outs = _strided(call.placed, inputs, outs)
        if call.func.is_in_place and (inputs[0] != call.placed[0] or outs[0] != call.placed[0]):
            continue  # what is written stays where it is
        cost = sum(
            _cost(p, q, t.numel() * t.element_size(), call.size)
            for p, q, t in zip(call.placed, inputs, call.tensors, strict=True)
        )
        if cost < least:
            best, least = (inputs, outs), cost
    return best


def _strided(placed: list, inputs: list, outs: list) -> tuple[list, list]:
    """Where an operand is cut as the strategy wants, but after other dimensions of the mesh: all are."""
    factor = next((p.split_factor for p, q in zip(placed, inputs, strict=True) if isinstance(p, _StridedShard) and p.is_shard(getattr(q, "dim", -1))), None)
    if factor is None:
        return inputs, outs
    return tuple([_StridedShard(q.dim, factor) if isinstance(q, Shard) else q for q in side] for side in (inputs, outs))


def _whole(func, args, kwargs, tensors, at, mesh):
    """The call on whole tensors, on every rank."""
    if func._opname not in _said:
        _said.add(func._opname)
        warnings.warn(
            f"{func}: no rule says how it works on parts, so its operands are gathered on every rank (this is said once for each operator)", stacklevel=4
        )
    statistics = ("running_mean", "running_var") if "batch_norm" in func._opname else ()  # which their schemas do not mark
    written = [i for p in func._schema.arguments if p.is_write or p.name in statistics for i in at.get(p.name, ())]
    changes = func.is_in_place or func.is_out
    everywhere = (_REPLICATE,) * mesh.ndim
    wholes = [t._placed(everywhere)._local_tensor for t in tensors]
    for i in written:
        wholes[i] = wholes[i].clone()
    whole_args, whole_kwargs = _replaced(args, kwargs, wholes)
    if func.is_random:
        from facula.distributed.tensor._random import drawing

        with drawing(mesh, everywhere):
            found = func(*whole_args, **whole_kwargs)
    else:
        found = func(*whole_args, **whole_kwargs)
    for i in written:
        t = tensors[i]
        if wholes[i].shape != t.shape:
            raise NotImplementedError(f"{func}: a DTensor does not change its shape in place")
        if any(isinstance(p, Partial) for p in t.placements):
            raise NotImplementedError(f"{func}: a DTensor of {t.placements} is not written in place; redistribute it first")
        new = DTensor(wholes[i], t._spec._replace(placements=everywhere))._placed(t.placements)
        t._local_tensor.copy_(new._local_tensor)
    if changes:
        originals = [tensors[i] for i in written]
        return originals[0] if len(originals) == 1 else tuple(originals)
    results = [None if r is None else (everywhere, TensorMeta(r.shape, r.stride(), r.dtype)) for r in _shapes(found)]
    return _wrapped(found, results, mesh)
