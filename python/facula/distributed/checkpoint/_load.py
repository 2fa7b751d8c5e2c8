# SPDX-License-Identifier: Apache-2.0
"""Loading: every rank reads what its tensors need of the parts in the files, however many ranks wrote them."""

import os

import facula
from facula import safetensors
from facula.distributed.checkpoint import _index
from facula.distributed.checkpoint._index import CheckpointException, Index, Part, Stored
from facula.distributed.checkpoint._save import Ranks, box_of, state_of
from facula.distributed.checkpoint._values import flattened, put
from facula.distributed.checkpoint.filesystem import FileSystemReader
from facula.distributed.checkpoint.planner import DefaultLoadPlanner
from facula.distributed.checkpoint.stateful import Stateful
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor.placement_types import Partial

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict, *, checkpoint_id: str | os.PathLike | None = None, storage_reader: FileSystemReader | None = None,
    planner: DefaultLoadPlanner | None = None, process_group=None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Reads what a state dict asks for: tensors are filled where they are, other values put in their places, and stateful objects
    get their state. DTensors read their parts, in whatever parts the checkpoint was written."""
    if planner is not None and not isinstance(planner, DefaultLoadPlanner):
        raise NotImplementedError(f"load: planners of one's own are not asked, got {type(planner).__name__}")
    if storage_reader is None:
        if checkpoint_id is None:
            raise ValueError("load: a checkpoint_id (a folder) or a storage_reader is needed")
        storage_reader = FileSystemReader(checkpoint_id)
    if not isinstance(storage_reader, FileSystemReader):
        raise NotImplementedError(f"load: checkpoints are read from folders (FileSystemReader), not by {type(storage_reader).__name__}")
    folder = os.fspath(checkpoint_id) if checkpoint_id is not None else storage_reader.path
    partial = planner is not None and planner.allow_partial_load
    states = state_of(state_dict)
    Ranks(process_group, no_dist).together("loading a checkpoint", lambda: _filled(folder, states, partial))
    for key, value in state_dict.items():
        if isinstance(value, Stateful) and not isinstance(value, facula.Tensor):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


load_state_dict = load


def _filled(folder: str, states: dict, partial: bool) -> None:
    index = _index.read(folder)
    while True:
        try:
            _fill(folder, index, states, partial)
            return
        except FileNotFoundError:  # a save has ended meanwhile, and this is of the checkpoint before it
            newer = _index.read(folder)
            if newer == index:
                raise
            index = newer


def _fill(folder: str, index: Index, states: dict, partial: bool) -> None:
    leaves = flattened(states)
    for name, (_, value) in leaves.items():
        found = index.tensors.get(name)
        if found is None and name not in index.values:
            if not partial:
                raise CheckpointException(f"Missing key in checkpoint state_dict: {name}.")
        elif isinstance(value, facula.Tensor) and found is None:
            raise CheckpointException(f"{name!r} is a tensor in the state dict, and none in the checkpoint")
        elif found is not None and isinstance(value, facula.Tensor) and tuple(value.shape) != found.shape:
            raise CheckpointException(f"Size mismatch between saved {list(found.shape)} and current: {list(value.shape)} for {name}")
    files: dict[str, safetensors.safe_open] = {}
    try:
        with facula.no_grad():
            for name, (path, value) in leaves.items():
                found = index.tensors.get(name)
                if found is None:
                    if name in index.values:
                        put(states, path, index.value(name))
                    continue
                if not isinstance(value, facula.Tensor):
                    value = facula.empty(found.shape, dtype=found.dtype)
                    put(states, path, value)
                if isinstance(value, DTensor) and any(isinstance(p, Partial) for p in value.placements):
                    raise CheckpointException(f"{name!r} is a sum over ranks: there is no one part of it to load")
                part, offset, _ = box_of(value)
                _read(folder, files, name, found, part, offset)
    finally:
        for f in files.values():
            f.__exit__()


def _read(folder: str, files: dict, name: str, stored: Stored, target: facula.Tensor, offset: tuple[int, ...]) -> None:
    """Fills a box of a tensor from the parts that it has elements of."""
    count = 0
    for part in stored.parts:
        low = [max(a, b) for a, b in zip(offset, part.offset, strict=True)]
        high = [min(a + n, b + m) for a, n, b, m in zip(offset, target.shape, part.offset, part.shape, strict=True)]
        size = [max(h - lo, 0) for lo, h in zip(low, high, strict=True)]
        if 0 in size:
            continue
        if part.file not in files:
            files[part.file] = safetensors.safe_open(os.path.join(folder, part.file))
        to = target
        for d, (lo, n, o) in enumerate(zip(low, size, offset, strict=True)):
            to = to.narrow(d, lo - o, n)
        to.copy_(_piece(files[part.file], name, part, stored, low, size))
        count += facula.Size(size).numel()
    if count != target.numel():
        raise CheckpointException(f"the checkpoint's parts of {name!r} give {count} of the {target.numel()} elements that are needed")


def _piece(file: safetensors.safe_open, name: str, part: Part, stored: Stored, low: list[int], size: list[int]) -> facula.Tensor:
    rows = file.get_slice(part.name)
    if tuple(rows.get_shape()) != part.shape or rows.get_dtype() != stored.dtype:
        raise CheckpointException(f"{part.file} holds {part.name!r} as {rows.get_dtype()} of shape {rows.get_shape()}, and the index says {stored.dtype} of shape {list(part.shape)}")
    if not part.shape:
        return file.get_tensor(part.name)
    begin = [lo - o for lo, o in zip(low, part.offset, strict=True)]
    return rows[tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))]
