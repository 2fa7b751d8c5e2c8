# SPDX-License-Identifier: Apache-2.0
"""The parameters of one fully_shard: cut over the ranks, gathered for a computation, their gradients summed and cut.

Between computations a module has the parts: DTensors, which optimizers and files see. For a computation they are gathered by
one call into memory that keeps its address, since backward's saved tensors lie in it; afterwards its pages go back to
the system, and gathering fills them again."""

import mmap
import weakref
from collections.abc import Callable

import facula
from facula.distributed._group import _NO_TIMEOUT, ReduceOp
from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.fsdp._policies import MixedPrecisionPolicy
from facula.distributed.tensor._dtensor import DTensor, DTensorSpec, TensorMeta
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = ["ParameterGroup"]

_ALIGNED = 64  # bytes: where parts begin


class _Parameter:
    """One parameter, wherever modules have it."""

    def __init__(self, parameter: Parameter, owners: list[tuple[Module, str]], mesh: DeviceMesh, placement: Shard) -> None:
        self.owners = owners
        self.shard_mesh_dim = mesh.ndim - 1
        local = parameter._local_tensor if isinstance(parameter, DTensor) else parameter
        self.shape, self.dim = facula.Size(local.shape), placement.dim
        if not 0 <= self.dim < max(len(self.shape), 1) or not self.shape:
            raise ValueError(f"fully_shard: {self.name} of shape {list(self.shape)} cannot be cut by {placement}")
        group = mesh.get_group(self.shard_mesh_dim)
        self.parts, self.here = group.size(), group.rank()
        self.full = -(-self.shape[self.dim] // self.parts)
        self.even = self.dim == 0 and self.full * self.parts == self.shape[0]  # parts follow each other as elements do
        self.padded = facula.Size([*self.shape[: self.dim], self.full, *self.shape[self.dim + 1 :]])
        self.spec = _spec(parameter, mesh, placement)
        self.outer = parameter._spec if isinstance(parameter, DTensor) else None  # of a parameter that was a DTensor before
        begin, length = self.range(self.here)
        part = local.detach().narrow(self.dim, begin, length).clone(memory_format=facula.contiguous_format)
        self.sharded = Parameter(DTensor(part, self.spec), parameter.requires_grad)
        self.sharded.__dict__.update({k: v for k, v in parameter.__dict__.items() if k not in ("_local_tensor", "_spec", "_grad", "_summing", "_twin")})
        self.whole: Parameter | None = None  # gathered: its memory comes and goes
        self.data: facula.Tensor | None = None  # that memory

    @property
    def name(self) -> str:
        return self.owners[0][1]

    def range(self, rank: int) -> tuple[int, int]:
        """(begin, length) of a rank's part."""
        begin = min(self.full * rank, self.shape[self.dim])
        return begin, min(self.full, self.shape[self.dim] - begin)

    def adopt(self) -> None:
        """Takes over what a program put in the place of the parameter, by to_empty or an assignment."""
        module, name = self.owners[0]
        found = module._parameters.get(name)
        if found is self.sharded or found is self.whole:
            return
        if not isinstance(found, DTensor) or found._spec.placements != self.spec.placements or found._local_tensor.shape != self.sharded._local_tensor.shape:
            raise RuntimeError(f"fully_shard: {name} was replaced by something that is not cut as it was")
        self.sharded, self.whole, self.data = found, None, None

    def put(self, parameter: Parameter) -> None:
        """Gives it to the modules."""
        for module, name in self.owners:
            module._parameters[name] = parameter
            if name in module.__dict__:
                module.__dict__[name] = parameter

    def write(self, rank: int, flat: facula.Tensor, values: facula.Tensor) -> None:
        """Puts a rank's part into its place of a flat buffer."""
        flat.view(self.padded).narrow(self.dim, 0, self.range(rank)[1]).copy_(values)

    def part(self, flat: facula.Tensor, rank: int) -> facula.Tensor:
        """A rank's part in its place of a flat buffer."""
        return flat.view(self.padded).narrow(self.dim, 0, self.range(rank)[1])


def _spec(parameter: Parameter, mesh: DeviceMesh, placement: Shard) -> DTensorSpec:
    """How the parts lie, on the mesh of fully_shard and that of a parameter that was a DTensor."""
    outer: list[Placement] = [Replicate()] * (mesh.ndim - 1)
    if not isinstance(parameter, DTensor):
        meta = TensorMeta(parameter.shape, _strides(parameter.shape), parameter.dtype)
        return DTensorSpec(mesh, (*outer, placement), meta)
    inner, root = parameter.device_mesh, mesh._root
    if root is None or inner._root is not root or set(mesh.mesh_dim_names or ()) & set(inner.mesh_dim_names or ()):
        raise ValueError(f"fully_shard: the parameter lies on {inner}, so the mesh of fully_shard is another part of the same mesh, not {mesh}")
    names = (*mesh.mesh_dim_names, *inner.mesh_dim_names)
    if [root._dim(n) for n in names] != sorted(root._dim(n) for n in names):
        raise ValueError(f"fully_shard: {mesh.mesh_dim_names} comes before {inner.mesh_dim_names} in the whole mesh")
    if any(isinstance(p, Partial) for p in parameter.placements):
        raise ValueError("fully_shard: a parameter that is a sum cannot be cut; redistribute it first")
    splits = 1
    for d, p in enumerate(parameter.placements):
        if isinstance(p, Shard) and p.dim == placement.dim:
            splits *= inner.size(d)
    mine = _StridedShard(placement.dim, splits) if splits > 1 else placement
    both = root[names]
    return DTensorSpec(both, (*outer, mine, *parameter.placements), parameter._spec.tensor_meta)


def _strides(shape) -> tuple[int, ...]:
    return facula.empty(tuple(shape), device="meta").stride()


class ParameterGroup:
    """Parameters that are gathered together."""

    def __init__(
        self, owners: dict[Parameter, list[tuple[Module, str]]], mesh: DeviceMesh, policy: MixedPrecisionPolicy,
        placement_of: Callable[[Parameter], Shard | None] | None,
    ) -> None:  # fmt: skip
        self.mesh, self.policy = mesh, policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim > 1 else None
        self.parameters = [
            _Parameter(p, places, mesh, (placement_of(p) if placement_of else None) or Shard(0)) for p, places in owners.items()
        ]
        for p in self.parameters:
            p.put(p.sharded)
        self.gathered = False
        self.versions: list[int] = []  # of the parts that were gathered
        self.coming: tuple | None = None  # a gather under way
        self.reduces = True  # gradients, at the end of a backward
        self.all_reduces = True  # over copies
        self.divide_by: float | None = None
        self.fired: set[int] = set()
        self._layout: tuple | None = None

    # ---- gathering

    def _place(self) -> None:
        """Memory for the gathered parameters, once, and again if their types have changed."""
        for p in self.parameters:
            p.adopt()
        types = tuple((p.sharded.dtype, p.sharded.device) for p in self.parameters)
        if self._layout is not None and self._layout[0] == types and all(p.whole is not None for p in self.parameters):
            return
        offsets, sends, total, sent = [], [], 0, 0
        for p in self.parameters:
            size = facula.empty((), dtype=self._seen(p)).element_size()
            offsets.append(total)
            sends.append((sent, p.padded.numel() * size))
            total += -(-p.shape.numel() * size // _ALIGNED) * _ALIGNED
            sent += -(-p.padded.numel() * size // _ALIGNED) * _ALIGNED
        if any(p.sharded.is_meta for p in self.parameters):
            raise RuntimeError("fully_shard: parameters on the meta device have no elements; module.to_empty(device=…) first")
        self.pages = mmap.mmap(-1, max(total, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory = facula.frombuffer(self.pages, dtype=facula.uint8)
        weak = weakref.ref(self)
        for i, (p, at) in enumerate(zip(self.parameters, offsets, strict=True)):
            dtype, device = self._seen(p), p.sharded.device
            if device.type == "cpu":
                size = facula.empty((), dtype=dtype).element_size()
                p.data = memory[at : at + p.shape.numel() * size].view(dtype).view(p.shape)
            else:
                p.data = facula.empty(p.shape, dtype=dtype, device=device)
            whole = p.data if p.outer is None else DTensor(p.data.data, p.outer._replace(tensor_meta=p.outer.tensor_meta._replace(dtype=dtype)))
            p.whole = Parameter(whole, p.sharded.requires_grad)
            p.whole.__dict__.update({k: v for k, v in p.sharded.__dict__.items() if k not in ("_local_tensor", "_spec", "_grad", "_summing", "_twin")})

            def fired(_, i=i):
                if (group := weak()) is not None:
                    group._fired(i)

            if p.sharded.requires_grad:
                p.whole.register_post_accumulate_grad_hook(fired)
        self._layout = types, sends, sent

    def _seen(self, p: _Parameter) -> facula.dtype:
        """The type that computations see."""
        dtype = p.sharded.dtype
        return self.policy.param_dtype if self.policy.param_dtype is not None and dtype.is_floating_point else dtype

    def _versions(self) -> list[int]:
        return [p.sharded._local_tensor._version for p in self.parameters]

    def _fresh(self) -> bool:
        """Whether the modules have whole parameters, and no part was written since."""
        return self.gathered and self.versions == self._versions()

    def begin_gather(self) -> None:
        """Begins to gather; wait() ends it."""
        if self.coming is not None or not self.parameters or self._fresh():
            return
        with facula.no_grad():
            self._place()
            _, sends, length = self._layout
            flat = facula.zeros(length, dtype=facula.uint8)
            for p, (at, size) in zip(self.parameters, sends, strict=True):
                p.write(p.here, flat[at : at + size].view(self._seen(p)), p.sharded._local_tensor.detach())
            rows = facula.empty(self.group.size() * length, dtype=facula.uint8)
            self.versions = self._versions()
            self.coming = self.group._engine.all_gather([rows], flat, _NO_TIMEOUT), rows, flat

    def gather(self) -> None:
        """The modules have whole parameters when it returns."""
        if not self.parameters or self._fresh():
            return
        self.begin_gather()
        work, rows, _ = self.coming
        self.coming = None
        work.wait()
        _, sends, length = self._layout
        rows = rows.view(self.group.size(), length)
        with facula.no_grad():
            for p, (at, size) in zip(self.parameters, sends, strict=True):
                if p.even:
                    p.data.view(p.parts, -1).copy_(rows[:, at : at + size].view(self._seen(p)))
                for rank in () if p.even else range(p.parts):
                    begin, n = p.range(rank)
                    if n:
                        p.data.narrow(p.dim, begin, n).copy_(p.part(rows[rank, at : at + size].view(self._seen(p)), rank))
                if p.whole.requires_grad != p.sharded.requires_grad:
                    p.whole.requires_grad_(p.sharded.requires_grad)
                p.put(p.whole)
        self.gathered = True

    def let_go(self) -> None:
        """The modules have parts again, and the memory of the whole goes back."""
        if self.coming is not None:
            self.gather()
        if not self.gathered:
            return
        for p in self.parameters:
            p.put(p.sharded)
        self.gathered = False
        if len(self.pages):
            self.pages.madvise(mmap.MADV_DONTNEED)

    # ---- gradients

    def _fired(self, index: int) -> None:
        self.fired.add(index)
        wanted = {i for i, p in enumerate(self.parameters) if p.whole.requires_grad}
        if self.fired >= wanted and self.whole_group_fired is not None:
            self.whole_group_fired(self, len(wanted) < len(self.parameters))

    whole_group_fired: Callable | None = None  # (group, whether some parameters get no gradient)

    def begin_reduce(self) -> list[tuple]:
        """Begins to sum the gradients that are there: [(call, end)]."""
        self.fired.clear()
        if not self.reduces:
            return []
        found: dict[facula.dtype, list[tuple[_Parameter, facula.Tensor]]] = {}
        for p in self.parameters:
            if p.whole is None:
                continue
            holder = p.whole._local_tensor if isinstance(p.whole, DTensor) else p.whole
            if holder.grad is None:
                continue
            grad = holder.grad.to_dense() if holder.grad.is_sparse else holder.grad
            found.setdefault(self.policy.reduce_dtype or grad.dtype, []).append((p, grad))
            holder.grad = None
        return [self._summed(dtype, pairs) for dtype, pairs in found.items()]

    def _summed(self, dtype: facula.dtype, pairs: list) -> tuple:
        n, at, total = self.group.size(), [], 0
        for p, _ in pairs:
            at.append(total)
            total += p.padded.numel()
        factor = self.divide_by
        with facula.no_grad():
            rows = facula.zeros(n, total, dtype=dtype)
            for (p, grad), begin in zip(pairs, at, strict=True):
                if p.even:
                    rows[:, begin : begin + p.padded.numel()].copy_(grad.reshape(n, -1))
                for rank in () if p.even else range(n):
                    first, length = p.range(rank)
                    if length:
                        p.write(rank, rows[rank, begin : begin + p.padded.numel()], grad.narrow(p.dim, first, length))
            if factor is not None:
                rows /= factor
            out = facula.empty(total, dtype=dtype)
        op = int(ReduceOp.AVG if factor is None else ReduceOp.SUM)
        work = self.group._engine.reduce_scatter(out, [rows.view(-1)], op, _NO_TIMEOUT)

        def over_copies():
            work.wait()
            if self.copies is None or not self.all_reduces:
                return None
            return self.copies._engine.all_reduce([out], op, _NO_TIMEOUT)

        def end():
            with facula.no_grad():
                for (p, _), begin in zip(pairs, at, strict=True):
                    part = p.part(out[begin : begin + p.padded.numel()], p.here).to(p.sharded.dtype)
                    holder = p.sharded._local_tensor
                    part = part.to(holder.device).contiguous()
                    if holder.grad is None:
                        holder.grad = part
                    else:
                        holder.grad += part
            for p, _ in pairs:
                p.sharded._gradient_added()

        return over_copies, end
