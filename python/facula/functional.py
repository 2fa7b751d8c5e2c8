# SPDX-License-Identifier: Apache-2.0
"""Functions of the torch namespace that are Python by nature: they look at Python data or pick an operator."""

import itertools
import sys

from facula import _C
from facula._tensor import Tensor

__all__ = [
    "tensor", "as_tensor", "from_numpy", "frombuffer", "from_dlpack", "asarray", "is_tensor", "is_floating_point",
    "is_complex", "is_nonzero", "numel", "set_default_dtype", "is_storage", "finfo", "iinfo", "typename",
    "broadcast_shapes", "broadcast_tensors", "split", "get_default_device", "set_default_device", "set_flush_denormal",
    "use_deterministic_algorithms", "vmap", "set_float32_matmul_precision", "get_float32_matmul_precision",
    "set_default_tensor_type", "get_device", "is_signed", "is_conj", "is_neg", "is_inference", "unravel_index",
    "empty_permuted", "gradient", "lu", "qr", "symeig", "eig", "solve", "lstsq", "matrix_rank",
    "get_deterministic_debug_mode", "set_deterministic_debug_mode", "is_deterministic_algorithms_warn_only_enabled",
    "get_num_interop_threads", "set_num_interop_threads", "is_warn_always_enabled", "set_warn_always", "spmm", "dsmm",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes",
]  # fmt: skip


def _front(*operators):
    """Publishes a function if the operators that it stands on exist."""

    def publish(function):
        if all(_C._overloads(f"aten::{name}") for name in operators):
            __all__.append(function.__name__)
        return function

    return publish


def _need_tensor(function, name, position, value):
    """TypeError, in the words of operators, for what is no tensor and does not stand for one."""
    if not isinstance(value, Tensor) and not hasattr(type(value), "__torch_function__"):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}")


def _tensors(args):
    """f(a, b) and f([a, b]) mean the same."""
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


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
        if hasattr(data, "__array_interface__") and hasattr(data, "strides"):
            _check_array(data)
        out = _C._tensor(data, dtype, device, 3)
    return out.requires_grad_() if requires_grad else out


_ARRAY_KINDS = "?bBhHiIlLqQefdFD"


def _check_array(array):
    """NumPy arrays of elements that no tensor has."""
    dtype = array.dtype
    if dtype.char not in _ARRAY_KINDS:
        raise TypeError(
            f"can't convert np.ndarray of type {dtype.type.__module__}.{dtype.type.__name__}. The only supported types are: float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    if not dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported.")


def as_tensor(data, dtype=None, device=None):
    """data as a tensor, sharing memory where that is possible."""
    if hasattr(data, "__array_interface__") and hasattr(data, "strides"):
        _check_array(data)
    out = _C._tensor(data, dtype, device, 4 | _is_number(data))
    return out if isinstance(data, Tensor) else _warned(out, "array")


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """obj as a tensor: sharing memory where copy allows, a copy otherwise."""
    out = _C._tensor(obj, dtype, device, bool(copy) or (copy is None and _is_number(obj)))
    if not isinstance(obj, Tensor):
        _warned(out, "array")
    return out.requires_grad_() if requires_grad else out


def _is_number(data):
    """Whether data is a NumPy scalar: it lends its memory like an array, but only to read."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, numpy.generic)


def from_numpy(array):
    """A tensor that shares the array's memory."""
    if not hasattr(array, "__array_interface__") or not hasattr(array, "strides"):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    _check_array(array)
    return _warned(_C._from_buffer(array), "NumPy array")


def _warned(tensor, what):
    """The tensor, after a warning if the memory that it shares may only be read."""
    if _C._is_read_only(tensor):
        import warnings

        warnings.warn(
            f"The given {what} is not writable, so this tensor, which shares its memory, is read-only: writing to it raises an error. "
            f"Copy the {what} first if the tensor is to be changed.",
            UserWarning,
            stacklevel=3,
        )
    return tensor


def frombuffer(buffer, *, dtype=None, count=-1, offset=0, requires_grad=False):
    """A one-dimensional tensor that shares the memory of anything with the buffer protocol."""
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"frombuffer(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    try:
        whole = memoryview(buffer).cast("B")
    except TypeError:
        raise TypeError(f"frombuffer(): the object ({type(buffer).__name__}) does not implement the Python buffer protocol") from None
    item = dtype.itemsize
    if len(whole) == 0 or count == 0:
        raise ValueError(f"both buffer length ({len(whole)}) and count ({count}) must not be 0")
    if not 0 <= offset < len(whole):
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(whole)} bytes) - 1")
    if count < 0 and (len(whole) - offset) % item:
        raise ValueError(f"buffer length ({len(whole) - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})")
    size = (len(whole) - offset) // item if count < 0 else count
    if offset + size * item > len(whole):
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than actual buffer length ({len(whole)} bytes)"
        )
    raw = _warned(_C._from_buffer(whole[offset : offset + size * item]), "buffer")
    if raw.data_ptr() % (item // 2 if dtype.is_complex else item):  # what may be written must be shared, and that it cannot be
        if not _C._is_read_only(raw):
            raise ValueError(f"frombuffer(): the memory at offset {offset} is not aligned to elements of {item} bytes")
        raw = raw.clone()
    out = raw if dtype is _C.uint8 else raw.view(dtype)
    return out.requires_grad_() if requires_grad else out


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shares memory with an object that has __dlpack__, or with a capsule."""
    if hasattr(ext_tensor, "__dlpack__"):
        options = {"copy": copy} if copy is not None else {}
        try:
            capsule = ext_tensor.__dlpack__(max_version=(1, 0), **options)
        except TypeError:  # exporters older than DLPack 1.0 know no keyword
            capsule = ext_tensor.__dlpack__()
    elif type(ext_tensor).__name__ == "PyCapsule":
        capsule = ext_tensor
    else:
        raise TypeError(f"from_dlpack(): expected an object with __dlpack__ or a capsule, got {type(ext_tensor).__name__}")
    out = _C._from_dlpack(capsule)
    return out if device is None else out.to(device)


def is_tensor(obj):
    """Whether obj is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether obj is a storage."""
    from facula.storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


def is_floating_point(input):
    """Whether the tensor holds floating-point numbers."""
    _need_tensor("is_floating_point", "input", 1, input)
    return input.is_floating_point()


def is_complex(input):
    """Whether the tensor holds complex numbers."""
    _need_tensor("is_complex", "input", 1, input)
    return input.is_complex()


def numel(input):
    """How many elements the tensor has."""
    _need_tensor("numel", "input", 1, input)
    return input.numel()


def typename(obj):
    """The name of obj's type, as torch writes it."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)  # classes and functions say their own names
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def is_nonzero(input):
    """Whether a tensor of one element is not zero."""
    _need_tensor("is_nonzero", "input", 1, input)
    return bool(input)


def get_default_device():
    """Where this thread's tensors are made when no device is named."""
    return _C._default_device()


def set_default_device(device):
    """Makes tensors of this thread on this device when none is named; None means the CPU again."""
    _C._set_default_device("cpu" if device is None else device)


def set_flush_denormal(mode):
    """Whether numbers too small for full precision count as zero. Returns whether the processor can do so."""
    return _C._set_flush_denormal(bool(mode))


def broadcast_shapes(*shapes):
    """The shape that all shapes broadcast to."""
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max((len(s) for s in sizes), default=0)
    result = [1] * rank
    for shape in sizes:
        for d, size in enumerate(shape, rank - len(shape)):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size != 1 and result[d] not in (1, size):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, sizes))}")
            if size != 1:
                result[d] = size
    return _C.Size(result)


def broadcast_tensors(*tensors):
    """All tensors expanded to one shape."""
    return _C._functions["broadcast_tensors"](_tensors(tensors))


def split(tensor, split_size_or_sections, dim=0):
    """Pieces along dim, of one size or of the sizes in a list; the last may be smaller."""
    _need_tensor("split", "tensor", 1, tensor)
    return tensor.split(split_size_or_sections, dim)


def _at_least(dimensions):
    name = f"atleast_{dimensions}d"

    def atleast(*tensors):
        return _C._functions[name](tensors[0] if len(tensors) == 1 else tensors)

    atleast.__name__ = atleast.__qualname__ = name
    atleast.__doc__ = f"The tensor with {dimensions} dimensions or more; of several, or of a sequence, a tuple of them."
    return atleast


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))
__all__ += ["atleast_1d", "atleast_2d", "atleast_3d"]


@_front("meshgrid")
def meshgrid(*tensors, indexing=None):
    """Grids of coordinates, one tensor for each vector; indexing is "ij" or "xy"."""
    if indexing is None:
        _warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    return _C._functions["meshgrid"](_tensors(tensors), indexing=indexing or "ij")


@_front("einsum")
def einsum(*args):
    """Sums of products over named dimensions: einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation = ",".join(map(_subscripts, args[1::2]))
        operands = args[0 : len(args) - len(args) % 2 : 2]
        if len(args) % 2:
            equation += "->" + _subscripts(args[-1])
    else:
        equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _C._functions["einsum"](equation, operands)


def _subscripts(numbers):
    """Numbers 0..51 and Ellipsis as letters."""
    letters = []
    for n in numbers:
        if n is Ellipsis:
            letters.append("...")
        elif 0 <= n < 52:
            letters.append(chr(ord("A") + n if n < 26 else ord("a") + n - 26))
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(letters)


@_front("chain_matmul")
def chain_matmul(*matrices):
    """The product of several matrices, in the cheapest order."""
    _warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which takes "
        "a list of matrices."
    )
    return _C._functions["chain_matmul"](_tensors(matrices))


@_front("cartesian_prod")
def cartesian_prod(*tensors):
    """All combinations of the elements of vectors, one row each."""
    return _C._functions["cartesian_prod"](_tensors(tensors))


@_front("block_diag")
def block_diag(*tensors):
    """A matrix with the tensors as blocks on its diagonal."""
    return _C._functions["block_diag"](_tensors(tensors))


@_front("tensordot")
def tensordot(a, b, dims=2, out=None):
    """The product of two tensors summed over several dimensions."""
    _need_tensor("tensordot", "a", 1, a)
    _need_tensor("tensordot", "b", 2, b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(a.dim() - dims, a.dim())), list(range(dims)))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return _C._functions["tensordot"](a, b, first, second, **({} if out is None else {"out": out}))


_CDIST_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


@_front("cdist")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distance between every row of x1 and every row of x2."""
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"cdist: {compute_mode} is not a valid value for compute_mode")
    return _C._functions["cdist"](x1, x2, p, _CDIST_MODES[compute_mode])


@_front("_unique2")
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, or the different slices along dim."""
    if dim is None:
        results = _C._find_operator("aten::_unique2")(input, sorted, return_inverse, return_counts)
    else:
        results = _C._find_operator("aten::unique_dim")(input, dim, sorted, return_inverse, return_counts)
    picked = [results[0]] + [results[1]] * return_inverse + [results[2]] * return_counts
    return picked[0] if len(picked) == 1 else tuple(picked)


@_front("unique_consecutive")
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without repetitions of neighbours, with the places or counts that are asked for."""
    results = _C._find_operator("aten::unique_consecutive")(input, return_inverse, return_counts, dim)
    picked = [results[0]] + [results[1]] * return_inverse + [results[2]] * return_counts
    return picked[0] if len(picked) == 1 else tuple(picked)


@_front("linalg_vector_norm")
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements, or along dim; "fro" is the 2-norm."""
    _need_tensor("norm", "input", 1, input)
    if p == "nuc":
        matrix = input if dtype is None else input.to(dtype)
        dims = list(range(input.dim())) if dim is None else dim
        return _C._functions["nuclear_norm"](matrix, dims, keepdim, **({} if out is None else {"out": out}))
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): expected p to be a number, 'fro' or 'nuc', got {p!r}")
    p = 2 if p in ("fro", None) else p
    options = {} if out is None else {"out": out}
    if dtype is not None:
        options["dtype"] = dtype
    return _C._functions["norm"](input, p, list(range(input.dim())) if dim is None else dim, keepdim, **options)


@_front("nonzero")
def nonzero(input, *, out=None, as_tuple=False):
    """Where the elements are not zero: rows of indices, or a tuple with one vector for each dimension."""
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero(): as_tuple=True gives several tensors, which out= cannot take")
        return tuple(_C._find_operator("aten::nonzero_numpy")(input))
    return _C._functions["nonzero"](input, **({} if out is None else {"out": out}))


_settings = {"warn_only": False, "warn_always": False}  # told back; the last one is for _warn_once
_said = set()


def _warn_once(text, stacklevel=3):
    """A warning that PyTorch's C++ gives: once in a process, unless set_warn_always asks for all."""
    if not _settings["warn_always"]:
        if text in _said:
            return
        _said.add(text)
    import warnings

    warnings.warn(text, stacklevel=stacklevel)


def use_deterministic_algorithms(mode, *, warn_only=False):
    """The same bits for any number of threads: our own kernels always do so, libraries only in this mode."""
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}")
    _C._set_deterministic_algorithms(mode)
    _settings["warn_only"] = mode and warn_only


def is_deterministic_algorithms_warn_only_enabled():
    """What use_deterministic_algorithms was told; no operator here has only a form that is not deterministic."""
    return _settings["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms by one word: "default", "warn", "error", or 0, 1, 2."""
    modes = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str) and debug_mode not in modes:
        raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
    number = modes.get(debug_mode, debug_mode)
    if not isinstance(number, int) or number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2, as set_deterministic_debug_mode takes it."""
    return 0 if not _C.are_deterministic_algorithms_enabled() else 1 if _settings["warn_only"] else 2


def set_num_interop_threads(num):
    """How many threads run what torch.jit.fork forks; once, before the first fork. Operators of a program run one after the
    other, each over all threads."""
    if not isinstance(num, int) or num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _C._jit_set_num_interop_threads(num)


def get_num_interop_threads():
    """What set_num_interop_threads was told; else as many as there are cores."""
    return _C._jit_get_num_interop_threads()


def set_warn_always(b):
    """Whether warnings that PyTorch's C++ gives once in a process come each time."""
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _settings["warn_always"] = b
    _C._set_warn_always(b)


def is_warn_always_enabled():
    """What set_warn_always was told."""
    return _settings["warn_always"]


def spmm(input, mat2):
    """mm under its old name for sparse matrices."""
    return _C._functions["mm"](input, mat2)


def dsmm(input, mat2):
    """mm under its old name for sparse matrices."""
    return _C._functions["mm"](input, mat2)


def _apart(input, pieces, dim):
    """Views of the same places, each made by itself: such may be written to while gradients are recorded."""
    starts = itertools.accumulate((piece.shape[dim] for piece in pieces), initial=0)
    return tuple(input.narrow(dim, start, piece.shape[dim]) for start, piece in zip(starts, pieces, strict=False))


def unsafe_chunk(input, chunks, dim=0):
    """chunk, whose pieces may be written to."""
    return _apart(input, input.chunk(chunks, dim), dim)


def unsafe_split(tensor, split_size, dim=0):
    """split, whose pieces may be written to."""
    return _apart(tensor, tensor.split(split_size, dim), dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """split_with_sizes, whose pieces may be written to."""
    return _apart(input, input.split(list(split_sizes), dim), dim)


def set_default_dtype(d):
    """The type of floats made from Python numbers."""
    _C.set_default_dtype(d)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """torch.func.vmap: func, mapped over a dimension of its inputs."""
    from facula import func as transforms

    return transforms.vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


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


_matmul_precision = "highest"


def set_float32_matmul_precision(precision):
    """How exact products of float32 matrices must be: "highest", "high" or "medium". They are always exact here."""
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the call has no effect.", UserWarning, stacklevel=2)
        return
    _matmul_precision = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was told last."""
    return _matmul_precision


def set_default_tensor_type(t):
    """The type of floats made from Python numbers, as a class (torch.DoubleTensor) or its name. set_default_dtype is its successor."""
    from facula._legacy import types

    _warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and torch.set_default_device() "
        "as alternatives."
    )
    if isinstance(t, str) and t.startswith("torch.cuda."):
        raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
    kind = types.get(t.removeprefix("torch.")) if isinstance(t, str) else t
    dtype = getattr(kind, "dtype", None) if isinstance(kind, type) and kind in types.values() else None
    if dtype is None or not dtype.is_floating_point:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    _C.set_default_dtype(dtype)


def get_device(input):
    """The number of the device that the tensor is on; -1 on the CPU."""
    _need_tensor("get_device", "input", 1, input)
    return input.get_device()


def is_signed(input):
    """Whether the tensor's type has negative numbers."""
    _need_tensor("is_signed", "input", 1, input)
    return input.dtype.is_signed


def is_conj(input):
    """Whether the tensor is a conjugate that is not written out: never, here."""
    _need_tensor("is_conj", "input", 1, input)
    return False


def is_neg(input):
    """Whether the tensor is a negative that is not written out: never, here."""
    _need_tensor("is_neg", "input", 1, input)
    return False


def is_inference(input):
    """Whether the tensor was made in inference mode."""
    _need_tensor("is_inference", "input", 1, input)
    return input.is_inference()


def unravel_index(indices, shape):
    """The coordinates in a tensor of this shape that belong to flat indices, one tensor for each dimension."""
    _need_tensor("unravel_index", "indices", 1, indices)
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is _C.bool:
        raise ValueError(f"unravel_index(): expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {sizes}")
    found = []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An uninitialised tensor whose dimensions lie in memory in the order of physical_layout."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted: physical_layout must name each of {len(size)} dimensions once, got {tuple(physical_layout)}")
    out = _C._functions["empty"]([size[d] for d in physical_layout], dtype=dtype, device=device)
    out = out.permute([list(physical_layout).index(d) for d in range(len(size))])
    return out.requires_grad_() if requires_grad else out


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Derivatives along dimensions by differences: central inside, one-sided of edge_order 1 or 2 at the ends."""
    _need_tensor("gradient", "input", 1, input)
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if len({d % max(input.dim(), 1) for d in dims}) < len(dims):
        raise RuntimeError(f"torch.gradient: a dim appears multiple times in the list of dims {dims}")
    spacing = 1 if spacing is None else spacing
    given = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(given) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, got {len(given)} values")
    return tuple(_gradient(input, d, step, edge_order) for d, step in zip(dims, given))


def _gradient(f, dim, spacing, edge_order):
    n = f.size(dim)
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if not f.is_floating_point() and not f.is_complex():
        f = f.to(_C.get_default_dtype())

    def part(x, start, count):
        return x.narrow(dim, start, count)

    shape = [n - 1 if i == dim % f.dim() else 1 for i in range(f.dim())]
    if isinstance(spacing, Tensor) and spacing.dim() > 0:
        h = spacing.diff().to(f.dtype).reshape(shape)
    else:
        h = _C._functions["ones"](shape, dtype=f.dtype, device=f.device) * spacing
    a, b = part(h, 0, n - 2), part(h, 1, n - 2)
    inner = (part(f, 2, n - 2) * a / b - part(f, 0, n - 2) * b / a) / (a + b) + part(f, 1, n - 2) * (b - a) / (a * b)
    ends = []
    for at, sign in ((0, 1), (n - 1, -1)):  # the second end mirrors the first
        near, far = part(h, 0 if sign > 0 else n - 2, 1), part(h, (1 if sign > 0 else n - 3) if n > 2 else 0, 1)
        f0, f1 = part(f, at, 1), part(f, at + sign, 1)
        if edge_order == 1:
            ends.append(sign * (f1 - f0) / near)
        else:
            both, f2 = near + far, part(f, at + 2 * sign, 1)
            ends.append(sign * (f1 * both / (near * far) - f2 * near / (far * both) - f0 * (both + near) / (near * both)))
    return _C._functions["cat"]([ends[0], inner, ends[1]], dim)


def lu(A, pivot=True, get_infos=False):
    """The LU factorisation and its pivots; linalg.lu_factor is its successor."""
    _warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)"
    )
    factors, pivots, infos = _C._hidden["_lu_with_info"](A, pivot=pivot, check_errors=not get_infos)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


def qr(input, some=True):
    """The QR factorisation; linalg.qr is its successor."""
    return _C._functions["linalg_qr"](input, "reduced" if some else "complete")


def _gone(name, successor):
    def gone(*args, **kwargs):
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. torch.{name} is replaced by torch.linalg.{successor}.")

    gone.__name__ = gone.__qualname__ = name
    gone.__doc__ = f"Removed; torch.linalg.{successor} is its successor."
    return gone


symeig = _gone("symeig", "eigh")
eig = _gone("eig", "eig")
solve = _gone("solve", "solve")
lstsq = _gone("lstsq", "lstsq")
matrix_rank = _gone("matrix_rank", "matrix_rank")
for _method in (symeig, eig, solve, lstsq):
    setattr(Tensor, _method.__name__, _method)
del _method
