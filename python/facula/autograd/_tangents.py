# SPDX-License-Identifier: Apache-2.0
"""Tangents beside plain tensors: what torch.autograd.forward_ad stands on.

A level is a mode that sees every operator of its thread. Tangents lie in a table of the level, by storage: views share
their base's, and what is written in place through one is seen by the other. Storages are known by their ids, which are
never used again. A tensor that shares memory but no tangent (make_dual's argument, what detach() gives) has a storage of
its own over the same memory.

The tangent of a result is the derivative of the operator's own backward with respect to its cotangent, in which that is
linear. While autograd records, composite operators come as their parts, so that all it saves has tangents: forward over
reverse.
"""

import contextlib
import threading

import facula as torch
from facula import _C
from facula.autograd import grad
from facula.func._rules import GEOMETRY
from facula.utils._python_dispatch import TorchDispatchMode
from facula.utils._pytree import tree_leaves, tree_map


class _Thread(threading.local):
    level = None  # the level of this thread
    on = True


thread = _Thread()


def _geometry(x):
    return x.shape, x.stride(), x.storage_offset(), x.dtype


def is_number(x):
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def functional_form(func):
    """The operator that returns what func writes; func itself if there is none."""
    name = func.name().replace(func._opname, func._opname[:-1], 1)
    return (None if func.is_random else _C._find_operator(name)) or func


class _Entry:
    """The tangent of a storage: that of the tensor with this geometry, from which others are cut."""

    __slots__ = ("tangent", "geometry", "keep")

    def __init__(self, tangent, x):
        self.tangent, self.geometry = tangent, _geometry(x)
        self.keep = _C._on_storage(_C._storage_tensor(x), x.dtype, [0], [1], 0)  # a handle of the storage and of nothing else

    def part(self, x):
        geometry = _geometry(x)
        if geometry == self.geometry:
            return self.tangent
        (size, stride, offset, dtype), whole, start = geometry, self.tangent, self.geometry[2]
        if dtype.is_complex and dtype.to_real() == whole.dtype:  # a real storage, looked at as complex
            size, stride, offset = (*size, 2), (*(2 * s for s in stride), 1), 2 * offset
        elif whole.is_complex() and dtype == whole.dtype.to_real():
            whole, start = torch.view_as_real(whole), 2 * start
        elif dtype != whole.dtype:
            return None
        found = whole.as_strided(size, stride, offset - start + whole.storage_offset())
        return found if found.dtype == dtype else torch.view_as_complex(found)


class Level(TorchDispatchMode):
    def __init__(self):
        self.table = {}  # _Entry by id of the storage
        self.limit = 16  # size of the table at which it is looked through for storages that nobody else uses

    def tangent(self, x):
        entry = self.table.get(x._storage_id()) if is_number(x) else None
        return None if entry is None else entry.part(x)

    def put(self, x, tangent, direct=False):
        """Makes tangent that of x. direct: what lies around x in its storage has none."""
        if x.layout is not torch.strided:
            raise NotImplementedError("forward AD: sparse tensors carry no tangents")
        entry = self.table.get(x._storage_id())
        if entry is None:
            elements = x._storage_bytes() // x.element_size()
            if not direct and not (x.numel() == elements and 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) == elements):
                whole = _C._on_storage(_C._storage_tensor(x), x.dtype, [elements], [1], 0)
                entry = _Entry(tangent.new_zeros(elements), whole)
            elif tangent.stride() != x.stride():
                tangent = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(tangent)
            if len(self.table) >= self.limit:
                self.table = {k: e for k, e in self.table.items() if _C._storage_users(e.keep) > 1}
                self.limit = len(self.table) * 5 // 4 + 16
            self.table[x._storage_id()] = entry or _Entry(tangent, x)
        if entry is not None and (part := entry.part(x)) is not None and part is not tangent:
            part.copy_(tangent)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if types:
            return NotImplemented  # a class of its own (vmap's, a program's), whose operators on plain tensors come here
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if not thread.on or not any(x._storage_id() in self.table for x in leaves) or torch.is_inference_mode_enabled():
            return func(*args, **kwargs)
        if func._opname in ("detach", "detach_"):
            result = func(*args, **kwargs)
            _C._separate_storage(result)
            return result
        if func._opname in ("resize_", "resize_as_") and self.tangent(args[0]) is not None:
            raise RuntimeError("cannot resize variables that has a forward grad")
        if func.is_out:
            raise NotImplementedError(f"Trying to use forward AD with {func._opname}_out that does not support it because it is an out= function")
        record = torch.is_grad_enabled() and any(x.requires_grad for x in leaves)
        if func.is_composite and (record or func.is_view or func._schema.is_mutable):
            with self:
                return func._expand(*args, **kwargs)
        in_place = func.is_in_place and isinstance(args[0], torch.Tensor)
        if func.is_view or func._opname in GEOMETRY or not (func.differentiable or in_place):
            return func(*args, **kwargs)
        return self._differentiate(func, args, kwargs, in_place, record)

    def _differentiate(self, func, args, kwargs, in_place, record):
        variables, given, given_back = {}, [], {}  # variables by id of the argument; the other way round

        def variable(x):
            if not isinstance(x, torch.Tensor):
                return x
            if id(x) not in variables and (tangent := self.tangent(x)) is not None:
                variables[id(x)] = x.view_as(x) if record and x.requires_grad else x.detach().requires_grad_()
                given_back[id(variables[id(x)])] = x
                given.append(tangent)
            return variables.get(id(x), x)

        with torch.enable_grad():
            new_args, new_kwargs = tree_map(variable, (args, kwargs))
            if in_place:  # by the form that returns a new tensor, if there is one: it saves what had the tangent
                new_args = (new_args[0].clone(), *new_args[1:])
                if record and (t := self.tangent(args[0])) is not None:
                    self.put(new_args[0], t.clone())
            result = (functional_form(func) if in_place else func)(*new_args, **new_kwargs)
            if in_place and (result.dtype, result.shape) != (args[0].dtype, args[0].shape):
                result = func(*new_args, **new_kwargs)  # which casts, or refuses
        results = [result] if isinstance(result, torch.Tensor) else tree_leaves(result)
        outputs = [x for x in results if is_number(x) and x.requires_grad]
        create = torch.is_grad_enabled() and (record or any(t.requires_grad for t in given))
        if in_place and create:  # what is recorded reads the tangents that were, which are written below
            given = [t.clone() for t in given]
        tangents = self._forward(outputs, list(variables.values()), given, create)
        for v in variables.values():
            if v.is_leaf:  # what is recorded for the program's own derivatives must not ask for one by it
                v.requires_grad_(False)
        if in_place:
            if record and outputs:  # which backward may have saved
                self.put(result, tangents[0].clone())
            if record or func.is_random:  # random: the same draw
                args[0].copy_(result if record else result.detach())
            else:
                func(*args, **kwargs)
            if outputs or self.tangent(args[0]) is not None:
                self.put(args[0], tangents[0] if outputs else torch.zeros_like(args[0]))
            return args[0]
        taken = {v._storage_id() for v in variables.values()}
        for x, tangent in zip(outputs, tangents):
            if x._storage_id() not in taken:  # not an argument, or a part of one, that is given back
                self.put(x, tangent)
        plain = given_back if record else {id(x): x.detach() for x in outputs} | given_back
        return tree_map(lambda x: plain.get(id(x), x), result)

    @staticmethod
    def _forward(outputs, variables, given, create):
        """The tangents of outputs."""
        seeds = [torch.zeros_like(x).requires_grad_() for x in outputs]
        pulled = grad(outputs, variables, seeds, create_graph=True, allow_unused=True) if outputs and variables else ()
        used = [(p, t) for p, t in zip(pulled, given) if p is not None and p.requires_grad]
        found = [None] * len(outputs)
        if used:
            found = grad([p for p, _ in used], seeds, [t for _, t in used], create_graph=create, allow_unused=True)
        theirs = {t._storage_id() for t in given}

        def own(seed, t):  # with memory of its own, as it may be written to
            return torch.zeros_like(seed) if t is None else t.clone() if t._is_view() or t._storage_id() in theirs else t

        return [own(seed.detach(), t) for seed, t in zip(seeds, found)]


class set_enabled(contextlib.ContextDecorator):
    """Whether this thread's operators compute tangents: at once, and until the scope ends."""

    def __init__(self, mode):
        self.before, self.mode, thread.on = thread.on, mode, mode

    def __enter__(self):
        thread.on = self.mode

    def __exit__(self, *exc):
        thread.on = self.before


def apart(x):
    """x without its tangent: the same memory, and the same history."""
    with set_enabled(False):
        y = x.view_as(x)
    if y.layout is torch.strided:
        _C._separate_storage(y)
    return y


def tangent_of(x):
    current = thread.level if thread.on else None
    return None if current is None or hasattr(type(x), "__torch_dispatch__") else current.tangent(x)
