# SPDX-License-Identifier: Apache-2.0
"""What one row of the operator table is, and how its inputs are made.

The table names no module: every row is a function of `torch`, which is Facula, PyTorch, or anything with
their shape. Inputs come from `Make`, a hash in NumPy, so they are the same for every module, machine and
NumPy version. A sample is read-only: a test that writes clones first.
"""
import zlib
from dataclasses import dataclass, field

import numpy as np

# name used in test ids -> (name in the module, NumPy type that holds its values exactly)
DTYPES = {
    "bool": ("bool", np.bool_), "u8": ("uint8", np.uint8), "i8": ("int8", np.int8), "i16": ("int16", np.int16),
    "i32": ("int32", np.int32), "i64": ("int64", np.int64), "f16": ("float16", np.float16),
    "bf16": ("bfloat16", np.float32), "f32": ("float32", np.float32), "f64": ("float64", np.float64),
    "c64": ("complex64", np.complex64), "c128": ("complex128", np.complex128),
}
# Storage and casts only.
EXTRA_DTYPES = {
    "u16": ("uint16", np.uint16), "u32": ("uint32", np.uint32), "u64": ("uint64", np.uint64),
    "e4m3": ("float8_e4m3fn", np.float32), "e5m2": ("float8_e5m2", np.float32),
}
BOOL = ("bool",)
INTS = ("u8", "i8", "i16", "i32", "i64")
HALFS = ("f16", "bf16")
FLOATS = HALFS + ("f32", "f64")
COMPLEX = ("c64", "c128")
ALL = BOOL + INTS + FLOATS + COMPLEX
REAL = BOOL + INTS + FLOATS
STRUCTURAL = ("f32", "f64", "i64", "bool", "c64", "bf16")  # operators that only move elements
MAIN = ("f32", "f64")  # every sample runs on these; the others run the samples marked wide


@dataclass
class Sample:
    label: str
    args: tuple
    kwargs: dict
    wide: bool = True   # runs for every dtype of the row, not only f32 and f64
    grad: bool = True   # smooth and small: gradcheck
    slope: bool = True  # first gradient is compared with the recorded one (kinks and ties included)
    inplace: bool = True  # also run through the in-place form
    meta: bool = True   # shapes do not depend on values
    out: bool = True    # also run through out=

    def but(self, **changes):
        for key, value in changes.items():
            assert hasattr(self, key), key
            setattr(self, key, value)
        return self

    def narrow(self):
        return self.but(wide=False)


def S(label, *args, **kwargs):
    return Sample(label, args, kwargs)


@dataclass
class Error:
    """A call that must fail: with which type, and which words its message has to contain."""
    args: tuple
    kwargs: dict
    type: str        # "RuntimeError", or several alternatives "IndexError|RuntimeError"
    words: tuple
    call: object = None  # another way of calling, as in Op.call


def E(type, words, *args, **kwargs):
    return Error(args, kwargs, type, (words,) if isinstance(words, str) else tuple(words))


@dataclass
class Op:
    name: str                      # unique; test ids start with it
    samples: object                # (torch, make) -> Samples
    call: object = None            # dotted path below the module, "Tensor.name" for a method, or f(torch, *args)
    dtypes: tuple = ALL
    method: str = None             # tensor method that does the same
    inplace: str = None            # method; "inplace=" means the keyword argument
    out: int = 0                   # number of out= tensors, 0: no such form
    grad: bool = True
    gradgrad: bool = True
    meta: bool = True
    values: bool = True            # False: only shape, dtype and strides are defined (empty)
    view: bool = False             # every result shares memory with an argument
    strides: bool = True           # False: the layout of PyTorch's result is an accident of its kernel
    sharing: bool = True           # False: whether a result shares memory is not compared
    names: tuple = ()              # operators inside a composite that its errors may name instead
    deterministic: bool = True     # False: bits may change from call to call
    tol: dict = field(default_factory=dict)  # dtype -> (rtol, atol); say why beside it
    errors: object = None          # (torch, make) -> Errors
    big: object = None             # (torch, make) -> one (args, kwargs), large enough for several threads
    library: bool = False          # computed by a library: the same bits only in deterministic mode
    aliases: tuple = ()            # other paths with the same meaning
    operator: str = None           # Python operator: name in module operator
    grad_args: tuple = None        # positions of differentiable arguments; None: every floating tensor
    nondet_tol: float = 0.0        # gradcheck's
    group: str = ""                # family, for reports
    reference: object = None       # of an operator that PyTorch lacks: f(torch, *args), the same in operators that it has
    quirks: dict = field(default_factory=dict)  # role -> where PyTorch falls short of its own rule (fails there, not here)

    def __post_init__(self):
        self.call = self.call or self.name


def splitmix(seed, n):
    """n well-mixed 64-bit words that depend only on seed."""
    z = (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) + np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def round_to_bf16(a):
    """float32 values that bfloat16 holds exactly (round to nearest even; NaN stays NaN)."""
    a = np.ascontiguousarray(a, np.float32)
    bits = a.view(np.uint32)
    bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(a), bits.view(np.float32), a)


SPECIAL_FLOATS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, -3.0, 10.0, -10.0,
                  100.0, -100.0, 1e4, 1e-3, "tiny", "-tiny", "denormal", "max", "-max", "eps"]
KINKS = [-6.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0]

# layout name -> what it means, for the table in the documentation
LAYOUTS = {
    "contiguous": "as made",
    "transposed": "first and last dimension swapped in memory (1-d: every second element; 0-d: inside a vector)",
    "offset": "the inside of a larger block: storage offset, gaps between rows",
    "step": "every second element of the last dimension",
    "expanded": "first dimension with stride 0",
    "channels_last": "4-d, memory order N, H, W, C",
}


class Make:
    """make(shape, low=, high=, layout=) is a tensor of this row's dtype; each call has other values."""

    def __init__(self, torch, name, dtype="f32", device="cpu"):
        self.torch, self.name, self.device = torch, dtype, device
        self.seed = zlib.crc32(name.encode())
        self.is_bool, self.is_int = dtype == "bool", dtype in INTS
        self.is_half = dtype in HALFS
        self.is_float, self.is_complex = dtype in FLOATS, dtype in COMPLEX
        self.is_main = dtype in MAIN

    @property
    def dtype(self):
        return self.dtype_of(self.name)

    def dtype_of(self, name):
        return getattr(self.torch, (DTYPES.get(name) or EXTRA_DTYPES[name])[0])

    def numbers(self, n, dtype=None, low=None, high=None, seed=None):
        """A 1-d NumPy array of n values in [low, high) that `dtype` holds exactly."""
        dtype = dtype or self.name
        if seed is None:
            self.seed += 1
            seed = self.seed
        words = splitmix(seed, 2 * n)
        numpy_type = (DTYPES.get(dtype) or EXTRA_DTYPES[dtype])[1]
        if dtype == "bool":
            return (words[:n] >> np.uint64(63)).astype(np.bool_)
        unit = (words[:n] >> np.uint64(11)).astype(np.float64) / 2.0**53
        if dtype in INTS or dtype in ("u16", "u32", "u64"):
            low = (0 if dtype.startswith("u") else -8) if low is None else int(np.ceil(low))
            if dtype.startswith("u"):
                low = max(low, 0)
            high = max(9 if high is None else int(np.floor(high)), low + 1)
            return (low + np.floor(unit * (high - low))).astype(numpy_type)
        low, high = -3.0 if low is None else low, 3.0 if high is None else high
        values = low + unit * (high - low)
        if dtype in COMPLEX:
            other = (words[n:] >> np.uint64(11)).astype(np.float64) / 2.0**53
            return (values + 1j * (low + other * (high - low))).astype(numpy_type)
        values = values.astype(numpy_type)
        if dtype in EXTRA_DTYPES:
            return np.round(values * 4) / 4  # few bits: exact in both float8 types
        return round_to_bf16(values) if dtype == "bf16" else values

    def wrap(self, array, dtype=None):
        """NumPy array -> tensor of the module under test."""
        torch, want = self.torch, self.dtype_of(dtype or self.name)
        array = np.array(array, order="C")
        if not array.size:  # NumPy's strides of empty arrays change with its version
            return torch.empty(array.shape, dtype=want, device=self.device)
        tensor = torch.from_numpy(array)
        if tensor.dtype != want:
            tensor = tensor.to(want)
        return tensor if self.device == "cpu" else tensor.to(self.device)

    def __call__(self, *shape, dtype=None, low=None, high=None, seed=None, layout="contiguous"):
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        stored = list(shape)
        if layout == "transposed":
            stored = stored[::-1] if len(shape) < 2 else [shape[-1], *shape[1:-1], shape[0]]
            if len(shape) == 1:
                stored = [2 * shape[0]]
            if not shape:
                stored = [3]
        elif layout == "offset":
            stored = [n + 2 for n in shape] or [3]
        elif layout == "step":
            stored[-1:] = [2 * shape[-1]] if shape else [3]
        elif layout == "expanded" and shape:
            stored[0] = 1
        elif layout == "channels_last":
            stored = [shape[0], *shape[2:], shape[1]]
        count = int(np.prod(stored, dtype=np.int64))
        array = self.numbers(count, dtype, low, high, seed).reshape(stored)
        tensor = self.wrap(array, dtype)
        if layout == "contiguous":
            return tensor
        if layout == "transposed":
            return tensor[1] if not shape else tensor[::2] if len(shape) == 1 else tensor.transpose(0, -1)
        if layout == "offset":
            for d, n in enumerate(shape):
                tensor = tensor.narrow(d, 1, n)
            return tensor if shape else tensor[1]
        if layout == "step":
            return tensor[..., ::2] if shape else tensor[1]
        if layout == "expanded":
            return tensor.expand(shape)
        if layout == "channels_last":
            return tensor.permute(0, len(shape) - 1, *range(1, len(shape) - 1))
        raise ValueError(layout)

    def special(self, dtype=None, moderate=False):
        """The edges of the dtype, as a vector; moderate: without its largest and smallest numbers."""
        dtype = dtype or self.name
        if dtype == "bool":
            return self.wrap(np.array([False, True]), dtype)
        if dtype in INTS:
            info = np.iinfo(DTYPES[dtype][1])
            values = {0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1}
            values |= {-1, -2, -7} if info.min < 0 else set()
            return self.wrap(np.array(sorted(values), DTYPES[dtype][1]), dtype)
        kind = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
        limits = {"f16": (2.0**-14, 2.0**-24, 65504.0, 2.0**-10), "bf16": (2.0**-126, 2.0**-133, 3.3895313892515355e38, 2.0**-7),
                  "f32": (2.0**-126, 2.0**-149, 3.4028234663852886e38, 2.0**-23),
                  "f64": (2.0**-1022, 2.0**-1074, 1.7976931348623157e308, 2.0**-52)}[kind]
        named = {"tiny": limits[0], "-tiny": -limits[0], "denormal": limits[1], "max": limits[2], "-max": -limits[2],
                 "eps": limits[3]}
        values = np.array([named.get(v, v) if isinstance(v, str) else v for v in SPECIAL_FLOATS if not (moderate and isinstance(v, str))])
        if dtype in COMPLEX:  # infinities of complex numbers are nobody's standard: finite, moderate values
            values = np.array([0, 1, -1, 1j, -1j, 0.5 + 0.5j, 3 - 4j, -2 + 0.25j, 10j, 1e-3])
        values = values.astype(DTYPES[dtype][1])
        if dtype == "bf16":  # by bits: modules differ in the sign of a converted NaN
            bits = round_to_bf16(values).view(np.uint32) >> np.uint32(16)
            return self.wrap(bits.astype(np.uint16).view(np.int16), "i16").view(self.torch.bfloat16)
        return self.wrap(values, dtype)

    def kinks(self, dtype=None):
        """Where piecewise functions bend: gradients there follow conventions, not calculus."""
        dtype = dtype or self.name
        values = [v for v in KINKS if v == int(v)] if dtype in INTS else KINKS
        if dtype in ("u8",):
            values = [v for v in values if v >= 0]
        return self.wrap(np.array(values).astype(DTYPES[dtype][1]), dtype)

    def distinct(self, *shape, dtype=None, layout="contiguous"):
        """No two elements equal (as far as the dtype can hold so many): for sorts and arg-functions."""
        dtype = dtype or self.name
        n = int(np.prod(shape, dtype=np.int64))
        self.seed += 1
        order = np.argsort(splitmix(self.seed, n), kind="stable")
        values = order - (0 if dtype.startswith("u") or dtype == "bool" else n // 2)
        values = values / 4 if dtype in FLOATS else values * (1 + 1j) if dtype in COMPLEX else values
        tensor = self.wrap(np.asarray(values).astype(DTYPES[dtype][1]).reshape(shape), dtype)
        if layout == "transposed" and len(shape) > 1:
            return tensor.transpose(0, -1).contiguous().transpose(0, -1)
        return tensor

    def ints(self, values, dtype="i64"):
        return self.wrap(np.array(values, DTYPES[dtype][1]), dtype)

    def mask(self, *shape):
        return self(*shape, dtype="bool")


def resolve(torch, op_call):
    """The callable behind Op.call: raises AttributeError naming what the module lacks."""
    if callable(op_call):
        return lambda *args, **kwargs: op_call(torch, *args, **kwargs)
    if op_call.startswith("Tensor."):
        name = op_call[len("Tensor."):]
        getattr(torch.Tensor, name)
        return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)
    if op_call.startswith("Tensor#"):  # an attribute
        name = op_call[len("Tensor#"):]
        getattr(torch.Tensor, name)
        return lambda self: getattr(self, name)
    target = torch
    for part in op_call.split("."):
        target = getattr(target, part)
    return target


def resolve_reference(torch, op):
    """What PyTorch computes for a row. What the row's own `reference` says is computed of half types in float32, as here."""
    try:
        function = resolve(torch, op.reference or op.call)
    except AttributeError as error:
        raise SystemExit(
            f"{op.name}: {error}. The table compares with PyTorch; a row of an operator that PyTorch lacks says what it "
            "computes in operators that it has: reference=lambda torch, x: x / (1 + x.abs())"
        ) from None
    if not op.reference:
        return function
    halfs = (torch.float16, torch.bfloat16)

    def rounded_once(*args, **kwargs):
        wide = [x.float() if isinstance(x, torch.Tensor) and x.dtype in halfs else x for x in args]
        result = function(*wide, **kwargs)
        return result.to(args[0].dtype) if args[0].dtype in halfs and result.dtype == torch.float32 else result

    return rounded_once


def select(op, torch, dtype, device="cpu"):
    """The samples of one row for one dtype, labels made unique."""
    make = Make(torch, op.name, dtype, device)
    seen, chosen = {}, []
    for sample in op.samples(torch, make):
        if not sample.wide and dtype not in MAIN:
            continue
        count = seen[sample.label] = seen.get(sample.label, 0) + 1
        if count > 1:
            sample.label = f"{sample.label}.{count}"
        chosen.append(sample)
    return chosen
