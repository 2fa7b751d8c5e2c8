# SPDX-License-Identifier: Apache-2.0
"""Collectives that change nothing: operators of the registry, `torch.ops._c10d_functional.…`, with shapes, derivatives and
observers, so that a compiler can move them. Each begins a call and gives its result at once; `wait_tensor` is where the
elements are there. The functions below wait."""

import facula
from facula import library
from facula.distributed import distributed_c10d as c10d
from facula.distributed._group import _NO_TIMEOUT, ReduceOp

__all__ = [
    "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced", "all_to_all_single",
    "all_to_all_single_autograd", "broadcast", "permute_tensor", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd",
    "wait_tensor",
]  # fmt: skip

_library = library.Library("_c10d_functional", "FRAGMENT")
_pending: dict[int, object] = {}  # address of a result -> the call that fills it


def _group(name: str):
    found = c10d._world.groups.get(name)
    if found is None:
        raise ValueError(f"there is no process group named {name!r}")
    return found


def _begun(out: facula.Tensor, work: object) -> facula.Tensor:
    if out.numel():
        _pending[out.data_ptr()] = work
    else:
        work.wait()
    return out


def _op(name: str) -> int:
    try:
        return int(ReduceOp.RedOpType[name.upper()])
    except KeyError:
        raise ValueError(f"unknown reduction {name!r}: sum, avg, product, min, max, band, bor, bxor") from None


def _define(schema: str, kernel, fake, backward, setup) -> None:
    name = schema.split("(")[0]
    _library.define(schema)
    _library.impl(name, kernel, "CompositeExplicitAutograd")
    library.register_fake(f"_c10d_functional::{name}", fake, lib=_library)
    library.register_autograd(f"_c10d_functional::{name}", backward, setup_context=setup, lib=_library)


def _keep(*names: str):
    """Remembers arguments by their places, in the order of names."""

    def setup(ctx, inputs, output) -> None:
        for name, value in zip(names, inputs[1:], strict=True):
            setattr(ctx, name, value)

    return setup


def _all_reduce(input, reduce_op, group_name):
    out = input.clone(memory_format=facula.contiguous_format)
    return _begun(out, _group(group_name)._engine.all_reduce([out], _op(reduce_op), _NO_TIMEOUT))


def _all_reduce_backward(ctx, grad):
    if ctx.reduce_op not in ("sum", "avg"):
        raise NotImplementedError(f"all_reduce by {ctx.reduce_op} has no derivative: sum and avg have")
    return all_reduce_op(grad, ctx.reduce_op, ctx.group), None, None


def _all_gather(input, group_size, group_name):
    out = input.new_empty((input.shape[0] * group_size, *input.shape[1:]))
    return _begun(out, _group(group_name)._engine.all_gather([out], input, _NO_TIMEOUT))


def _reduce_scatter(input, reduce_op, group_size, group_name):
    if input.dim() == 0 or input.shape[0] % group_size:
        raise ValueError(f"reduce_scatter_tensor: {list(input.shape)} has no {group_size} equal parts in its first dimension")
    out = input.new_empty((input.shape[0] // group_size, *input.shape[1:]))
    return _begun(out, _group(group_name)._engine.reduce_scatter(out, [input], _op(reduce_op), _NO_TIMEOUT))


def _reduce_scatter_backward(ctx, grad):
    if ctx.reduce_op not in ("sum", "avg"):
        raise NotImplementedError(f"reduce_scatter by {ctx.reduce_op} has no derivative: sum and avg have")
    grad = grad if ctx.reduce_op == "sum" else grad / ctx.size
    return wait_tensor(_ops.all_gather_into_tensor(grad.contiguous(), ctx.size, ctx.group)), None, None, None


def _all_to_all(input, output_split_sizes, input_split_sizes, group_name):
    rows = sum(output_split_sizes) if output_split_sizes else input.shape[0]
    out = input.new_empty((rows, *input.shape[1:]))
    group = _group(group_name)
    return _begun(out, group._engine.all_to_all_single(out, input, list(output_split_sizes), list(input_split_sizes), _NO_TIMEOUT))


def _broadcast(input, src, group_name):
    out = input.clone(memory_format=facula.contiguous_format)
    return _begun(out, _group(group_name)._engine.broadcast([out], src, _NO_TIMEOUT))


def _broadcast_backward(ctx, grad):
    total = all_reduce_op(grad, "sum", ctx.group)
    return total if _group(ctx.group).rank() == ctx.src else facula.zeros_like(total), None, None


def _wait(tensor):  # an operator's result is no input of it: a shallow copy of the same memory
    if work := _pending.pop(tensor.data_ptr(), None):
        work.wait()
    return tensor.detach()


_define("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor", _all_reduce,
        lambda input, reduce_op, group_name: facula.empty_like(input, memory_format=facula.contiguous_format),
        _all_reduce_backward, _keep("reduce_op", "group"))  # fmt: skip
_define("all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor", _all_gather,
        lambda input, group_size, group_name: input.new_empty((input.shape[0] * group_size, *input.shape[1:])),
        lambda ctx, grad: (wait_tensor(_ops.reduce_scatter_tensor(grad.contiguous(), "sum", ctx.size, ctx.group)), None, None),
        _keep("size", "group"))  # fmt: skip
_define("reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor", _reduce_scatter,
        lambda input, reduce_op, group_size, group_name: input.new_empty((input.shape[0] // group_size, *input.shape[1:])),
        _reduce_scatter_backward, _keep("reduce_op", "size", "group"))  # fmt: skip
_define("all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, str group_name) -> Tensor", _all_to_all,
        lambda input, outs, ins, group_name: input.new_empty((sum(outs) if outs else input.shape[0], *input.shape[1:])),
        lambda ctx, grad: (wait_tensor(_ops.all_to_all_single(grad.contiguous(), ctx.ins, ctx.outs, ctx.group)), None, None, None),
        _keep("outs", "ins", "group"))  # fmt: skip
_define("broadcast(Tensor input, int src, str group_name) -> Tensor", _broadcast,
        lambda input, src, group_name: facula.empty_like(input, memory_format=facula.contiguous_format),
        _broadcast_backward, _keep("src", "group"))  # fmt: skip
_define("wait_tensor(Tensor input) -> Tensor", _wait,
        lambda input: facula.empty_like(input), lambda ctx, grad: grad, lambda ctx, inputs, output: None)  # fmt: skip
_ops = facula.ops._c10d_functional


def wait_tensor(tensor):
    """The result of a collective, once it is there."""
    return _ops.wait_tensor(tensor)


def all_reduce_op(tensor, reduce_op: str, group_name: str):
    """all_reduce by a group's name, waited for."""
    return wait_tensor(_ops.all_reduce(tensor, reduce_op, group_name))


def _named(group):
    if group is None or isinstance(group, str):
        return c10d._get_default_group() if group is None else _group(group)
    if hasattr(group, "get_group"):  # a DeviceMesh of one dimension, or (mesh, dimension)
        return group.get_group()
    if isinstance(group, tuple):
        return group[0].get_group(group[1])
    return c10d._group_of(group)


def all_reduce(self, reduceOp: str, group=None, tag: str = ""):  # noqa: N803
    """The combination of all ranks' tensors."""
    return all_reduce_op(self, reduceOp.lower(), _named(group).group_name)


def all_reduce_coalesced(self, reduceOp: str, group=None, tag: str = ""):  # noqa: N803
    """all_reduce of each tensor of a list; all begin before the first is waited for."""
    name = _named(group).group_name
    begun = [_ops.all_reduce(t, reduceOp.lower(), name) for t in self]
    return [wait_tensor(t) for t in begun]


def broadcast(self, src: int, group=None, tag: str = ""):
    """The tensor of rank `src` of the group."""
    return wait_tensor(_ops.broadcast(self, src, _named(group).group_name))


def _moved(fn, tensor, dim: int):
    return fn(tensor) if dim == 0 else fn(tensor.transpose(0, dim).contiguous()).transpose(0, dim)


def all_gather_tensor(self, gather_dim: int, group=None, tag: str = ""):
    """All ranks' tensors, one after the other in a dimension."""
    g = _named(group)
    return _moved(lambda t: wait_tensor(_ops.all_gather_into_tensor(t.contiguous(), g.size(), g.group_name)), self, gather_dim)


def reduce_scatter_tensor(self, reduceOp: str, scatter_dim: int, group=None, tag: str = ""):  # noqa: N803
    """This rank's part, in a dimension, of the combination of all ranks' tensors."""
    g = _named(group)
    return _moved(
        lambda t: wait_tensor(_ops.reduce_scatter_tensor(t.contiguous(), reduceOp.lower(), g.size(), g.group_name)), self, scatter_dim
    )


def all_to_all_single(self, output_split_sizes, input_split_sizes, group=None, tag: str = ""):
    """Rows of the first dimension for each rank, and from each."""
    outs, ins = list(output_split_sizes or []), list(input_split_sizes or [])
    return wait_tensor(_ops.all_to_all_single(self.contiguous(), outs, ins, _named(group).group_name))


def permute_tensor(self, src_dst: list[int], group=None, tag: str = ""):
    """The tensor of the rank that sends to this one: rank i sends to src_dst[i]."""
    g = _named(group)
    if sorted(src_dst) != list(range(g.size())):
        raise ValueError(f"permute_tensor: {src_dst} is no permutation of {g.size()} ranks")
    flat, here = self.contiguous().reshape(-1), g.rank()
    outs, ins = [0] * g.size(), [0] * g.size()
    ins[src_dst[here]] = outs[src_dst.index(here)] = flat.numel()
    return all_to_all_single(flat, outs, ins, g).view(self.shape)


all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single
