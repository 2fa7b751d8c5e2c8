# SPDX-License-Identifier: Apache-2.0
"""Storages as Python sees them: the memory behind a tensor and its views."""

import os

from facula import _C
from facula._tensor import _TYPE_NAMES


def _load_from_bytes(data):
    import io

    from facula.serialization import load

    return load(io.BytesIO(data))


def _pickled(storage):
    import io

    from facula.serialization import save

    buffer = io.BytesIO()
    save(storage, buffer, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (buffer.getvalue(),)


def _warn_of_types(stacklevel=4):
    from facula.functional import _warn_once

    _warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only "
        "matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()",
        stacklevel,
    )


class _Elements:
    """What storages with and without an element type have in common: a list of numbers in memory."""

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def _vector(self):
        """All elements as a tensor over the same memory."""
        raise NotImplementedError

    def _elements_of(self, dtype):
        """The same for a tensor of that type, which takes the memory over."""
        if isinstance(self, TypedStorage):
            if dtype != self.dtype:
                raise RuntimeError(f"Expected a Storage of type {dtype} or an UntypedStorage, but got type {self.dtype} for argument 1 'storage'")
            return self._vector()
        return _C._on_storage(self._tensor, dtype, [self.nbytes() // dtype.itemsize], [1], 0)

    def element_size(self):
        return self._vector().element_size()

    def __len__(self):
        return self.size()

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._vector().tolist()

    def __setitem__(self, index, value):
        self._vector()[index if isinstance(index, slice) else self._position(index)] = value

    def _position(self, index):
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index

    def fill_(self, value):
        self._vector().fill_(value)
        return self

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    is_sparse = False

    def get_device(self):
        return self._vector().get_device()

    def is_pinned(self, device="cuda"):
        return self._vector().is_pinned()

    def _converted(self, dtype):
        return TypedStorage(self._vector().to(dtype, copy=True))

    def __str__(self):
        kind = f"dtype={self.dtype}, " if isinstance(self, TypedStorage) else ""
        rows = "".join(f" {x}\n" for x in self) if self.device.type != "meta" else "...\n"
        return f"{rows}[torch.storage.{type(self).__name__}({kind}device={self.device}) of size {self.size()}]"

    __repr__ = __str__


def _grown(memory, nbytes):
    """More memory behind a storage. Less is refused: tensors would reach beyond its end."""
    if nbytes < memory._storage_bytes():
        raise RuntimeError(
            f"resize_: a storage of {memory._storage_bytes()} bytes does not shrink to {nbytes}, since tensors may lie in it; make another"
        )
    _C._storage_tensor(memory.detach()).resize_(nbytes)


class UntypedStorage(_Elements):
    """The bytes that a tensor and its views share. UntypedStorage(4) and UntypedStorage([1, 2]) make new ones."""

    def __init__(self, memory=0, *, device=None):
        if not isinstance(memory, _C.TensorBase):
            memory = _made(memory, _C.uint8, device, "UntypedStorage")
        self._tensor = memory

    def _vector(self):
        return _C._storage_tensor(self._tensor.detach())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return UntypedStorage(self._vector()[index].clone())
        return self._vector()[self._position(index)].item()

    def data_ptr(self):
        return self._tensor._storage_ptr()

    def untyped(self):
        """The storage itself: safetensors asks any storage for its bytes."""
        return self

    def nbytes(self):
        return self._tensor._storage_bytes()

    def size(self):
        return self.nbytes()

    @property
    def device(self):
        return self._tensor.device

    @property
    def _cdata(self):
        """A number that is this storage's alone."""
        return self._tensor._storage_id()

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._cdata == other._cdata

    def __hash__(self):
        return hash(self._cdata)

    def __deepcopy__(self, memo):
        from facula._tensor import _copied_storage

        return UntypedStorage(_copied_storage(self._tensor, memo))

    def clone(self):
        return UntypedStorage(self._vector().clone())

    def new(self):
        return UntypedStorage(device=self.device)

    def copy_(self, source, non_blocking=None):
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._vector().copy_(getattr(source, "_untyped", source)._vector())
        return self

    def resize_(self, size):
        _grown(self._tensor, size)
        return self

    def type(self, dtype=None):
        if dtype is not None:
            raise TypeError("UntypedStorage.type: bytes have no element type to change; use a TypedStorage")
        return "torch.storage.UntypedStorage"

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first bytes of a file, as memory. shared: writes reach the file, which is made and grows as needed."""
        return cls(_C._map_file(os.fspath(filename), bool(shared), nbytes))

    @property
    def filename(self):
        """The file that from_file(shared=True) maps, or None."""
        return _C._mapped_path(self._tensor) or None

    def is_shared(self):
        return _C._is_shared(self._tensor)

    def share_memory_(self):
        _C._share(self._tensor)
        return self

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        return cls(_C._new_shared(size))

    def _share_fd_cpu_(self):
        """The descriptor of the shared memory, which stays the storage's, and its size."""
        return _C._shared_descriptor(self._tensor), self.nbytes()

    @classmethod
    def _new_shared_fd_cpu(cls, fd, size):
        return cls(_C._map_descriptor(fd, size, True))

    def to(self, *, device, non_blocking=False):
        """The bytes on another device; the same storage if they are there."""
        moved = self._vector().to(device, non_blocking=non_blocking)
        return self if moved.device == self.device else UntypedStorage(moved)

    def cpu(self):
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def __reduce__(self):
        return _pickled(self)


class TypedStorage(_Elements):
    """The same with an element type; untyped_storage() is the way that stays."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif len(args) == 1 and isinstance(args[0], _C.TensorBase):  # that tensor's own
            self._untyped, dtype = UntypedStorage(args[0]), args[0].dtype
        else:
            dtype = dtype or _C.get_default_dtype()
            self._untyped = UntypedStorage(_made(args[0] if args else 0, dtype, device, "TypedStorage"))
        self.dtype = dtype or _C.get_default_dtype()

    def _vector(self):
        return _C._on_storage(self._untyped._tensor, self.dtype, [self.size()], [1], 0)

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._vector()[self._position(index)].item()

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._untyped == other._untyped and self.dtype == other.dtype

    def __hash__(self):
        return hash(self._untyped)

    def untyped(self):
        return self._untyped

    def __deepcopy__(self, memo):
        return TypedStorage(wrap_storage=self._untyped.__deepcopy__(memo), dtype=self.dtype)

    def data_ptr(self):
        return self._untyped.data_ptr()

    def nbytes(self):
        return self._untyped.nbytes()

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    @property
    def device(self):
        return self._untyped.device

    @property
    def filename(self):
        return self._untyped.filename

    def clone(self):
        return self._converted(self.dtype)

    def copy_(self, source, non_blocking=None):
        """Another storage's elements, converted."""
        if source.size() != self.size():
            raise RuntimeError(f"size does not match, self has {self.size()} elements but src has {source.size()}")
        self._vector().copy_(source._vector())
        return self

    def resize_(self, size):
        _grown(self._untyped._tensor, size * self.dtype.itemsize)

    def type(self, dtype=None, non_blocking=False):
        """The class's name; or the elements converted to a class (torch.IntStorage or its name)."""
        if dtype is None:
            return f"torch.{_NAMES[self.dtype]}Storage" if self.dtype in _NAMES else "torch.storage.TypedStorage"
        wanted = {f"torch.{name}Storage": t for t, name in _NAMES.items()}.get(dtype) if isinstance(dtype, str) else dtype.dtype
        if wanted is None:
            raise RuntimeError(f"TypedStorage.type: '{dtype}' is no type of storages, such as 'torch.FloatStorage'")
        return self if wanted == self.dtype else self._converted(wanted)

    def is_shared(self):
        return self._untyped.is_shared()

    def share_memory_(self):
        self._untyped.share_memory_()
        return self

    @classmethod
    def _new_shared(cls, size, *, device=None, dtype=None):
        dtype = dtype or getattr(cls, "dtype", None) or _C.get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage._new_shared(size * dtype.itemsize), dtype=dtype)

    def to(self, *, device, non_blocking=False):
        return TypedStorage(wrap_storage=self._untyped.to(device=device, non_blocking=non_blocking), dtype=self.dtype)

    def cpu(self):
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def __reduce__(self):
        return _pickled(self)


def _made(what, dtype, device, name):
    """Memory for so many elements, or of these numbers."""
    import facula as torch

    if isinstance(what, int) and not isinstance(what, bool):
        if what < 0:
            raise RuntimeError(f"{name}: the size of a storage is not negative, got {what}")
        return torch.empty(what, dtype=dtype, device=device)
    if isinstance(what, (str, bytes)) or not hasattr(what, "__len__") or not hasattr(what, "__getitem__"):
        raise TypeError(f"{name}(): expected a size or a sequence of numbers, got '{type(what).__name__}'")
    return torch.tensor(list(what)).to(dtype).to(device or "cpu")


_NAMES = {getattr(_C, dtype): name for dtype, name in _TYPE_NAMES.items()}
for _dtype, _name in _NAMES.items():  # .float(), .int() …; ComplexFloat is complex_float
    _method = {"ComplexDouble": "complex_double", "ComplexFloat": "complex_float"}.get(_name, _name.lower())
    setattr(_Elements, _method, lambda self, _dtype=_dtype: self._converted(_dtype))


class _LegacyMeta(type):
    """torch.FloatStorage is no class of objects: what it makes are typed storages, which are its instances by their type."""

    def __call__(cls, *args, wrap_storage=None, **kwargs):
        fits = not kwargs and len(args) <= 1 and not (args and isinstance(args[0], (_Elements, _C.TensorBase)))
        if not fits or (wrap_storage is not None and args):
            raise TypeError(f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n * (Sequence data)\n")
        _warn_of_types()
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype == cls.dtype and instance.device.type == "cpu"

    def from_file(cls, filename, shared=False, size=0):
        """So many elements of a file, as memory. shared: writes reach the file, which is made and grows as needed."""
        _warn_of_types()
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize), dtype=cls.dtype)

    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0, **_):
        """The numbers in an object's bytes, copied; of several bytes each they lie in an order, 'native', 'little' or 'big'."""
        import facula as torch

        data = torch.frombuffer(bytearray(buffer), dtype=cls.dtype, count=count, offset=offset)
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"Invalid byte order '{byte_order}': expected 'native', 'little' or 'big'")
        if byte_order == "big" and cls.dtype.itemsize > 1:
            _C._swap_bytes(data.view(_C.uint8), cls.dtype.itemsize // 2 if cls.dtype.is_complex else cls.dtype.itemsize)
        return TypedStorage(data)

    def _new_shared(cls, size, **_):
        return TypedStorage._new_shared(size, dtype=cls.dtype)


class _DefaultMeta(_LegacyMeta):
    dtype = property(lambda cls: _C.get_default_dtype())


def legacy_type(dtype):
    """torch.FloatStorage of torch.float32."""
    if dtype not in _NAMES:
        raise RuntimeError(f"there is no class of storages of {dtype}: use untyped_storage()")
    return legacy[f"{_NAMES[dtype]}Storage"]


legacy = {f"{name}Storage": _LegacyMeta(f"{name}Storage", (), {"dtype": dtype, "__module__": "torch"}) for dtype, name in _NAMES.items()}
legacy["Storage"] = _DefaultMeta("Storage", (), {"__module__": "torch"})  # of the default type


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False):
    """A vector of size elements in the memory of a file. shared: writes reach the file, which is made and grows as needed."""
    dtype = dtype or _C.get_default_dtype()
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: files are mapped into the memory of the cpu, not of {device}")
    data = _C._map_file(os.fspath(filename), bool(shared), size * dtype.itemsize)
    return _C._on_storage(data, dtype, [size], [1], 0).requires_grad_(requires_grad)
