# SPDX-License-Identifier: Apache-2.0
"""Storages as Python sees them: the memory behind a tensor and its views."""


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
