# SPDX-License-Identifier: Apache-2.0
"""The Tensor class: operators come from the registry, the rest of what is Python by nature stands here."""

from __future__ import annotations

from facula import _C


class Tensor(_C.TensorBase):
    """A multi-dimensional array of one element type, with strides, views and gradients."""

    __module__ = "torch"
    __torch_function__ = classmethod(_C._disabled_torch_function_impl)

    def __repr__(self, *, tensor_contents=None):
        from facula._tensor_str import _str

        return _str(self, tensor_contents=tensor_contents)

    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, bool, complex)):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __rdiv__(self, other):
        return self.reciprocal() * other

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment")
        if id(self) in memo:
            return memo[id(self)]
        with _NoGrad():
            new = self.clone() if type(self) is Tensor else self.clone().as_subclass(type(self))
        new.requires_grad = self.requires_grad
        if self.grad is not None:
            new.grad = self.grad.__deepcopy__(memo)
        new.__dict__.update(self.__dict__)
        memo[id(self)] = new
        return new

    @property
    def grad_fn(self):
        return _C._grad_fn(self)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of the leaves this tensor depends on."""
        from facula.autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Call hook(grad) whenever this tensor's gradient is computed; returns a handle with remove()."""
        from facula.autograd import _RemovableHandle

        return _RemovableHandle(self, _C._register_hook(self, hook))

    def register_post_accumulate_grad_hook(self, hook):
        from facula.autograd import _RemovableHandle

        return _RemovableHandle(self, _C._register_post_accumulate_hook(self, hook))

    def to(self, *args, **kwargs):
        """to(dtype), to(device), to(device, dtype), to(other): the same tensor if nothing changes."""
        device = kwargs.pop("device", None)
        dtype = kwargs.pop("dtype", None)
        rest = list(args)
        if rest and isinstance(rest[0], Tensor):
            other = rest.pop(0)
            device, dtype = other.device, other.dtype
        if rest and isinstance(rest[0], (_C.device, str, int)) and not isinstance(rest[0], bool):
            device = rest.pop(0)
        elif rest and rest[0] is None:
            rest.pop(0)
        if rest and (isinstance(rest[0], _C.dtype) or rest[0] in (float, int, bool, complex)):
            dtype = rest.pop(0)
        elif rest and rest[0] is None:
            rest.pop(0)
        for name, value in zip(("non_blocking", "copy"), rest, strict=False):
            kwargs[name] = value
        if len(rest) > 2:
            raise TypeError("to() received an invalid combination of arguments")
        return _to(self, dtype=dtype, device=device, **kwargs)

    def type(self, dtype=None, non_blocking=False):
        if dtype is None:
            return _type_name(self)
        if isinstance(dtype, str):
            dtype = _type_from_name(dtype)
        return self.to(dtype, non_blocking=non_blocking)

    def numpy(self, *, force=False):
        """The same memory as a NumPy array."""
        from facula._interop import to_numpy

        return to_numpy(self, force)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def cpu(self, memory_format=None):
        return self.to("cpu")

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        return self.to("cuda" if device is None else device)

    def type_as(self, other):
        return self.to(dtype=other.dtype, device=other.device)

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(dir(type(self))))


class _NoGrad:
    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


_to = _C._methods["to"]

for _name, _method in _C._methods.items():
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, _method)
del _name, _method


def _cast_method(dtype):
    def cast(self, memory_format=None):
        return self.to(dtype)

    return cast


_CASTS = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32,
    "long": _C.int64, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
    "cfloat": _C.complex64, "cdouble": _C.complex128,
}  # fmt: skip
for _name, _dtype in _CASTS.items():
    setattr(Tensor, _name, _cast_method(_dtype))
del _name, _dtype

_TYPE_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


def _type_name(tensor):
    name = _TYPE_NAMES.get(str(tensor.dtype).removeprefix("torch."), "")
    module = "torch" if tensor.device.type in ("cpu", "meta") else f"torch.{tensor.device.type}"
    return f"{module}.{name}Tensor"


def _type_from_name(text):
    short = text.rpartition(".")[2].removesuffix("Tensor")
    for dtype, name in _TYPE_NAMES.items():
        if name == short:
            return getattr(_C, dtype)
    raise ValueError(f"invalid type: '{text}'")


_C._set_tensor_class(Tensor)
