# SPDX-License-Identifier: Apache-2.0
"""Collectives as functions: they return new tensors, and backward sends gradients the other way."""

import facula
from facula.distributed import _functional_collectives as _functional
from facula.distributed import distributed_c10d as c10d
from facula.distributed._group import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _name(op: object) -> str:
    return getattr(op, "op", op).name.lower()


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The combination of all ranks' tensors."""
    return _functional.all_reduce(tensor, _name(op), group)


def broadcast(tensor, src, group=None):
    """The tensor of rank `src`."""
    g = c10d._group_of(group)
    return _functional.broadcast(tensor, c10d.get_group_rank(g, src), g)


def all_gather(tensor, group=None):
    """All ranks' tensors."""
    g = c10d._group_of(group)
    return tuple(_functional.all_gather_tensor(tensor.unsqueeze(0), 0, g).unbind(0))


def _all_gather_base(output_tensor, input_tensor, group=None):
    return _functional.all_gather_tensor(input_tensor, 0, group).view(output_tensor.shape)


def gather(tensor, dst=0, group=None):
    """All ranks' tensors on rank `dst`; zeros elsewhere."""
    here = c10d.get_rank() == dst
    return tuple(t if here else t * 0 for t in all_gather(tensor, group))


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The combination of all ranks' tensors on rank `dst`; the own tensor elsewhere."""
    total = all_reduce(tensor, op, group)
    return total if c10d.get_rank() == dst else tensor + 0 * total


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This rank's place of the combination of lists."""
    whole = facula.stack(list(input_list))
    return _functional.reduce_scatter_tensor(whole, _name(op), 0, group).view(output.shape)


def scatter(tensors, src=0, group=None):
    """The tensor of this rank's place in the list of rank `src`."""
    g = c10d._group_of(group)
    return broadcast(facula.stack(list(tensors)), src, g)[g.rank()]


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """Sends each rank one tensor of a list; what comes, in the order of ranks."""
    flat = facula.cat([t.reshape(-1) for t in input_tensor_list])
    ins, outs = [t.numel() for t in input_tensor_list], [t.numel() for t in output_tensor_list]
    got = _functional.all_to_all_single(flat, outs, ins, group).split(outs)
    return tuple(t.view(o.shape) for t, o in zip(got, output_tensor_list, strict=True))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Sends each rank rows of a tensor; what comes, in the order of ranks."""
    return _functional.all_to_all_single(input, output_split_sizes, input_split_sizes, group).view(output.shape)
