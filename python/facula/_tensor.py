# SPDX-License-Identifier: Apache-2.0
"""The Tensor class: operators come from the registry, the rest of what is Python by nature stands here."""

from __future__ import annotations

import collections as _collections
import sys

from facula import _C
from facula._only import FUNCTIONS


_facula = sys.modules["facula"]


def _comes_first(func):
    """Whether no frame below runs func for us already. PyTorch itself may be in the process, and would hand each call on
    tensors that are none of its own back to the function that called it, for ever."""
    frame, code = sys._getframe(1), sys._getframe(1).f_code
    while (frame := frame.f_back) is not None:
        if frame.f_code is code:
            return frame.f_locals["func"] is not func
    return True


class Tensor(_C.TensorBase):
    """A multi-dimensional array of one element type, with strides, views and gradients."""

    __module__ = "torch"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What a subclass inherits: run func as for plain tensors, results are of this class."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        if sys.modules.get("torch", _facula) is not _facula and not _comes_first(func):
            return NotImplemented
        with _C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            return result if func in _KEEPS_CLASS else _convert(result, cls)

    def __repr__(self, *, tensor_contents=None):
        from facula._tensor_str import _str

        if _overridden(self):
            return _handle(Tensor.__repr__, self, tensor_contents=tensor_contents)
        return _str(self, tensor_contents=tensor_contents)

    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        _C._warn_of_iteration()
        return iter(self.unbind(0))

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, bool, complex)):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def where(self, condition, other):
        """Elements of self where condition holds, of other elsewhere."""
        return _C._functions["where"](condition, self, other)

    def polygamma(self, n):
        """The n-th derivative of the digamma function."""
        return _C._functions["polygamma"](n, self)

    def new(self, *args, size=None, device=None):
        """new(2, 3): an uninitialised tensor of these sizes; new([1, 2]): these numbers. Of this tensor's type and device."""
        where = self.device if device is None else device
        if size is not None:
            return self.new_empty(list(size), device=where)
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0].dtype is not self.dtype:
                raise TypeError(f"expected {self.type()} (got {args[0].type()})")
            return args[0].detach()
        if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
            return _C._tensor(args[0], self.dtype, where, True)
        return self.new_empty(list(args[0]) if args and isinstance(args[0], _C.Size) else list(args) or [0], device=where)

    def get_device(self):
        """The number of the tensor's device; -1 on the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def is_signed(self):
        """Whether the tensor's type has negative numbers."""
        return self.dtype.is_signed

    def is_conj(self):
        """Whether this is a conjugate that is not written out: never, here."""
        return False

    def is_neg(self):
        """Whether this is a negative that is not written out: never, here."""
        return False

    def sum_to_size(self, *size):
        """The tensor summed to a size that broadcasts to its own."""
        size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        lead = self.dim() - len(size)
        if lead < 0 or any(n not in (1, m) for n, m in zip(size, self.shape[lead:])):
            raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
        if not size:
            return self.sum()
        dims = [*range(lead), *(lead + i for i, n in enumerate(size) if n != self.shape[lead + i])]
        return self.sum(dims, keepdim=True).reshape(size) if dims else self

    def to_sparse_coo(self):
        """The sparse COO tensor of a strided one."""
        return self.to_sparse()

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """The different elements, or the different slices along dim."""
        from facula.functional import unique

        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """The elements without repetitions of neighbours."""
        from facula.functional import unique_consecutive

        return unique_consecutive(self, return_inverse, return_counts, dim)

    def nonzero(self, *, as_tuple=False):
        """Where the elements are not zero: rows of indices, or a tuple with one vector for each dimension."""
        from facula.functional import nonzero

        return nonzero(self, as_tuple=as_tuple)

    def lu(self, pivot=True, get_infos=False):
        """The LU factorisation and its pivots; linalg.lu_factor is its successor."""
        from facula.functional import lu

        return lu(self, pivot, get_infos)

    def qr(self, some=True):
        """The QR factorisation; linalg.qr is its successor."""
        from facula.functional import qr

        return qr(self, some)

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        """A copy of data as a tensor, of this tensor's type and device unless others are given."""
        if isinstance(data, Tensor):
            import warnings

            warnings.warn(
                "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
                stacklevel=2,
            )
        out = data.detach() if isinstance(data, Tensor) else data
        out = _C._tensor(out, dtype or self.dtype, device or self.device, True)
        return out.requires_grad_() if requires_grad else out

    # Number-op-tensor, called by the number slots. Under their Python names they would replace the slots.
    def _rdiv(self, other):
        return self.reciprocal() * other

    def _rfloordiv(self, other):
        return _C._functions["floor_divide"](_number(self, other), self)

    def _rmod(self, other):
        return _C._functions["remainder"](_number(self, other), self)

    def _rpow(self, other):
        return _C._functions["pow"](other, self)

    def _rlshift(self, other):
        return _C._functions["bitwise_left_shift"](_number(self, other), self)

    def _rrshift(self, other):
        return _C._functions["bitwise_right_shift"](_number(self, other), self)

    def _rmatmul(self, other):
        return _C._functions["matmul"](other, self)

    __div__, __rdiv__, __idiv__ = _C.TensorBase.__truediv__, _C.TensorBase.__rtruediv__, _C.TensorBase.__itruediv__

    __array_priority__ = 1000  # numpy.float32(2) * x asks the tensor

    def __copy__(self):
        if _overridden(self):
            return _handle(Tensor.__copy__, self)
        new = self.detach() if type(self) is Tensor else self.detach().as_subclass(type(self))
        new.requires_grad = self.requires_grad
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment")
        if _overridden(self):
            return _handle(Tensor.__deepcopy__, self, memo)
        if id(self) in memo:
            return memo[id(self)]
        if self.layout is not _C.strided:
            new = self.detach().clone()
        else:
            new = _on_storage(_copied_storage(self, memo), self.dtype, list(self.shape), list(self.stride()), self.storage_offset())
        if type(self) is not Tensor:
            new = new.as_subclass(type(self))
        new.requires_grad = self.requires_grad
        if self.grad is not None:
            new.grad = self.grad.__deepcopy__(memo)
        new.__dict__.update(self.__dict__)
        memo[id(self)] = new
        return new

    def __reduce_ex__(self, protocol):
        if _overridden(self):
            return _handle(Tensor.__reduce_ex__, self, protocol)
        if sys._getframe(1).f_globals.get("__name__") == "multiprocessing.reduction":  # to another process: shares its memory
            from facula.multiprocessing.reductions import reduce_tensor

            return reduce_tensor(self)
        rebuild, args = _reduced(self)
        if type(self) is Tensor:
            return rebuild, args, self.__dict__ or None
        from facula._utils import _get_obj_state

        return _rebuild_from_type_v2, (rebuild, type(self), args, _get_obj_state(self))

    def __setstate__(self, state):
        self.__dict__.update(state)

    @property
    def grad_fn(self):
        if _overridden(self):
            return _handle(Tensor.grad_fn.__get__, self)
        return _C._grad_fn(self)

    @property
    def T(self):
        """All dimensions in reverse order."""
        if self.dim() != 2:
            from facula.functional import _warn_once

            _warn_once(
                "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
                if self.dim() == 0
                else "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
                "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
                "reverse the dimensions of a tensor."
            )
        return _methods["numpy_T"](self)

    @property
    def H(self):
        """The conjugate transpose of a matrix."""
        return _methods["matrix_H"](self)

    @property
    def mT(self):
        """The last two dimensions swapped."""
        return _methods["mT"](self)

    @property
    def mH(self):
        """The last two dimensions swapped, conjugated."""
        return _methods["mH"](self)

    @property
    def real(self):
        """The real parts, as a view."""
        return _methods["real"](self)

    @real.setter
    def real(self, value):
        self.real.copy_(value) if isinstance(value, Tensor) else self.real.fill_(value)

    @property
    def imag(self):
        """The imaginary parts, as a view."""
        return _methods["imag"](self)

    @imag.setter
    def imag(self, value):
        self.imag.copy_(value) if isinstance(value, Tensor) else self.imag.fill_(value)

    def split(self, split_size, dim=0):
        """Pieces along dim, of one size or of the sizes in a list; the last may be smaller."""
        if isinstance(split_size, Tensor) and split_size.numel() == 1:
            split_size = int(split_size)
        return _methods["split" if isinstance(split_size, int) else "split_with_sizes"](self, split_size, dim)

    def resize(self, *sizes):
        """resize_ of a copy: view and reshape are its successors."""
        return self._resized("resize", tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)

    def resize_as(self, tensor):
        """The elements in another tensor's shape: view_as is its successor."""
        return self._resized("resize_as", tuple(tensor.shape))

    def _resized(self, name, sizes):
        import math
        import warnings

        warnings.warn(f"non-inplace {name} is deprecated", stacklevel=3)
        if math.prod(sizes) != self.numel():
            raise RuntimeError(f"requested resize to {sizes} ({math.prod(sizes)} elements in total), but the given tensor has a size of {tuple(self.shape)}")
        return self.contiguous().view(sizes)

    def unsafe_split(self, split_size, dim=0):
        """split whose pieces autograd takes for tensors of their own."""
        return self._front("unsafe_split", split_size, dim)

    def unsafe_split_with_sizes(self, split_sizes, dim=0):
        """split_with_sizes whose pieces autograd takes for tensors of their own."""
        return self._front("unsafe_split_with_sizes", split_sizes, dim)

    def unsafe_chunk(self, chunks, dim=0):
        """chunk whose pieces autograd takes for tensors of their own."""
        return self._front("unsafe_chunk", chunks, dim)

    def _front(self, name, *args):
        from facula import functional

        return getattr(functional, name)(self, *args)

    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        """The p-norm of all elements, or along dim."""
        from facula.functional import norm

        return norm(self, p, dim, keepdim, dtype=dtype)

    def untyped_storage(self):
        """The memory that this tensor and its views share."""
        from facula.storage import UntypedStorage

        self._storage_ptr()  # a sparse tensor has none
        return UntypedStorage(self)

    def storage(self):
        """The memory as a sequence of elements."""
        from facula.storage import TypedStorage, _warn_of_types

        _warn_of_types()

        self._storage_ptr()
        return TypedStorage(self)

    def storage_type(self):
        """The class of storages of this element type."""
        from facula.storage import legacy_type

        return legacy_type(self.dtype)

    def set_(self, source=None, *args, **kwargs):
        """The memory, size and strides of another tensor, or of a storage, in place of its own."""
        elements = getattr(source, "_elements_of", None)
        if elements is not None:
            source = elements(self.dtype)
        return _methods["set_"](self, *(() if source is None else (source,)), *args, **kwargs)

    def is_shared(self):
        """Whether other processes see the memory."""
        if self.layout is not _C.strided:
            return all(_C._is_shared(part) for part in self._parts())
        return _C._is_shared(self)

    def share_memory_(self):
        """Moves the memory to where other processes can see it; returns the tensor."""
        for part in [self] if self.layout is _C.strided else self._parts():
            _C._share(part)
        return self

    def _parts(self):
        from facula.sparse import _parts

        return _parts(self.detach())

    def pin_memory(self, device=None):
        """A copy in memory that the accelerator reaches fast."""
        return _C._hidden["_pin_memory"](self, device)

    def is_pinned(self):
        """Whether the memory is pinned for copies to an accelerator."""
        return False

    def is_set_to(self, other):
        """Whether both are the same view of the same memory."""
        from facula.functional import _need_tensor

        _need_tensor("is_set_to", "tensor", 1, other)
        same = self._storage_id() == other._storage_id() and self.storage_offset() == other.storage_offset()
        return same and self.shape == other.shape and self.stride() == other.stride()

    def dim_order(self):
        """The dimensions from the outermost in memory to the innermost."""
        return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))

    def __array_wrap__(self, array, context=None, return_scalar=False):
        from facula.functional import from_numpy

        if array.dtype == bool:
            array = array.astype("uint8")
        return from_numpy(array)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule of this memory."""
        if _overridden(self):
            return _handle(Tensor.__dlpack__, self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if stream is not None and not (isinstance(stream, int) and stream == -1):
            raise TypeError("stream must be None for memory of the CPU")
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"__dlpack__: cannot export to device {tuple(dl_device)} from {self.__dlpack_device__()}")
        if max_version is not None and not (isinstance(max_version, (tuple, list)) and len(max_version) == 2):
            raise TypeError(f"__dlpack__: max_version must be None or (major, minor), got {max_version!r}")
        source = self.clone() if copy else self
        return _C._to_dlpack(source, versioned=max_version is not None and max_version[0] >= 1, copied=bool(copy))

    def __dlpack_device__(self):
        """(device type, index) in DLPack's numbering."""
        if self.device.type == "cpu":
            return (1, 0)
        if self.device.type == "cuda":
            return (2, self.device.index or 0)
        raise BufferError(f"__dlpack_device__: device {self.device} has no DLPack number")

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of the leaves this tensor depends on."""
        from facula.autograd import backward

        if _overridden(self):
            return _handle(Tensor.backward, self, gradient=gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Call hook(grad) whenever this tensor's gradient is computed; returns a handle with remove()."""
        return _C._register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls hook(tensor) whenever a gradient was added to this leaf."""
        return _C._register_post_accumulate_hook(self, hook)

    def to(self, *args, **kwargs):
        """to(dtype), to(device), to(device, dtype), to(other): the same tensor if nothing changes."""
        if _overridden(self):
            return _handle(Tensor.to, self, *args, **kwargs)
        if len(args) == 1 and not kwargs and type(args[0]) is _C.dtype:  # by far the most frequent
            return _to(self, dtype=args[0])
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
        """The name of the type, or the tensor as another type."""
        if dtype is None:
            return _type_name(self)
        if dtype is Tensor or dtype == "torch.Tensor":
            dtype = _C.get_default_dtype()
        if isinstance(dtype, str):
            dtype = _type_from_name(dtype)
        wanted = getattr(dtype, "dtype", None) if isinstance(dtype, type) else dtype  # of torch.DoubleTensor
        if not isinstance(wanted, _C.dtype):
            raise ValueError(f"invalid type: {getattr(dtype, '__name__', type(dtype).__name__)!r}")
        return self.to(wanted, non_blocking=non_blocking)

    def numpy(self, *, force=False):
        """The same memory as a NumPy array."""
        from facula._interop import to_numpy

        if _overridden(self):
            return _handle(Tensor.numpy, self, force=force)
        return to_numpy(self, force)

    def __array__(self, dtype=None, copy=None):
        if _overridden(self):
            return _handle(Tensor.__array__, self, dtype=dtype)
        array = self.numpy()
        if dtype is not None:
            array = array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def cpu(self, memory_format=None):
        """The tensor on the CPU."""
        return self.to("cpu") if memory_format is None else self.to("cpu", memory_format=memory_format)

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """The tensor on a CUDA device."""
        return self.to("cuda" if device is None else device, non_blocking=non_blocking, **({} if memory_format is None else {"memory_format": memory_format}))

    def xpu(self, device=None, non_blocking=False, memory_format=None):
        """The tensor on an XPU device."""
        return self.to("xpu" if device is None else device, non_blocking=non_blocking, **({} if memory_format is None else {"memory_format": memory_format}))

    def apply_(self, callable):
        """Every element in place by a Python function of one number; slow, on the CPU only."""
        return self._by_python(callable)

    def map_(self, tensor, callable):
        """Every element in place by a Python function of it and of the other tensor's; slow, on the CPU only."""
        return self._by_python(callable, tensor)

    def map2_(self, x, y, callable):
        """Every element in place by a Python function of it and of those of two others; slow, on the CPU only."""
        return self._by_python(callable, x, y)

    def _by_python(self, function, *others):
        if self.requires_grad:
            raise RuntimeError("Can't call apply_() or map_() on Variable that requires grad. Use var.detach() first.")
        if any(not isinstance(x, Tensor) for x in others):
            raise TypeError(f"map_: expected tensors, got {', '.join(type(x).__name__ for x in others)}")
        if self.device.type != "cpu" or any(x.device.type != "cpu" for x in others):
            raise TypeError("apply_ and map_ are only implemented on CPU tensors")
        rows = [x.expand_as(self).reshape(-1).tolist() for x in (self, *others)]
        values = [function(*row) for row in zip(*rows, strict=True)]
        return self.copy_(_C._tensor(values, self.dtype, None, True).view(self.shape))

    def type_as(self, other):
        """The tensor with another tensor's type."""
        from facula.functional import _need_tensor

        _need_tensor("type_as", "other", 1, other)
        return self.to(dtype=other.dtype, device=other.device)

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(dir(type(self))))


def _overridden(tensor):
    return (type(tensor) is not Tensor or _C._is_torch_function_mode_active()) and _C._has_torch_function((tensor,))


def _handle(function, tensor, *args, **kwargs):
    return _C._handle_torch_function(function, (tensor,), (tensor, *args), kwargs)


# Functions whose results stay what they are although a subclass called them.
_KEEPS_CLASS = {Tensor._base.__get__, Tensor.grad.__get__, Tensor.grad_fn.__get__}


def _convert(result, cls):
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_convert(item, cls) for item in result]
        return items if isinstance(result, list) else type(result)(items)
    return result


def _find_method(name):
    return getattr(Tensor, name)


def _copied_storage(tensor, memo):
    """The bytes of the tensor's memory, copied once per deepcopy: what shares memory goes on doing so."""
    key = ("facula storage", tensor._storage_id())
    if key not in memo:
        memo[key] = _C._storage_tensor(tensor.detach()).clone()
    return memo[key]


def _reduced(tensor):
    """The function of torch._utils that makes a plain tensor again, and its arguments."""
    from facula import _utils
    from facula.storage import TypedStorage, UntypedStorage

    plain, needs_grad = tensor.detach(), tensor.requires_grad
    plain = plain if type(plain) is Tensor else plain.as_subclass(Tensor)
    if plain.layout is not _C.strided:
        from facula import sparse

        return _utils._rebuild_sparse_tensor, sparse._reduced(plain)
    size, stride = tuple(plain.shape), plain.stride()
    if plain.is_meta:
        return _utils._rebuild_meta_tensor_no_storage, (plain.dtype, size, stride, needs_grad)
    geometry = (plain.storage_offset(), size, stride, needs_grad, _collections.OrderedDict())
    if plain.dtype in _TYPES_WITH_STORAGE:
        return _utils._rebuild_tensor_v2, (TypedStorage(plain), *geometry)
    return _utils._rebuild_tensor_v3, (UntypedStorage(plain), *geometry, plain.dtype)


def _rebuild_from_type_v2(function, cls, args, state):
    """A tensor of a subclass, or with attributes, from what makes the plain one."""
    from facula._utils import _set_obj_state

    new = function(*args)
    if type(new) is not cls:
        new = new.as_subclass(cls)
    if state is None:
        return new
    if cls.__setstate__ is not Tensor.__setstate__:
        new.__setstate__(state)
        return new
    return _set_obj_state(new, state)


def _number(tensor, value):
    """A Python number as a 0-d tensor of the type it has beside this tensor."""
    return _C._tensor(value, _C.result_type(tensor, value), tensor.device, False)


_methods = _C._methods
_on_storage = _C._on_storage
_to = _methods["to"]

for _name, _method in _C._methods.items():
    if _name not in Tensor.__dict__ and _name not in FUNCTIONS and not _name.startswith("__"):  # operators are number slots
        setattr(Tensor, _name, _method)
del _name, _method


def _cast_method(dtype):
    def cast(self, memory_format=None):
        return self.to(dtype) if memory_format is None else self.to(dtype, memory_format=memory_format)

    cast.__doc__ = f"The tensor as {dtype}."
    return cast


_CASTS = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32,
    "long": _C.int64, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
    "chalf": _C.complex32, "cfloat": _C.complex64, "cdouble": _C.complex128,
}  # fmt: skip
for _name, _dtype in _CASTS.items():
    setattr(Tensor, _name, _cast_method(_dtype))
del _name, _dtype

_TYPE_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


_TYPES_WITH_STORAGE = {getattr(_C, name) for name in _TYPE_NAMES if name != "complex32"}


def _type_name(tensor):
    name = _TYPE_NAMES.get(str(tensor.dtype).removeprefix("torch."), "")
    module = "torch" if tensor.device.type in ("cpu", "meta") else f"torch.{tensor.device.type}"
    return f"{module}{'.sparse' if tensor.is_sparse else '.sparse_csr' if tensor.is_sparse_csr else ''}.{name}Tensor"


def _type_from_name(text):
    if text.startswith("torch.cuda."):
        raise TypeError(f"type {text} not available. Torch not compiled with CUDA enabled.")
    short = text.rpartition(".")[2].removesuffix("Tensor")
    for dtype, name in _TYPE_NAMES.items():
        if name == short:
            return getattr(_C, dtype)
    raise ValueError(f"invalid type: '{text}'")


_C._set_tensor_class(Tensor)
