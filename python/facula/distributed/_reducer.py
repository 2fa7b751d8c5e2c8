# SPDX-License-Identifier: Apache-2.0
"""Gradients of several processes become their mean, bucket by bucket while backward still runs.

Parameters lie in buckets in the order in which their gradients come. A hook on each parameter copies its gradient into
the bucket's flat buffer; when a bucket is full, and all before it have begun, its reduction begins on the group's thread.
At the end of backward the means are copied back. All ranks begin the same buckets in the same order: the order of the
first backward on rank 0.
"""

import math

import facula
from facula.distributed import distributed_c10d as c10d
from facula.distributed._group import _NO_TIMEOUT, ReduceOp
from facula.nn.parameter import Parameter

FIRST_BUCKET = 1 << 20  # bytes: small, so that the first reduction begins early


class GradBucket:
    """A bucket, as communication hooks see it."""

    def __init__(self, index: int, count: int, bucket: "_Bucket") -> None:
        self._index, self._count, self._bucket = index, count, bucket
        self._buffer = bucket.flat

    def index(self) -> int:
        """Which bucket this is, from 0."""
        return self._index

    def is_last(self) -> bool:
        """Whether no other comes in this backward."""
        return self._index == self._count - 1

    def buffer(self) -> facula.Tensor:
        """The gradients, flat."""
        return self._buffer

    def set_buffer(self, tensor: facula.Tensor) -> None:
        """Puts another buffer in its place."""
        self._buffer = tensor

    def gradients(self) -> list[facula.Tensor]:
        """Views of the buffer, one for each parameter."""
        return self._bucket.views(self._buffer)

    def parameters(self) -> list[Parameter]:
        """The parameters."""
        return list(self._bucket.parameters)


class _Bucket:
    def __init__(self, parameters: list[Parameter], indices: list[int]) -> None:
        self.parameters, self.indices = parameters, indices
        total = sum(p.numel() for p in parameters)
        self.flat = facula.zeros(total, dtype=parameters[0].dtype, device=parameters[0].device)
        self.places = self.views(self.flat)
        self.reset()

    def views(self, flat: facula.Tensor) -> list[facula.Tensor]:
        """The flat buffer cut into the parameters' shapes, in their strides where those have no gaps."""
        out, at = [], 0
        for p in self.parameters:
            part = flat[at : at + p.numel()]
            dense = not p.is_contiguous() and facula.empty_like(p).stride() == p.stride()
            out.append(part.as_strided(p.shape, p.stride()) if dense else part.view(p.shape))
            at += p.numel()
        return out

    def reset(self) -> None:
        self.missing = len(self.parameters)
        self.work = None


class Reducer:
    """The buckets of one module on one group."""

    def __init__(
        self, names: list[str], parameters: list[Parameter], group, bucket_bytes: int, find_unused: bool,
        static_graph: bool, views: bool, first_bytes: int = FIRST_BUCKET,
    ) -> None:  # fmt: skip
        self.names, self.parameters, self.group = names, parameters, group
        self.bucket_bytes, self.first_bytes = bucket_bytes, min(first_bytes, bucket_bytes)
        self.find_unused, self.static_graph, self.as_views = find_unused, static_graph, views
        self.size = group.size()
        self.comm_hook = None
        self.order: list[int] | None = []  # of gradients in the first backward; None: the buckets are in it
        self.expected: list[int] | None = None  # how often each hook fires in a static graph
        self.synchronize = True
        self.divide_by = self.size
        self._make_buckets(list(range(len(parameters)))[::-1])
        self.handles = [p.register_post_accumulate_grad_hook(self._hook(i)) for i, p in enumerate(parameters)]
        self.prepared = False

    def _make_buckets(self, order: list[int]) -> None:
        open_, sealed = {}, []  # by element type and device
        for i in order:
            p = self.parameters[i]
            key = (p.dtype, p.device)
            members, size = open_.get(key, ([], 0))
            members, size = [*members, i], size + p.numel() * p.element_size()
            if size >= (self.bucket_bytes if sealed else self.first_bytes):
                sealed.append(members)
                open_.pop(key, None)
            else:
                open_[key] = members, size
        sealed += [members for members, _ in open_.values()]
        self.buckets = [_Bucket([self.parameters[i] for i in members], members) for members in sealed]
        self.bucket_of = {i: (b, k) for b, bucket in enumerate(self.buckets) for k, i in enumerate(bucket.indices)}

    # ---- one step

    def prepare(self, outputs: object) -> None:
        """Called after a forward whose backward is to be reduced."""
        if self.order is not None and len(self.order) == len(self.parameters):
            self._rebuild()
        self.prepared = True
        self.running = False
        self.fired = [0] * len(self.parameters)
        self.ready: set[int] = set()
        self.begun = 0
        for b in self.buckets:
            b.reset()
        if self.find_unused and not self.static_graph:
            used = self._reachable(outputs)
            self.unused = [i for i in range(len(self.parameters)) if i not in used]
        else:
            self.unused = []

    def _rebuild(self) -> None:
        order, self.order = self.order, None
        c10d.broadcast_object_list(agreed := [order], group=self.group, group_src=0)
        self._make_buckets(agreed[0])

    def _reachable(self, outputs: object) -> set[int]:
        number = {id(p): i for i, p in enumerate(self.parameters)}
        found: set[int] = set()
        todo = [t.grad_fn for t in _tensors_in(outputs) if t.grad_fn is not None]
        found |= {number[id(t)] for t in _tensors_in(outputs) if id(t) in number}
        seen = set()
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None and id(variable) in number:
                found.add(number[id(variable)])
            todo += [n for n, _ in node.next_functions if n is not None]
        return found

    def _hook(self, index: int):
        def fired(parameter: facula.Tensor) -> None:
            if self.synchronize and self.prepared:
                self._fired(index)

        return fired

    def _fired(self, index: int) -> None:
        if not self.running:
            self.running = True
            facula.autograd.graph.queue_callback(self._finish)
            for i in self.unused:
                self._mark(i)
        self.fired[index] += 1
        if self.static_graph:
            if self.expected is None or self.fired[index] < self.expected[index]:
                return  # the first backward counts, and reduces at its end
        if index in self.ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: parameter {self.names[index]!r} got a gradient twice in one "
                "backward (two forwards with reentrant checkpoints, or a second backward without a forward between), or one "
                "although no output depends on it. static_graph=True allows the first where every step is alike"
            )
        self._mark(index)

    def _mark(self, index: int) -> None:
        self.ready.add(index)
        if self.order is not None and index not in self.order:
            self.order.append(index)
        b, k = self.bucket_of[index]
        bucket, p = self.buckets[b], self.parameters[index]
        place = bucket.places[k]
        with facula.no_grad():
            if p.grad is None:
                place.zero_()
            elif p.grad.is_sparse:
                place.copy_(p.grad.to_dense())
            elif p.grad.data_ptr() != place.data_ptr():
                place.copy_(p.grad)
        bucket.missing -= 1
        while self.begun < len(self.buckets) and self.buckets[self.begun].missing == 0:
            self._begin(self.begun)
            self.begun += 1

    def _begin(self, index: int) -> None:
        bucket = self.buckets[index]
        if self.comm_hook is not None:
            state, hook = self.comm_hook
            bucket.seen = GradBucket(index, len(self.buckets), bucket)
            bucket.work = hook(state, bucket.seen)
        elif self.divide_by == self.size and (bucket.flat.is_floating_point() or bucket.flat.is_complex()):
            flat = facula.view_as_real(bucket.flat) if bucket.flat.is_complex() else bucket.flat
            bucket.work = self.group._engine.all_reduce([flat], int(ReduceOp.AVG), _NO_TIMEOUT)
        else:
            bucket.flat.div_(self.divide_by)
            bucket.work = self.group._engine.all_reduce([bucket.flat], int(ReduceOp.SUM), _NO_TIMEOUT)

    def _finish(self) -> None:
        self.prepared = False
        if self.static_graph and self.expected is None:
            self.expected = list(self.fired)
            for i in range(len(self.parameters)):
                self._mark(i)
        elif self.static_graph:
            for i, times in enumerate(self.expected):
                if times == 0:
                    self._mark(i)
        if self.begun < len(self.buckets):
            late = [self.names[i] for i in range(len(self.parameters)) if i not in self.ready]
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: "
                f"{len(late)} parameters got no gradient in this backward ({', '.join(late[:8])}{' …' if len(late) > 8 else ''}). "
                "find_unused_parameters=True looks for those that no output depends on; all outputs must go into the loss"
            )
        used = self._used_anywhere()
        with facula.no_grad():
            for bucket in self.buckets:
                work = bucket.work
                work.wait()
                flat = bucket.flat
                if self.comm_hook is not None:
                    value = work.value()
                    flat = value[0] if isinstance(value, (list, tuple)) else value
                    if flat is not bucket.flat:
                        bucket.flat.copy_(flat.view_as(bucket.flat))
                for k, i in enumerate(bucket.indices):
                    self._hand_back(bucket, k, i, used)

    def _hand_back(self, bucket: _Bucket, k: int, i: int, used: list[bool] | None) -> None:
        p, place = self.parameters[i], bucket.places[k]
        if used is not None and not used[i]:
            return  # no rank used it: its gradient stays as it is
        if self.as_views:
            if p.grad is None or p.grad.data_ptr() != place.data_ptr():
                p.grad = place
        elif p.grad is None:
            p.grad = place.clone()
        elif p.grad.is_sparse:
            p.grad = place.clone()
        else:
            p.grad.copy_(place)

    def _used_anywhere(self) -> list[bool] | None:
        if not self.unused and not (self.find_unused and not self.static_graph) and not self.static_graph:
            return None
        fired = facula.tensor([int(f > 0) for f in self.fired], dtype=facula.int32)
        self.group._engine.all_reduce([fired], int(ReduceOp.MAX), _NO_TIMEOUT).wait()
        return [bool(f) for f in fired.tolist()]

    def remove(self) -> None:
        """Takes the hooks off the parameters."""
        for h in self.handles:
            h.remove()


def _tensors_in(value: object) -> list[facula.Tensor]:
    found, todo = [], [value]
    while todo:
        v = todo.pop()
        if isinstance(v, facula.Tensor):
            found.append(v)
        elif isinstance(v, dict):
            todo += v.values()
        elif isinstance(v, (list, tuple, set)):
            todo += v
        elif hasattr(v, "__dataclass_fields__"):
            todo += vars(v).values()
    return found


def broadcast_coalesced(group, tensors: list[facula.Tensor], root: int = 0, bucket_bytes: int = 250 << 20) -> None:
    """Copies the root's tensors to all ranks, in buckets of one type."""
    works, buckets = [], {}
    for t in tensors:
        t = t.detach()
        key = (t.dtype, t.device)
        members, size = buckets.get(key, ([], 0))
        members, size = [*members, facula.view_as_real(t) if t.is_complex() else t], size + t.numel() * t.element_size()
        if size >= bucket_bytes:
            works.append(group._engine.broadcast(members, root, _NO_TIMEOUT))
            members, size = [], 0
        buckets[key] = members, size
    works += [group._engine.broadcast(members, root, _NO_TIMEOUT) for members, _ in buckets.values() if members]
    for w in works:
        w.wait()


def check_shapes(group, names: list[str], tensors: list[facula.Tensor]) -> None:
    """Raises on every rank where modules differ between ranks, and says in what."""
    mine = [(n, tuple(t.shape), str(t.dtype)) for n, t in zip(names, tensors, strict=True)]
    all_: list = [None] * group.size()
    c10d.all_gather_object(all_, mine, group)
    for rank, other in enumerate(all_):
        if other == all_[0]:
            continue
        if len(other) != len(all_[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(all_[0])} params, while rank {rank} has {len(other)}"
            )
        here, there = next((a, b) for a, b in zip(all_[0], other, strict=True) if a != b)
        raise RuntimeError(f"DDP expects same model across all ranks: parameter {here[0]!r} is {list(here[1])} {here[2]} on rank 0, and {there[0]!r} {list(there[1])} {there[2]} on rank {rank}")  # fmt: skip


def default_bucket_bytes(megabytes: float | None) -> int:
    """bucket_cap_mb in bytes."""
    size = 25.0 if megabytes is None else megabytes
    if not (math.isfinite(size) and size > 0):
        raise ValueError(f"bucket_cap_mb is a size above 0, got {megabytes}")
    return int(size * (1 << 20))
