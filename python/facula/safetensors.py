# SPDX-License-Identifier: Apache-2.0
"""Tensors by name in a file that holds nothing else: the safetensors format."""

import os

from facula import _C
from facula.serialization import _writer


def load_file(filename, device="cpu"):
    """All tensors of a file, by name."""
    with safe_open(filename, device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def load(data, device="cpu"):
    """All tensors of a file that is in memory, by name."""
    entries, _ = _C._safetensors_header(data)
    memory = memoryview(data)
    return {name: _tensor(_copied(memory[begin : begin + size]), dtype, shape).to(device) for name, dtype, shape, begin, size in entries}


def save_file(tensors, filename, metadata=None):
    """Write tensors by name; metadata: texts by name. The file appears whole or not at all."""
    head, names = _described(tensors, metadata)
    with _writer(os.fspath(filename)) as out:
        out.write(head)
        for name in names:
            out.write_tensor(_bytes(tensors[name]))


def save(tensors, metadata=None):
    """The same as bytes."""
    head, names = _described(tensors, metadata)
    return b"".join([head, *(_C._bytes(_bytes(tensors[name])) for name in names)])


class safe_open:
    """A file whose tensors are read one by one: with safe_open(path) as f: f.keys(), f.get_tensor(name), f.get_slice(name)[:10]."""

    def __init__(self, filename, framework="pt", device="cpu"):
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueError(f"safe_open: framework {framework!r} does not exist here, only 'pt'")
        self._device = device
        self._file = open(filename, "rb")  # noqa: SIM115 -- closed by __exit__
        try:
            entries, self._metadata = _C._safetensors_header(self._file.fileno())
        except BaseException:
            self._file.close()
            raise
        self._entries = {name: entry for name, *entry in entries}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def keys(self):
        """The names, in alphabetical order."""
        return sorted(self._entries)

    def offset_keys(self):
        """The names in the order of their bytes."""
        return sorted(self._entries, key=lambda name: self._entries[name][2])

    def metadata(self):
        """The texts by name that were saved beside the tensors; None without any."""
        return dict(self._metadata) or None

    def get_tensor(self, name):
        """One tensor, in memory of its own."""
        dtype, shape, begin, size = self._entry(name)
        return _tensor(_C._read_part(self._file.fileno(), begin, size), dtype, shape).to(self._device)

    def get_slice(self, name):
        """What gives parts of a tensor, and reads no more of its first dimension than they need."""
        return _Slice(self, name, *self._entry(name))

    def _entry(self, name):
        if name not in self._entries:
            raise KeyError(f"File does not contain tensor {name}")
        return self._entries[name]


class _Slice:
    def __init__(self, file, name, dtype, shape, begin, size):
        self._file, self._dtype, self._shape, self._begin, self._size = file, dtype, shape, begin, size

    def get_shape(self):
        return list(self._shape)

    def get_dtype(self):
        return self._dtype

    def __getitem__(self, index):
        first, *rest = index if isinstance(index, tuple) else (index,)
        begin, size, shape = self._begin, self._size, self._shape
        if isinstance(first, slice) and shape:
            start, stop, _ = first.indices(shape[0])
            row = size // shape[0] if shape[0] else 0
            stop = max(start, stop)
            begin, size, shape = begin + start * row, (stop - start) * row, [stop - start, *shape[1:]]
            first = slice(None, None, first.step)
        memory = _C._read_part(self._file._file.fileno(), begin, size)
        return _tensor(memory, self._dtype, shape)[(first, *rest)].to(self._file._device)


def _tensor(memory, dtype, shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(1, size)
    return _C._on_storage(memory, dtype, shape, strides, 0)


def _copied(memory):
    return _C._from_buffer(memory).clone() if len(memory) else _C._functions["empty"](0, dtype=_C.uint8)


def _bytes(tensor):
    dense = tensor.detach().cpu().contiguous()
    return _C._on_storage(dense, _C.uint8, [dense.numel() * dense.dtype.itemsize], [1], dense.storage_offset() * dense.dtype.itemsize)


def _described(tensors, metadata):
    from facula import Tensor

    seen = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        other = seen.setdefault(tensor._storage_id(), name) if tensor.numel() else name
        if other != name:
            raise RuntimeError(
                f"Some tensors share memory, which the format cannot say and which would be duplicated: '{other}' and '{name}'. "
                "Save a clone of one of them, or only one."
            )
    entries = [(name, t.dtype, list(t.shape), t.numel() * t.dtype.itemsize) for name, t in tensors.items()]
    return _C._write_safetensors_header(entries, dict(metadata or {}))
