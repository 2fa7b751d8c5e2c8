# SPDX-License-Identifier: Apache-2.0
"""torch.PyTorchFileReader: the records of a file of torch.save, by name."""

import os

from facula import _C


class PyTorchFileReader:
    """Reads records of a file, which is named or open, when they are asked for. Checksums are compared."""

    def __init__(self, name_or_buffer):
        from facula.serialization import _archive

        if isinstance(name_or_buffer, (str, os.PathLike)):
            with open(name_or_buffer, "rb") as file:
                self._archive = _archive(file)
        else:
            name_or_buffer.seek(0)
            self._archive = _archive(name_or_buffer)

    def has_record(self, name):
        """Whether there is a record of that name."""
        return name in self._archive

    def get_record(self, name):
        """The bytes of a record."""
        return self._archive.read(name)

    def get_record_offset(self, name):
        """Where a record's bytes begin in the file."""
        return self._archive.offset_of(name)

    def get_storage_from_record(self, name, numel, dtype):
        """The numbers of a record as a tensor; dtype may be UntypedStorage, which means bytes."""
        dtype = dtype if isinstance(dtype, _C.dtype) else _C.uint8
        size = self._archive.size_of(name)
        if size != numel * dtype.itemsize:
            raise RuntimeError(f"record '{name}' has {size} bytes, but {numel} elements of {dtype} take {numel * dtype.itemsize}")
        return self._archive.tensor(name).view(dtype)
