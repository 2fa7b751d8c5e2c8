# SPDX-License-Identifier: Apache-2.0
"""How parts of a tensor become parts of another placement, and how gradients go back.

Autograd records what happens to the parts. It holds everywhere that the gradient of a part is: of Shard, the same part of the
tensor's gradient; of Replicate and of Partial("sum"), the whole gradient, on every rank. Where each rank's use of a replicated
tensor gives a part of the sum only, the use takes another tensor of the same memory, whose gradient is reduced on its way
back (`summing`); several such uses of one result are reduced once, and a gather whose uses are all of that kind goes back as
one reduce_scatter.
"""

import facula
from facula.distributed import _functional_collectives as _collectives
from facula.distributed.tensor._utils import cutting_order, local_box
from facula.distributed.tensor.placement_types import Partial, Replicate, Shard, _NormPartial

_REPLICATE, _SUM = Replicate(), Partial()


def _gradient(p):
    return p if isinstance(p, Shard) else _REPLICATE


def _pieces(tensor, dim, parts, whole):
    """Cuts a dimension of `whole` elements as Shard does; parts may be empty."""
    full = -(-whole // parts)
    return [tensor.narrow(dim, min(full * i, whole), max(min(full, whole - full * i), 0)) for i in range(parts)]


def _padded(tensor, dim, length):
    short = length - tensor.shape[dim]
    if short == 0:
        return tensor
    sizes = list(tensor.shape)
    sizes[dim] = short
    return facula.cat([tensor, tensor.new_zeros(sizes)], dim)


def _gathered(tensor, dim, whole, group):
    """All parts of a dimension that has `whole` elements."""
    n = group.size()
    full = -(-whole // n)
    part = _padded(tensor, dim, full).contiguous()
    parts = _collectives.wait_tensor(_collectives._ops.all_gather_into_tensor(part.unsqueeze(0), n, group.group_name))
    if whole == full * n:
        if dim == 0:
            return parts.view(whole, *tensor.shape[1:])
        shape = list(tensor.shape)
        shape[dim] = whole
        return parts.movedim(0, dim).reshape(shape).contiguous()
    return facula.cat([parts[i].narrow(dim, 0, max(min(full, whole - full * i), 0)) for i in range(n)], dim)


def _scattered(tensor, dim, whole, group, op):
    """The own part of the combination of all ranks' tensors."""
    n = group.size()
    full = -(-whole // n)
    rows = facula.stack([_padded(p, dim, full) for p in _pieces(tensor, dim, n, whole)])
    part = _collectives.wait_tensor(_collectives._ops.reduce_scatter_tensor(rows, op, n, group.group_name))[0]
    return part.narrow(dim, 0, max(min(full, whole - full * group.rank()), 0))


def _swapped(tensor, source, target, whole, group):
    """From parts of dimension `source`, `whole` long, to parts of dimension `target`."""
    n, here = group.size(), group.rank()
    out = _pieces(tensor, target, n, tensor.shape[target])
    full = -(-whole // n)
    lengths = [max(min(full, whole - full * i), 0) for i in range(n)]
    shapes = []
    for length in lengths:
        shape = list(out[here].shape)
        shape[source] = length
        shapes.append(shape)
    flat = facula.cat([p.reshape(-1) for p in out])
    outs = [facula.Size(s).numel() for s in shapes]
    got = _collectives.all_to_all_single(flat, outs, [p.numel() for p in out], group).split(outs)
    return facula.cat([g.view(s) for g, s in zip(got, shapes, strict=True)], source)


def _moved(local, group, source, target, whole):
    """One dimension of the mesh; `whole` is the length of the dimension that source (else target) cuts."""
    if isinstance(source, Shard):
        if isinstance(target, Shard):
            return _swapped(local, source.dim, target.dim, whole, group)
        if isinstance(target, Replicate):
            return _gathered(local, source.dim, whole, group)
    elif isinstance(source, Replicate):
        if isinstance(target, Shard):
            return _pieces(local, target.dim, group.size(), whole)[group.rank()].clone(memory_format=facula.contiguous_format)
        return local.clone() if group.rank() == 0 else facula.zeros_like(local)
    elif isinstance(target, Shard):
        return _scattered(local, target.dim, whole, group, source.reduce_op)
    else:
        return _collectives.all_reduce_op(local, source.reduce_op, group.group_name)
    raise RuntimeError(f"a tensor of {source} does not become {target}")


class _Move(facula.autograd.Function):
    """A part in another placement, along one dimension of the mesh. A replicated result comes twice: as a tensor whose gradient
    is whole on every rank, and as one whose gradient is a part of the sum."""

    @staticmethod
    def forward(ctx, local, group, source, target, whole):
        ctx.group, ctx.source, ctx.target = group, source, target
        ctx.whole = local.shape[target.dim] if isinstance(source, Shard) and isinstance(target, Shard) else whole  # on the way back
        ctx.set_materialize_grads(False)
        out = local if source == target else _moved(local, group, source, target, whole)
        if out is local:
            out = local.view_as(local)
        return (out, out.view_as(out)) if isinstance(target, Replicate) else out

    @staticmethod
    def backward(ctx, grad, parts=None):
        wanted, found = _gradient(ctx.source), None
        for g, placement in ((grad, _gradient(ctx.target)), (parts, _SUM)):
            if g is not None:
                moved = move(g, ctx.group, placement, wanted, ctx.whole)
                found = moved if found is None else found + moved
        return found, None, None, None, None


def move(local, group, source, target, whole, twin=False):
    """The part in another placement; with twin, a replicated one whose gradient is a part of the sum as well."""
    if source == target and not twin:
        return local
    if isinstance(source, Partial) and source.reduce_op not in ("sum", "avg") or isinstance(source, _NormPartial):
        return _combined(local, group, source, target, whole, twin)
    if isinstance(source, Partial) and source.reduce_op == "avg":
        local, source = local / group.size(), _SUM
    if isinstance(target, _NormPartial) and isinstance(source, Replicate):  # one rank has it, the others zeros, whose norm is it
        part = move(local, group, _REPLICATE, _REPLICATE, 0, twin=True)[1]
        return part if group.rank() == 0 else part.masked_fill(facula.ones((), dtype=facula.bool), 0)
    scale = isinstance(target, Partial) and target.reduce_op == "avg"
    if isinstance(target, Partial) and target.reduce_op not in ("sum", "avg"):
        raise RuntimeError(f"a tensor of {source} does not become {target}")
    if scale:
        return move(local, group, source, _SUM, whole) * group.size()
    if isinstance(source, Shard) and isinstance(target, Partial):
        return move(move(local, group, source, _REPLICATE, whole), group, _REPLICATE, target, whole)
    out = _Move.apply(local, group, source, target, whole)
    return out if twin or not isinstance(target, Replicate) else out[0]


def _combined(local, group, source, target, whole, twin):
    """Parts that are not summands: gathered, and combined on every rank, as derivatives of these are not those of sums."""
    rows = move(local.unsqueeze(0), group, Shard(0), _REPLICATE, group.size())
    if isinstance(source, _NormPartial):
        value = facula.linalg.vector_norm(rows, source.norm_type, dim=0)
    elif source.reduce_op in ("max", "min"):
        value = rows.amax(0) if source.reduce_op == "max" else rows.amin(0)
    elif source.reduce_op == "product":
        value = rows.prod(0)
    else:
        raise RuntimeError(f"unknown reduction of {source}")
    return move(value, group, _REPLICATE, target, whole, twin)


def _steps(cur, target):
    """Dimensions of the mesh to change, in order, each with the placement it gets next: what cuts the same dimension of the
    tensor is undone from the last cut to the first, and done from the first to the last."""
    before = {d: i for i, d in enumerate(cutting_order(cur))}
    after = {d: i for i, d in enumerate(cutting_order(target))}

    def blocked(d, p):
        """Whether an earlier cut of the dimension that p cuts changes."""
        return isinstance(p, Shard) and any(
            cur[e] != target[e]
            and ((cur[e].is_shard(p.dim) and before[e] < before[d]) or (target[e].is_shard(p.dim) and after[e] < after[d]))
            for e in range(len(cur))
            if e != d
        )

    steps, now = [], list(cur)
    for d in reversed(cutting_order(cur)):
        if cur[d] == target[d] and not blocked(d, cur[d]):
            continue
        same = isinstance(cur[d], Shard) and target[d].is_shard(cur[d].dim)
        now[d] = _REPLICATE if same or blocked(d, target[d]) else target[d]
        if now[d] != cur[d]:
            steps.append((d, now[d]))
    return steps + [(d, target[d]) for d in cutting_order(target) if now[d] != target[d]]


def redistributed(local, mesh, shape, current, target):
    """(local, twin): the part of a tensor of a global shape in other placements; twin: (dimension of the mesh, the tensor whose
    gradient is a part of the sum there), where the last step made a replicated one."""
    place, now, twin = mesh.get_coordinate(), list(current), None
    for d, next_ in _steps(tuple(current), tuple(target)):
        cut = next((p for p in (now[d], next_) if isinstance(p, Shard)), None)
        whole = 0
        if cut is not None:
            others = [*now[:d], _REPLICATE, *now[d + 1 :]]
            whole = local_box(shape, mesh.shape, place, others)[0][cut.dim]
        replicated = isinstance(next_, Replicate)
        out = move(local, mesh.get_group(d), now[d], next_, whole, twin=replicated)
        local, twin = (out[0], (d, out[1])) if replicated else (out, None)
        now[d] = next_
    return local, twin


def summing(local, mesh, dims):
    """A replicated part for uses that each give a part of the gradient, along these dimensions of the mesh."""
    for d in dims:
        local = move(local, mesh.get_group(d), _REPLICATE, _REPLICATE, 0, twin=True)[1]
    return local
