# SPDX-License-Identifier: Apache-2.0
"""torch.FloatTensor and its kin: constructors and classes from before dtypes, still found in programs."""

from facula import _C
from facula._tensor import _TYPE_NAMES, Tensor


class _TensorType(type):
    def __new__(meta, name, bases, fields):
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(meta, name, bases, fields)

    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype and obj.device.type == "cpu"

    def __call__(cls, *args, size=None, device=None):
        """FloatTensor(2, 3): uninitialised, of that size; FloatTensor([1, 2]): these numbers."""
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {_C.device(device).type} was passed")
        if size is not None:
            args = (_C.Size(size),)
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0].dtype is not cls.dtype:
                raise TypeError(f"expected {cls.__name__} (got {args[0].type()})")
            return args[0].detach()
        if len(args) == 1 and hasattr(args[0], "_elements_of"):  # a storage's memory
            return args[0]._elements_of(cls.dtype)
        if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
            return _C._tensor(args[0], cls.dtype, "cpu", True)
        size = args[0] if args and isinstance(args[0], _C.Size) else args or (0,)
        return _C._functions["empty"](list(size), dtype=cls.dtype)


types = {f"{name}Tensor": _TensorType(f"{name}Tensor", (), {"dtype": getattr(_C, dtype), "__module__": "torch"}) for dtype, name in _TYPE_NAMES.items()}
