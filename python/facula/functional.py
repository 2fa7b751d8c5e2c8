# SPDX-License-Identifier: Apache-2.0
"""Functions of the torch namespace that are Python by nature: they look at Python data or pick an operator."""

from facula import _C
from facula._tensor import Tensor

__all__ = [
    "tensor", "as_tensor", "from_numpy", "asarray", "is_tensor", "is_floating_point", "is_complex", "numel",
    "set_default_dtype", "is_storage", "finfo", "iinfo", "typename",
]  # fmt: skip


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of data: numbers, nested sequences, arrays, tensors."""
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        out = data.detach().to(dtype=dtype, device=device, copy=True)
    else:
        out = _C._tensor(data, dtype, device, True)
    return out.requires_grad_() if requires_grad else out


def as_tensor(data, dtype=None, device=None):
    """data as a tensor, sharing memory where that is possible."""
    return _C._tensor(data, dtype, device, False)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    out = _C._tensor(obj, dtype, device, bool(copy))
    return out.requires_grad_() if requires_grad else out


def from_numpy(array):
    """A tensor that shares the array's memory."""
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    out, writable = _C._from_buffer(array)
    if not writable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Writing to this "
            "tensor is undefined: copy the array first.",
            UserWarning,
            stacklevel=2,
        )
    return out


def is_tensor(obj):
    return isinstance(obj, Tensor)


def is_storage(obj):
    return False


def is_floating_point(input):
    return input.is_floating_point()


def is_complex(input):
    return input.is_complex()


def numel(input):
    return input.numel()


def typename(obj):
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def set_default_dtype(d):
    """The type of floats made from Python numbers."""
    _C.set_default_dtype(d)


class finfo:
    """Limits of a floating-point type."""

    __slots__ = ("dtype", "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution")
    _LIMITS = {  # bits, exponent bits' largest power, fraction bits, smallest normal power, digits, finite maximum
        "float16": (16, 10, -14, 65504.0, 3),
        "bfloat16": (16, 7, -126, (2 - 2.0**-7) * 2.0**127, 2),
        "float32": (32, 23, -126, (2 - 2.0**-23) * 2.0**127, 6),
        "float64": (64, 52, -1022, (2 - 2.0**-52) * 2.0**1023, 15),
        "float8_e5m2": (8, 2, -14, 57344.0, 0),
        "float8_e4m3fn": (8, 3, -6, 448.0, 0),
    }

    def __init__(self, dtype=None):
        dtype = _C.get_default_dtype() if dtype is None else dtype
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
        dtype = dtype.to_real()
        name = str(dtype).removeprefix("torch.")
        if name not in self._LIMITS:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype}'")
        bits, fraction, lowest, largest, digits = self._LIMITS[name]
        self.dtype, self.bits, self.eps = name, bits, 2.0**-fraction
        self.max, self.min = largest, -largest
        self.tiny = self.smallest_normal = 2.0**lowest
        self.resolution = 10.0**-digits

    def __repr__(self):
        values = ", ".join(f"{k}={getattr(self, k):g}" for k in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({values}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """Limits of an integer type."""

    __slots__ = ("dtype", "bits", "max", "min")

    def __init__(self, dtype):
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
        if dtype.is_floating_point or dtype.is_complex:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{dtype}'")
        if dtype is _C.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.dtype = str(dtype).removeprefix("torch.")
        self.bits = dtype.itemsize * 8
        self.max = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if dtype.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)
