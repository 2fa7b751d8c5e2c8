# SPDX-License-Identifier: Apache-2.0
"""Tensors that modules own: parameters, buffers, and both before their shape is known."""

from __future__ import annotations

from collections import OrderedDict as _OrderedDict

from facula import _C, _utils
from facula._tensor import Tensor

__all__ = ["Parameter", "UninitializedParameter", "is_lazy", "Buffer", "UninitializedBuffer", "UninitializedTensorMixin"]

_empty = _C._functions["empty"]


class _ParameterMeta(type(Tensor)):
    """Tensors of other classes are instances, too, if they bear the class's mark."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("_mark")  # of the class itself, not of its bases
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a module's parameter when it is assigned to an attribute; it requires gradients."""

    _mark = "_is_param"

    def __new__(cls, data=None, requires_grad: bool = True):
        if data is None:
            data = _empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        new = data.detach().requires_grad_(requires_grad)
        if type(new) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of the "
                f"same type, but return type {type(new).__name__} was found instead. To use the type as a Parameter, please correct the "
                "detach() semantics defined by its __torch_dispatch__() implementation."
            )
        new._is_param = True
        return new

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        if type(self) is not Parameter:
            return _rebuild, (type(self), self.data, self.requires_grad), self.__dict__ or None
        parts, state = (self.data, self.requires_grad, _OrderedDict()), _utils._get_obj_state(self)
        return (_utils._rebuild_parameter_with_state, (*parts, state)) if state else (_utils._rebuild_parameter, parts)

    __torch_function__ = _C._disabled_torch_function_impl


def _rebuild(cls, data, requires_grad):
    """A parameter of a subclass from its pickled parts."""
    return Tensor._make_subclass(cls, data, requires_grad)


class UninitializedTensorMixin:
    """Has a type and a device, but no shape until materialize() gives it one; little else can be done with it."""

    _ALLOWED = {
        "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short", "int",
        "long", "cuda", "cpu", "to", "get_device", "__get__", "__set__",
    }  # fmt: skip

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Become a tensor of this shape with arbitrary elements."""
        self.data = _empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
            "to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
            "their attributes."
        )

    def share_memory_(self):
        """Not before there is memory."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", None) in cls._ALLOWED:
            return super().__torch_function__(func, types, args, kwargs)
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or explicitly "
            f"manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to "
            "initialize the parameters before calling torch functions"
        )


def is_lazy(param) -> bool:
    """Whether param is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first call of its module tells."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device=None, dtype=None):
        return Tensor._make_subclass(cls, _empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class Buffer(Tensor, metaclass=_ParameterMeta):
    """Marks a tensor, so that a module to which it is assigned keeps it as a buffer: part of its state, not trained."""

    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent: bool = True):
        if data is None:
            data = _empty(0)
        new = data.detach().requires_grad_(data.requires_grad)
        new.persistent = persistent
        new._is_buffer = True
        return new

    __torch_function__ = _C._disabled_torch_function_impl


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first call of its module tells."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device=None, dtype=None, persistent: bool = True):
        new = Tensor._make_subclass(cls, _empty(0, device=device, dtype=dtype), requires_grad)
        new.persistent = persistent
        new._is_buffer = True
        return new
