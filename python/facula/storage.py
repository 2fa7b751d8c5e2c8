# SPDX-License-Identifier: Apache-2.0
"""Storages as Python sees them: the memory behind a tensor and its views."""

import os

from facula import _C


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


class UntypedStorage:
    """The bytes that a tensor and its views share."""

    def __init__(self, tensor):
        self._tensor = tensor

    def data_ptr(self):
        return self._tensor._storage_ptr()

    def nbytes(self):
        return self._tensor._storage_bytes()

    def size(self):
        return self.nbytes()

    def __len__(self):
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
        moved = _C._storage_tensor(self._tensor.detach()).to(device, non_blocking=non_blocking)
        return self if moved.device == self.device else UntypedStorage(moved)

    def cpu(self):
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def __reduce__(self):
        return _pickled(self)

    def __repr__(self):
        return f"<UntypedStorage of {self.nbytes()} bytes on {self.device}>"


class TypedStorage:
    """The same with an element type; untyped_storage() is the way that stays."""

    def __init__(self, tensor):
        self._untyped = UntypedStorage(tensor)
        self.dtype = tensor.dtype

    def untyped(self):
        return self._untyped

    def data_ptr(self):
        return self._untyped.data_ptr()

    def nbytes(self):
        return self._untyped.nbytes()

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    def __len__(self):
        return self.size()

    @property
    def device(self):
        return self._untyped.device

    def __reduce__(self):
        return _pickled(self)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False):
    """A vector of size elements in the memory of a file. shared: writes reach the file, which is made and grows as needed."""
    dtype = dtype or _C.get_default_dtype()
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: files are mapped into the memory of the cpu, not of {device}")
    data = _C._map_file(os.fspath(filename), bool(shared), size * dtype.itemsize)
    return _C._on_storage(data, dtype, [size], [1], 0).requires_grad_(requires_grad)
