# SPDX-License-Identifier: Apache-2.0
"""DTensor: one tensor whose parts lie on the ranks of a mesh. It shows the shape of the whole and holds this rank's part, a
plain tensor, which is what autograd records (docs/decisions.md): its gradients, hooks and history are the part's."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import facula
from facula import _C
from facula import autograd as _autograd
from facula.distributed import distributed_c10d as c10d
from facula.distributed.device_mesh import DeviceMesh, _found_or_made
from facula.distributed.tensor._redistribute import _gradient, redistributed, summing
from facula.distributed.tensor._utils import compute_global_tensor_info, compute_local_shape, normalized
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard
from facula.serialization import add_safe_globals

__all__ = ["DTensor", "DTensorSpec", "TensorMeta"]

Tensor = facula.Tensor
_SMALL = 4096  # elements


class TensorMeta(NamedTuple):
    """The whole tensor's geometry."""

    shape: facula.Size
    stride: tuple[int, ...]
    dtype: facula.dtype


class DTensorSpec(NamedTuple):
    """How a tensor lies on a mesh."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def device_mesh(self) -> DeviceMesh:
        return self.mesh

    @property
    def shape(self) -> facula.Size:
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        return len(self.tensor_meta.shape)


class DTensor(Tensor):
    """A tensor whose parts lie on several processes. Made by distribute_tensor, DTensor.from_local and the factories of
    torch.distributed.tensor; operators take and give such tensors, and parts move where an operator needs it."""

    __torch_function__ = _C._disabled_torch_function_impl
    _local_tensor: Tensor
    _spec: DTensorSpec

    def __new__(cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool | None = None) -> DTensor:
        # One element stands for all, as nothing reads the memory of the shell; small ones have theirs, so that whoever does
        # stays within it.
        meta = spec.tensor_meta
        strides = meta.stride if meta.shape.numel() <= _SMALL else [0] * len(meta.shape)
        self = cls._make_wrapper_subclass(meta.shape, strides=strides, dtype=local_tensor.dtype, device=local_tensor.device)
        if requires_grad is not None and requires_grad != local_tensor.requires_grad:
            local_tensor = local_tensor.detach().requires_grad_(requires_grad)
        self._local_tensor, self._spec = local_tensor, spec
        return self

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from facula.distributed.tensor._dispatch import run

        return run(func, args, kwargs or {})

    # ---- what programs ask

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements=None, *, run_check: bool = False,
        shape=None, stride=None, grad_placements=None,
    ) -> DTensor:  # fmt: skip
        """The tensor that every rank gives a part of. Parts have one size, unless `shape` and `stride` of the whole are given;
        gradients flow to the parts. run_check: replicated parts are taken from the first rank."""
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local_tensor argument only accepts torch.Tensor but got <class 'DTensor'> value.")
        mesh = device_mesh if device_mesh is not None else _current_mesh()
        placements = [Replicate()] * mesh.ndim if placements is None else placements
        if len(placements) != mesh.ndim:
            raise ValueError(f"from_local: {len(placements)} placements for a mesh of {mesh.ndim} dimensions")
        ndim = local_tensor.dim() if shape is None else len(shape)
        placements = normalized(placements, ndim)
        if (shape is None) != (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}. Please pass both shape and stride at the same time.")
        if shape is None:
            shape, stride = compute_global_tensor_info(local_tensor, mesh, placements)
        elif mesh.get_coordinate() is not None and tuple(local_tensor.shape) != compute_local_shape(shape, mesh, placements):
            wanted = compute_local_shape(shape, mesh, placements)
            raise RuntimeError(f"from_local: the part of {list(shape)} here has the shape {list(wanted)}, not {list(local_tensor.shape)}")
        part = local_tensor.view_as(local_tensor)
        if run_check:
            with facula.no_grad():
                part = part.clone()
                for d, p in enumerate(placements):
                    if isinstance(p, Replicate):
                        c10d.broadcast(part, group=mesh.get_group(d), group_src=0)
        if grad_placements is not None:
            part = _as_gradient(part, mesh, shape, placements, normalized(grad_placements, ndim))
        return DTensor(part, DTensorSpec(mesh, placements, TensorMeta(facula.Size(shape), tuple(stride), part.dtype)))

    def to_local(self, *, grad_placements=None) -> Tensor:
        """This rank's part. Its gradient is taken to be placed as the tensor is (whole, where the tensor is a sum), or as
        grad_placements say: Partial(), where the part is used differently on every rank."""
        if grad_placements is None:
            return self._local_tensor.view_as(self._local_tensor)
        grads = normalized(grad_placements, self.dim())
        if len(grads) != self.device_mesh.ndim:
            raise ValueError(f"to_local: {len(grads)} grad_placements for a mesh of {self.device_mesh.ndim} dimensions")
        sums = frozenset(d for d, (p, g) in enumerate(zip(self.placements, grads, strict=True)) if isinstance(p, Replicate) and isinstance(g, Partial))
        for d, (p, g) in enumerate(zip(self.placements, grads, strict=True)):
            if d not in sums and g != _gradient(p) and g != p:
                raise NotImplementedError(f"to_local: the gradient of a part of {p} is not of {g}")
        part = self._used(sums)
        return part.view_as(part)

    def full_tensor(self, *, grad_placements=None) -> Tensor:
        """The whole tensor, on every rank."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local(grad_placements=grad_placements)

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements=None, *, async_op: bool = False, forward_dtype=None, backward_dtype=None) -> DTensor:
        """The same tensor, placed in another way; gradients are placed back."""
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("redistribute: a tensor moves within its mesh, not to another")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        placements = normalized(placements, self.dim())
        if len(placements) != self.device_mesh.ndim:
            raise ValueError(f"redistribute: {len(placements)} placements for a mesh of {self.device_mesh.ndim} dimensions")
        for d, (p, q) in enumerate(zip(self.placements, placements, strict=True)):
            if isinstance(q, Partial) and p != q:
                raise RuntimeError(f"Can not redistribute from {p} to {q} (dimension {d} of the mesh): redistributing to Partial is for internal use only!")
        source = self if forward_dtype is None or forward_dtype == self.dtype else self.to(forward_dtype)
        return source._placed(placements)

    def _placed(self, placements: tuple[Placement, ...]) -> DTensor:
        if placements == self.placements:
            return self
        local, twin = redistributed(self._local_tensor, self.device_mesh, self.shape, self.placements, placements)
        out = DTensor(local, self._spec._replace(placements=placements))
        out._twin = twin
        return out

    def _used(self, dims: frozenset) -> Tensor:
        """The part, for a use that gives parts of the gradient along these dimensions of the mesh."""
        local = self._local_tensor
        if not dims or not local.requires_grad or not facula.is_grad_enabled():
            return local
        if local.is_leaf:  # a parameter: what one step made of it is not the next one's
            return summing(local, self.device_mesh, sorted(dims))
        made = self.__dict__.setdefault("_summing", {})
        if dims not in made:
            rest, twin = set(dims), self.__dict__.get("_twin")
            if twin is not None and twin[0] in rest:
                rest.discard(twin[0])
                local = twin[1]
            made[dims] = summing(local, self.device_mesh, sorted(rest))
        return made[dims]

    # ---- geometry of the whole

    def stride(self, dim: int | None = None):
        strides = self._spec.tensor_meta.stride
        return strides if dim is None else strides[dim]

    def is_contiguous(self, memory_format=facula.contiguous_format) -> bool:
        return _empty_meta(self._spec.tensor_meta).is_contiguous(memory_format=memory_format)

    def storage_offset(self) -> int:
        return 0

    def element_size(self) -> int:
        return self._local_tensor.element_size()

    # ---- history: the part's

    requires_grad = property(lambda self: self._local_tensor.requires_grad, lambda self, on: self._local_tensor.requires_grad_(on) and None)
    is_leaf = property(lambda self: self._local_tensor.is_leaf)
    grad_fn = property(lambda self: self._local_tensor.grad_fn)
    _version = property(lambda self: self._local_tensor._version)
    retains_grad = property(lambda self: self._local_tensor.retains_grad)

    def requires_grad_(self, requires_grad: bool = True) -> DTensor:
        self._local_tensor.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        self._local_tensor.retain_grad()

    def _gradient_of(self, part: Tensor | None) -> DTensor | None:
        if part is None:
            return None
        placements = tuple(_gradient(p) for p in self.placements)
        return DTensor(part, self._spec._replace(placements=placements, tensor_meta=self._spec.tensor_meta._replace(dtype=part.dtype)))

    def _part_of(self, gradient: Tensor | None) -> Tensor | None:
        """A gradient of this tensor as the gradient of its part."""
        if gradient is None:
            return None
        if not isinstance(gradient, DTensor):
            raise TypeError(f"the gradient of a DTensor is a DTensor, not {type(gradient).__name__}")
        if gradient.shape != self.shape:
            raise RuntimeError(f"a gradient of shape {list(gradient.shape)} for a tensor of shape {list(self.shape)}")
        return gradient._placed(tuple(_gradient(p) for p in self.placements))._local_tensor

    def _get_grad(self) -> DTensor | None:
        part = self._local_tensor.grad
        kept = self.__dict__.get("_grad")
        if part is None or kept is None or kept._local_tensor is not part:
            kept = self.__dict__["_grad"] = self._gradient_of(part)
        return kept

    def _set_grad(self, gradient: Tensor | None) -> None:
        self._local_tensor.grad = self._part_of(gradient)
        self.__dict__["_grad"] = None

    grad = property(_get_grad, _set_grad, lambda self: self._set_grad(None))

    def _get_data(self) -> DTensor:
        return DTensor(self._local_tensor.data, self._spec)

    def _set_data(self, new: Tensor) -> None:
        if not isinstance(new, DTensor):
            raise TypeError(f"the data of a DTensor is a DTensor, not {type(new).__name__}")
        Tensor.data.__set__(self, Tensor.data.__get__(new))
        self._local_tensor.data = new._local_tensor.data
        self._spec = new._spec

    data = property(_get_data, _set_data)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
        _autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        weak = weakref.ref(self)
        spec = self._spec

        def called(part):
            of = weak()
            of = DTensor(part, spec) if of is None else of
            return of._part_of(hook(of._gradient_of(part)))

        return self._local_tensor.register_hook(called)

    def register_post_accumulate_grad_hook(self, hook):
        weak = weakref.ref(self)

        def called(_):
            if (tensor := weak()) is not None:
                hook(tensor)

        handle = self._local_tensor.register_post_accumulate_grad_hook(called)
        hooks = self.__dict__.setdefault("_after_gradient", {})
        hooks[handle] = hook
        return _HookHandle(handle, hooks)

    def _gradient_added(self) -> None:
        """Calls the hooks above where a gradient did not come by backward: fully_shard sums it first."""
        for hook in list(self.__dict__.get("_after_gradient", {}).values()):
            hook(self)

    # ---- as numbers, objects and files

    def item(self):
        return self.full_tensor().item()

    def tolist(self):
        return self.full_tensor().tolist()

    def __bool__(self) -> bool:
        return bool(self.full_tensor())

    def __int__(self) -> int:
        return int(self.full_tensor())

    def __float__(self) -> float:
        return float(self.full_tensor())

    def __index__(self) -> int:
        return self.full_tensor().__index__()

    def __complex__(self) -> complex:
        return complex(self.full_tensor())

    def _refuse(self, *args: object, **kwargs: object):
        raise RuntimeError("a DTensor has no memory of its own: to_local() is this rank's part, full_tensor() the whole")

    data_ptr = untyped_storage = storage = numpy = __array__ = __dlpack__ = share_memory_ = _refuse

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self.device_mesh}, placements={self.placements})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.full_tensor(), spec) if spec else repr(self)

    def __deepcopy__(self, memo: dict) -> DTensor:
        if id(self) not in memo:
            new = DTensor(self._local_tensor.__deepcopy__(memo), self._spec)
            if getattr(self, "_is_param", False):
                new._is_param = True
            memo[id(self)] = new
        return memo[id(self)]

    def __reduce_ex__(self, protocol: int):
        mesh, meta = self.device_mesh, self._spec.tensor_meta
        about = mesh.device_type, mesh.mesh.tolist(), mesh.mesh_dim_names, [_told(p) for p in self.placements], list(meta.shape), list(meta.stride)
        return _rebuilt, (self._local_tensor.detach(), *about, self.requires_grad, bool(getattr(self, "_is_param", False)))

    def __tensor_flatten__(self):
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner, spec, outer_size, outer_stride):
        return DTensor(inner["_local_tensor"], spec[0])


DTensor.__module__ = "torch.distributed.tensor"


class _HookHandle:
    """Takes a hook off again."""

    def __init__(self, handle, hooks: dict) -> None:
        self._handle, self._hooks = handle, hooks

    def remove(self) -> None:
        self._handle.remove()
        self._hooks.pop(self._handle, None)


def _told(p: Placement) -> tuple:
    """A placement in words and numbers, as files have it."""
    if isinstance(p, _StridedShard):
        return "strided", p.dim, p.split_factor
    if isinstance(p, Shard):
        return "shard", p.dim
    if isinstance(p, Replicate):
        return ("replicate",)
    if type(p) is Partial:
        return "partial", p.reduce_op
    raise RuntimeError(f"a DTensor of {p} is not written to files; redistribute it first")


_KINDS = {"strided": _StridedShard, "shard": Shard, "replicate": Replicate, "partial": Partial}


def _rebuilt(part, device_type, ranks, names, placements, shape, stride, requires_grad, parameter):
    """A DTensor from a file. Every rank loads its own part, in a run with the ranks of the mesh."""
    mesh = _found_or_made(device_type, ranks, names)
    placements = normalized([_KINDS[kind](*rest) for kind, *rest in placements], len(shape))
    meta = TensorMeta(facula.Size(shape), tuple(stride), part.dtype)
    if len(placements) != mesh.ndim or (mesh.get_coordinate() is not None and tuple(part.shape) != compute_local_shape(shape, mesh, placements)):
        raise RuntimeError(f"a DTensor of shape {list(shape)} and {placements} has no part of shape {list(part.shape)} here")
    made = DTensor(part, DTensorSpec(mesh, placements, meta), requires_grad=requires_grad)
    if parameter:
        made._is_param = True
    return made


add_safe_globals([_rebuilt])


def _empty_meta(meta: TensorMeta) -> Tensor:
    return facula.empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device="meta")


def _as_gradient(part, mesh, shape, placements, grads):
    """The part, whose gradient goes back as grads say."""
    if all(g == _gradient(p) for g, p in zip(grads, placements, strict=True)):
        return part
    if not part.requires_grad:
        return part
    part = part.view_as(part)
    part.register_hook(lambda g: redistributed(g, mesh, shape, tuple(map(_gradient, placements)), grads)[0])
    return part


def _current_mesh() -> DeviceMesh:
    from facula.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", (c10d.get_world_size(),))


def _roots(tensors: list, grads: list) -> tuple[list, list]:
    out, gradients = [], []
    for t, g in zip(tensors, grads, strict=True):
        if isinstance(t, DTensor):
            if any(isinstance(p, Partial) and p.reduce_op != "sum" for p in t.placements):
                t = t._placed(tuple(Replicate() if isinstance(p, Partial) else p for p in t.placements))
            if g is None and t.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            t, g = t._local_tensor, t._part_of(g)
            if g is None:
                g = facula.ones_like(t)
        out.append(t)
        gradients.append(g)
    return out, gradients


def _run_backward(run, roots, grads, inputs, *options):
    """Backward over parts; what comes out for a DTensor is one."""
    roots, grads = _roots(list(roots), list(grads))
    found = run(roots, grads, [x._local_tensor if isinstance(x, DTensor) else x for x in inputs], *options)
    return None if found is None else [x._gradient_of(g) if isinstance(x, DTensor) else g for x, g in zip(inputs, found, strict=False)]


_autograd._with_parts = (DTensor, _run_backward)
