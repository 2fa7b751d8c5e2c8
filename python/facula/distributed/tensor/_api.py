# SPDX-License-Identifier: Apache-2.0
"""Tensors and modules become distributed: distribute_tensor, distribute_module, and factories."""

from collections.abc import Callable, Sequence

import facula
from facula.distributed import distributed_c10d as c10d
from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor._dtensor import DTensor, DTensorSpec, TensorMeta, _current_mesh
from facula.distributed.tensor._random import drawing
from facula.distributed.tensor._redistribute import _padded, _pieces
from facula.distributed.tensor._utils import compute_local_shape, cutting_order, local_box, normalized
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = ["distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]

Tensor = facula.Tensor


def _placements(mesh: DeviceMesh, placements: Sequence[Placement] | None, ndim: int, who: str) -> tuple[Placement, ...]:
    placements = [Replicate()] * mesh.ndim if placements is None else placements
    if len(placements) != mesh.ndim:
        raise ValueError(f"{who}: `placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    return normalized(placements, ndim)


def _shared_out(part: Tensor, mesh: DeviceMesh, dim: int, placement: Placement, source: int) -> Tensor:
    """The source's tensor along one dimension of the mesh: whole, or this rank's part of it."""
    group = mesh.get_group(dim)
    if not isinstance(placement, Shard):
        part = part.contiguous().clone()
        c10d.broadcast(part, group=group, group_src=source)
        return part
    n, here, d = group.size(), group.rank(), placement.dim
    whole = part.shape[d]
    length, _ = Shard.local_shard_size_and_offset(whole, n, here)
    full = -(-whole // n)
    shape = list(part.shape)
    shape[d] = full
    out = part.new_empty(shape)
    pieces = [_padded(p, d, full).contiguous() for p in _pieces(part, d, n, whole)] if here == source else None
    c10d.scatter(out, pieces, group=group, group_src=source)
    return out.narrow(d, 0, length).contiguous()


def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """A leaf tensor, placed on a mesh. The data is that of rank `src_data_rank` of each dimension of the mesh, which sends it; None:
    every rank has it and takes its part."""
    mesh = device_mesh if device_mesh is not None else _current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if isinstance(tensor, DTensor):
        wanted = _placements(mesh, placements, tensor.dim(), "distribute_tensor")
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}.")
        if tensor.placements != wanted:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {wanted}. do you want to call `redistribute` instead?")
        return tensor
    wanted = _placements(mesh, placements, tensor.dim(), "distribute_tensor")
    if any(isinstance(p, Partial) for p in wanted):
        raise RuntimeError(f"Trying to distribute tensor with unsupported placements {wanted}: Shard and Replicate are possible")
    part, place = tensor.detach(), mesh.get_coordinate()
    if place is None:
        part = part.new_empty((0,) * part.dim())
    elif src_data_rank is None or part.is_meta:
        shape, offset = local_box(tensor.shape, mesh.shape, place, wanted)
        for d, (length, begin) in enumerate(zip(shape, offset, strict=True)):
            part = part.narrow(d, begin, length)
        part = part.clone(memory_format=facula.contiguous_format)
    else:
        for d in cutting_order(wanted):
            part = _shared_out(part, mesh, d, wanted[d], src_data_rank)
    meta = TensorMeta(tensor.shape, _dense(tensor), tensor.dtype)
    return DTensor(part.requires_grad_(tensor.requires_grad), DTensorSpec(mesh, wanted, meta))


def _dense(tensor: Tensor) -> tuple[int, ...]:
    return facula.empty_like(tensor, device="meta", memory_format=facula.contiguous_format).stride()


def distribute_module(
    module: Module, device_mesh: DeviceMesh | None = None, partition_fn: Callable | None = None,
    input_fn: Callable | None = None, output_fn: Callable | None = None,
) -> Module:  # fmt: skip
    """A module whose parameters and buffers are DTensors: partition_fn(name, submodule, mesh) places them, and what it leaves is
    replicated. input_fn(module, inputs, mesh) and output_fn(module, outputs, mesh) prepare inputs and results."""
    mesh = device_mesh if device_mesh is not None else _current_mesh()
    everywhere = [Replicate()] * mesh.ndim
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, value in part._parameters.items():
            if value is not None and not isinstance(value, DTensor):
                part.register_parameter(key, Parameter(distribute_tensor(value.detach(), mesh, everywhere), value.requires_grad))
        for key, value in part._buffers.items():
            if value is not None and not isinstance(value, DTensor):
                part._buffers[key] = distribute_tensor(value, mesh, everywhere)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda module, inputs: input_fn(module, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda module, inputs, outputs: output_fn(module, outputs, mesh))
    return module


# ---- factories


def _made(make: Callable, who: str, size: tuple, dtype, layout, requires_grad: bool, device_mesh, placements, random: bool = False) -> DTensor:
    if layout is not None and layout is not facula.strided:
        raise NotImplementedError(f"{who}: a DTensor is strided, not {layout}")
    shape = facula.Size(size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size)
    mesh = device_mesh if device_mesh is not None else _current_mesh()
    placements = _placements(mesh, placements, len(shape), who)
    local = compute_local_shape(shape, mesh, placements) if mesh.get_coordinate() is not None else (0,)
    dtype = facula.get_default_dtype() if dtype is None and who != "full" else dtype
    kwargs = {"device": mesh.device_type} | ({} if dtype is None else {"dtype": dtype})
    if random:
        with drawing(mesh, placements):
            part = make(local, **kwargs)
    else:
        part = make(local, **kwargs)
        if make is not facula.empty and who != "empty":
            for d, p in enumerate(placements):
                if isinstance(p, Partial) and p.reduce_op == "sum" and mesh.get_local_rank(d) != 0:
                    part.zero_()  # the first rank has the sum
    stride = facula.empty(shape, device="meta").stride()
    return DTensor(part.requires_grad_(requires_grad), DTensorSpec(mesh, placements, TensorMeta(shape, stride, part.dtype)))


def empty(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """A DTensor whose elements are anything."""
    return _made(facula.empty, "empty", size, dtype, layout, requires_grad, device_mesh, placements)


def zeros(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None) -> DTensor:
    """A DTensor of zeros."""
    return _made(facula.zeros, "zeros", size, dtype, layout, requires_grad, device_mesh, placements)


def ones(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """A DTensor of ones."""
    return _made(facula.ones, "ones", size, dtype, layout, requires_grad, device_mesh, placements)


def full(size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """A DTensor of one value."""
    def make(shape, **kwargs):
        return facula.full(shape, fill_value, **kwargs)

    return _made(make, "full", (tuple(size),), dtype, layout, requires_grad, device_mesh, placements)


def rand(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None) -> DTensor:
    """A DTensor of numbers between 0 and 1: parts differ, copies are alike."""
    return _made(facula.rand, "rand", size, dtype, layout, requires_grad, device_mesh, placements, random=True)


def randn(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """A DTensor of normally distributed numbers: parts differ, copies are alike."""
    return _made(facula.randn, "randn", size, dtype, layout, requires_grad, device_mesh, placements, random=True)
