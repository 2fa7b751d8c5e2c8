# SPDX-License-Identifier: Apache-2.0
"""The index of a checkpoint: JSON that names every tensor's parts and the files that hold them.

It has the name and the `weight_map` of Hugging Face's sharded checkpoints, and beside it the place of every part in its tensor.
Files of parts have names of their own for every save, and the index, which is written last and whole, is what makes them the
checkpoint: killed at any point, a folder holds the old one or the new one."""

import contextlib
import json
import os
import re
from typing import NamedTuple

import facula
from facula import _C, safetensors
from facula.distributed.checkpoint._values import from_json
from facula.distributed.checkpoint.metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from facula.serialization import _writer

__all__ = ["INDEX", "CheckpointException", "Index", "Part", "Stored", "clean", "names", "read", "write", "write_file"]

INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-[0-9a-f]{12}-\d{5}-of-\d{5}\.safetensors")
_TYPES = {str(t).partition(".")[2]: t for t in vars(facula).values() if isinstance(t, facula.dtype)}


class CheckpointException(RuntimeError):
    """A checkpoint that was not written or read; failures: what happened, by rank."""

    def __init__(self, message: str, failures: dict[int, BaseException | str] | None = None) -> None:
        super().__init__(message)
        self.failures = failures or {}


class Part(NamedTuple):
    """A box of a tensor, and where it is stored."""

    file: str
    name: str
    offset: tuple[int, ...]
    shape: tuple[int, ...]


class Stored(NamedTuple):
    """A tensor of a checkpoint."""

    dtype: facula.dtype
    shape: tuple[int, ...]
    parts: list[Part]


class Index(NamedTuple):
    """Tensors, and values that are none, by name."""

    tensors: dict[str, Stored]
    values: dict[str, object]  # as JSON has them

    def metadata(self) -> Metadata:
        """The same in PyTorch's classes."""
        found: dict = {name: BytesStorageMetadata() for name in self.values}
        places = {}
        for name, t in self.tensors.items():
            chunks = [ChunkStorageMetadata(facula.Size(p.offset), facula.Size(p.shape)) for p in t.parts]
            found[name] = TensorStorageMetadata(TensorProperties(t.dtype), facula.Size(t.shape), chunks)
            places.update({(name, i): (p.file, p.name) for i, p in enumerate(t.parts)})
        return Metadata(found, storage_data=places)

    def value(self, name: str) -> object:
        return from_json(self.values[name])


def write_file(path: str, tensors: dict[str, facula.Tensor]) -> None:
    """A file of parts, whole or not at all."""
    entries = [(name, t.dtype, list(t.shape), t.numel() * t.dtype.itemsize) for name, t in tensors.items()]
    head, names = _C._write_safetensors_header(entries, {"format": "pt"})
    with _writer(path) as out:
        out.write(head)
        for name in names:
            out.write_tensor(safetensors._bytes(tensors[name]))


def write(folder: str, index: Index) -> None:
    """The index, whole or not at all; then nothing in the folder belongs to an older checkpoint."""
    weight_map = {p.name: p.file for t in index.tensors.values() for p in t.parts}
    total = sum(facula.Size(p.shape).numel() * t.dtype.itemsize for t in index.tensors.values() for p in t.parts)
    content = {
        "metadata": {"total_size": total, "format": "facula.distributed.checkpoint", "version": 1},
        "weight_map": weight_map,
        "tensors": {
            name: {
                "dtype": str(t.dtype).partition(".")[2],
                "shape": list(t.shape),
                "parts": [{"name": p.name, "offset": list(p.offset), "shape": list(p.shape)} for p in t.parts],
            }
            for name, t in index.tensors.items()
        },
        "values": index.values,
    }
    with _writer(os.path.join(folder, INDEX)) as out:
        out.write(json.dumps(content, allow_nan=False).encode())
    clean(folder, set(weight_map.values()))


def clean(folder: str, keep: set[str]) -> None:
    """Takes away files of parts that no index names: of older checkpoints, and of saves that did not end."""
    for name in os.listdir(folder):
        if _SHARD.fullmatch(name) and name not in keep:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))


def names(folder: str, file: str) -> bool:
    """Whether the folder's checkpoint has parts in a file."""
    try:
        return any(p.file == file for t in read(folder).tensors.values() for p in t.parts)
    except CheckpointException:
        return False


def read(folder: str) -> Index:
    """The index of a folder, checked. A Hugging Face index, and a folder with one file of tensors, are read too."""
    path = os.path.join(folder, INDEX)
    try:
        with open(path, "rb") as f:
            content = json.loads(f.read())
    except FileNotFoundError:
        single = os.path.join(folder, "model.safetensors")
        if not os.path.exists(single):
            raise CheckpointException(f"{folder}: no checkpoint is here ({INDEX} does not exist)") from None
        with safetensors.safe_open(single) as f:
            content = {"weight_map": dict.fromkeys(f.keys(), "model.safetensors")}
    except (ValueError, RecursionError) as e:
        raise CheckpointException(f"{path}: no index of a checkpoint ({e})") from None
    try:
        return _checked(folder, content)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as e:
        raise CheckpointException(f"{path}: no index of a checkpoint ({type(e).__name__}: {e})") from None


def _checked(folder: str, content: dict) -> Index:
    weight_map = content["weight_map"]
    for name, file in weight_map.items():
        if not isinstance(file, str) or os.path.basename(file) != file or file in ("", ".", ".."):
            raise ValueError(f"{name!r} lies in {file!r}, which is no file of this folder")
    if "tensors" not in content:
        return Index(_of_files(folder, weight_map), {})
    tensors = {}
    for name, t in content["tensors"].items():
        shape = _sizes(t["shape"])
        parts = []
        for p in t["parts"]:
            offset, size = _sizes(p["offset"]), _sizes(p["shape"])
            if len(offset) != len(shape) or len(size) != len(shape) or any(o + s > n for o, s, n in zip(offset, size, shape, strict=True)):
                raise ValueError(f"a part of {name!r} at {list(offset)} of shape {list(size)} is not in {list(shape)}")
            parts.append(Part(weight_map[p["name"]], p["name"], offset, size))
        tensors[name] = Stored(_TYPES[t["dtype"]], shape, parts)
    return Index(tensors, dict(content["values"]))


def _sizes(given: object) -> tuple[int, ...]:
    if not isinstance(given, list) or any(type(n) is not int or not 0 <= n < 1 << 62 for n in given):
        raise ValueError(f"{given!r} is no list of sizes")
    return tuple(given)


def _of_files(folder: str, weight_map: dict[str, str]) -> dict[str, Stored]:
    """Whole tensors, as their files describe them."""
    found = {}
    for file in dict.fromkeys(weight_map.values()):
        with safetensors.safe_open(os.path.join(folder, file)) as f:
            for name in f.keys():  # noqa: SIM118
                dtype, shape, *_ = f._entry(name)
                if weight_map.get(name) == file:
                    found[name] = Stored(dtype, tuple(shape), [Part(file, name, (0,) * len(shape), tuple(shape))])
    missing = [n for n in weight_map if n not in found]
    if missing:
        raise ValueError(f"{weight_map[missing[0]]} does not hold {missing[0]!r}")
    return found
